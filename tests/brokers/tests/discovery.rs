//! Service discovery of NATS: a server that is discoverable answers, and others do not.
#![forbid(unsafe_code)]

use brokers::bank;
use brokers::memory::{Memory, until};
use brokers::protocols::bank::{client as bank_client, server as bank_server};
use duologue_net::broker::{Broker, Exchange, ExchangeOptions, Inbox};
use duologue_net::{Connector, Drain, Listener};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Where the answers of these tests go.
const REPLY: &str = "_INBOX.test";

/// The messages of a subject.
#[derive(Default)]
struct Answers(Mutex<Vec<Vec<u8>>>);

impl Inbox for Answers {
    fn arrived(&self, _: &str, _: Option<&str>, message: &[u8]) {
        self.0.lock().expect("no panic").push(message.to_vec());
    }

    fn unanswered(&self, _: &str) {}

    fn lost(&self) {}
}

/// What is published to `reply` after this request. A request of the test itself shows when all that came before it was delivered.
fn ask(broker: &Memory, subject: &str, reply: &str) -> Vec<Value> {
    let answers = Arc::new(Answers::default());
    let _all = broker.subscribe(reply, None, Arc::clone(&answers) as _);
    let ends = Arc::new(Answers::default());
    let _ends = broker.subscribe("test.end", None, Arc::clone(&ends) as _);
    broker.publish(subject, Some(reply), Vec::new());
    for round in 1..=2 {
        broker.publish("test.end", None, Vec::new());
        until("the end", || {
            ends.0.lock().expect("no panic").len() == round
        });
    }
    let answers = answers.0.lock().expect("no panic");
    let parsed = answers.iter().map(|answer| serde_json::from_slice(answer));
    parsed.collect::<Result<_, _>>().expect("answers are JSON")
}

/// Waits until this many servers answer, with few requests, because servers ignore many.
fn await_servers(broker: &Memory, count: usize) {
    until("the servers", || {
        thread::sleep(Duration::from_millis(50));
        ask(broker, "$SRV.PING", REPLY).len() == count
    });
}

fn exchange(broker: &Memory) -> Exchange {
    Exchange::over(broker.clone(), &ExchangeOptions::new()).expect("the broker delivers")
}

/// A server of the bank with at most one session, which runs until it is drained.
fn serve(broker: &Memory, name: &str, is_discoverable: bool) -> Drain {
    let mut listener = Listener::bind_through(&exchange(broker), name).expect("it listens");
    if is_discoverable {
        listener.discoverable();
    }
    listener.serve(|login: bank_server::Login| {
        let _ended = bank::teller(login);
    });
    let drain = listener.drain();
    thread::spawn(move || listener.run());
    drain
}

fn ids(answers: &[Value]) -> BTreeSet<&str> {
    answers
        .iter()
        .filter_map(|one| one["id"].as_str())
        .collect()
}

/// The sum of what the only endpoints of these servers have counted.
fn sum(answers: &[Value], key: &str) -> u64 {
    let counts = answers.iter().map(|one| one["endpoints"][0][key].as_u64());
    counts.map(|count| count.expect("it is a number")).sum()
}

