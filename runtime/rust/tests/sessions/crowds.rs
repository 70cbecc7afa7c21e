//! Random crowds: many sessions whose senders send, disconnect and panic while one side waits on all of them, and many
//! senders of one session that give up while they wait. Every payload is counted when it is made and when it is
//! destroyed.
//!
//! What a thread does follows from its seed; when it does so is up to the machine.

use std::future::Future;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::pin::{pin, Pin};
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use duologue::generated::{session, Slot};
use duologue::{Capacity, Endpoint, PortSet, Select, SharedSender, TrySendError};

use crate::golden::stream::{self, state, Stream};
use crate::payload::Payload;
use crate::random::Random;
use crate::unpark::Unpark;

const ROUNDS: u64 = if cfg!(miri) { 2 } else { 20 };

fn waker() -> Waker {
    Waker::from(Unpark::current())
}

/// Polls at most this many times, and then drops the future.
fn poll_some<F: Future>(future: F, times: u64, random: &mut Random) -> Option<F::Output> {
    let waker = waker();
    let mut future = pin!(future);
    for _ in 0..times {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return Some(output),
            Poll::Pending => random.delay(),
        }
    }
    None
}

/// Sends on all of these in turn, and closes each by a message or a drop, or all of them by a panic.
fn speak(clients: Vec<(usize, Client)>, mut random: Random, living: &Arc<AtomicI64>) {
    let fell = catch_unwind(AssertUnwindSafe(|| {
        let mut clients: Vec<_> = clients.into_iter().map(|(of, end)| (of, 0, end)).collect();
        while !clients.is_empty() {
            random.delay();
            let which = random.below(clients.len() as u64) as usize;
            let (sender, number, mut client) = clients.swap_remove(which);
            // Not forever: perhaps the other side waits for all except this one.
            if !client.ready_within(Duration::from_micros(random.below(20))) {
                clients.push((sender, number, client));
                continue;
            }
            match random.below(300) {
                0 => resume_unwind(Box::new("a speaker fell")),
                1..=4 => continue,
                5..=8 => {
                    let _ = client.stop();
                    continue;
                }
                _ => {}
            }
            match client.send(Payload::new(sender, number, living)) {
                Ok(next) => clients.push((sender, number + 1, next)),
                Err(error) => assert_eq!(error.into_payload().number, number),
            }
        }
    }));
    if let Err(panic) = fell {
        assert_eq!(panic.downcast_ref(), Some(&"a speaker fell"));
    }
}

type Client = stream::client::Stream<Payload>;
type Server = stream::server::Stream<Payload>;

/// Many sessions, and threads that send in them.
fn crowd(round: u64, living: &Arc<AtomicI64>) -> (Vec<Server>, [thread::JoinHandle<()>; 2]) {
    let (mut servers, mut clients) = (Vec::new(), Vec::new());
    for number in 0..80 {
        let capacity = match number % 3 {
            0 => Capacity::Unbounded,
            longest => Capacity::Bounded(longest),
        };
        let (server, client) = stream::init_with(capacity);
        servers.push(server);
        clients.push((number, client));
    }
    let others = clients.split_off(40);
    let speakers = [(clients, 2 * round), (others, 2 * round + 1)].map(|(clients, seed)| {
        let living = living.clone();
        thread::spawn(move || speak(clients, Random::new(seed), &living))
    });
    (servers, speakers)
}

fn all_are_gone(speakers: impl IntoIterator<Item = thread::JoinHandle<()>>, living: &AtomicI64) {
    for speaker in speakers {
        speaker.join().expect("no panic but its own");
    }
    assert_eq!(living.load(SeqCst), 0, "payloads are left");
}

/// How many messages each sender has sent so far, which is the number of its next payload.
struct Expected([u32; 80]);

impl Expected {
    fn meet(&mut self, payload: &Payload) {
        assert_eq!(payload.number, self.0[payload.sender]);
        self.0[payload.sender] += 1;
    }
}

#[test]
fn ports_come_and_go_while_their_senders_speak() {
    for round in 0..ROUNDS {
        let living = Arc::new(AtomicI64::new(0));
        let (servers, speakers) = crowd(round, &living);
        let mut random = Random::new(1_000 + round);
        let mut expected = Expected([0; 80]);
        let mut set = PortSet::new();
        let mut outside = servers;
        let mut keys = Vec::new();
        while !set.is_empty() || !outside.is_empty() {
            if !outside.is_empty() && (set.is_empty() || random.below(3) != 0) {
                keys.push(set.insert(outside.swap_remove(0), ()));
            }
            if random.below(20) == 0 {
                let key = keys.swap_remove(random.below(keys.len() as u64) as usize);
                outside.extend(set.remove(key).map(|(port, ())| port));
            }
            let received = match random.below(4) {
                0 => set.recv(),
                1 => set.try_recv(),
                2 => set.recv_timeout(Duration::from_micros(random.below(30))),
                _ => {
                    let polls = random.below(4);
                    poll_some(set.recv_async(), polls, &mut random).flatten()
                }
            };
            if let Some(((), Ok(Stream::Send(payload, next)))) = received {
                expected.meet(&payload);
                if random.below(200) != 0 {
                    outside.push(next);
                }
            }
            // From time to time, the set is dropped with everything in it.
            if random.below(3_000) == 0 {
                set = PortSet::new();
                keys.clear();
            }
        }
        all_are_gone(speakers, &living);
    }
}

