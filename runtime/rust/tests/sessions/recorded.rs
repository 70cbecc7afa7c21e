//! Sessions that are recorded, and sessions that their observer stops.

use std::io::{self, Write};
use std::sync::{mpsc, Arc, Mutex, TryLockError};
use std::thread;
use std::time::Duration;

use duologue::generated::{session, Slot};
use duologue::observe::{End, Message, Observer, Recorder, Registry, Session, Side};
use duologue::{observed, Capacity, Closed, SharedSender, Why};

use crate::bomb::explode;
use crate::golden::stream;
use crate::golden::{bank, type_switch};
use crate::observed::{serve, shop};

/// A destination that keeps what is written, and waits while it is held.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    bytes: Vec<u8>,
    is_held: bool,
    /// Whether a thread waits to write.
    waits: bool,
}

impl Kept {
    /// Threads do not wait in the standard library, where the thread sanitizer does not see them.
    fn with<T>(&self, act: impl FnOnce(&mut Held) -> T) -> T {
        loop {
            match self.0.try_lock() {
                Ok(mut held) => return act(&mut held),
                Err(TryLockError::WouldBlock) => thread::yield_now(),
                Err(TryLockError::Poisoned(_)) => panic!("nobody panics here"),
            }
        }
    }

    fn hold(&self, is_held: bool) {
        self.with(|kept| kept.is_held = is_held);
    }

