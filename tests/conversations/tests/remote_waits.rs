//! Sessions over sockets that wait in other ways than one thread in one `recv`, and hellos that are refused.

use conversations::protocols::bank::{self, Connected, client, server};
use conversations::protocols::{pingpong, telemetry};
use conversations::sockets::{accepted, listener, logged_in, pair, path};
use conversations::waiting::spawn_until_asleep;
use duologue::{Closed, PortSet, Select, TryRecvError, Why};
use duologue_net::{Error, Listener};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// Longer than any step takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);

/// A session after the login.
fn connected(name: &str) -> (server::Connected, client::Connected) {
    logged_in(pair(name))
}

#[test]
fn a_message_inside_a_run_arrives_without_more() {
    let (server, client) = connected("inside");
    let client = client.deposit(1.5).expect("it is open");
    let Ok(Connected::Deposit(1.5, server)) = server.recv_timeout(LONG) else {
        panic!("the deposit arrives though the run goes on")
    };
    assert!(matches!(server.try_recv(), Err(TryRecvError::Empty(_))));
    drop(client);
}

#[test]
fn a_wait_ends_with_its_limit_and_loses_nothing() {
    let (server, client) = connected("limit");
    let Err(TryRecvError::Empty(server)) = server.recv_timeout(Duration::from_millis(20)) else {
        panic!("nothing was sent")
    };
    client.quit().expect("it is open");
    assert!(matches!(server.recv(), Ok(Connected::Quit)));
}

#[test]
fn a_long_run_is_read_in_order() {
    let (mut server, mut client) = connected("long");
    let sending = thread::spawn(move || {
        for number in 0..100_000 {
            client = client.deposit(f64::from(number)).expect("it is open");
        }
        client.quit().expect("it is open");
    });
    for number in 0..100_000 {
        server = match server.recv() {
            Ok(Connected::Deposit(money, next)) if money == f64::from(number) => next,
            other => panic!("{number}: {other:?}"),
        };
    }
    assert!(matches!(server.recv(), Ok(Connected::Quit)));
    sending.join().expect("it does not panic");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_wait_for_messages() {
    let pairs: Vec<_> = (0..8)
        .map(|number| connected(&format!("task{number}")))
        .collect();
    let mut tasks = Vec::new();
    for (mut server, client) in pairs {
        tasks.push(tokio::spawn(async move {
            loop {
                server = match server.recv_async().await? {
                    Connected::Deposit(_, next) => next,
                    Connected::Withdrawal {
                        amount,
                        next: answer,
                    } => answer.money(amount)?,
                    Connected::Quit => return Ok::<(), Closed>(()),
                };
            }
        }));
        tasks.push(tokio::spawn(async move {
            let mut client = client;
            for _ in 0..100 {
                let waiting = client.deposit(1.0)?.withdrawal(2.0)?;
                client = match waiting.recv_async().await? {
                    bank::WithdrawalResponse::Money(_, next) => next,
                    bank::WithdrawalResponse::InsufficientFunds(next) => next,
                };
            }
            client.quit()?;
            Ok(())
        }));
    }
    for task in tasks {
        task.await.expect("no panic").expect("no session is lost");
    }
}

#[test]
fn a_set_and_a_select_wait_for_several() {
    let mut set = PortSet::new();
    let mut clients = Vec::new();
    for number in 0..5 {
        let (server, client) = connected(&format!("set{number}"));
        set.insert(server, number);
        clients.push(client);
    }
    let saying = thread::spawn(move || {
        for client in clients.into_iter().rev() {
            thread::sleep(Duration::from_millis(5));
            client.quit().expect("it is open");
        }
    });
    let mut order = Vec::new();
    while let Some((number, said)) = set.recv() {
        assert!(matches!(said, Ok(Connected::Quit)));
        order.push(number);
    }
    order.sort_unstable();
    assert_eq!(order, [0, 1, 2, 3, 4]);
    saying.join().expect("it does not panic");

    let (bank_server, bank_client) = connected("select-bank");
    let (ping_server, ping_client): (pingpong::server::Ping, pingpong::client::Ping) =
        pair("select-ping");
    let (mut one, mut two) = (bank_server, ping_server);
    let saying = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        ping_client.ping().expect("it is open")
    });
    let mut select = Select::new();
    let _bank = select.add(&mut one);
    let ping = select.add(&mut two);
    let chosen = select.ready().expect("it has endpoints");
    assert_eq!(chosen, ping);
    let Ok(pingpong::Ping::Ping(answer)) = two.recv() else {
        panic!("the ping has arrived")
    };
    drop(answer.pong().expect("it is open"));
    drop((one, bank_client));
    drop(saying.join().expect("it does not panic"));
}

