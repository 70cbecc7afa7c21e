//! Servers that are found with NATS, by clients in all languages: the programs `desk`, and a NATS server that is killed and restarted.

#![cfg(target_os = "linux")]

use crate::support::program::Scratch;
use crate::support::running::Running;
use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The fingerprint of the first version of the service.
const FIRST: &str = "ad0a8e4e0f4e9c72f54783959bd2d2fd";

#[derive(Clone, Copy, Debug)]
enum Language {
    Rust,
    C,
    Scala,
}

const ALL: [Language; 3] = [Language::Rust, Language::C, Language::Scala];

impl Language {
    fn desk(self) -> Command {
        match self {
            Language::Rust => crate::rust::desk_program(),
            Language::C => crate::c::desk_program(),
            Language::Scala => crate::scala::desk_program(),
        }
    }

    fn next(self) -> Language {
        ALL[(self as usize + 1) % ALL.len()]
    }
}

/// A NATS server on a port of its own.
struct Nats {
    scratch: Scratch,
    port: u16,
    child: Option<Child>,
}

impl Nats {
    fn start(test: &str, config: &str) -> Nats {
        let scratch = Scratch::with(&format!("nats-{test}"), &[("config", config)]);
        let mut nats = Nats {
            scratch,
            port: 0,
            child: None,
        };
        nats.run("-1");
        while nats.port == 0 {
            let ended = nats.child.as_mut().map(|child| child.try_wait());
            assert!(matches!(ended, Some(Ok(None))), "nats-server has ended");
            nats.port = nats.read_port().unwrap_or_default();
        }
        nats
    }

    /// The port is in a file that appears when the server listens.
    fn read_port(&self) -> Option<u16> {
        let entries = fs::read_dir(self.scratch.path("")).ok()?;
        entries.flatten().find_map(|entry| {
            let text = fs::read_to_string(entry.path()).ok()?;
            let (_, rest) = text.split_once("nats://127.0.0.1:")?;
            rest.split('"').next()?.parse().ok()
        })
    }