    /// Waits until a thread waits to write.
    fn wait_for_writer(&self) {
        while !self.with(|kept| kept.waits) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The lines without the beginning `{"session":"N"`, where N is counted from 1 in the order in which the sessions appear.
    fn lines(&self) -> Vec<(usize, String)> {
        let text = self.with(|kept| kept.bytes.clone());
        let text = String::from_utf8(text).expect("it is UTF-8");
        let mut known = Vec::new();
        let lines = text.lines().map(|line| {
            let line = line.strip_prefix("{\"session\":\"").expect("a session");
            let (session, rest) = line.split_once("\",").expect("and more");
            if !known.contains(&session) {
                known.push(session);
            }
            let number = known.iter().position(|one| *one == session);
            (1 + number.expect("it is there"), rest.to_owned())
        });
        lines.collect()
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let write = |kept: &mut Held| {
            kept.waits = kept.is_held;
            if !kept.is_held {
                kept.bytes.extend_from_slice(bytes);
            }
            !kept.is_held
        };
        while !self.with(write) {
            thread::sleep(Duration::from_millis(1));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn of(from: &str, message: &str) -> String {
    format!("\"from\":\"{from}\",\"message\":\"{message}\"}}")
}

#[test]
fn the_messages_of_a_session_are_recorded_in_order() -> Result<(), Box<dyn std::error::Error>> {
    let kept = Kept::default();
    let recorder = Recorder::new(kept.clone())?;
    let (server, client) = observed(bank::init(), Arc::new(recorder.clone()));
    let serving = thread::spawn(move || serve(server));
    shop(client)?;
    serving.join().expect("no panic")?;
    let (server, client) = observed(bank::init(), Arc::new(recorder.clone()));
    drop(client);
    drop(server);
    recorder.flush()?;
    assert_eq!(recorder.dropped(), 0);
    let first = format!("\"protocol\":\"bank\",{}", of("client", "login"));
    let left = "\"protocol\":\"bank\",\"from\":\"client\",\"kind\":\"left\"}";
    let expected = [
        (1, first),
        (1, of("server", "ok")),
        (1, of("client", "deposit")),
        (1, of("client", "deposit")),
        (1, of("client", "withdrawal")),
        (1, of("server", "money")),
        (1, of("client", "quit")),
        (2, left.to_owned()),
    ];
    assert_eq!(kept.lines(), expected);
    Ok(())
}

/// What does not fit is left out from there on, which the log says, and what comes later is recorded again.
#[test]
fn a_slow_destination_holds_up_no_session() -> Result<(), Box<dyn std::error::Error>> {
    let kept = Kept::default();
    let recorder = Recorder::with_buffer(kept.clone(), 1_000)?.prefix("a \"run\"-");
    kept.hold(true);
    let (server, mut client) = observed(stream::init::<u8>(), Arc::new(recorder.clone()));
    client = client.send(1)?;
    // From now on nothing leaves the buffer.
    kept.wait_for_writer();
    for _ in 1..200 {
        client = client.send(1)?;
    }
    // Of this session there is nothing, and so no end either.
    let other = observed(stream::init::<u8>(), Arc::new(recorder.clone()));
    drop((server, other.1.send(1)?, other.0));
    assert!(recorder.dropped() > 100, "{}", recorder.dropped());
    kept.hold(false);
    recorder.flush()?;
    let (server, client) = observed(stream::init::<u8>(), Arc::new(recorder.clone()));
    client.stop()?;
    drop(server);
    recorder.flush()?;
    let lines = kept.lines();
    let (last, before) = lines.split_last().expect("there are lines");
    assert!(last.1.ends_with(&of("client", "stop")), "{last:?}");
    let (end, before) = before.split_last().expect("there are lines");
    assert_eq!(end.1, "\"kind\":\"ended\",\"dropped\":true}");
    assert!(before.len() < 40 && !before.is_empty());
    let sent = before
        .iter()
        .all(|(_, line)| line.ends_with(&of("client", "send")));
    assert!(sent, "{before:?}");
    let missing = 202 - before.len() as u64;
    assert!(recorder.dropped() >= missing - 1, "{missing} are missing");
    Ok(())
}

struct Fails;

impl Write for Fails {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match bytes.len() % 2 {
            0 => Err(io::Error::other("the disk is full")),
            _ => explode(),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_destination_that_fails_or_panics_is_reported() -> Result<(), Box<dyn std::error::Error>> {
    for prefix in ["", "1"] {
        let recorder = Recorder::new(Fails)?.prefix(prefix);
        let (server, client) = observed(stream::init::<u8>(), Arc::new(recorder.clone()));
        let client = client.send(1)?;
        let error = recorder.flush().expect_err("it fails").to_string();
        assert!(
            error == "the disk is full" || error == "the writer panicked",
            "{error}"
        );
        drop(client.send(2)?);
        drop(server);
        // Neither the message on which it failed is written, nor the one after it.
        assert_eq!(recorder.dropped(), 2);
    }
    Ok(())
}

/// A destination that fails while more waits: none of it is written, so all of it is missing.
#[test]
fn what_waits_for_a_destination_that_fails_is_missing() -> Result<(), Box<dyn std::error::Error>> {
    struct Late(Kept);

    impl Write for Late {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write_all(bytes)?;
            Err(io::Error::other("the disk is full"))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let kept = Kept::default();
    kept.hold(true);
    let recorder = Recorder::new(Late(kept.clone()))?;
    let (server, mut client) = observed(stream::init::<u8>(), Arc::new(recorder.clone()));
    for _ in 0..100 {
        client = client.send(1)?;
    }
    assert_eq!(recorder.dropped(), 0);
    kept.hold(false);
    assert!(recorder.flush().is_err());
    assert_eq!(recorder.dropped(), 100);
    drop((client, server));
    Ok(())
}

/// A session that sends a message whenever something is written, so there is always more to write.
struct Busy(Arc<Mutex<Option<stream::client::Stream<u8>>>>);

impl Write for Busy {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut client = self.0.lock().expect("nobody panics here");
        *client = client.take().and_then(|client| client.send(1).ok());
        drop(client);
        thread::sleep(Duration::from_millis(1));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn flush_does_not_wait_for_what_comes_later() -> Result<(), Box<dyn std::error::Error>> {
    let busy = Arc::new(Mutex::new(None));
    let recorder = Recorder::new(Busy(busy.clone()))?;
    let (server, client) = observed(stream::init::<u8>(), Arc::new(recorder.clone()));
    *busy.lock().expect("nobody panics here") = Some(client.send(1)?);
    let (tell, told) = mpsc::channel();
    let flushing = recorder.clone();
    let flushing = thread::spawn(move || tell.send(flushing.flush().is_ok()));
    let flushed = told.recv_timeout(Duration::from_secs(60));
    let client = busy.lock().expect("nobody panics here").take();
    assert!(client.is_some(), "the session still sends");
    drop((client, server));
    assert_eq!(flushed, Ok(true));
    flushing.join().expect("no panic")?;
    Ok(())
}

/// Stops a session before the message with this name.
struct Stops(&'static str, Mutex<Option<End>>);

impl Stops {
    fn before(name: &'static str) -> Arc<Stops> {
        Arc::new(Stops(name, Mutex::default()))
    }

    fn end(&self) -> End {
        let end = self.1.lock().expect("nobody panics here").take();
        end.expect("it has ended")
    }
}

impl Observer for Stops {
    fn allows(&self, session: &Session, message: &Message) -> Result<(), String> {
        match message.name == self.0 {
            true => Err(format!("no {} in {}", message.name, session.protocol)),
            false => Ok(()),
        }
    }

    fn ended(&self, _: &Session, end: &End) {
        *self.1.lock().expect("nobody panics here") = Some(end.clone());
    }
}

#[test]
fn an_observer_stops_a_session_before_a_message() -> Result<(), Box<dyn std::error::Error>> {
    let (stops, kept) = (Stops::before("withdrawal"), Kept::default());
    let recorder = Recorder::new(kept.clone())?;
    let observer = Arc::new((stops.clone(), recorder.clone()));
    let (server, client) = observed(bank::init(), observer);
    let serving = thread::spawn(move || serve(server));
    let closed = shop(client).expect_err("it is stopped");
    assert_eq!((closed.why(), closed.state()), (Why::Stopped, "connected"));
    assert!(closed.to_string().contains("did not allow"), "{closed}");
    let closed = serving.join().expect("no panic").expect_err("it is closed");
    assert_eq!(closed.why(), Why::Stopped);
    let end = stops.end();
    assert_eq!(end.stopped.as_deref(), Some("no withdrawal in bank"));
    assert_eq!(end.state, Some("bank.connected"));
    assert_eq!((end.sent_by_client, end.sent_by_server), (3, 1));
    recorder.flush()?;
    let lines = kept.lines();
    let last = "\"from\":\"client\",\"kind\":\"left\",\"why\":\"no withdrawal in bank\"}";
    assert_eq!(lines.last(), Some(&(1, last.to_owned())));
    assert_eq!(lines.len(), 5);
    Ok(())
}

/// The payload comes back, from an answer, the last message, and a shared sender.
#[test]
fn a_message_that_is_not_allowed_is_not_lost() -> Result<(), Closed> {
    let stops = Stops::before("thing");
    let (server, client) = observed(type_switch::init(), stops.clone());
    let waiting = client.get_int()?;
    let type_switch::Start::GetInt(answer) = server.recv()? else {
        panic!("an int")
    };
    assert_eq!(
        answer.thing(7).expect_err("it is stopped").into_payload(),
        7
    );
    assert_eq!(
        waiting.recv().map(drop).expect_err("it is closed").why(),
        Why::Stopped
    );
    assert!(stops.end().stopped.is_some());

    let stops = Stops::before("stop");
    let (server, client) = observed(stream::init::<u8>(), stops.clone());
    let client = client.send(1)?;
    assert!(client.stop().is_err());
    // What was sent before arrives.
    let server = server.recv()?.sent_is(1);
    assert_eq!(
        server.recv().map(drop).expect_err("it is closed").why(),
        Why::Stopped
    );
    assert!(stops.end().stopped.is_some());

    let token = Arc::new(());
    let stops = Stops::before("send");
    let slot = Slot::new().messages(3).fit::<Arc<()>>();
    let (sender, receiver) = session::<stream::state::Stream<Arc<()>>>(slot, Capacity::Unbounded);
    let (server, sender) = observed((receiver, sender), stops.clone());
    let shared = SharedSender::new(sender);
    let failed = shared.send::<0>(token.clone());
    assert_eq!(
        failed.expect_err("it is stopped").closed().why(),
        Why::Stopped
    );
    let again = shared.send::<0>(token.clone());
    assert!(again.is_err());
    drop(again);
    assert_eq!(Arc::strong_count(&token), 1);
    assert!(server.recv().is_err());
    drop(shared);
    assert!(stops.end().stopped.is_some());
    Ok(())
}

/// A registry knows for which side each session waits, from its beginning to its end.
#[test]
fn a_registry_shows_what_sessions_wait_for() -> Result<(), Closed> {
    let registry = Registry::new();
    let show = || -> Vec<_> {
        let sessions = registry.sessions();
        let all = sessions.iter();
        all.map(|one| (one.state, one.turn, one.messages)).collect()
    };
    let (server, client) = observed(bank::init(), Arc::new(registry.clone()));
    assert_eq!(show(), [(Some("bank.login"), Side::Client, 0)]);
    let waiting = client.login(String::new(), String::new())?;
    assert_eq!(show(), [(Some("bank.login_response"), Side::Server, 1)]);
    // Two sessions that wait for each other: the second is that of a teller who asks another customer first.
    let other = observed(type_switch::init(), Arc::new(registry.clone()));
    thread::sleep(Duration::from_millis(20));
    let stuck = registry.waiting(Duration::from_millis(10));
    assert_eq!(stuck.len(), 2);
    assert!(registry.waiting(Duration::from_secs(1_000)).is_empty());
    let text = stuck[0].to_string();
    assert!(
        text.contains(" bank.login_response waits 0.")
            && text.ends_with(" s for the server, 1 message"),
        "{text}"
    );
    let json = registry.json();
    let expected = format!(
        "{{\"format\":1,\"language\":\"rust\",\"process\":{},\"sessions\":[{{\"session\":\"{}\",\"protocol\":\"bank\",\
         \"state\":\"bank.login_response\",\"turn\":\"server\",\"waits\":",
        std::process::id(),
        stuck[0].session
    );
    assert!(json.starts_with(&expected), "{json}");
    assert!(json.ends_with("],\"deadlocks\":[]}"), "{json}");
    drop(other);
    let bank::Login::Login { next, .. } = server.recv()?;
    let server = next.ok()?;
    let bank::LoginResponse::Ok(client) = waiting.recv()? else {
        panic!("the password is right")
    };
    client.deposit(1.0)?.quit()?;
    assert_eq!(show(), [(None, Side::Server, 4)]);
    drop(server);
    assert!(show().is_empty());
    let json = registry.json();
    assert!(
        json.ends_with(",\"sessions\":[],\"deadlocks\":[]}"),
        "{json}"
    );
    Ok(())
}
