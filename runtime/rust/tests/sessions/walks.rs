//! Random walks of two threads through a protocol that has runs, turns and ends in every order. Either side disconnects
//! at any time: by the last message, by dropping its endpoint, by a panic, or by dropping a future. Every payload is
//! counted.
//!
//! What a side does follows from its seed, which failures name; when it does so is up to the machine.

use std::future::Future;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::pin::pin;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use duologue::generated::{session, End, Slot, State, Stay, Turn};
use duologue::{Capacity, Endpoint, Receiver, SendError, Sender, TryRecvError};

use crate::random::Random;
use crate::unpark::Unpark;

/// A state in which a run may continue.
enum Talk {}

/// A state in which each message is a run of its own.
enum Ask {}

enum Heard<S: State> {
    More(Payload, Receiver<S>),
    Talk(Payload, Sender<Talk>),
    Ask(Payload, Sender<Ask>),
    Bye(Payload),
}

fn pair<A, B, C>((one, other): (A, B), make: fn(A, B) -> C) -> C {
    make(one, other)
}

state! {
    [] Talk, "walk.talk" of "", stays: true, Heard<Talk>, |branch| match branch.index() {
        0 => pair(branch.take::<0>(), Heard::More),
        1 => pair(branch.take::<1>(), Heard::Talk),
        2 => pair(branch.take::<2>(), Heard::Ask),
        _ => Heard::Bye(branch.take::<3>().0),
    };
    0 "more"(Payload) => Stay<Talk>;
    1 "talk"(Payload) => Turn<Talk>;
    2 "ask"(Payload) => Turn<Ask>;
    3 "bye"(Payload) => End;
}

state! {
    [] Ask, "walk.ask" of "", stays: false, Heard<Ask>, |branch| match branch.index() {
        1 => pair(branch.take::<1>(), Heard::Talk),
        2 => pair(branch.take::<2>(), Heard::Ask),
        _ => Heard::Bye(branch.take::<3>().0),
    };
    1 "talk"(Payload) => Turn<Talk>;
    2 "ask"(Payload) => Turn<Ask>;
    3 "bye"(Payload) => End;
}

fn begin(capacity: Capacity) -> (Sender<Talk>, Receiver<Talk>) {
    session(Slot::new().messages(4).fit::<Payload>(), capacity)
}

/// What travels: its number in the session, and perhaps both ends of a session with unread messages.
struct Payload {
    number: u64,
    living: Arc<AtomicI64>,
    _inside: Option<(Sender<Talk>, Receiver<Talk>)>,
}

impl Payload {
    fn new(number: u64, living: &Arc<AtomicI64>) -> Payload {
        living.fetch_add(1, SeqCst);
        Payload {
            number,
            living: living.clone(),
            _inside: None,
        }
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        self.living.fetch_sub(1, SeqCst);
    }
}

/// The state of one side.
enum At {
    Talking(Sender<Talk>),
    Asking(Sender<Ask>),
    Hearing(Receiver<Talk>),
    Answered(Receiver<Ask>),
    Over,
}

/// One side of a walk.
struct Walker {
    random: Random,
    /// How many messages the session has had, as far as this side knows, which is the number of the next message.
    number: u64,
    /// How many messages of a long run are left: more than a small block and several segments hold.
    run: u64,
    living: Arc<AtomicI64>,
}

impl Walker {
    fn payload(&mut self) -> Payload {
        let mut payload = Payload::new(self.number, &self.living);
        if self.random.below(20) == 0 {
            let (mut first, second) = begin(Capacity::Bounded(3));
            for number in 0..self.random.below(4) {
                let inner = Payload::new(number, &self.living);
                first = first.send::<0>(inner).expect("the receiver is here");
            }
            payload._inside = Some((first, second));
        }
        payload
    }

    /// What follows a message that was sent or was returned.
    fn sent<N>(&mut self, result: Result<N, SendError<Payload>>, then: fn(N) -> At) -> At {
        match result {
            Ok(next) => {
                self.number += 1;
                then(next)
            }
            Err(error) => {
                assert_eq!(error.into_payload().number, self.number);
                At::Over
            }
        }
    }

    fn talk(&mut self, end: Sender<Talk>) -> At {
        let payload = self.payload();
        if self.run == 0 && self.random.below(200) == 0 {
            self.run = self.random.below(300);
        }
        if self.run > 0 {
            self.run -= 1;
            return self.sent(end.send::<0>(payload), At::Talking);
        }
        match self.random.below(40) {
            0..=27 => self.sent(end.send::<0>(payload), At::Talking),
            28..=33 => self.sent(end.send::<1>(payload), At::Hearing),
            34..=38 => self.sent(end.send::<2>(payload), At::Answered),
            _ => self.sent(end.send::<3>(payload), |()| At::Over),
        }
    }

