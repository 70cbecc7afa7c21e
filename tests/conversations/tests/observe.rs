//! What is reported to observers of sessions over sockets.

use conversations::observing::{Told, accepted, observer, serve, shop};
use conversations::protocols::bank::{Login, client, server};
use conversations::protocols::{pingpong, telemetry};
use conversations::sockets::{HELLO, listener, serving, unhex};
use conversations::{LONG, why};
use duologue::Why;
use duologue_net::observe::{Count, End, Observer, Refusal, Run, Session};
use duologue_net::{Address, Connector, Error, Fingerprint, Listener, Open, TraceContext, Verdict};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// Both endpoints of a session, and what is reported to their observers.
fn pair<S: Open, C: Open>(name: &str) -> ((S, Told), (C, Told)) {
    let (mut listener, address) = listener(name);
    let (observing, of_server) = observer();
    listener.observer(observing);
    let (observing, of_client) = observer();
    let (server, client) = accepted(&mut listener, &address, &observing);
    ((server, of_server), (client, of_client))
}

fn count(count: Count) -> (u64, u64) {
    (count.messages, count.bytes)
}

/// A login of 12 bytes (tag, and two counted texts behind the payload's count), numbers of 9 bytes, and answers of 1.
#[test]
fn both_sides_report_the_same_session() {
    let ((server, of_server), (client, of_client)) = pair("observe-same");
    let (seen_by_server, seen_by_client) = (of_server.began(), of_client.began());
    assert!(seen_by_server.accepted && !seen_by_client.accepted);
    assert!(!seen_by_server.sends_first && seen_by_client.sends_first);
    assert_ne!(seen_by_server.id, seen_by_client.id);
    let fingerprint = "6b4021487a63e0618d274211e3ebd7c9";
    for session in [&seen_by_server, &seen_by_client] {
        assert_eq!(session.protocol, "bank");
        assert_eq!(session.fingerprint.to_string(), fingerprint);
        assert_eq!(session.peer_fingerprint, session.fingerprint);
        assert!(!session.peer_is_older);
    }
    assert_eq!(seen_by_server.peer, None);
    assert!(matches!(seen_by_client.peer, Some(Address::Unix(_))));

    let serving = thread::spawn(move || serve(server));
    shop(client).expect("it is open");
    (serving.join().expect("it does not panic")).expect("it is open");

    let runs = [
        ("bank.login", true, (1, 12)),
        ("bank.login_response", false, (1, 1)),
        ("bank.connected", true, (4, 36)),
        ("bank.withdrawal_response", false, (1, 9)),
        ("bank.connected", true, (1, 1)),
    ];
    for (state, of_client_side, expected) in runs {
        for (told, id, sent) in [
            (&of_server, seen_by_server.id, !of_client_side),
            (&of_client, seen_by_client.id, of_client_side),
        ] {
            let run = told.turned(id);
            assert_eq!((run.state, run.sent), (state, sent));
            assert_eq!(count(run.count), expected);
            assert!(run.duration < LONG);
        }
    }
    let by_server = of_server.ended(seen_by_server.id);
    let by_client = of_client.ended(seen_by_client.id);
    for end in [&by_server, &by_client] {
        assert_eq!((end.why, end.state), (Why::Left, None));
        assert!(end.duration < LONG);
    }
    assert_eq!(count(by_client.sent), (6, 49));
    assert_eq!(count(by_client.received), (2, 10));
    assert_eq!(by_server.received, by_client.sent);
    assert_eq!(by_server.sent, by_client.received);
}

/// The listener gets the trace that the connecting side sends, before it admits the peer and in what it reports.
#[test]
fn a_session_belongs_to_the_trace_of_the_connecting_side() {
    let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let trace: TraceContext = text.parse().expect("it is one");
    let (mut listener, address) = listener("observe-trace");
    let (observing, of_server) = observer();
    let (admitting, admitted) = mpsc::channel();
    listener.observer(observing);
    listener.admit(move |peer| admitting.send(peer.trace).is_ok());
    for sent in [Some(trace), None] {
        let (observing, of_client) = observer();
        let mut connector = Connector::new().observer(observing);
        if let Some(trace) = sent {
            connector = connector.trace_context(trace);
        }
        let address = address.clone();
        let connecting = thread::spawn(move || connector.connect::<client::Login>(&address));
        let server: server::Login = listener.accept().expect("it connects");
        let client = (connecting.join().expect("no panic")).expect("it is served");
        assert_eq!(admitted.recv().expect("it was asked"), sent);
        assert_eq!(of_client.began().trace, sent);
        let seen = of_server.began();
        assert_eq!(seen.trace, sent);
        drop(client);
        drop(server);
        assert_eq!(of_server.ended(seen.id).why, Why::Left);
    }
}

