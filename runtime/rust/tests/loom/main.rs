//! All interleavings of short conversations, and all values that relaxed memory allows: `RUSTFLAGS="--cfg
//! duologue_loom"`.
#![cfg(duologue_loom)]

extern crate duologue_runtime as duologue;

#[macro_use]
#[path = "../sessions/golden.rs"]
mod golden;
mod far;
#[path = "../sessions/flow.rs"]
mod flow;
mod forgotten;
mod grow;
mod tasks;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use duologue::{Capacity, Endpoint, TryRecvError};
use golden::{
    greeting,
    stream::{self, Stream},
};
use loom::thread;

/// Explores a conversation with the asymmetric barrier and without.
fn model(conversation: impl Fn() + Send + Sync + 'static) {
    explore(2, true, conversation);
}

/// The same for conversations of many steps, with fewer preemptions.
fn long_model(conversation: impl Fn() + Send + Sync + 'static) {
    explore(1, true, conversation);
}

/// `is_fenced`: the sender's half of the barrier does something.
fn explore(preemptions: usize, is_fenced: bool, conversation: impl Fn() + Send + Sync + 'static) {
    // The models run one at a time, because what they set for the barrier applies to all sessions.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let conversation = Arc::new(conversation);
    let more = std::env::var("DUOLOGUE_MORE_PREEMPTIONS");
    let more: usize = more.map_or(0, |more| more.parse().expect("a number"));
    for is_there in [true, false] {
        duologue::model_barrier(is_there);
        duologue::model_light_barrier(is_fenced);
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(preemptions + more);
        let conversation = conversation.clone();
        let sessions = duologue::model_sessions();
        builder.check(move || {
            conversation();
            assert_eq!(duologue::model_sessions(), sessions, "a session never ends");
        });
    }
}

/// Counts how often it is destroyed. An ordinary counter: what the model varies is the pipe.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn a_run_of_two_and_a_reply() {
    model(|| {
        let (server, client) = greeting::init();
        let serving = thread::spawn(move || {
            let reply = server.welcome("a".into())?.advice("b".into())?;
            assert!(matches!(reply.recv()?, greeting::Reply::Bye));
            Ok::<_, duologue::Closed>(())
        });
        let Ok(greeting::Hello::Welcome(welcome, more)) = client.recv() else {
            panic!("no disconnect")
        };
        let Ok(greeting::More::Advice(advice, answer)) = more.recv() else {
            panic!("no disconnect")
        };
        assert_eq!((welcome.as_str(), advice.as_str()), ("a", "b"));
        answer.bye().expect("no disconnect");
        serving.join().expect("no panic").expect("no disconnect");
    });
}

#[test]
fn a_full_ring_waits_and_is_woken() {
    for capacity in [Capacity::Bounded(1), Capacity::Bounded(2)] {
        long_model(move || {
            let (mut server, client) = stream::init_with::<u32>(capacity);
            let sending = thread::spawn(move || {
                let mut client = client;
                for number in 0..3 {
                    client = client.send(number).expect("no disconnect");
                }
                client.stop().expect("no disconnect");
            });
            for expected in 0..3 {
                server = server.recv().expect("a number").sent_is(expected);
            }
            assert!(matches!(server.recv(), Ok(stream::Stream::Stop)));
            sending.join().expect("no panic");
        });
    }
}

#[test]
fn leaving_at_the_same_time_loses_nothing() {
    // At full rings, and in runs where a line may follow or not.
    for (capacity, sent) in [
        (1, 0),
        (2, 0),
        (2, 1),
        (3, 1),
        (1, 1),
        (1, 2),
        (2, 2),
        (2, 3),
    ] {
        model(move || {
            let drops = Arc::new(AtomicUsize::new(0));
            let (server, client) = stream::init_with::<Counted>(Capacity::Bounded(capacity));
            let counter = drops.clone();
            let sending = thread::spawn(move || {
                let mut client = client;
                for _ in 0..sent {
                    client = match client.send(Counted(counter.clone())) {
                        Ok(next) => next,
                        Err(_) => return 1,
                    };
                }
                0
            });
            drop(server);
            sending.join().expect("no panic");
            let made = drops.load(Relaxed) + Arc::strong_count(&drops) - 1;
            assert_eq!(
                Arc::strong_count(&drops),
                1,
                "{made} were made, and one was lost"
            );
        });
    }
}

/// A payload that has a cache line to itself.
type Line = [u32; 15];