    fn ask(&mut self, end: Sender<Ask>) -> At {
        let payload = self.payload();
        match self.random.below(40) {
            0..=9 => self.sent(end.send::<1>(payload), At::Hearing),
            10..=38 => self.sent(end.send::<2>(payload), At::Answered),
            _ => self.sent(end.send::<3>(payload), |()| At::Over),
        }
    }

    fn heard<S: State<Message = Heard<S>>>(
        &mut self,
        message: Heard<S>,
        same: fn(Receiver<S>) -> At,
    ) -> At {
        let (payload, at) = match message {
            Heard::More(payload, next) => (payload, same(next)),
            Heard::Talk(payload, next) => (payload, At::Talking(next)),
            Heard::Ask(payload, next) => (payload, At::Asking(next)),
            Heard::Bye(payload) => (payload, At::Over),
        };
        assert_eq!(payload.number, self.number);
        self.number += 1;
        at
    }

    /// Receives, or waits for a while, in one of the possible ways.
    fn hear<S: State<Message = Heard<S>>>(
        &mut self,
        mut end: Receiver<S>,
        same: fn(Receiver<S>) -> At,
    ) -> At {
        let waker = Waker::from(Unpark::current());
        let context = &mut Context::from_waker(&waker);
        match self.random.below(10) {
            0..=3 => match end.recv() {
                Ok(message) => self.heard(message, same),
                Err(_) => At::Over,
            },
            4 => match end.try_recv() {
                Ok(message) => self.heard(message, same),
                Err(TryRecvError::Empty(end)) => same(end),
                Err(TryRecvError::Closed(_)) => At::Over,
            },
            5 => match end.recv_timeout(Duration::from_micros(self.random.below(30))) {
                Ok(message) => self.heard(message, same),
                Err(TryRecvError::Empty(end)) => same(end),
                Err(TryRecvError::Closed(_)) => At::Over,
            },
            6 => {
                // Polled once and dropped: that loses nothing.
                let _ = pin!(end.ready()).poll(context);
                same(end)
            }
            kind => {
                let mut receiving = end.recv_async();
                let polls = if kind == 9 {
                    self.random.below(4)
                } else {
                    u64::MAX
                };
                for _ in 0..polls {
                    if let Poll::Ready(received) = pin!(&mut receiving).poll(context) {
                        return match received {
                            Ok(message) => self.heard(message, same),
                            Err(_) => At::Over,
                        };
                    }
                    if kind == 9 {
                        self.random.delay();
                    } else {
                        thread::park();
                    }
                }
                if self.random.below(8) == 0 {
                    // Dropping a future drops its endpoint as well.
                    return At::Over;
                }
                same(receiving.into_inner().expect("nothing was delivered"))
            }
        }
    }

    fn walk(&mut self, mut at: At) {
        loop {
            self.random.delay();
            match self.random.below(600) {
                0 => return,
                1 => resume_unwind(Box::new("a walker fell")),
                _ => {}
            }
            at = match at {
                At::Talking(end) => self.talk(end),
                At::Asking(end) => self.ask(end),
                At::Hearing(end) => self.hear(end, At::Hearing),
                At::Answered(end) => self.hear(end, At::Answered),
                At::Over => return,
            }
        }
    }
}

/// Walks on one side of each session; a panic that is not the walk's own is a failure.
fn walk_all(ends: Vec<(u64, At)>, living: &Arc<AtomicI64>) {
    for (seed, at) in ends {
        let mut walker = Walker {
            random: Random::new(seed),
            number: 0,
            run: 0,
            living: living.clone(),
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| walker.walk(at))) {
            assert!(
                panic.is::<&str>() && panic.downcast_ref() == Some(&"a walker fell"),
                "the walker with seed {seed} failed at message {}",
                walker.number
            );
        }
    }
}

/// Runs several sessions at once.
fn round(round: u64) {
    const SESSIONS: u64 = 12;
    let living = Arc::new(AtomicI64::new(0));
    let (mut clients, mut servers) = (Vec::new(), Vec::new());
    for session in 0..SESSIONS {
        let capacity = match session % 3 {
            0 => Capacity::Unbounded,
            longest => Capacity::Bounded(longest as usize),
        };
        let (first, second) = begin(capacity);
        let seed = 2 * (round * SESSIONS + session) + 1;
        clients.push((seed, At::Talking(first)));
        servers.push((seed + 1, At::Hearing(second)));
    }
    let walking = [clients, servers].map(|ends| {
        let counter = living.clone();
        thread::spawn(move || walk_all(ends, &counter))
    });
    for walker in walking {
        assert!(walker.join().is_ok(), "round {round}");
    }
    assert_eq!(living.load(SeqCst), 0, "payloads are left of round {round}");
}

#[test]
fn every_payload_of_a_random_walk_is_destroyed_once() {
    for number in 0..200 {
        round(number);
    }
}
