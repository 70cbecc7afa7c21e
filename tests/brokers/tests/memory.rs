//! Sessions over a broker that loses, repeats, delays and reorders messages.
#![forbid(unsafe_code)]

use brokers::bank;
use brokers::memory::{Faults, Memory, until};
use brokers::protocols::bank::{client as bank_client, server as bank_server};
use brokers::protocols::numbers::{self, Stream};
use brokers::protocols::pingpong;
use duologue::Why;
use duologue_net::broker::{Exchange, ExchangeOptions};
use duologue_net::{Connector, Error, Fingerprint, Listener, Verdict};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

fn exchange(broker: &Memory) -> Exchange {
    let options = ExchangeOptions::new().heartbeat(Duration::from_millis(500));
    Exchange::over(broker.clone(), &options).expect("the broker delivers")
}

/// A server of the bank in a process of its own, as far as the broker can tell. It counts the sessions that end as they should.
fn serve_bank(broker: &Memory, name: &str) -> (duologue_net::Drain, Arc<AtomicU32>) {
    let done = Arc::new(AtomicU32::new(0));
    let (counted, broker, name) = (Arc::clone(&done), broker.clone(), name.to_owned());
    let (ready, began) = channel();
    thread::spawn(move || {
        let mut listener = Listener::bind_through(&exchange(&broker), &name).expect("it listens");
        listener.serve(move |login: bank_server::Login| {
            if bank::teller(login).is_ok() {
                counted.fetch_add(1, SeqCst);
            }
        });
        let _known = ready.send(listener.drain());
        listener.run().expect("it accepts");
    });
    (began.recv_timeout(LONG).expect("it listens"), done)
}

/// Connects as soon as the server has subscribed.
fn connect<E: duologue_net::Open>(exchange: &Exchange, name: &str) -> E {
    let mut first = None;
    until("a server", || {
        first = Connector::new().connect_through(exchange, name).ok();
        first.is_some()
    });
    first.expect("it has connected")
}

#[test]
fn a_bank_serves_its_customers() {
    let broker = Memory::start(1);
    let (drain, done) = serve_bank(&broker, "bank");
    let here = exchange(&broker);
    for turns in [0, 1, 100] {
        bank::customer(connect(&here, "bank"), turns).expect("nothing is lost");
    }
    until("sessions to end", || done.load(SeqCst) == 3);
    assert!(drain.within(LONG), "no session is left");
    // The server has left the group.
    let refused = Connector::new().connect_through::<bank_client::Login>(&here, "bank");
    let is_refused = matches!(
        refused,
        Err(Error::Refused {
            verdict: Verdict::UnknownProtocol,
            ..
        })
    );
    assert!(is_refused, "{:?}", refused.map(drop));
}

#[test]
fn a_side_that_no_server_understands_is_refused_at_once() {
    let broker = Memory::start(2);
    let (_drain, _) = serve_bank(&broker, "bank");
    let here = exchange(&broker);
    drop(connect::<bank_client::Login>(&here, "bank"));
    let connector = Connector::new().timeout(LONG).accepts(Fingerprint([7; 16]));
    let refused = connector.connect_through::<pingpong::client::Ping>(&here, "bank");
    let is_refused = matches!(
        refused,
        Err(Error::Refused {
            verdict: Verdict::UnknownProtocol,
            ..
        })
    );
    assert!(is_refused, "{:?}", refused.map(drop));
    // Both programs are clients.
    let same = Connector::new().connect_through::<bank_server::Login>(&here, "bank");
    let is_same = matches!(
        same,
        Err(Error::Refused {
            verdict: Verdict::SameSide,
            ..
        })
    );
    assert!(is_same, "{:?}", same.map(drop));
    let misnamed = connector.connect_through::<pingpong::client::Ping>(&here, "a bank");
    assert!(matches!(misnamed, Err(Error::Name { .. })));
}

/// Sends numbers until the session is lost, or this many have been sent. Returns why it ended.
fn send_numbers(mut client: numbers::client::Stream, count: u64) -> (u64, Option<Why>) {
    for number in 0..count {
        match client.send(number) {
            Ok(next) => client = next,
            Err(error) => return (number, Some(error.closed().why())),
        }
    }
    (count, None)
}

