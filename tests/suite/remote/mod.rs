//! Sessions over sockets and in shared memory: the conversations of `tests/run` with client and server in each pair of languages. The programs are
//! those of the languages' own tests: `remote (client|server) CASE ADDRESS`.

mod attack;
mod attack_clients;
mod attack_flawed;
mod load;
mod programs;
mod talk;
mod tls;

use crate::support::{conversations, repository};
use programs::{Language, Pair};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The cases of `tests/run` that cannot leave the process: a payload has an endpoint or a value of the host program.
const AT_HOME: [&str; 4] = ["double_buffer", "feed", "switchboard", "work_queue"];

/// The cases that run over sockets.
fn cases() -> BTreeSet<String> {
    let mut cases = BTreeSet::from_iter(conversations());
    cases.retain(|name| !AT_HOME.contains(&name.as_str()));
    cases
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

/// Runs every case over one kind of connection, one with long runs in memory as well, and these over every kind that both languages have. TLS in C needs OpenSSL.
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
        let has_memory = client.has_shared_memory() && server.has_shared_memory();
        if has_memory && (everywhere(&case) || case == "long_words") {
            pair.check(&case, &RegionName::new().address());
        }
        if everywhere(&case) {
            pair.check(&case, "tcp://127.0.0.1:0");
        }
        if everywhere(&case) && over_tls {
            pair.check(&case, "tls://127.0.0.1:0");
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

const LANGUAGES: [Language; 3] = [Language::Rust, Language::C, Language::Scala];
