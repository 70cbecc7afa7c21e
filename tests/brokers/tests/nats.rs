//! Sessions over a NATS server, which each test starts for itself.
#![forbid(unsafe_code)]

use brokers::bank;
use brokers::memory::until;
use brokers::nats::Server;
use brokers::protocols::bank::{LoginResponse, client as bank_client, server as bank_server};
use brokers::protocols::numbers::{self, Stream};
use brokers::protocols::pingpong;
use duologue::Why;
use duologue_net::broker::ConnectOptions;
use duologue_net::{Connector, Error, Listener, Verdict, connect};
use std::io::{self, BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// The program of another language that `DUOLOGUE_BANK` names: `serve ADDRESS`, `accept ADDRESS`, `customer ADDRESS TURNS`, or `hold ADDRESS TURNS`.
fn other_language() -> Option<Command> {
    std::env::var_os("DUOLOGUE_BANK").map(Command::new)
}

/// A bank in another process. It is killed when this is dropped.
struct Teller {
    child: Child,
    input: Option<ChildStdin>,
    /// What it prints when it ends.
    last: Receiver<String>,
}

impl Teller {
    /// Starts it, and waits until it has served a session.
    fn start(address: &str) -> Teller {
        let command = match other_language() {
            Some(mut command) => {
                command.arg("serve");
                command
            }
            None => Command::new(env!("CARGO_BIN_EXE_teller")),
        };
        Teller::run(command, address)
    }

    /// A bank in Rust, or this program.
    fn run(mut command: Command, address: &str) -> Teller {
        command
            .arg(address)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("it was built");
        let output = child.stdout.take().expect("it is piped");
        let sessions = Arc::new(AtomicU64::new(0));
        let (say, last) = channel();
        let counted = Arc::clone(&sessions);
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                match &line[..] {
                    "session" => drop(counted.fetch_add(1, SeqCst)),
                    _ => drop(say.send(line)),
                }
            }
        });
        let input = child.stdin.take();
        let teller = Teller { child, input, last };
        until("the bank to serve", || {
            drop(connect::<bank_client::Login>(address));
            sessions.load(SeqCst) > 0
        });
        teller
    }

    /// Lets it drain. Returns how many sessions ended as they should.
    fn end(self) -> u32 {
        self.last_line().parse().expect("it prints a number")
    }

    /// Lets it drain. Returns what it prints then.
    fn last_line(mut self) -> String {
        self.input = None;
        let last = self.last.recv_timeout(2 * LONG).expect("it ends");
        assert!(self.child.wait().expect("it was started").success());
        last
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

#[test]
fn a_bank_in_another_process_serves_its_customers() {
    let server = Server::start();
    let address = server.address("bank");
    let teller = Teller::start(&address);
    for turns in [0, 1, 200] {
        let login = connect(&address).expect("the bank serves");
        bank::customer(login, turns).expect("nothing is lost");
    }
    assert_eq!(teller.end(), 3);
}

/// A bank in another language leaves the group while it is full, and comes back.
#[test]
fn a_bank_of_another_language_that_is_full_leaves_the_group() {
    let Some(mut serve) = other_language() else {
        return;
    };
    let server = Server::start();
    let address = server.address("bank");
    serve.arg("serve").env("NATS_SESSIONS", "1");
    let _teller = Teller::run(serve, &address);
    for _ in 0..3 {
        let mut held = None;
        until("the bank to have space", || {
            held = connect::<bank_client::Login>(&address).ok();
            held.is_some()
        });
        until("a customer to learn that the bank is full", || {
            let refused = connect::<bank_client::Login>(&address).map(drop);
            matches!(
                refused,
                Err(Error::Refused {
                    verdict: Verdict::Full,
                    ..
                })
            )
        });
        drop(held);
    }
}

/// It goes in parts.
#[test]
fn a_message_that_is_longer_than_nats_takes_arrives() {
    let server = Server::with("max_payload: 8192");
    let address = server.address("bank");
    let teller = Teller::start(&address);
    let login: bank_client::Login = connect(&address).expect("the bank serves");
    let answer = login.login("h".repeat(500_000), "1234".to_owned());
    let answer = answer.expect("nothing is lost").recv();
    let LoginResponse::Ok(connected) = answer.expect("nothing is lost") else {
        panic!("the password is right")
    };
    connected.quit().expect("nothing is lost");
    assert_eq!(teller.end(), 1);
}

/// What a customer in another language prints.
fn customer(mut command: Command, address: &str, turns: u32) -> String {
    command.args(["customer", address]).arg(turns.to_string());
    let output = command.output().expect("it can be started");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The process of a customer ends at once after its last message, which arrives nevertheless.
#[test]
fn customers_of_another_language_are_served_by_both() {
    let Some(program) = other_language() else {
        return;
    };
    let other = || Command::new(program.get_program());
    let server = Server::start();
    let mut serve = other();
    serve.arg("serve");
    for bank in [Command::new(env!("CARGO_BIN_EXE_teller")), serve] {
        let address = server.address("bank");
        let teller = Teller::run(bank, &address);
        for turns in [0, 1, 200] {
            assert_eq!(customer(other(), &address, turns), "ok");
        }
        assert_eq!(customer(other(), &server.address("none"), 1), "refused 16");
        assert_eq!(teller.end(), 3);
    }
}

/// A bank in another language that accepts one session after the other, and observes them. It and its customers in that language fail
/// if their observers are called with something else than what they do.
#[test]
fn a_bank_of_another_language_accepts_and_observes() {
    let Some(program) = other_language() else {
        return;
    };
    let other = || Command::new(program.get_program());
    let server = Server::start();
    let address = server.address("bank");
    let mut accept = other();
    accept.arg("accept");
    let teller = Teller::run(accept, &address);
    for turns in [0, 1, 20] {
        assert_eq!(customer(other(), &address, turns), "ok");
        let login = connect(&address).expect("the bank accepts");
        bank::customer(login, turns).expect("nothing is lost");
        let login = connect(&address).expect("the bank accepts");
        drop(bank::log_in(login).expect("nothing is lost"));
    }
    // Twice 0, 1 and 20 turns. Without a turn the bank receives 4 messages and sends 3; for each turn it receives 2 more, and sends one.
    let observed = "6 sessions, 60 messages sent, 108 received";
    assert_eq!(teller.last_line(), observed);
}

/// A bank in Rust leaves the group while it is full, which is not the same as if none ran.
#[test]
fn a_customer_of_another_language_learns_that_all_banks_are_full() {
    let Some(program) = other_language() else {
        return;
    };
    let other = || Command::new(program.get_program());
    let server = Server::start();
    let address = server.address("bank");
    let mut listener = Listener::bind(&address).expect("it listens");
    listener.max_sessions(1);
    listener.serve(|login| {
        let _ended = bank::teller(login);
    });
    let drain = listener.drain();
    let running = thread::spawn(move || listener.run());
    let mut held = None;
    until("the bank to serve", || {
        held = held
            .take()
            .or_else(|| connect::<bank_client::Login>(&address).ok());
        held.is_some()
    });
    assert_eq!(customer(other(), &address, 1), "refused 18");
    drop(held);
    until("the bank to have space", || {
        customer(other(), &address, 1) == "ok"
    });
    drain.begin();
    running.join().expect("no panic").expect("it has drained");
}

/// The NATS server is gone for longer than a message may wait, and what was sent meanwhile is not there twice: a deposit that was
/// repeated would leave money at the end.
#[test]
fn a_customer_of_another_language_survives_a_restart_or_is_lost() {
    let Some(program) = other_language() else {
        return;
    };
    let mut server = Server::start();
    let address = server.address("bank");
    let teller = Teller::run(Command::new(env!("CARGO_BIN_EXE_teller")), &address);
    let mut hold = Command::new(program.get_program());
    hold.args(["hold", &address, "5"]);
    hold.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut held = hold.spawn().expect("it can be started");
    let mut output = BufReader::new(held.stdout.take().expect("it is piped")).lines();
    let mut line = || output.next().expect("a line").expect("it can be read");
    assert_eq!(line(), "held");
    server.restart();
    // It goes on at once, while one of the two may still be away.
    drop(held.stdin.take());
    let ended = line();
    let is_expected = ended == "ok" || ended.contains("lost");
    assert!(is_expected, "{ended}");
    assert!(held.wait().expect("it was started").success());
    until("the bank to serve again", || {
        connect(&address).is_ok_and(|login| bank::customer(login, 3).is_ok())
    });
    assert!(teller.end() >= 1);
}

#[test]
fn another_language_reports_a_missing_permission() {
    let Some(program) = other_language() else {
        return;
    };
    let config = "no_auth_user: holk\nauthorization { users = [ { user: holk, password: \"1234\", permissions: { \
                  publish: [\"duo.at.>\"], subscribe: [\"duo.at.>\"] } } ] }";
    let server = Server::with(config);
    let address = server.address("bank");
    for arguments in [
        &["customer", &address, "1"][..],
        &["serve", &address][..],
        &["accept", &address][..],
    ] {
        let mut command = Command::new(program.get_program());
        // It would end by itself if its input ended.
        let mut child = command
            .args(arguments)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it can be started");
        let _input = child.stdin.take();
        let output = child.wait_with_output().expect("it ends");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            errors.contains("does not permit `duo.bank."),
            "{arguments:?}: {errors}"
        );
    }
}

#[test]
fn a_process_that_is_killed_is_lost() {
    let server = Server::start();
    let address = server.address("bank");
    let teller = Teller::start(&address);
    let connected = bank::log_in(connect(&address).expect("it serves")).expect("it is open");
    drop(teller);
    let mut connected = Some(connected);
    until("the client to notice", || {
        match bank::turn(connected.take().expect("it is put back"), 1.0) {
            Ok(next) => connected = Some(next),
            Err(closed) => assert_eq!(closed.why(), Why::Lost),
        }
        connected.is_none()
    });
}

#[test]
fn what_no_server_understands_is_refused() {
    let server = Server::start();
    let address = server.address("bank");
    let _teller = Teller::start(&address);
    let refused = connect::<pingpong::client::Ping>(&address);
    let is_refused = matches!(
        refused,
        Err(Error::Refused {
            verdict: Verdict::UnknownProtocol,
            ..
        })
    );
    assert!(is_refused, "{:?}", refused.map(drop));
    let nowhere = connect::<pingpong::client::Ping>("nats://127.0.0.1:1/bank");
    assert!(
        matches!(nowhere, Err(Error::Io { .. })),
        "{:?}",
        nowhere.map(drop)
    );
}

/// Idle sessions survive a restart, and later ones work: nothing is published while the server is away.
#[test]
fn a_server_that_is_restarted_is_invisible_unless_something_was_lost() {
    let mut server = Server::start();
    let address = server.address("bank");
    let teller = Teller::start(&address);
    let mut connected = Vec::new();
    for _ in 0..8 {
        let login = connect(&address).expect("the bank serves");
        connected.push(bank::log_in(login).expect("it is open"));
    }
    thread::sleep(Duration::from_millis(100));
    server.restart();
    // A message that is published before the other process is back is lost. Once a new session works, both are.
    until("the bank to serve again", || {
        connect(&address).is_ok_and(|login| bank::customer(login, 3).is_ok())
    });
    for connected in connected {
        let connected = bank::turn(connected, 5.0).expect("nothing was lost");
        connected.quit().expect("nothing was lost");
    }
    // One has worked after the restart.
    assert!(teller.end() > 8);
}

/// The client library gives up after some attempts, if the program says so.
#[test]
fn a_listener_learns_that_the_connection_is_closed_for_good() {
    let mut server = Server::start();
    let client = ConnectOptions::new().max_reconnects(3);
    let exchange = server.exchange(client).expect("it is there");
    let mut listener = Listener::bind_through(&exchange, "bank").expect("it listens");
    let none = listener.accept_within::<bank_server::Login>(Duration::from_millis(1));
    assert!(matches!(none, Err(Error::TimedOut)), "{:?}", none.map(drop));
    let (say, ended) = channel();
    thread::spawn(move || {
        let _gone = say.send(listener.accept_within::<bank_server::Login>(LONG));
    });
    server.kill();
    let ended = ended
        .recv_timeout(2 * LONG)
        .expect("`accept_within` returns");
    let is_reported = matches!(&ended, Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotConnected);
    assert!(is_reported, "{:?}", ended.map(drop));
}

#[test]
fn a_missing_permission_is_reported() {
    let config = "authorization { users = [ { user: holk, password: \"1234\", permissions: { \
                  publish: [\"duo.at.>\"], subscribe: [\"duo.at.>\"] } } ] }";
    let server = Server::with(config);
    let client = ConnectOptions::with_user_and_password("holk".to_owned(), "1234".to_owned());
    let exchange = server.exchange(client).expect("it may take part");
    let mut listener =
        Listener::bind_through(&exchange, "bank").expect("it has not subscribed yet");
    let is_denied = |error: Option<&Error>| matches!(error, Some(Error::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied);
    let denied = listener.accept_within::<bank_server::Login>(LONG);
    assert!(is_denied(denied.as_ref().err()), "{:?}", denied.map(drop));
    let connector = Connector::new().timeout(LONG);
    let denied = connector.connect_through::<bank_client::Login>(&exchange, "bank");
    assert!(is_denied(denied.as_ref().err()), "{:?}", denied.map(drop));
}

/// A process that has one session after another has one connection, and one thread for its heartbeats.
#[test]
fn sessions_one_after_another_share_a_connection() {
    let server = Server::start();
    let address = server.address("bank");
    let teller = Teller::start(&address);
    for _ in 0..40 {
        bank::customer(connect(&address).expect("it serves"), 1).expect("nothing is lost");
    }
    let tasks = std::fs::read_dir("/proc/self/task").expect("the system tells");
    let names = tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    let beating = names
        .filter(|name| name.trim() == "duologue-broker")
        .count();
    // Other tests in this process have connections of their own.
    assert!(beating < 30, "{beating} threads");
    assert_eq!(teller.end(), 40);
}

#[test]
fn a_group_goes_on_while_a_server_leaves_it() {
    let server = Server::start();
    let address = server.address("bank");
    let first = Teller::start(&address);
    let second = Teller::start(&address);
    let leaving = thread::spawn(move || first.end());
    for _ in 0..50 {
        let login = connect(&address).expect("one server is always there");
        bank::customer(login, 2).expect("nothing is lost");
    }
    let ended = leaving.join().expect("no panic") + second.end();
    assert_eq!(ended, 50);
}

/// The sender waits for a reader that does not read, and nothing is lost: NATS alone would drop messages, or the reader.
#[test]
fn a_slow_reader_loses_nothing() {
    let server = Server::start();
    let address = server.address("numbers");
    let mut listener = Listener::bind(&address).expect("it listens");
    let (say, began) = channel();
    thread::spawn(move || {
        let accepted = listener.accept_within::<numbers::server::Stream>(LONG);
        let _gone = say.send(accepted);
    });
    let mut client = None;
    until("the reader to accept", || {
        client = client
            .take()
            .or_else(|| connect::<numbers::client::Stream>(&address).ok());
        client.is_some()
    });
    let accepted = began.recv_timeout(LONG).expect("it accepts");
    let mut reader = accepted.expect("nothing else connects");
    const COUNT: u64 = 300_000;
    let sending = thread::spawn(move || {
        let mut client = client.expect("it has connected");
        for number in 0..COUNT {
            client = client.send(number).expect("nothing is lost");
        }
    });
    thread::sleep(Duration::from_millis(300));
    assert!(!sending.is_finished(), "nobody reads");
    for expected in 0..COUNT {
        let Stream::Send(number, next) = reader.recv().expect("nothing is lost");
        assert_eq!(number, expected);
        reader = next;
    }
    assert_eq!(
        reader.recv().map(drop).expect_err("it has ended").why(),
        Why::Left
    );
    sending.join().expect("nothing is lost");
}
