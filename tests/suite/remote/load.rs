//! Many sessions at once on one server, in each language: with tasks of tokio in Rust, with a port set in C, and with virtual threads
//! in Scala. The client is the program in Rust.

use super::programs::Language;
use super::{Sockets, unix};
use crate::support::running::Running;
use std::path::Path;

/// How many sessions there are in every run of the tests, and how many each night.
const SOME: usize = 1_000;
const MANY: usize = 10_000;
/// How many there are over TLS each night: their handshakes take longer.
const MANY_OVER_TLS: usize = 4_000;

/// How many turns each session has after all are open. A session that starves keeps the server from going on.
const TURNS: usize = 20;

/// How many times as many turns others may have meanwhile.
const UNEVEN: usize = 4;

/// What a session may take, in bytes of memory of its server. In Scala this includes the stack of a virtual thread, which is about half
/// of it, and whose size depends on what has been compiled.
fn memory_of(server: Language) -> usize {
    match server {
        Language::Rust => 5 << 10,
        Language::C | Language::Scala => 8 << 10,
    }
}

/// What a server takes meanwhile, however many sessions there are: the Java virtual machine loads and compiles code.
fn memory_beside(server: Language) -> usize {
    match server {
        Language::Rust | Language::C => 0,
        Language::Scala => 2 << 20,
    }
}

/// What a connection of the TLS library takes in a server in this language: its buffers, keys and certificates. It is measured
/// with connections that have had a turn, but no session.
fn memory_of_library(server: Language, connections: usize, certificates: &Path) -> usize {
    let mut command = server.load();
    command.args(["library", "-", &connections.to_string(), "0"]);
    command.env("DUOLOGUE_TLS", certificates);
    let mut connecting = Running::start_talking(&mut command);
    let memory = numbers(&mut connecting, "memory")[0];
    let outcome = connecting.end();
    assert_eq!(outcome.code, Some(0), "{server:?}: {outcome:?}");
    assert!(memory > 0, "{server:?} has measured nothing");
    memory
}

/// What a process needs beside the connections of its sessions.
const OTHERS: usize = 100;

/// How many sessions the system allows: each takes a descriptor.
fn sessions(wanted: usize) -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("this is Linux");
    let files = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let hard = files.and_then(|line| line.split_whitespace().nth(4));
    let hard = hard
        .and_then(|hard| hard.parse().ok())
        .unwrap_or(usize::MAX);
    let sessions = wanted.min(hard.saturating_sub(OTHERS));
    if sessions < wanted {
        eprintln!("only {sessions} sessions: a process may have {hard} descriptors");
    }
    sessions
}

/// The numbers of the next line, which begins with this word.
fn numbers(program: &mut Running, word: &str) -> Vec<usize> {
    let line = program.line();
    let mut words = line.split(' ');
    assert_eq!(words.next(), Some(word), "{line:?}");
    let numbers = words.map(|number| number.parse().expect("a number"));
    numbers.collect()
}

/// Over TLS, if there are certificates in this folder.
fn check(server: Language, wanted: usize, certificates: Option<&Path>) {
    let sessions = sessions(wanted);
    let sockets = Sockets::new();
    let start = |language: Language, role: &str, address: &str| {
        let mut command = language.load();
        command.args([role, address, &sessions.to_string(), &TURNS.to_string()]);
        if let Some(folder) = certificates {
            command.env("DUOLOGUE_TLS", folder);
        }
        Running::start_talking(&mut command)
    };
    let (address, of_library) = match certificates {
        None => (unix(&sockets.path("s")), 0),
        Some(folder) => (
            "tls://127.0.0.1:0".to_owned(),
            memory_of_library(server, sessions, folder),
        ),
    };
    let mut serving = start(server, "server", &address);
    let listening = serving.line();
    let heard = listening.strip_prefix("listening ");
    let heard = heard.unwrap_or_else(|| panic!("{server:?}: {listening}"));
    let mut playing = start(Language::Rust, "client", heard);
    assert_eq!(playing.line(), "open", "{server:?}");
    let memory = numbers(&mut serving, "memory")[0];
    let most = memory_of(server) + of_library + memory_beside(server) / sessions;
    assert!(
        memory <= most,
        "{server:?} at {heard}: {memory} bytes per session, of which the TLS library takes {of_library}"
    );
    playing.say("play");
    let [median, most] = numbers(&mut serving, "turns")[..] else {
        panic!("two numbers")
    };
    // A virtual thread whose peer answers at once does not wait, so a few may have many turns more than others.
    let others = match server {
        Language::Scala => median,
        Language::Rust | Language::C => most,
    };
    let turns = format!("{} to {most} turns, half at most {median}", TURNS + 1);
    assert!(others <= UNEVEN * (TURNS + 1), "{server:?}: {turns}");
    // The drain itself ends the sessions.
    let [drained, used] = numbers(&mut serving, "drained")[..] else {
        panic!("two numbers")
    };
    assert_eq!(numbers(&mut playing, "left"), [sessions], "{server:?}");
    for outcome in [serving.end(), playing.end()] {
        assert_eq!(outcome.code, Some(0), "{server:?}: {outcome:?}");
    }
    println!(
        "{server:?} at {address}: {sessions} sessions, {memory} bytes each, {of_library} of them the TLS library's; {turns}; \
         ended {drained} ms after draining began, for which the server used a processor for {used} ms"
    );
}