/// What each kind of answer contains for servers of this name.
fn check(kind: &str, answer: &Value, servers: &str, language: &str) {
    let word = kind.to_lowercase();
    assert_eq!(answer["type"], format!("io.nats.micro.v1.{word}_response"));
    assert_eq!(answer["name"], servers.replace('.', "_"));
    let version = answer["version"].as_str().expect("it is there");
    let numbers = version.split('.').map(str::parse::<u32>);
    assert_eq!(numbers.filter(Result::is_ok).count(), 3, "{version}");
    let id = answer["id"].as_str().expect("it is there");
    assert!(id.len() == 32 && !id.contains('.'), "{id}");
    assert_eq!(answer["metadata"]["language"], language);
    assert_eq!(answer["metadata"]["servers"], servers);
    let fields = answer.as_object().expect("it is an object").len();
    if kind == "PING" {
        assert_eq!(fields, 5, "{answer}");
        return;
    }
    assert_eq!(fields, 7, "{answer}");
    let fingerprint = "6b4021487a63e0618d274211e3ebd7c9";
    let endpoint = &answer["endpoints"][0];
    assert_eq!(answer["endpoints"].as_array().map(Vec::len), Some(1));
    assert!(
        endpoint["name"]
            .as_str()
            .expect("it is there")
            .contains("bank")
    );
    assert_eq!(endpoint["subject"], format!("duo.{servers}.{fingerprint}"));
    assert_eq!(endpoint["queue_group"], "duo");
    if kind == "INFO" {
        assert!(answer["description"].is_string(), "{answer}");
        assert_eq!(endpoint["metadata"]["fingerprint"], fingerprint);
        assert!(endpoint["metadata"]["protocol"].is_string(), "{answer}");
    } else {
        let started = answer["started"].as_str().expect("it is there");
        assert!(
            started.starts_with("20") && started.ends_with('Z'),
            "{started}"
        );
        for key in ["processing_time", "average_processing_time"] {
            assert_eq!(endpoint[key], 0, "{answer}");
        }
        let has_failed = endpoint["num_errors"] != 0;
        let last = endpoint["last_error"].as_str().expect("it is there");
        assert_eq!(!last.is_empty(), has_failed, "{answer}");
    }
}

#[test]
fn discoverable_servers_answer_and_others_do_not() {
    let broker = Memory::start(1);
    let name = "eu.bank";
    let drains = [true, true, false].map(|it| serve(&broker, name, it));
    await_servers(&broker, 2);
    for kind in ["PING", "INFO", "STATS"] {
        let all = ask(&broker, &format!("$SRV.{kind}"), REPLY);
        assert_eq!(ids(&all).len(), 2, "{all:?}");
        for answer in &all {
            check(kind, answer, name, "rust");
            let id = answer["id"].as_str().expect("it is there");
            let one = ask(&broker, &format!("$SRV.{kind}.eu_bank.{id}"), REPLY);
            assert_eq!(ids(&one).into_iter().collect::<Vec<_>>(), [id]);
        }
        let named = ask(&broker, &format!("$SRV.{kind}.eu_bank"), REPLY);
        assert_eq!(ids(&named), ids(&all));
        let others = ask(&broker, &format!("$SRV.{kind}.us_bank"), REPLY);
        assert_eq!(others, [] as [Value; 0]);
    }
    // These are not subjects that a program can want answers at.
    for reply in ["$SRV.PING", "duo.at.me.you", "duo.bank.x"] {
        assert_eq!(
            ask(&broker, "$SRV.INFO", reply),
            [] as [Value; 0],
            "{reply}"
        );
    }
    assert!(drains[0].within(LONG), "it has no session");
    let left = ask(&broker, "$SRV.PING", REPLY);
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(drains[1].within(LONG), "it has no session");
    assert_eq!(ask(&broker, "$SRV.PING", REPLY), [] as [Value; 0]);
}

#[test]
fn sessions_and_refusals_are_counted() {
    let broker = Memory::start(2);
    let _drains = [(); 2].map(|()| serve(&broker, "bank", true));
    await_servers(&broker, 2);
    let here = exchange(&broker);
    for _ in 0..5 {
        let login = Connector::new().connect_through::<bank_client::Login>(&here, "bank");
        bank::customer(login.expect("it serves"), 1).expect("nothing is lost");
    }
    // Both programs would be servers.
    for _ in 0..3 {
        let refused = Connector::new().connect_through::<bank_server::Login>(&here, "bank");
        assert!(refused.is_err());
    }
    let all = ask(&broker, "$SRV.STATS.bank", REPLY);
    assert_eq!(sum(&all, "num_requests"), 8, "{all:?}");
    assert_eq!(sum(&all, "num_errors"), 3, "{all:?}");
    let last = all
        .iter()
        .map(|one| one["endpoints"][0]["last_error"].as_str());
    assert!(
        last.flatten().any(|text| text.contains("same side")),
        "{all:?}"
    );
    all.iter()
        .for_each(|one| check("STATS", one, "bank", "rust"));
}