#[test]
fn selects_among_those_who_speak() {
    for round in 0..ROUNDS {
        let living = Arc::new(AtomicI64::new(0));
        let (mut servers, speakers) = crowd(round, &living);
        let mut random = Random::new(2_000 + round);
        let mut expected = Expected([0; 80]);
        while !servers.is_empty() {
            let chosen = 1 + random.below(servers.len().min(7) as u64) as usize;
            let mut select = Select::from_iter(&mut servers[..chosen]);
            let ready = match random.below(4) {
                0 => select.ready().ok(),
                1 => select.try_ready().expect("some"),
                2 => select
                    .ready_within(Duration::from_micros(random.below(30)))
                    .expect("some"),
                _ => {
                    let polls = random.below(4);
                    poll_some(select.ready_async(), polls, &mut random).and_then(Result::ok)
                }
            };
            let Some(ready) = ready else { continue };
            if let Ok(Stream::Send(payload, next)) = servers.swap_remove(ready).recv() {
                expected.meet(&payload);
                servers.push(next);
            }
        }
        all_are_gone(speakers, &living);
    }
}

/// Sends in every way that a shared sender has, and gives up some futures. Returns how many messages were sent.
fn share(
    shared: &SharedSender<state::Stream<Payload>>,
    sender: usize,
    mut random: Random,
    living: &Arc<AtomicI64>,
) -> u32 {
    let mut sent = 0;
    for _ in 0..random.below(300) {
        random.delay();
        let payload = Payload::new(sender, sent, living);
        let is_sent = match random.below(4) {
            0 => match shared.try_send::<0>(payload) {
                Ok(()) => true,
                Err(TrySendError::Full(payload)) => {
                    assert_eq!(payload.number, sent);
                    false
                }
                Err(TrySendError::Closed(_)) => return sent,
            },
            1 => {
                let polls = random.below(4);
                match poll_some(shared.send_async::<0>(payload), polls, &mut random) {
                    Some(Ok(())) => true,
                    Some(Err(_)) => return sent,
                    None => false,
                }
            }
            2 => {
                let mut sending = shared.send_async::<0>(payload);
                let waker = waker();
                let mut poll = || Pin::new(&mut sending).poll(&mut Context::from_waker(&waker));
                loop {
                    match poll() {
                        Poll::Ready(Ok(())) => break true,
                        Poll::Ready(Err(_)) => return sent,
                        Poll::Pending => thread::park(),
                    }
                }
            }
            _ => match shared.send::<0>(payload) {
                Ok(()) => true,
                Err(error) => {
                    assert_eq!(error.into_payload().number, sent);
                    return sent;
                }
            },
        };
        sent += u32::from(is_sent);
    }
    sent
}

#[test]
fn shared_senders_give_up_and_the_receiver_leaves() {
    for round in 0..30 * ROUNDS {
        let living = Arc::new(AtomicI64::new(0));
        let capacity = match round % 3 {
            0 => Capacity::Unbounded,
            longest => Capacity::Bounded(longest as usize),
        };
        let slot = Slot::new().fit::<Payload>();
        let (end, mut server) = session::<state::Stream<Payload>>(slot, capacity);
        let shared = SharedSender::new(end);
        let senders = [0, 1, 2].map(|sender| {
            let (shared, living) = (shared.clone(), living.clone());
            let random = Random::new(3_000 + 3 * round + sender as u64);
            thread::spawn(move || share(&shared, sender, random, &living))
        });
        drop(shared);
        let mut random = Random::new(4_000 + round);
        let mut expected = Expected([0; 80]);
        let leaves_after = random.below(900);
        let mut read = 0;
        let is_read_to_the_end = loop {
            random.delay();
            if read == leaves_after {
                drop(server);
                break false;
            }
            let Ok(Stream::Send(payload, next)) = server.recv() else {
                break true;
            };
            expected.meet(&payload);
            (server, read) = (next, read + 1);
        };
        for (sender, thread) in senders.into_iter().enumerate() {
            let sent = thread.join().expect("no panic");
            assert!(expected.0[sender] <= sent);
            assert!(!is_read_to_the_end || expected.0[sender] == sent);
        }
        assert_eq!(living.load(SeqCst), 0, "payloads are left of round {round}");
    }
}