/// Messages of a run that are encoded together are counted even if the last of them is too large.
#[test]
fn what_was_sent_before_a_message_that_is_too_large_is_counted() {
    let (mut listener, address) = listener("observe-large");
    listener.max_payload(1_024);
    let (observing, of_server) = observer();
    listener.observer(observing);
    let (observing, of_client) = observer();
    let (server, mut client): (telemetry::server::Report, telemetry::client::Report) =
        accepted(&mut listener, &address, &observing);
    let (server_id, client_id) = (of_server.began().id, of_client.began().id);
    for _ in 0..5 {
        client = (client.raw(true, String::new(), vec![7; 10])).expect("it is open");
    }
    let client = client.raw(true, String::new(), vec![7; 2_000]);
    drop(client.expect("the next operation reports it"));
    drop(server);
    let (sent, received) = (of_client.ended(client_id), of_server.ended(server_id));
    assert_eq!(
        (sent.why, sent.state),
        (Why::TooLarge, Some("telemetry.report"))
    );
    // A tag, the payload's count, a flag, and two values with a count each.
    assert_eq!(count(sent.sent), (5, 5 * 15));
    assert_eq!(received.state, Some("telemetry.report"));
}

/// A client that is only a socket, after its hello was answered; and the server's side.
fn raw(name: &str) -> (UnixStream, server::Login, Told) {
    let (mut listener, address) = listener(name);
    let (observing, told) = observer();
    listener.observer(observing);
    let path = address.strip_prefix("unix:").expect("a Unix socket");
    let mut raw = UnixStream::connect(path).expect("it listens");
    raw.write_all(&unhex(HELLO)).expect("it is read");
    let server = listener.accept().expect("it connects");
    raw.read_exact(&mut [0; 38]).expect("it is answered");
    (raw, server, told)
}

#[test]
fn a_peer_that_is_killed_or_half_closed_is_lost() {
    for is_killed in [true, false] {
        let (mut raw, server, told) = raw(&format!("observe-lost-{is_killed}"));
        let id = told.began().id;
        // A login, and later the first byte of a frame that never comes.
        (raw.write_all(b"\x01\x03\x01n\x00")).expect("it is read");
        let Ok(Login::Login { next: answer, .. }) = server.recv() else {
            panic!("what arrived before the end is delivered")
        };
        let account = answer.ok().expect("it is open");
        raw.write_all(b"\x01").expect("it is read");
        if is_killed {
            drop(raw);
        } else {
            raw.shutdown(Shutdown::Write).expect("it is open");
        }
        assert_eq!(why(account.recv()), Why::Lost);
        let run = told.turned(id);
        assert_eq!((run.state, count(run.count)), ("bank.login", (1, 5)));
        let run = told.turned(id);
        assert_eq!(run.state, "bank.login_response");
        let end = told.ended(id);
        assert_eq!((end.why, end.state), (Why::Lost, Some("bank.connected")));
        assert_eq!((count(end.received), count(end.sent)), ((1, 5), (1, 1)));
    }
}

#[test]
fn a_peer_that_breaks_the_format_is_reported() {
    let (mut raw, server, told) = raw("observe-broken");
    let id = told.began().id;
    raw.write_all(b"\x7f").expect("it is read");
    assert_eq!(why(server.recv()), Why::Broken);
    let end = told.ended(id);
    assert_eq!((end.why, end.state), (Why::Broken, Some("bank.login")));
}

/// Serves the bank while `act` runs.
fn served(mut listener: Listener, act: impl FnOnce()) {
    listener.serve(|login: server::Login| {
        let _ended = serve(login);
    });
    serving(listener, act);
}

#[test]
fn a_refused_hello_is_reported_by_both_sides() {
    let (mut listener, address) = listener("observe-refused");
    let (observing, of_server) = observer();
    listener
        .observer(observing)
        .admit(|peer| peer.token != Some(b"bad"));
    let (observing, of_client) = observer();
    let connector = Connector::new().observer(observing);
    served(listener, || {
        let refused = connector.connect::<pingpong::client::Ping>(&address);
        let verdict = Verdict::UnknownProtocol;
        assert!(matches!(refused, Err(Error::Refused { verdict: of, .. }) if of == verdict));
        for (told, accepted) in [(&of_server, true), (&of_client, false)] {
            let (side, protocol, peer, cause) = told.refused();
            assert_eq!((side, protocol.as_deref()), (accepted, Some("pingpong")));
            assert_eq!(cause, "Verdict(UnknownProtocol)");
            assert_eq!(peer.is_some(), !accepted);
            told.nothing();
        }

        let token = connector.clone().token("bad");
        assert!(token.connect::<client::Login>(&address).is_err());
        for told in [&of_server, &of_client] {
            let (_, protocol, _, cause) = told.refused();
            let refused = (protocol.as_deref(), &*cause);
            assert_eq!(refused, (Some("bank"), "Verdict(NotAdmitted)"));
            told.nothing();
        }
    });

    // Nobody is there.
    assert!(connector.connect::<client::Login>(&address).is_err());
    let (_, _, peer, cause) = of_client.refused();
    assert!(peer.is_some() && cause.starts_with("Error(Io"), "{cause}");
    assert!(connector.connect::<client::Login>("nowhere").is_err());
    let (_, _, peer, cause) = of_client.refused();
    assert!(
        peer.is_none() && cause.starts_with("Error(Address"),
        "{cause}"
    );
    of_client.nothing();
    of_server.nothing();
}