/// Requests come from anybody, and take bounded memory.
#[test]
fn a_flood_of_requests_is_not_answered() {
    let broker = Memory::start(3);
    let _drain = serve(&broker, "bank", true);
    await_servers(&broker, 1);
    let published = broker.done().published;
    let answers = Arc::new(Answers::default());
    let _all = broker.subscribe(REPLY, None, Arc::clone(&answers) as _);
    for _ in 0..100_000 {
        broker.publish("$SRV.INFO", Some(REPLY), Vec::new());
    }
    let here = exchange(&broker);
    let login = Connector::new()
        .timeout(LONG)
        .connect_through(&here, "bank");
    bank::customer(login.expect("it serves"), 1).expect("nothing is lost");
    let done = broker.done().published - published - 100_000;
    assert!(done < 50_000, "{done}");
    let first = answers.0.lock().expect("no panic").len();
    assert!(first > 0, "some are answered");
}

#[cfg(feature = "nats")]
mod nats {
    use super::{bank_server, check, ids, sum};
    use brokers::bank;
    use brokers::memory::until;
    use brokers::nats::Server;
    use brokers::process::{Process, bank_at};
    use duologue_net::connect;
    use serde_json::Value;
    use std::process::Stdio;

    fn ask(server: &Server, subject: &str) -> Vec<Value> {
        let answers = server.discover("", subject);
        let parsed = answers.iter().map(|answer| serde_json::from_str(answer));
        parsed.collect::<Result<_, _>>().expect("answers are JSON")
    }

    /// A bank in another process.
    fn start(address: &str, is_discoverable: bool) -> Process {
        let mut command = bank_at(address, env!("CARGO_BIN_EXE_teller"));
        command.env_remove("DUOLOGUE_DISCOVERABLE");
        if is_discoverable {
            command.env("DUOLOGUE_DISCOVERABLE", "1");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        Process::start(command)
    }

    /// The answers of this many servers. It may take a while until they answer.
    fn ask_until(server: &Server, subject: &str, count: usize) -> Vec<Value> {
        let mut answers = Vec::new();
        until("the answers", || {
            answers = ask(server, subject);
            answers.len() == count
        });
        answers
    }

    #[test]
    fn discoverable_banks_answer_until_they_end() {
        let language = match std::env::var_os("DUOLOGUE_BANK") {
            Some(_) => "c",
            None => "rust",
        };
        let server = Server::start();
        let address = server.address("bank");
        let serves = || connect(&address).is_ok_and(|it| bank::customer(it, 1).is_ok());
        let hidden = start(&address, false);
        until("the bank", serves);
        assert_eq!(ask(&server, "$SRV.PING"), [] as [Value; 0]);
        let mut banks = [(); 2].map(|()| start(&address, true));
        let all = ask_until(&server, "$SRV.PING", 2);
        assert_eq!(ids(&all).len(), 2, "{all:?}");
        drop(hidden);
        // A client that gets the hidden bank is lost while NATS does not know its end.
        until("five customers", || {
            let all = ask_until(&server, "$SRV.STATS.bank", 2);
            let is_done = sum(&all, "num_requests") >= 5;
            let _lost = is_done || serves();
            is_done
        });
        // Both programs would be servers.
        assert!(connect::<bank_server::Login>(&address).is_err());
        until("the refusal", || {
            let all = ask_until(&server, "$SRV.STATS.bank", 2);
            sum(&all, "num_errors") == 1
        });
        for kind in ["PING", "INFO", "STATS"] {
            let all = ask_until(&server, &format!("$SRV.{kind}"), 2);
            for answer in &all {
                check(kind, answer, "bank", language);
                let id = answer["id"].as_str().expect("it is there");
                let one = ask_until(&server, &format!("$SRV.{kind}.bank.{id}"), 1);
                assert_eq!(ids(&one).into_iter().collect::<Vec<_>>(), [id]);
            }
        }
        // It drains and ends.
        drop(banks[0].0.stdin.take());
        let mut ended = None;
        until("its end", || {
            ended = banks[0].0.try_wait().expect("it was started");
            ended.is_some()
        });
        assert!(ended.expect("it has ended").success());
        let left = ask_until(&server, "$SRV.PING", 1);
        assert_eq!(left.len(), 1, "{left:?}");
        banks[1].0.kill().expect("it was started");
        until("NATS to notice", || ask(&server, "$SRV.PING").is_empty());
    }
}