/// The `bad` lines of `tests/wire/streams.txt`.
#[test]
fn hellos_are_refused_as_the_format_says() {
    let path = path("bad");
    let mut listener = Listener::bind(&format!("unix:{}", path.display())).expect("free");
    listener.serve(|_: server::Login| {});
    let drain = listener.drain();
    let running = thread::spawn(move || listener.run());
    let text = include_str!("../../wire/streams.txt");
    let mut count = 0;
    for line in text.lines().filter_map(|line| line.strip_prefix("bad ")) {
        let (hex, verdict) = line.split_once(' ').expect("bytes and a verdict");
        let digits = (0..hex.len()).step_by(2);
        let bytes: Vec<u8> = digits
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal"))
            .collect();
        let mut raw = UnixStream::connect(&path).expect("it listens");
        raw.set_read_timeout(Some(LONG)).expect("it is not zero");
        raw.write_all(&bytes).expect("it is read");
        let mut answer = Vec::new();
        // A connection with unread bytes may be reset after the answer.
        let _ = raw.read_to_end(&mut answer);
        match verdict {
            "close" => assert_eq!(answer, [0; 0], "{line}"),
            _ => {
                let verdict: u8 = verdict.parse().expect("a number");
                let expected = [b"duologue".as_slice(), &[1, verdict, 4, 0, 0, 0, 0, 0]].concat();
                assert_eq!(answer, expected, "{line}");
            }
        }
        count += 1;
    }
    assert!(count > 20, "only {count} lines");
    drain.begin();
    running
        .join()
        .expect("it does not panic")
        .expect("it drains");
}

#[test]
fn a_client_whose_connection_is_cut_is_lost() {
    let path = path("cut-client");
    let listener = std::os::unix::net::UnixListener::bind(&path).expect("free");
    let text = include_str!("../../wire/streams.txt");
    let session = text.split("session whole\n").nth(1).expect("it is there");
    let answer = session
        .lines()
        .find_map(|line| line.strip_prefix("< "))
        .expect("an answer");
    let hex = answer.split(' ').next().expect("bytes");
    let digits = (0..hex.len()).step_by(2);
    let answer: Vec<u8> = digits
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal"))
        .collect();
    let peer = thread::spawn(move || {
        let (mut raw, _) = listener.accept().expect("it connects");
        raw.write_all(&answer).expect("it is read");
        // The hello and the first bytes of the login.
        let mut hello = [0; 60];
        raw.read_exact(&mut hello).expect("they come");
    });
    let login: client::Login =
        duologue_net::connect(&format!("unix:{}", path.display())).expect("it is accepted");
    let waiting = login
        .login("holk".into(), "a long password".into())
        .expect("it is open");
    let closed = waiting.recv().expect_err("the peer is gone");
    assert_eq!(closed.why(), Why::Lost);
    peer.join().expect("it does not panic");
    let _ = std::fs::remove_file(path);
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

/// Why the client's session is over.
fn why_of(client: client::Login) -> Why {
    let sent = client.login("holk".into(), "1234".into());
    let closed = sent.map_or_else(Closed::from, |waiting| {
        waiting.recv().map(drop).expect_err("it has ended")
    });
    closed.why()
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
    assert_eq!(why_of(second), Why::Left);
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
    assert_eq!(waits.recv().map(drop).expect_err("cut").why(), Why::Lost);
    assert_eq!(why_of(client), Why::Left);
    let refused = answer.money(1.0).expect_err("it was ended");
    assert_eq!(Closed::from(refused).why(), Why::Lost);
    let closed = withdraws.recv().map(drop).expect_err("it has ended");
    assert_eq!(closed.why(), Why::Left);
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