/// Fails unless the Java whose path is `DUOLOGUE_JAVA`, or the one in `PATH`, has virtual threads.
fn require_virtual_threads() {
    let java = std::env::var_os("DUOLOGUE_JAVA").unwrap_or_else(|| "java".into());
    let asked = std::process::Command::new(&java).arg("-version").output();
    let asked = asked.unwrap_or_else(|error| panic!("{}: {error}", java.display()));
    let printed = String::from_utf8_lossy(&asked.stderr);
    // Such as `openjdk version "21.0.2" 2024-01-16`.
    let version = printed.split('"').nth(1).unwrap_or_default();
    let major = version.split(['.', '-']).next().unwrap_or_default();
    assert!(
        major.parse().is_ok_and(|major: u32| major >= 21),
        "{} is version {version:?}, which has no virtual threads: apt-get install -y --no-install-recommends openjdk-21-jdk-headless, \
         and set DUOLOGUE_JAVA to the path of its `java`",
        java.display()
    );
}

fn check_over_tls(server: Language, wanted: usize) {
    let files = Sockets::new();
    crate::rust::write_certificates(&files.0);
    check(server, wanted, Some(&files.0));
}

/// Tests with these attributes: what each checks, the server, and how many sessions there are.
macro_rules! loads {
    ($($(#[$attribute:meta])* $name:ident: $check:ident, $server:ident, $count:expr;)*) => {$(
        $(#[$attribute])*
        #[test]
        fn $name() {
            $check(Language::$server, $count);
        }
    )*};
}

fn check_plain(server: Language, wanted: usize) {
    if wanted == MANY && server == Language::Scala {
        // A system has no 10,000 threads for one process.
        require_virtual_threads();
    }
    check(server, wanted, None);
}

loads! {
    #[ignore = "slow: load"]
    c_serves_some_sessions: check_plain, C, SOME;
    // With virtual threads in a Java that has them: the one whose path is `DUOLOGUE_JAVA`, or the one in `PATH`.
    #[ignore = "slow: load"]
    scala_serves_some_sessions: check_plain, Scala, SOME;
    #[ignore = "slow: load"]
    rust_serves_some_sessions: check_plain, Rust, SOME;
    #[ignore = "nightly: load"]
    c_serves_many_sessions: check_plain, C, MANY;
    #[ignore = "nightly: load"]
    scala_serves_many_sessions: check_plain, Scala, MANY;
    #[ignore = "nightly: load"]
    rust_serves_many_sessions: check_plain, Rust, MANY;
    #[ignore = "slow: load"]
    rust_serves_some_sessions_over_tls: check_over_tls, Rust, SOME;
    #[ignore = "with OpenSSL"]
    c_serves_some_sessions_over_tls: check_over_tls, C, SOME;
    #[ignore = "slow: load"]
    scala_serves_some_sessions_over_tls: check_over_tls, Scala, SOME;
    #[ignore = "nightly: load"]
    rust_serves_many_sessions_over_tls: check_over_tls, Rust, MANY_OVER_TLS;
    #[ignore = "nightly: load"]
    c_serves_many_sessions_over_tls: check_over_tls, C, MANY_OVER_TLS;
    #[ignore = "nightly: load"]
    scala_serves_many_sessions_over_tls: check_over_tls, Scala, MANY_OVER_TLS;
}