/// Receives numbers, which must come in order and once, until the end. `begin`: waits for it first.
fn receive_numbers(
    mut server: numbers::server::Stream,
    begin: Option<&Mutex<Receiver<()>>>,
) -> (u64, Why) {
    if let Some(begin) = begin {
        let begin = begin.lock().expect("no panic");
        begin.recv_timeout(LONG).expect("the test goes on");
    }
    let mut count = 0;
    loop {
        match server.recv() {
            Ok(Stream::Send(number, next)) => {
                assert_eq!(number, count, "a number is missing, or came twice");
                count += 1;
                server = next;
            }
            Err(closed) => return (count, closed.why()),
        }
    }
}

type Counted = Receiver<(u64, Why)>;

fn serve_numbers(broker: &Memory, begin: Option<Receiver<()>>) -> Counted {
    let (broker, begin) = (broker.clone(), begin.map(Mutex::new));
    let (say, counted): (Sender<(u64, Why)>, Counted) = channel();
    let say = Mutex::new(say);
    thread::spawn(move || {
        let mut listener =
            Listener::bind_through(&exchange(&broker), "numbers").expect("it listens");
        listener.serve(move |server: numbers::server::Stream| {
            let ended = receive_numbers(server, begin.as_ref());
            let _gone = say.lock().expect("no panic").send(ended);
        });
        listener.run()
    });
    counted
}

/// Every message arrives once and in order, or both sides are lost.
fn either_all_or_lost(seed: u64, faults: Faults) -> Option<u64> {
    const COUNT: u64 = 20_000;
    let broker = Memory::start(seed);
    let counted = serve_numbers(&broker, None);
    let here = exchange(&broker);
    let client: numbers::client::Stream = connect(&here, "numbers");
    broker.set(faults);
    let (sent, why) = send_numbers(client, COUNT);
    let (received, other) = counted.recv_timeout(LONG).unwrap_or_else(|_| {
        panic!(
            "seed {seed}, {faults:?}: the server waits, {:?}",
            broker.done()
        )
    });
    match other {
        Why::Left => {
            assert_eq!((received, why), (COUNT, None), "seed {seed}, {faults:?}");
            None
        }
        Why::Lost => {
            // The sender has either noticed, or had sent everything before the loss.
            assert!(
                why == Some(Why::Lost) || sent == COUNT,
                "seed {seed}: {why:?}"
            );
            assert!(received <= sent, "seed {seed}");
            Some(received)
        }
        why @ (Why::Broken | Why::Late | Why::TooLarge | Why::Stopped | _) => {
            panic!("seed {seed}, {faults:?}: {why:?}")
        }
    }
}

#[test]
fn messages_that_are_repeated_or_late_arrive_once() {
    for seed in 1..=5 {
        let faults = Faults {
            repeated: 200,
            delayed: 20,
            ..Faults::default()
        };
        assert_eq!(either_all_or_lost(seed, faults), None, "seed {seed}");
    }
}

#[test]
fn a_session_with_a_gap_is_lost_for_both() {
    let mut lost = 0;
    for seed in 1..=20 {
        let faults = match seed % 2 {
            0 => Faults {
                lost: 100,
                repeated: 50,
                ..Faults::default()
            },
            _ => Faults {
                swapped: 200,
                delayed: 5,
                ..Faults::default()
            },
        };
        lost += u32::from(either_all_or_lost(seed, faults).is_some());
    }
    // With these faults, some sessions are lucky.
    assert!(lost > 5, "the faults have no effect: {lost}");
}

/// The last message before the turn is lost: neither side may wait for the other forever.
#[test]
fn a_loss_at_the_end_is_noticed() {
    let broker = Memory::start(3);
    let (_drain, done) = serve_bank(&broker, "bank");
    let here = exchange(&broker);
    let connected = bank::log_in(connect(&here, "bank")).expect("nothing is lost");
    broker.set(Faults {
        lost: 1_000,
        ..Faults::default()
    });
    let answer = connected.withdrawal(1.0).expect("it is open");
    let waiting = thread::spawn(move || answer.recv().map(drop).expect_err("it is lost").why());
    thread::sleep(Duration::from_millis(20));
    broker.set(Faults::default());
    until("the client to notice", || waiting.is_finished());
    assert_eq!(waiting.join().expect("no panic"), Why::Lost);
    assert_eq!(done.load(SeqCst), 0);
}

