//! Records of sessions over sockets.

use conversations::LONG;
use conversations::observing::{accepted, serve, shop};
use conversations::protocols::{bank, numbers};
use conversations::sockets::{listener, log_in, serving};
use duologue_net::Connector;
use duologue_net::health::{self, Health, Status};
use duologue_net::observe::{Observer, Recorder, Registry};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Keeps what a recorder writes.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0
            .lock()
            .expect("nobody panics")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Kept {
    /// The lines without the name of their session, once there are this many.
    fn lines(&self, recorder: &Recorder, count: usize) -> Vec<String> {
        let deadline = Instant::now() + LONG;
        loop {
            recorder.flush().expect("it is kept");
            let text = self.0.lock().expect("nobody panics").clone();
            let text = String::from_utf8(text).expect("it is UTF-8");
            if text.lines().count() >= count {
                let lines = text.lines().map(|line| {
                    let line = line.strip_prefix("{\"session\":\"test-socket-");
                    let rest = line.and_then(|line| line.split_once("\","));
                    rest.expect("a session").1.to_owned()
                });
                return lines.collect();
            }
            assert!(Instant::now() < deadline, "only this is recorded: {text}");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Each side records what it sends and what arrives for it, in a run all messages.
#[test]
fn both_sides_of_a_session_are_recorded() {
    const MANY: u64 = 3_000;
    let record = || {
        let kept = Kept::default();
        let recorder = Recorder::new(kept.clone()).expect("a thread begins");
        (kept, recorder.prefix("test-"))
    };
    let ((of_server, server_recorder), (of_client, client_recorder)) = (record(), record());
    let (mut listener, address) = listener("observe-recorded");
    listener.observer(Arc::new(server_recorder.clone()));
    let observing: Arc<dyn Observer> = Arc::new(client_recorder.clone());
    let (server, client) = accepted(&mut listener, &address, &observing);
    let serving = thread::spawn(move || serve(server));
    shop(client).expect("it is open");
    (serving.join().expect("it does not panic")).expect("it is open");
    let said = [
        (true, "login"),
        (false, "ok"),
        (true, "deposit"),
        (true, "deposit"),
        (true, "deposit"),
        (true, "withdrawal"),
        (false, "money"),
        (true, "quit"),
    ];
    let sides = [
        ("client", &of_client, &client_recorder),
        ("server", &of_server, &server_recorder),
    ];
    for (side, kept, recorder) in sides {
        let lines = kept.lines(recorder, said.len());
        assert_eq!(lines.len(), said.len());
        for (number, ((by_client, name), line)) in said.iter().zip(&lines).enumerate() {
            let kind = match *by_client == (side == "client") {
                true => "send",
                false => "receive",
            };
            let protocol = if number == 0 {
                "\"protocol\":\"bank\","
            } else {
                ""
            };
            let expected =
                format!("{protocol}\"at\":\"{side}\",\"kind\":\"{kind}\",\"message\":\"{name}\"}}");
            assert_eq!(*line, expected);
        }
    }

    let (mut server, mut client): (numbers::server::Stream, numbers::client::Stream) =
        accepted(&mut listener, &address, &observing);
    let sending = thread::spawn(move || {
        for number in 0..MANY {
            client = client.send(number).expect("it is open");
        }
        drop(client);
    });
    while let Ok(numbers::Stream::Send(_, next)) = server.recv() {
        server = next;
    }
    sending.join().expect("it does not panic");
    for (side, kept, recorder) in sides {
        // If the observer does not keep up with the run, its end is left out, and counted.
        let end = "\"kind\":\"ended\"";
        let deadline = Instant::now() + LONG;
        let lines = loop {
            let lines = kept.lines(recorder, said.len() + 1);
            let run = u64::try_from(lines.len() - said.len() - 1).expect("it is small");
            let is_over = lines.last().is_some_and(|last| last.contains(end));
            if is_over && run + recorder.dropped() == MANY {
                break lines;
            }
            assert!(Instant::now() < deadline, "{run} are recorded");
            thread::sleep(Duration::from_millis(5));
        };
        let (last, before) = lines.split_last().expect("there are lines");
        let run = &before[said.len()..];
        assert!(
            run.iter()
                .all(|line| line.ends_with("\"message\":\"send\"}"))
        );
        let how = match recorder.dropped() {
            0 => "\"why\":\"Left\"",
            _ => "\"dropped\":true",
        };
        assert_eq!(*last, format!("\"at\":\"{side}\",{end},{how}}}"));
    }
}

/// The program does not have the protocol of health checks, so a log with them could not be checked.
#[test]
fn health_checks_are_not_recorded() {
    let kept = Kept::default();
    let recorder = Recorder::new(kept.clone()).expect("a thread begins");
    let recorder = recorder.prefix("test-");
    let (mut listener, address) = listener("observe-health");
    let observer: Arc<dyn Observer> = Arc::new(recorder.clone());
    listener.observer(Arc::clone(&observer));
    listener.health(&Health::new());
    listener.serve(|login: bank::server::Login| drop(login.recv()));
    let connector = Connector::new().observer(observer);
    serving(listener, || {
        let status = health::check(&connector, &address, "").expect("it answers");
        assert_eq!(status, Status::Serving);
        let login: bank::client::Login = connector.connect(&address).expect("it is served");
        assert!(log_in(login).is_err());
    });
    let lines = kept.lines(&recorder, 4);
    assert_eq!(lines.len(), 4, "{lines:?}");
    let sent = lines.iter().filter(|line| line.contains("\"login\""));
    assert_eq!(sent.count(), 2, "{lines:?}");
}

/// Both sides of a session are in the registry until they end, with the side whose turn it is.
#[test]
fn a_registry_shows_what_sessions_wait_for() {
    let registry = Registry::new();
    let (mut listener, address) = listener("observe-registry");
    listener.observer(Arc::new(registry.clone()));
    let observing: Arc<dyn Observer> = Arc::new(registry.clone());
    let waits_for = |expected: &[&str]| {
        let deadline = Instant::now() + LONG;
        loop {
            let sessions = registry.sessions();
            let all = sessions.iter().map(|one| {
                let state = one.state.unwrap_or("nothing");
                format!("{state}, {}, {}", one.turn, one.messages)
            });
            let all: Vec<String> = all.collect();
            if all == expected {
                break;
            }
            assert!(Instant::now() < deadline, "{all:?}");
            thread::sleep(Duration::from_millis(5));
        }
    };
    let (server, client): (bank::server::Login, bank::client::Login) =
        accepted(&mut listener, &address, &observing);
    waits_for(&["bank.login, client, 0", "bank.login, client, 0"]);
    let waiting = client
        .login(String::new(), String::new())
        .expect("it is open");
    let bank::Login::Login { next, .. } = server.recv().expect("it is open");
    let both = "bank.login_response, server, 1";
    waits_for(&[both, both]);
    let server = next.ok().expect("it is open");
    assert!(matches!(waiting.recv(), Ok(bank::LoginResponse::Ok(_))));
    drop(server);
    waits_for(&[]);
}
