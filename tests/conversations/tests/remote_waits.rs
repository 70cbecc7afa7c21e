//! Hellos that are refused, and listeners that drain.

use conversations::protocols::bank::{Connected, client, server};
use conversations::protocols::telemetry;
use conversations::sockets::{accepted, listener, log_in, logged_in, path, serving, unhex};
use conversations::waiting::spawn_until_asleep;
use conversations::{LONG, why};
use duologue::{Closed, Why};
use duologue_net::{Error, Listener};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// The `bad` lines of `tests/wire/streams.txt`.
#[test]
fn hellos_are_refused_as_the_format_says() {
    let path = path("bad");
    let mut listener = Listener::bind(&format!("unix:{}", path.display())).expect("free");
    listener.serve(|_: server::Login| {});
    let text = include_str!("../../wire/streams.txt");
    let lines: Vec<&str> = (text.lines().filter_map(|line| line.strip_prefix("bad "))).collect();
    assert!(lines.len() > 20, "only {} lines", lines.len());
    serving(listener, || {
        for line in lines {
            let (hex, verdict) = line.split_once(' ').expect("bytes and a verdict");
            let mut raw = UnixStream::connect(&path).expect("it listens");
            raw.set_read_timeout(Some(LONG)).expect("it is not zero");
            raw.write_all(&unhex(hex)).expect("it is read");
            let mut answer = Vec::new();
            // A connection with unread bytes may be reset after the answer.
            let _ = raw.read_to_end(&mut answer);
            let expected = match verdict {
                "close" => Vec::new(),
                _ => {
                    let verdict = verdict.parse().expect("a number");
                    [b"duologue".as_slice(), &[1, verdict, 4, 0, 0, 0, 0, 0]].concat()
                }
            };
            assert_eq!(answer, expected, "{line}");
        }
    });
}

/// A hello that was admitted before the listener drains becomes a session.
#[test]
fn a_listener_that_drains_accepts_what_has_begun() {
    let (mut listener, address) = listener("drained");
    let drain = listener.drain();
    listener.admit(move |_| {
        drain.begin();
        // The listener has time to see that.
        thread::sleep(Duration::from_millis(50));
        true
    });
    let client = thread::spawn(move || duologue_net::connect::<client::Login>(&address));
    let server: server::Login = listener.accept_within(LONG).expect("it has begun");
    let client = client.join().expect("no panic").expect("it is accepted");
    drop((server, client));
    // However often it is asked.
    for _ in 0..2 {
        let none = listener.accept_within::<server::Login>(LONG);
        assert!(matches!(none, Err(Error::Drained)));
    }
    listener.run().expect("it has no sessions");
}

/// Sessions that have not ended when the time of a drain is over are ended: this side is lost, and the peer finds that it has left.
#[test]
fn a_drain_ends_the_sessions_that_are_left() {
    let (mut listener, address) = listener("drain-handlers");
    let (report, reported) = mpsc::channel();
    listener.serve(move |login: server::Login| {
        let ended = login.recv().map(drop).map_err(|closed| closed.why());
        report.send(ended).expect("the test waits for it");
    });
    let drain = listener.drain();
    let running = thread::spawn(move || listener.run());
    let connect = || duologue_net::connect(&address).expect("it is accepted");
    let [first, second]: [client::Login; 2] = [connect(), connect()];
    // One has ended by itself.
    drop(first);
    assert_eq!(reported.recv_timeout(LONG), Ok(Err(Why::Left)));
    assert!(!drain.within(Duration::from_millis(20)));
    assert_eq!(reported.recv_timeout(LONG), Ok(Err(Why::Lost)));
    running.join().expect("no panic").expect("it drains");
    assert_eq!(why(log_in(second)), Why::Left);
    assert!(drain.within(LONG), "none is left");
}

/// The same for sessions that `accept` has returned, whether it is the turn of this side or of the peer, which is not waiting.
#[test]
fn a_drain_ends_sessions_that_were_accepted() {
    let (mut listener, address) = listener("drain-accepted");
    let drain = listener.drain();
    let (waits, client): (server::Login, client::Login) = accepted(&mut listener, &address);
    let sends = logged_in(accepted(&mut listener, &address));
    let (sends, withdraws) = (sends.0, sends.1.withdrawal(1.0).expect("it is open"));
    let Ok(Connected::Withdrawal { next: answer, .. }) = sends.recv() else {
        panic!("the client withdraws money")
    };
    assert!(!drain.within(Duration::from_millis(20)));
    assert_eq!(why(waits.recv()), Why::Lost);
    assert_eq!(why(log_in(client)), Why::Left);
    assert_eq!(why(answer.money(1.0)), Why::Lost);
    assert_eq!(why(withdraws.recv()), Why::Left);
    assert!(drain.within(LONG), "none is left");
}

/// A peer that reads nothing holds neither the drain up nor the thread that sends to it.
#[test]
fn a_drain_ends_a_session_that_cannot_be_written() {
    let (mut listener, address) = listener("drain-stuck");
    let drain = listener.drain();
    let (mut sender, reader): (telemetry::client::Report, telemetry::server::Report) =
        accepted(&mut listener, &address);
    let (report, reported) = mpsc::channel();
    let _sending = spawn_until_asleep(move || {
        let why = loop {
            match sender.raw(true, String::new(), vec![7; 1 << 16]) {
                Ok(next) => sender = next,
                Err(error) => break Closed::from(error).why(),
            }
        };
        report.send(why)
    });
    assert!(!drain.within(Duration::ZERO));
    assert_eq!(reported.recv_timeout(LONG), Ok(Why::Lost));
    drop(reader);
    assert!(drain.within(LONG), "none is left");
}

/// What a listener calls may own what stops the listener.
#[test]
fn a_listener_that_is_dropped_releases_what_it_calls() {
    let (mut listener, _) = listener("releases");
    let (drain, owned) = (listener.drain(), Arc::new(()));
    let released = Arc::downgrade(&owned);
    let other = drain.clone();
    listener.admit(move |_| {
        let _ = &owned;
        other.begin();
        true
    });
    assert!(released.upgrade().is_some());
    drop(listener);
    assert!(released.upgrade().is_none());
    assert!(drain.within(LONG), "nothing was left");
}
