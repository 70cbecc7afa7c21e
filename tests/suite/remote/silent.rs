//! Many connections that send nothing, or half a hello, on one server, in each language. The client is the program in Rust.

use super::load::{MANY, OTHERS, SOME, numbers, sessions};
use super::programs::Language;
use super::{Sockets, unix};
use crate::support::running::Running;
use std::fs;

/// How many clients begin a session while the others wait.
const VISITS: usize = 20;

/// What a connection may take that waits, in bytes of memory of the server.
const WAITING: usize = 6 << 10;

/// What a server may take for everything else, in bytes.
const REST: usize = 4 << 20;

/// The heap of the server in Scala: more than connections take that wait, and less than if each had a buffer of 16 KiB, or a thread.
const HEAP: &str = "-Xmx64m";

/// What the system knows about a process.
#[derive(Debug)]
struct Used {
    descriptors: usize,
    threads: usize,
    /// The most memory that it has had, in bytes.
    memory: usize,
}

impl Used {
    fn by(program: &Running) -> Used {
        let folder = format!("/proc/{}", program.id());
        let descriptors = fs::read_dir(format!("{folder}/fd")).expect("the process runs");
        let status = fs::read_to_string(format!("{folder}/status")).expect("the process runs");
        let number = |name: &str| -> usize {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let word = line.and_then(|line| line.split_whitespace().next());
            let number = word.and_then(|word| word.parse().ok());
            number.unwrap_or_else(|| panic!("no {name} in {status}"))
        };
        Used {
            descriptors: descriptors.count(),
            threads: number("Threads:"),
            memory: number("VmHWM:") << 10,
        }
    }
}

fn check(server: Language, wanted: usize) {
    let connections = sessions(wanted);
    let waiting = connections / 2;
    let sockets = Sockets::new();
    let address = unix(&sockets.path("s"));
    let start = |language: Language, role: &str| {
        let mut command = language.load();
        command.args([
            role,
            &address,
            &connections.to_string(),
            &VISITS.to_string(),
        ]);
        command.env("JDK_JAVA_OPTIONS", HEAP);
        Running::start_talking(&mut command)
    };
    let mut guard = start(server, "guard");
    assert!(guard.line().starts_with("listening "), "{server:?}");
    let before = Used::by(&guard);
    let mut silent = start(Language::Rust, "silent");
    assert_eq!(silent.line(), "open", "{server:?}");
    let open = Used::by(&guard);
    silent.say("visit");
    assert_eq!(silent.line(), "visited", "{server:?}");
    let visited = Used::by(&guard);
    assert_eq!(numbers(&mut silent, "closed"), [connections], "{server:?}");
    // Each was reported as late, those that gave way too.
    assert_eq!(
        numbers(&mut guard, "refused"),
        [connections, 0],
        "{server:?}"
    );
    let after = Used::by(&guard);
    for used in [&open, &visited] {
        let run = format!("{server:?}: {before:?}, then {used:?}");
        assert!(
            used.descriptors <= before.descriptors + waiting + OTHERS,
            "{run}"
        );
        assert!(used.threads <= before.threads + OTHERS, "{run}");
    }
    let run = format!("{server:?}: {before:?}, then {visited:?}, at last {after:?}");
    assert!(after.descriptors <= before.descriptors + OTHERS, "{run}");
    // The virtual machine takes memory as it likes; what it needs is bounded by its heap.
    let most = before.memory + waiting * WAITING + REST;
    assert!(server == Language::Scala || after.memory <= most, "{run}");
    guard.say("end");
    for outcome in [guard.end(), silent.end()] {
        assert_eq!(outcome.code, Some(0), "{server:?}: {outcome:?}");
    }
    println!("{server:?}: {connections} silent connections; {open:?}; {run}");
}

#[test]
fn c_serves_beside_silent_connections() {
    check(Language::C, SOME);
}

#[test]
fn scala_serves_beside_silent_connections() {
    check(Language::Scala, SOME);
}

#[test]
fn rust_serves_beside_silent_connections() {
    check(Language::Rust, SOME);
}

#[test]
#[ignore = "nightly: load"]
fn many_silent_connections_beside_c() {
    check(Language::C, MANY);
}

#[test]
#[ignore = "nightly: load"]
fn many_silent_connections_beside_scala() {
    check(Language::Scala, MANY);
}

#[test]
#[ignore = "nightly: load"]
fn many_silent_connections_beside_rust() {
    check(Language::Rust, MANY);
}