/// Sends numbers that take a line each, through a small block of 2 lines, which the session leaves at once, and a ring of 12
/// lines of which short laps have 4. First one thread alternately sends and receives as many as `before` says. Then another
/// thread sends `more`: all of them if `waits`, otherwise as many as need no waiting.
fn send_lines(before: &[u32], more: u32, waits: bool) {
    const OPEN: &str = "the server reads to the end";
    let (mut server, mut client) = stream::init_with::<Line>(Capacity::Unbounded);
    let (mut sent, mut read) = (0, 0);
    let receive = |server: stream::server::Stream<Line>, read: &mut u32| {
        let Ok(Stream::Send(number, next)) = server.recv() else {
            return None;
        };
        assert_eq!(number[0], *read);
        *read += 1;
        Some(next)
    };
    for (turn, count) in [2, 2].iter().chain(before).enumerate() {
        for _ in 0..*count {
            if turn % 2 == 0 {
                client = client.send([sent; 15]).expect(OPEN);
                sent += 1;
            } else {
                server = receive(server, &mut read).expect("it was sent");
            }
        }
    }
    let sending = thread::spawn(move || {
        let last = sent + more;
        while sent < last && (waits || client.is_ready()) {
            client = client.send([sent; 15]).expect(OPEN);
            sent += 1;
        }
        sent
    });
    while let Some(next) = receive(server, &mut read) {
        server = next;
    }
    assert_eq!(sending.join().expect("no panic"), read);
}

/// What happens before: up to the point where the sender decides whether a lap has 4 lines or 12, where the receiver
/// may or may not have read by then what matters; up to the end of a lap of each length; and up to the end of a long
/// lap that follows a short one.
const LAPS: [&[u32]; 4] = [
    &[2],
    &[2, 2, 1, 1],
    &[3, 3, 8, 7],
    &[2, 2, 2, 2, 3, 3, 8, 7],
];

/// Explores laps of each length, with this many numbers more.
fn laps(preemptions: usize, more: u32, waits: bool) {
    let before = duologue::model_laps();
    for lap in LAPS {
        explore(preemptions, true, move || send_lines(lap, more, waits));
    }
    let [ended, gone_on] = duologue::model_laps();
    assert!(ended > before[0], "no lap ends early");
    assert!(gone_on > before[1], "no lap continues past the early end");
}

#[test]
fn laps_of_each_length_arrive_in_order() {
    laps(2, 3, true);
}

#[test]
fn leaving_a_full_lap_of_any_length_is_seen_after_the_last_message() {
    laps(1, 4, false);
}

#[test]
fn leaving_a_full_ring_is_seen_after_the_last_message() {
    model(|| {
        let (mut server, mut client) = stream::init_with::<u32>(Capacity::Bounded(1));
        let sending = thread::spawn(move || {
            let mut sent = 0;
            while client.is_ready() && sent < 2 {
                client = client.send(sent).expect("the server reads to the end");
                sent += 1;
            }
            sent
        });
        let mut read = 0;
        while let Ok(stream::Stream::Send(number, next)) = server.recv() {
            assert_eq!(number, read);
            read += 1;
            server = next;
        }
        assert_eq!(sending.join().expect("no panic"), read);
    });
}

#[test]
fn a_timeout_that_meets_the_message_loses_nothing() {
    model(|| {
        let (server, client) = stream::init_with::<u32>(Capacity::Bounded(2));
        let sending = thread::spawn(move || drop(client.send(7)));
        let server = match server.recv_timeout(std::time::Duration::ZERO) {
            Ok(stream::Stream::Send(7, next)) => next,
            Err(TryRecvError::Empty(same)) => match same.recv() {
                Ok(stream::Stream::Send(7, next)) => next,
                _ => panic!("the message"),
            },
            _ => panic!("the message"),
        };
        assert!(server.recv().is_err());
        sending.join().expect("no panic");
    });
}

/// Both sides of a session of one state, which many models use: it sends numbers.
type Numbers = (stream::server::Stream<u32>, stream::client::Stream<u32>);

fn numbers(slots: usize) -> Numbers {
    stream::init_with(Capacity::Bounded(slots))
}