    fn run(&mut self, port: &str) {
        // Debian has it there, which is not in everybody's `PATH`.
        let own = Path::new("/usr/sbin/nats-server");
        let mut command = Command::new(if own.exists() {
            own
        } else {
            Path::new("nats-server")
        });
        command.args(["--addr", "127.0.0.1", "--port", port, "--ports_file_dir"]);
        command.arg(self.scratch.path(""));
        command.arg("--config").arg(self.scratch.path("config"));
        command.stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn();
        self.child = Some(child.expect("nats-server is missing: apt-get install nats-server"));
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it is a child of this process");
            child.wait().expect("it is a child of this process");
        }
    }

    fn restart(&mut self) {
        self.run(&self.port.to_string());
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {}
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A program that reads lines, and answers each with one.
struct Desk(Running);

impl Desk {
    fn start(language: Language, words: &[&str]) -> Desk {
        Desk(Running::start_talking(language.desk().args(words)))
    }

    fn server(language: Language, version: &str, nats: &str, tag: &str, sessions: usize) -> Desk {
        let sessions = sessions.to_string();
        let mut desk = Desk::start(language, &["serve", version, nats, "desk", tag, &sessions]);
        assert_eq!(desk.0.line(), "ready", "{language:?}");
        desk
    }

    fn client(language: Language, version: &str, nats: &str, older: &[&str]) -> Desk {
        let words = ["ask", version, nats, "desk", "20"];
        let mut desk = Desk::start(language, &[&words, older].concat());
        assert_eq!(desk.0.line(), "ready", "{language:?}");
        desk
    }

    fn say(&mut self, line: &str) -> String {
        self.0.say(line);
        let said = self.0.line();
        assert!(!said.is_empty(), "it ends: {}", self.0.errors_so_far());
        said
    }

    /// Begins a session. Returns the tag of its server.
    fn open(&mut self) -> String {
        let said = self.say("open");
        let tag = said.strip_prefix("open ");
        tag.unwrap_or_else(|| panic!("{said}")).to_owned()
    }

    /// Tries to begin sessions until one fails, and returns why.
    fn failure(&mut self) -> String {
        loop {
            let said = self.say("open");
            if let Some(why) = said.strip_prefix("failed ") {
                return why.to_owned();
            }
            assert!(said.starts_with("open "), "{said}");
        }
    }

    fn fails(&mut self, why: &str) {
        let failure = self.failure();
        assert!(failure.contains(why), "{failure}");
    }
}

/// Three servers and ten clients. Neither a NATS server that is restarted nor other servers that are killed affect a session.
#[test]
#[ignore = "with nats-server"]
fn servers_and_nats_are_killed() {
    let mut nats = Nats::start("killed", "");
    let mut servers: Vec<(String, Desk)> = Vec::new();
    for language in ALL {
        let tag = format!("{language:?}");
        let server = Desk::server(language, "first", &nats.host(), &tag, 100);
        servers.push((tag, server));
    }
    let mut clients = ALL.map(|language| Desk::client(language, "first", &nats.host(), &[]));
    // The tags of the servers of each client's sessions.
    let mut open: [Vec<String>; 3] = Default::default();
    for (at, count) in [4, 3, 3].into_iter().enumerate() {
        open[at].extend((0..count).map(|_| clients[at].open()));
    }
    let all_are_there = |clients: &mut [Desk; 3], open: &[Vec<String>; 3]| {
        for (client, open) in clients.iter_mut().zip(open) {
            assert_eq!(client.say("ask"), format!("asked {}", open.len()));
        }
    };
    all_are_there(&mut clients, &open);

    nats.kill();
    all_are_there(&mut clients, &open);
    // At once, because each takes as long as a client waits.
    for client in &mut clients {
        client.0.say("open");
    }
    for client in &mut clients {
        let why = client.0.line();
        assert!(
            why.contains(&format!("cannot reach NATS at `{}`", nats.host())),
            "{why}"
        );
    }
    nats.restart();
    // All clients and servers connect again.
    for (client, open) in clients.iter_mut().zip(&mut open) {
        loop {
            let said = client.say("open");
            if let Some(tag) = said.strip_prefix("open ") {
                open.push(tag.to_owned());
                break;
            }
        }
    }
    all_are_there(&mut clients, &open);

    while let Some((tag, server)) = servers.pop() {
        server.0.kill();
        for open in &mut open {
            open.retain(|of| *of != tag);
        }
        all_are_there(&mut clients, &open);
        for (client, open) in clients.iter_mut().zip(&mut open) {
            if servers.is_empty() {
                client.fails("no server has announced");
            } else {
                open.push(client.open());
                assert_ne!(open.last(), Some(&tag));
            }
        }
    }
}

/// Clients get a server that understands them, while servers of a new version replace those of an old one.
#[test]
#[ignore = "with nats-server"]
fn versions_are_routed_by_fingerprint() {
    let nats = Nats::start("versions", "");
    for language in ALL {
        let host = nats.host();
        let old = Desk::server(language, "first", &host, "old", 100);
        let mut first = Desk::client(language.next(), "first", &host, &[]);
        let mut second = Desk::client(language, "second", &host, &[]);
        let mut both = Desk::client(language, "second", &host, &[FIRST]);
        assert_eq!(first.open(), "old", "{language:?}");
        assert_eq!(both.open(), "old", "{language:?}");
        second.fails("no server has announced");
        let new = Desk::server(language.next(), "second", &host, "new", 100);
        assert_eq!(second.open(), "new", "{language:?}");
        assert_eq!(both.open(), "new", "{language:?}");
        old.0.kill();
        assert_eq!(first.open(), "new", "{language:?}");
        new.0.kill();
        first.fails("no server has announced");
    }
}

/// A server that is full or drains gets no client, and neither does one that has withdrawn.
#[test]
#[ignore = "with nats-server"]
fn full_and_draining_servers_do_not_answer() {
    let nats = Nats::start("full", "");
    for language in ALL {
        let mut one = Desk::server(language, "first", &nats.host(), "one", 1);
        let mut other = Desk::server(language, "first", &nats.host(), "other", 1);
        let words = ["ask", "first", &nats.host(), "desk", "2"];
        let mut client = Desk::start(language.next(), &words);
        assert_eq!(client.0.line(), "ready");
        assert_ne!(client.open(), client.open(), "{language:?}");
        client.fails("full or draining");
        assert_eq!(client.say("close"), "closed");
        assert_eq!(one.say("drain"), "drain");
        // Not before the server has noticed the end of the session.
        while !client.say("open").starts_with("open other") {}
        client.fails("full or draining");
        assert_eq!(client.say("close"), "closed");
        assert_eq!(one.say("withdraw"), "withdraw");
        assert_eq!(other.say("withdraw"), "withdraw");
        while !client.say("open").contains("no server has announced") {}
    }
}

/// The servers share the clients.
#[test]
#[ignore = "with nats-server"]
fn sessions_are_spread() {
    let nats = Nats::start("spread", "");
    let tag = |language| format!("{language:?}");
    let start = |language| Desk::server(language, "first", &nats.host(), &tag(language), 100);
    let servers = ALL.map(start);
    for language in ALL {
        let mut client = Desk::client(language, "first", &nats.host(), &[]);
        let mut counts = BTreeMap::from(ALL.map(|language| (tag(language), 0)));
        for _ in 0..100 {
            *counts.entry(client.open()).or_insert(0) += 1;
        }
        let (least, most) = (counts.values().min(), counts.values().max());
        assert!(most <= least.map(|least| least * 2).as_ref(), "{counts:?}");
        assert_eq!(client.say("close"), "closed");
    }
    drop(servers);
}

/// What a program is not permitted is reported with the subject, and a NATS server that is not there with its address.
#[test]
#[ignore = "with nats-server"]
fn missing_permissions_and_servers_are_reported() {
    let config = "authorization { users = [\n\
        { user: all, password: secret }\n\
        { user: none, password: secret, permissions: { publish: \"_INBOX.>\", subscribe: \"_INBOX.>\" } }\n\
        { user: server, password: secret, permissions: { publish: \"_INBOX.>\", subscribe: \"duologue.desk.*\" } }\n\
        { user: client, password: secret, permissions: { publish: \"duologue.desk.*\", subscribe: \"_INBOX.>\" } }\n\
        ] }\n";
    let nats = Nats::start("permissions", config);
    let as_user = |user: &str| format!("{user}:secret@{}", nats.host());
    let subject = format!("duologue.desk.{FIRST}");
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let nowhere = port.expect("a port is free").to_string();
    for language in ALL {
        let failed = |words: &[&str]| Desk::start(language, words).0.line();
        let denied = failed(&["serve", "first", &as_user("none"), "desk", "tag", "1"]);
        assert!(
            denied.starts_with("failed ") && denied.contains(&subject),
            "{language:?}: {denied}"
        );
        let mut client = Desk::client(language, "first", &as_user("none"), &[]);
        client.fails(&subject);
        let unreached = failed(&["serve", "first", &nowhere, "desk", "tag", "1"]);
        let why = format!("cannot reach NATS at `{nowhere}`");
        assert!(unreached.contains(&why), "{language:?}: {unreached}");
        // What the page says is enough.
        let _server = Desk::server(language, "first", &as_user("server"), "right", 10);
        let mut client = Desk::client(language, "first", &as_user("client"), &[]);
        assert_eq!(client.open(), "right");
    }
}
