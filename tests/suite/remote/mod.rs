//! Sessions over sockets and in shared memory: the conversations of `tests/run` with client and server in each pair of languages, and what happens when the
//! connection between them is slow or breaks. The programs are those of the languages' own tests: `remote (client|server) CASE ADDRESS`.

mod ask;
mod attack;
mod attack_clients;
mod attack_flawed;
mod killed;
mod limits;
mod load;
mod lost;
mod programs;
mod proxy;
mod silent;
mod talk;
mod tls;
mod vectors;

use crate::support::repository;
use crate::support::running::Outcome;
use programs::{Language, Pair, converse};
use proxy::{Fault, Proxy};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The cases of `tests/run` that cannot leave the process: a payload has an endpoint or a value of the host program.
const AT_HOME: [&str; 4] = ["double_buffer", "feed", "switchboard", "work_queue"];

/// The cases that run over sockets.
fn cases() -> BTreeSet<String> {
    let folder = repository().join("tests/run");
    let entries = std::fs::read_dir(folder).expect("the cases are in the repository");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let cases = paths.filter(|path| path.join("expected.txt").exists());
    let names = cases.map(|path| {
        path.file_name()
            .expect("it has a name")
            .to_string_lossy()
            .into_owned()
    });
    names
        .filter(|name| !AT_HOME.contains(&name.as_str()))
        .collect()
}

/// What one side of a conversation receives.
fn expected(case: &str, role: &str) -> Vec<String> {
    let path = repository()
        .join("tests/run")
        .join(case)
        .join("expected.txt");
    let text = std::fs::read_to_string(path).expect("every case has a transcript");
    let start = format!("{role} <- ");
    text.lines()
        .filter(|line| line.starts_with(&start))
        .map(str::to_owned)
        .collect()
}

/// A name for a Unix socket that is short enough for the system, in a folder that is removed when this is dropped.
pub struct Sockets(PathBuf);