#[test]
fn a_select_is_woken_by_whoever_comes_first_and_leaves_no_waiter() {
    long_model(|| {
        let (mut left, to_left) = numbers(2);
        let (mut right, to_right) = numbers(2);
        let send =
            |client: stream::client::Stream<u32>| thread::spawn(move || drop(client.send(1)));
        let senders = [send(to_left), send(to_right)];
        let (next, other) = duologue::select! {
            left => {
                Stream::Send(1) -> next => (next, right),
                Stream::Send(..) | Stream::Stop => panic!("1"),
                closed => panic!("1"),
            }
            right => {
                Stream::Send(1) -> next => (next, left),
                Stream::Send(..) | Stream::Stop => panic!("1"),
                closed => panic!("1"),
            }
        };
        // The other one still has its message, and then both are closed.
        let other = other.recv().expect("the other 1").sent_is(1);
        assert!(next.recv().is_err() && other.recv().is_err());
        for sender in senders {
            sender.join().expect("no panic");
        }
    });
}

#[test]
fn a_select_that_is_given_up_loses_nothing() {
    model(|| {
        let (mut left, to_left) = numbers(2);
        let (mut right, _to_right) = numbers(2);
        let sending = thread::spawn(move || drop(to_left.send(1)));
        let late = duologue::select! {
            left => { ready => false }
            right => { ready => panic!("nobody sent") }
            after(std::time::Duration::ZERO) => true
        };
        assert!(late || left.is_ready());
        assert!(matches!(left.recv(), Ok(Stream::Send(1, _))));
        sending.join().expect("no panic");
    });
}

#[test]
fn a_port_set_sleeps_and_is_woken() {
    long_model(|| {
        let mut set = duologue::PortSet::new();
        let (left, to_left) = numbers(2);
        let (right, to_right) = numbers(2);
        set.insert(left, 1);
        set.insert(right, 2);
        let send = |client: stream::client::Stream<u32>, number| {
            thread::spawn(move || drop(client.send(number)))
        };
        let senders = [send(to_left, 1), send(to_right, 2)];
        let (mut heard, mut closed) = (0, 0);
        while let Some((number, message)) = set.recv() {
            match message {
                Ok(Stream::Send(message, next)) => {
                    assert_eq!(message, number);
                    heard += number;
                    set.insert(next, number);
                }
                Ok(Stream::Stop) => panic!("nobody stops"),
                Err(_) => closed += number,
            }
        }
        assert_eq!((heard, closed), (3, 3));
        for sender in senders {
            sender.join().expect("no panic");
        }
    });
}

#[test]
fn a_port_that_is_taken_out_is_as_if_it_had_never_been_in() {
    model(|| {
        let mut set = duologue::PortSet::new();
        let (port, client) = numbers(2);
        let key = set.insert(port, ());
        let sending = thread::spawn(move || drop(client.send(1)));
        let port = match set.recv_timeout(std::time::Duration::ZERO) {
            Some(((), Ok(Stream::Send(1, next)))) => {
                drop(next);
                None
            }
            Some(_) => panic!("1"),
            None => set.remove(key),
        };
        drop(set);
        if let Some((port, ())) = port {
            assert!(matches!(port.recv(), Ok(Stream::Send(1, _))));
        }
        sending.join().expect("no panic");
    });
}

#[test]
fn shared_senders_wait_for_room_and_are_woken() {
    model(|| {
        let slot = duologue::generated::Slot::new().fit::<u32>();
        let (sender, mut server) =
            duologue::generated::session::<stream::state::Stream<u32>>(slot, Capacity::Bounded(1));
        let shared = duologue::SharedSender::new(sender);
        let other = shared.clone();
        let sending = thread::spawn(move || {
            other.send::<0>(1).expect("receiver is open");
        });
        let reading = thread::spawn(move || {
            let mut sum = 0;
            while let Ok(Stream::Send(number, next)) = server.recv() {
                sum += number;
                server = next;
            }
            sum
        });
        shared.send::<0>(2).expect("receiver is open");
        drop(shared);
        sending.join().expect("no panic");
        assert_eq!(reading.join().expect("no panic"), 3);
    });
}

#[test]
fn a_receiver_that_leaves_wakes_the_shared_senders() {
    model(|| {
        let slot = duologue::generated::Slot::new().fit::<u32>();
        let (sender, server) =
            duologue::generated::session::<stream::state::Stream<u32>>(slot, Capacity::Bounded(1));
        let shared = duologue::SharedSender::new(sender);
        shared.send::<0>(0).expect("there is room");
        let other = shared.clone();
        let sending = thread::spawn(move || other.send::<0>(1).is_err());
        let leaving = thread::spawn(move || drop(server));
        let refused = shared.send::<0>(2).is_err();
        assert!(refused && sending.join().expect("no panic"));
        leaving.join().expect("no panic");
    });
}