#[test]
fn a_connection_without_a_hello_is_reported() {
    let (mut listener, address) = listener("observe-hello");
    let (observing, told) = observer();
    listener.observer(observing);
    listener.hello_timeout(Duration::from_millis(100));
    let path = address.strip_prefix("unix:").expect("a Unix socket");
    let mut malformed = unhex(HELLO);
    malformed[9] = 0x80;
    let said = [&b""[..], b"GET / HTTP/1.1\r\n\r\n", &malformed];
    let causes = ["Error(TimedOut)", "NoHello", "Verdict(Malformed)"];
    served(listener, || {
        drop(UnixStream::connect(path).expect("it listens"));
        assert_eq!(told.refused(), (true, None, None, "NoHello".to_owned()));
        for (said, cause) in said.into_iter().zip(causes) {
            let mut raw = UnixStream::connect(path).expect("it listens");
            raw.write_all(said).expect("it is read");
            assert_eq!(told.refused(), (true, None, None, cause.to_owned()));
        }
        told.nothing();
    });
}

/// Where an older version is accepted, the side that accepts it learns it.
#[test]
fn an_older_peer_is_recognized() {
    let (mut listener, address) = listener("observe-older");
    let (observing, told) = observer();
    listener.observer(observing);
    let old = Fingerprint([7; 16]);
    let mut hello = unhex(HELLO);
    hello[12..28].copy_from_slice(&old.0);
    let path = address.strip_prefix("unix:").expect("a Unix socket");
    let mut raw = UnixStream::connect(path).expect("it listens");
    raw.write_all(&hello).expect("it is read");
    let server = listener.accept_accepting::<server::Login>(&[old], Some(LONG));
    let session = told.began();
    assert!(session.peer_is_older);
    assert_eq!(session.peer_fingerprint, old);
    assert_ne!(session.fingerprint, old);
    drop(server);
    assert_eq!(told.ended(session.id).why, Why::Left);
}

#[test]
fn a_tcp_peer_has_its_address() {
    let mut listener = Listener::bind("tcp://127.0.0.1:0").expect("a port is free");
    let address = listener.address().to_string();
    let (observing, told) = observer();
    listener.observer(Arc::clone(&observing));
    let (server, client): (server::Login, client::Login) =
        accepted(&mut listener, &address, &observing);
    let sessions = [told.began(), told.began()];
    for session in sessions {
        let Some(peer @ Address::Tcp(_)) = session.peer else {
            panic!("{session:?}")
        };
        let peer = peer.to_string();
        assert!(peer.starts_with("tcp://127.0.0.1:"));
        assert_eq!(peer == address, !session.accepted);
    }
    drop((server, client));
}

/// Panics in every method.
struct Panicking;

impl Observer for Panicking {
    fn began(&self, _: &Session) {
        panic!("a test of observers that panic")
    }

    fn turned(&self, _: &Session, _: &Run) {
        panic!("a test of observers that panic")
    }

    fn ended(&self, _: &Session, _: &End) {
        panic!("a test of observers that panic")
    }

    fn refused(&self, _: &Refusal<'_>) {
        panic!("a test of observers that panic")
    }
}

#[test]
fn a_panic_of_an_observer_leaves_the_session_as_it_is() {
    let (mut listener, address) = listener("observe-panic");
    let observing: Arc<dyn Observer> = Arc::new(Panicking);
    listener.observer(Arc::clone(&observing));
    let (server, client) = accepted(&mut listener, &address, &observing);
    let serving = thread::spawn(move || serve(server));
    shop(client).expect("it is open");
    (serving.join().expect("it does not panic")).expect("it is open");

    served(listener, || {
        let connector = Connector::new().observer(observing);
        let refused = connector.connect::<pingpong::client::Ping>(&address);
        assert!(matches!(refused, Err(Error::Refused { .. })));
    });
}