impl Sockets {
    pub fn new() -> Sockets {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("duologue-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).expect("the folder for temporary files can be written");
        Sockets(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        // What a failed test leaves behind is identified by its name; no other error can be reported here.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The name of a region of shared memory, which is removed when this is dropped.
struct RegionName(String);

impl RegionName {
    fn new() -> RegionName {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        RegionName(format!("duologue-{}-{number}", std::process::id()))
    }

    fn address(&self) -> String {
        format!("shm:/{}", self.0)
    }
}

impl Drop for RegionName {
    fn drop(&mut self) {
        // If the programs failed before they opened it, there is none. No other error can be reported here.
        let _ = std::fs::remove_file(std::path::Path::new("/dev/shm").join(&self.0));
    }
}

pub fn unix(path: &std::path::Path) -> String {
    format!("unix:{}", path.display())
}

/// Runs every case over one kind of connection, and these over every kind that both languages have. TLS in C needs OpenSSL.
fn check_pair(
    client: Language,
    server: Language,
    over_tls: bool,
    everywhere: impl Fn(&str) -> bool,
) {
    let certificates = Sockets::new();
    crate::rust::write_certificates(&certificates.0);
    let mut pair = Pair::start(client, server, &certificates.0);
    for case in cases() {
        let sockets = Sockets::new();
        pair.check(&case, &unix(&sockets.path("s")));
        if !everywhere(&case) {
            continue;
        }
        pair.check(&case, "tcp://127.0.0.1:0");
        if over_tls {
            pair.check(&case, "tls://127.0.0.1:0");
        }
        if client.has_shared_memory() && server.has_shared_memory() {
            pair.check(&case, &RegionName::new().address());
        }
    }
}

fn has_c(client: Language, server: Language) -> bool {
    [client, server].contains(&Language::C)
}

/// The bank between C and each language, in both directions.
#[test]
#[ignore = "with OpenSSL"]
fn c_speaks_tls() {
    let certificates = Sockets::new();
    crate::rust::write_certificates(&certificates.0);
    for client in LANGUAGES {
        for server in LANGUAGES
            .into_iter()
            .filter(|server| has_c(client, *server))
        {
            let mut pair = Pair::start(client, server, &certificates.0);
            pair.check("bank", "tls://127.0.0.1:0");
        }
    }
}

/// Tests of each pair of languages.
macro_rules! pairs {
    ($($name:ident: $client:ident, $server:ident;)*) => {
        $(
            #[test]
            fn $name() {
                let (client, server) = (Language::$client, Language::$server);
                check_pair(client, server, !has_c(client, server), |case| case == "bank");
            }
        )*

        mod everywhere {
            use super::{Language, check_pair};

            $(
                #[test]
                #[ignore = "nightly: pairs"]
                fn $name() {
                    check_pair(Language::$client, Language::$server, true, |_| true);
                }
            )*
        }
    };
}

pairs! {
    rust_with_rust: Rust, Rust;
    rust_with_c: Rust, C;
    rust_with_scala: Rust, Scala;
    c_with_rust: C, Rust;
    c_with_c: C, C;
    c_with_scala: C, Scala;
    scala_with_rust: Scala, Rust;
    scala_with_c: Scala, C;
    scala_with_scala: Scala, Scala;
}

/// Runs the bank through the proxy.
fn through(client: Language, server: Language, fault: Fault) -> ([Outcome; 2], proxy::Traffic) {
    let sockets = Sockets::new();
    let (own, far) = (sockets.path("c"), sockets.path("s"));
    let proxy = Proxy::between(&own, &far, fault);
    let for_client = unix(&own);
    let outcomes = converse(client, server, "bank", &unix(&far), Some(&for_client));
    (outcomes, proxy.traffic())
}

const LANGUAGES: [Language; 3] = [Language::Rust, Language::C, Language::Scala];

/// Languages that meet each other at least once in each role.
const ROUND: [(Language, Language); 3] = [
    (Language::Rust, Language::C),
    (Language::C, Language::Scala),
    (Language::Scala, Language::Rust),
];

#[test]
fn slow_connections_change_nothing() {
    for (client, server) in ROUND {
        for fault in [Fault::SingleBytes, Fault::Delay(Duration::from_millis(20))] {
            let (outcomes, _) = through(client, server, fault);
            for (role, outcome) in ["client", "server"].into_iter().zip(outcomes) {
                let Outcome {
                    lines,
                    code,
                    errors,
                } = outcome;
                let run = format!("{client:?} client, {server:?} server, {fault:?}: the {role}");
                assert_eq!(code, Some(0), "{run}\n{lines:#?}\n{errors}");
                assert_eq!(lines, expected("bank", role), "{run}\n{errors}");
            }
        }
    }
}

/// The bytes of a hello of the bank, and of its answer. If the connection breaks before both have passed, there is no session.
const HELLO: usize = 44;
const ANSWER: usize = 38;

/// A connection that breaks after any byte of a session: each side gets what arrived before, in order, and then `lost`; nothing hangs.
/// StreamsSuite of Scala does the same without a program for each position.
#[test]
fn a_connection_that_breaks_is_reported_as_lost() {
    for (client, server) in [(Language::Rust, Language::C), (Language::C, Language::Rust)] {
        let (_, whole) = through(client, server, Fault::Delay(Duration::ZERO));
        let cuts = (HELLO + 1..whole.from_client).map(Fault::CutFromClient);
        let cuts = cuts.chain((ANSWER..whole.from_server).map(Fault::CutFromServer));
        for fault in cuts {
            let (outcomes, _) = through(client, server, fault);
            check_broken(
                &outcomes,
                fault,
                &format!("{client:?} client, {server:?} server"),
            );
        }
    }
}

/// Runs the bank over TCP through the proxy.
fn through_ports(client: Language, server: Language, fault: Fault) -> [Outcome; 2] {
    // Each run has an address of its own on this machine, so the ports are free.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let (process, run) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let (high, low) = (process >> 8 & 0xff, process & 0xff);
    let host = format!("127.{high}.{low}.{}", 1 + run % 250);
    let (own, far) = (format!("{host}:20001"), format!("{host}:20002"));
    let proxy = Proxy::between_ports(&own, &far, fault);
    let (own, far) = (format!("tcp://{own}"), format!("tcp://{far}"));
    let outcomes = converse(client, server, "bank", &far, Some(&own));
    proxy.traffic();
    outcomes
}

/// A connection that is reset after any byte of a session: as if it broke.
#[test]
fn a_connection_that_is_reset_is_reported_as_lost() {
    for (client, server) in [(Language::Rust, Language::C), (Language::C, Language::Rust)] {
        let (_, whole) = through(client, server, Fault::Delay(Duration::ZERO));
        let resets = (HELLO + 1..whole.from_client).map(Fault::ResetFromClient);
        let resets = resets.chain((ANSWER..whole.from_server).map(Fault::ResetFromServer));
        for fault in resets {
            let outcomes = through_ports(client, server, fault);
            check_broken(
                &outcomes,
                fault,
                &format!("{client:?} client, {server:?} server"),
            );
        }
    }
}

/// Each side has what arrived before, in order. The side that did not get everything is lost, and the other one, too, unless its part
/// of the session was over.
fn check_broken(outcomes: &[Outcome; 2], fault: Fault, pair: &str) {
    for (role, outcome) in ["client", "server"].into_iter().zip(outcomes) {
        let run = format!("{pair}, {fault:?}: the {role}");
        let is_deprived = fault.deprived() == Some(role);
        // The last message was already with the other side, or in its connection.
        let has_ended = !is_deprived && outcome.code == Some(0);
        if has_ended {
            assert_eq!(outcome.lines, expected("bank", role), "{run}");
        } else {
            check_lost(role, outcome, &run);
        }
    }
}

/// The side has received the beginning of the transcript, and reports that the session is lost.
fn check_lost(role: &str, outcome: &Outcome, run: &str) {
    assert_eq!(outcome.code, Some(3), "{run}: {outcome:#?}");
    let (why, received) = outcome.lines.split_last().expect("it reports the reason");
    assert_eq!(why, "why lost", "{run}: {outcome:#?}");
    let expected = expected("bank", role);
    assert!(expected.starts_with(received), "{run}: {outcome:#?}");
}