/// The broker delivers nothing more, as when a network fails.
#[test]
fn a_process_that_is_silent_is_gone() {
    let broker = Memory::start(4);
    let (_drain, _) = serve_bank(&broker, "bank");
    let connected = bank::log_in(connect(&exchange(&broker), "bank")).expect("nothing is lost");
    broker.set(Faults {
        lost: 1_000,
        ..Faults::default()
    });
    let answer = connected.withdrawal(1.0).expect("it is open");
    let waiting = thread::spawn(move || answer.recv().map(drop).expect_err("it is lost").why());
    until("the client to notice", || waiting.is_finished());
    assert_eq!(waiting.join().expect("no panic"), Why::Lost);
}

#[test]
fn a_slow_reader_takes_bounded_memory() {
    let broker = Memory::start(5);
    let (say, begin) = channel();
    let counted = serve_numbers(&broker, Some(begin));
    let client: numbers::client::Stream = connect(&exchange(&broker), "numbers");
    const COUNT: u64 = 300_000;
    let sending = thread::spawn(move || send_numbers(client, COUNT));
    thread::sleep(Duration::from_millis(300));
    assert!(!sending.is_finished(), "nobody reads");
    // The window is 64 KiB, of which a quarter may be left, and the rest is the beginning of the session.
    let bytes = broker.done().bytes;
    assert!(
        (44 << 10..68 << 10).contains(&bytes),
        "{bytes} bytes were published before anything was read"
    );
    say.send(()).expect("the server waits");
    assert_eq!(sending.join().expect("no panic"), (COUNT, None));
    let all = counted.recv_timeout(LONG).expect("the server reads");
    assert_eq!(all, (COUNT, Why::Left));
}

/// A message that is longer than those of the broker goes in parts.
#[test]
fn long_messages_arrive() {
    let broker = Memory::start(6);
    let (_drain, _) = serve_bank(&broker, "bank");
    let login: bank_client::Login = connect(&exchange(&broker), "bank");
    let long = "x".repeat(300_000);
    let answer = login
        .login(long, "1234".to_owned())
        .expect("it is open")
        .recv();
    assert!(answer.is_ok());
}

#[test]
fn a_group_goes_on_while_a_server_leaves_it() {
    let broker = Memory::start(7);
    let (first, done) = serve_bank(&broker, "bank");
    let (_second, others) = serve_bank(&broker, "bank");
    let here = exchange(&broker);
    until("both to serve", || {
        bank::customer(connect(&here, "bank"), 1).expect("nothing is lost");
        done.load(SeqCst) > 0 && others.load(SeqCst) > 0
    });
    let leaving = thread::spawn(move || first.within(LONG));
    for _ in 0..50 {
        let login = Connector::new().connect_through(&here, "bank");
        bank::customer(login.expect("one server is always there"), 3).expect("nothing is lost");
    }
    assert!(leaving.join().expect("no panic"), "its sessions have ended");
}

/// For `DUOLOGUE_SOAK_SECONDS`, or one second: sessions with faults at random. Every number is accounted for: it was received once and
/// in order, or both sides know that the session is lost.
#[test]
fn soak() {
    let seconds = std::env::var("DUOLOGUE_SOAK_SECONDS").ok();
    let seconds = seconds.map_or(1, |text| {
        text.parse().expect("DUOLOGUE_SOAK_SECONDS is a number")
    });
    let end = Instant::now() + Duration::from_secs(seconds);
    let seed = std::time::UNIX_EPOCH
        .elapsed()
        .map_or(1, |since| since.as_secs());
    let (mut whole, mut lost, mut received) = (0, 0, 0);
    for round in 0.. {
        if Instant::now() > end {
            break;
        }
        let seed = seed + round;
        // Each fault is frequent, rare or absent.
        let choose = |number: u64| [0, 1, 20, 100][(seed / 4_u64.pow(number as u32) % 4) as usize];
        let faults = Faults {
            lost: choose(0),
            repeated: choose(1),
            swapped: choose(2),
            delayed: choose(3) / 10,
        };
        match either_all_or_lost(seed, faults) {
            None => whole += 1,
            Some(count) => {
                lost += 1;
                received += count;
            }
        }
    }
    println!(
        "{} sessions of 20000 numbers, seeds from {seed}: {whole} complete; {lost} lost for both sides, after {received} numbers; \
         no number twice, none out of order, none missing without a report",
        whole + lost
    );
    assert!(whole + lost > 0, "no session has ended in time");
}
