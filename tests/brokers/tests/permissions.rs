//! What `duologue nats-permissions` prints is enough for a server and a client, and nothing of it is more than they need. The test suite names
//! the file with it in `DUOLOGUE_PERMISSIONS`.
#![forbid(unsafe_code)]

use brokers::bank;
use brokers::nats::Server;
use brokers::process::Process;
use brokers::protocols::bank::client as bank_client;
use duologue_net::broker::{ConnectOptions, Exchange, ExchangeOptions};
use duologue_net::{Connector, Error, Listener, Verdict};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long everything may take together.
const PATIENCE: Duration = Duration::from_secs(15);

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

fn exchange(server: &Server, user: &str) -> Result<Exchange, Error> {
    let client =
        ConnectOptions::with_user_and_password(user.to_owned(), format!("secret-of-{user}"));
    let options = ExchangeOptions::new().prefix(user);
    Exchange::nats(&server.host(), client, &options)
}

fn connect(exchange: &Exchange) -> Result<bank_client::Login, Error> {
    let connector = Connector::new().timeout(Duration::from_secs(3));
    connector.connect_through(exchange, "bank")
}

fn start(config: &str) -> Server {
    let passwords = [
        ("SERVER_PASSWORD", "secret-of-server"),
        ("CLIENT_PASSWORD", "secret-of-client"),
    ];
    Server::with_variables(config, &passwords)
}

/// A further user, who may ask which servers there are.
const WATCHER: &str = r#"{ user: watcher, password: "1234", permissions: { publish: ["$SRV.>"], subscribe: ["_INBOX.>"] } }"#;

/// How that user connects.
const CREDENTIALS: &str = r#","user":"watcher","pass":"1234""#;

/// Whether each kind of request of service discovery is answered, which may take a while after the server listens.
fn is_discovered(server: &Server) -> Result<(), String> {
    let end = Instant::now() + PATIENCE;
    for suffix in ["PING", "INFO.bank", "STATS.bank"] {
        while server
            .discover(CREDENTIALS, &format!("$SRV.{suffix}"))
            .is_empty()
        {
            if Instant::now() > end {
                return Err(format!("no answer to {suffix}"));
            }
        }
    }
    Ok(())
}

/// Has a session, and another one that is refused because the server is full.
fn sessions(config: &str, is_discoverable: bool) -> Result<(), String> {
    let server = start(&config.replace("users: [", &format!("users: [ {WATCHER}")));
    let said = |error: Error| format!("{error:?}");
    let there = exchange(&server, "server").map_err(said)?;
    let here = exchange(&server, "client").map_err(said)?;
    let mut listener = Listener::bind_through(&there, "bank").map_err(said)?;
    listener.max_sessions(1);
    if is_discoverable {
        listener.discoverable();
    }
    listener.serve(|login| {
        let _ended = bank::teller(login);
    });
    let drain = listener.drain();
    let running = thread::spawn(move || listener.run());
    let end = Instant::now() + PATIENCE;
    let login = loop {
        if running.is_finished() {
            return Err(format!("{:?}", running.join().expect("no panic")));
        }
        match connect(&here) {
            Ok(login) => break login,
            Err(Error::Refused { .. }) if Instant::now() < end => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(said(error)),
        }
    };
    if is_discoverable {
        is_discovered(&server)?;
    }
    let connected = bank::log_in(login).map_err(|closed| closed.to_string())?;
    let is_full = loop {
        match connect(&here) {
            Err(Error::Refused {
                verdict: Verdict::Full,
                ..
            }) => break Ok(()),
            // The server may be about to join the group of those that are full.
            Err(Error::Refused { .. }) if Instant::now() < end => {
                thread::sleep(Duration::from_millis(20));
            }
            other => break Err(format!("{:?}", other.map(drop))),
        }
    };
    connected.quit().map_err(|closed| closed.to_string())?;
    drain.begin();
    is_full
}

#[test]
fn each_permission_is_needed_and_all_are_enough() {
    let Some(file) = std::env::var_os("DUOLOGUE_PERMISSIONS") else {
        return;
    };
    let config = std::fs::read_to_string(file).expect("the file is there");
    sessions(&config, true).expect("these permissions are enough");
    let is_discovery = |line: &&str| line.contains("$SRV") || line.contains("allow_responses");
    let others: Vec<&str> = config.lines().filter(|line| !is_discovery(line)).collect();
    sessions(&others.join("\n"), false).expect("without discovery the others are enough");
    let is_subject = |line: &&str| line.trim().starts_with("\"duo.") || is_discovery(line);
    let subjects: Vec<&str> = config.lines().filter(is_subject).collect();
    // Two users, each of which may publish and subscribe: to own messages, to others, and to both groups of servers;
    // and three subjects and the answers of service discovery.
    assert_eq!(subjects.len(), 12, "{config}");
    let without: Vec<_> = (0..subjects.len())
        .map(|left_out| {
            let mut subject = 0;
            let kept = config.lines().filter(|line| {
                subject += usize::from(is_subject(line));
                !is_subject(line) || subject != left_out + 1
            });
            let mut text = String::new();
            for line in kept {
                // An empty list would permit everything.
                let line = line.replace("publish: [", "publish: [\"none\"");
                text += &(line.replace("subscribe: [", "subscribe: [\"none\"") + "\n");
            }
            (
                subjects[left_out].to_owned(),
                thread::spawn(move || sessions(&text, true)),
            )
        })
        .collect();
    for (subject, result) in without {
        let result = result.join().expect("no panic");
        assert!(result.is_err(), "{subject} is not needed");
    }
}

/// The bank in another language, and its customers, with the permissions of their users.
#[test]
fn programs_in_another_language_have_a_prefix() {
    let variables = ["DUOLOGUE_PERMISSIONS", "DUOLOGUE_BANK"].map(std::env::var_os);
    let [Some(file), Some(program)] = variables else {
        return;
    };
    let config = std::fs::read_to_string(file).expect("the file is there");
    let server = start(&config);
    let address = server.address("bank");
    let command = |user: &str, prefix: &str, arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).env("NATS_USER", user);
        command.env("NATS_PASSWORD", format!("secret-of-{user}"));
        command.env("NATS_PREFIX", prefix);
        command
    };
    let mut serve = command("server", "server", &["serve", &address]);
    serve.stdin(Stdio::piped()).stdout(Stdio::null());
    let _bank = Process::start(serve);
    let customer = |prefix| {
        let mut customer = command("client", prefix, &["customer", &address, "3"]);
        let output = customer.output().expect("it is there");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let end = Instant::now() + LONG;
    loop {
        let said = customer("client");
        if said == "ok" {
            break;
        }
        // The bank may not have subscribed yet.
        assert!(
            said == "refused 16" && Instant::now() < end,
            "the customer printed `{said}`"
        );
    }
    // It cannot read its own messages.
    assert_eq!(customer("server"), "");
}
