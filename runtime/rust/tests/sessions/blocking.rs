//! Random stress in which every wait blocks for as long as it takes: no time limit, no future that is given up, no
//! polling without waiting. Other traffic does not make up for a lost wake-up, so a lost wake-up is a test that does
//! not end.
//!
//! What a thread does follows from its seed; when it does so is up to the machine.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use duologue::generated::{session, Slot};
use duologue::{Capacity, Closed, PortSet, Select, SharedSender, TryRecvError};

use crate::futures::block_on;
use crate::golden::stream::{self, state, Stream};
use crate::golden::type_switch;
use crate::payload::Payload;
use crate::random::Random;

const ROUNDS: u64 = if cfg!(miri) { 1 } else { 40 };

/// For tests in which the window for losing a wake-up is short. Optimized, it is shorter, and a round takes less time.
const MANY_ROUNDS: u64 = if cfg!(any(miri, duologue_tsan)) {
    ROUNDS
} else if cfg!(debug_assertions) {
    5 * ROUNDS
} else {
    15 * ROUNDS
};

/// Ends the process if this takes so long that a thread must be asleep forever. Otherwise nothing depends on the time.
fn watched(name: &'static str, test: impl FnOnce()) {
    let is_done = Arc::new(AtomicBool::new(false));
    let asked = is_done.clone();
    let watchdog = thread::spawn(move || {
        let start = Instant::now();
        while !asked.load(SeqCst) {
            let patience = Duration::from_secs(120).saturating_sub(start.elapsed());
            if patience.is_zero() {
                // Not by `eprintln!`, whose output the harness keeps until the test has ended.
                let _ = writeln!(
                    std::io::stderr(),
                    "{name}: a thread that waits was not woken"
                );
                std::process::abort();
            }
            thread::park_timeout(patience);
        }
    });
    test();
    is_done.store(true, SeqCst);
    watchdog.thread().unpark();
    watchdog.join().expect("no panic");
}

/// Does this again and again, with other choices. Each time all payloads are gone at the end.
fn rounds(name: &'static str, count: u64, test: impl Fn(Random, &Arc<AtomicI64>)) {
    watched(name, || {
        for round in 0..count {
            let living = Arc::new(AtomicI64::new(0));
            test(Random::new(round), &living);
            assert_eq!(living.load(SeqCst), 0, "payloads are left");
        }
    });
}

/// Capacities of rings that are always full, and of rings that are full from time to time.
fn capacity(random: &mut Random) -> Capacity {
    match random.below(6) {
        0 => Capacity::Unbounded,
        1 => Capacity::Bounded(40),
        longest => Capacity::Bounded(longest as usize - 1),
    }
}

type Client = stream::client::Stream<Payload>;
type Server = stream::server::Stream<Payload>;

/// Sends this many messages, each as soon as there is space, then disconnects. Returns how many were sent.
fn send_all(
    client: Client,
    sender: usize,
    count: u32,
    mut random: Random,
    living: &Arc<AtomicI64>,
) -> u32 {
    let mut client = client;
    for number in 0..count {
        random.delay();
        match client.send(Payload::new(sender, number, living)) {
            Ok(next) => client = next,
            Err(_) => return number,
        }
    }
    count
}

/// Sessions, and a thread for each that sends in it.
fn speakers(
    count: usize,
    random: &mut Random,
    living: &Arc<AtomicI64>,
) -> (Vec<Server>, Vec<JoinHandle<u32>>) {
    let begin = |sender| {
        let (server, client) = stream::init_with(capacity(random));
        let (messages, seed) = (random.below(400) as u32, random.below(1 << 40));
        let living = living.clone();
        let speaker =
            thread::spawn(move || send_all(client, sender, messages, Random::new(seed), &living));
        (server, speaker)
    };
    (0..count).map(begin).unzip()
}

fn all_were_heard(speakers: Vec<JoinHandle<u32>>, heard: &[u32]) {
    for (speaker, heard) in speakers.into_iter().zip(heard) {
        assert_eq!(speaker.join().expect("no panic"), *heard);
    }
}

#[test]
fn a_sender_and_a_receiver_that_block() {
    rounds(
        "a sender and a receiver",
        5 * ROUNDS,
        |mut random, living| {
            let (servers, speakers) = speakers(1, &mut random, living);
            let mut heard = [0];
            for mut server in servers {
                while let Ok(Stream::Send(payload, next)) = server.recv() {
                    assert_eq!(payload.number, heard[0]);
                    heard[0] += 1;
                    server = next;
                    random.delay();
                }
            }
            all_were_heard(speakers, &heard);
        },
    );
}

/// Answers as long as there are questions.
fn answer_all(mut server: type_switch::server::Start, mut random: Random) -> Result<(), Closed> {
    loop {
        random.delay();
        server = match server.recv()? {
            type_switch::Start::GetInt(answer) => answer.thing(1)?,
            type_switch::Start::GetStr(answer) => answer.thing(String::from("one"))?,
        };
    }
}

#[test]
fn two_who_ask_and_answer_by_turns() {
    watched("a dialogue", || {
        for round in 0..ROUNDS {
            let (server, mut client) = type_switch::init();
            let serving = thread::spawn(move || answer_all(server, Random::new(2 * round)));
            let mut random = Random::new(2 * round + 1);
            for _ in 0..500 {
                random.delay();
                let answered = client.get_int().expect("the server is there").recv();
                let Ok(type_switch::Wait::Thing(1, next)) = answered else {
                    panic!("an answer")
                };
                client = next;
            }
            drop(client);
            assert!(serving.join().expect("no panic").is_err());
        }
    });
}

#[test]
fn more_shared_senders_than_slots_block() {
    rounds("shared senders", 2 * ROUNDS, |mut random, living| {
        let slot = Slot::new().messages(3).fit::<Payload>();
        // More threads than slots: all but a few wait in the queue at any time.
        let longest = 1 + random.below(2) as usize;
        let (end, mut server) = session::<state::Stream<Payload>>(slot, Capacity::Bounded(longest));
        let shared = SharedSender::new(end);
        let leaves = random.below(3) == 0;
        let senders: Vec<_> = (0..6)
            .map(|sender| {
                let (shared, living) = (shared.clone(), living.clone());
                let mut random = Random::new(random.below(1 << 40));
                thread::spawn(move || {
                    for number in 0..100 {
                        random.delay();
                        let payload = Payload::new(sender, number, &living);
                        // Every third sender waits as a task: in the same queue, woken by the same report.
                        let sent = if sender % 3 == 2 {
                            block_on(shared.send_async::<0>(payload))
                        } else {
                            shared.send::<0>(payload)
                        };
                        if sent.is_err() {
                            return number;
                        }
                    }
                    100
                })
            })
            .collect();
        drop(shared);
        let mut heard = [0; 6];
        let mut read = 0;
        let is_read_to_the_end = loop {
            if leaves && read == 150 {
                drop(server);
                break false;
            }
            let Ok(Stream::Send(payload, next)) = server.recv() else {
                break true;
            };
            assert_eq!(payload.number, heard[payload.sender]);
            heard[payload.sender] += 1;
            read += 1;
            server = next;
            random.delay();
        };
        if !is_read_to_the_end {
            for sender in senders {
                let sent = sender.join().expect("no panic");
                assert!(sent <= 100);
            }
        } else {
            all_were_heard(senders, &heard);
        }
    });
}

#[test]
fn a_port_set_blocks_until_a_peer_sends() {
    rounds("a port set", MANY_ROUNDS, |mut random, living| {
        let (servers, speakers) = speakers(5, &mut random, living);
        let mut set: PortSet<_, _> = servers.into_iter().zip(0..).collect();
        let mut heard = [0; 5];
        while let Some((of, received)) = set.recv() {
            let Ok(Stream::Send(payload, next)) = received else {
                continue;
            };
            assert_eq!((payload.sender, payload.number), (of, heard[of]));
            heard[of] += 1;
            set.insert(next, of);
            random.delay();
        }
        all_were_heard(speakers, &heard);
    });
}

#[test]
fn a_select_blocks_until_a_peer_sends() {
    rounds("a select", MANY_ROUNDS, |mut random, living| {
        let (mut servers, speakers) = speakers(4, &mut random, living);
        let mut heard = [0; 4];
        while !servers.is_empty() {
            // Only on some of them: each of them sends or disconnects without regard to the others.
            let chosen = 1 + random.below(servers.len() as u64) as usize;
            let ready = Select::from_iter(&mut servers[..chosen]).ready();
            let ready = ready.expect("there are some");
            match servers.swap_remove(ready).try_recv() {
                Ok(Stream::Send(payload, next)) => {
                    assert_eq!(payload.number, heard[payload.sender]);
                    heard[payload.sender] += 1;
                    servers.push(next);
                }
                Ok(Stream::Stop) | Err(TryRecvError::Closed(_)) => {}
                Err(TryRecvError::Empty(_)) => panic!("what is ready has something"),
            }
            random.delay();
        }
        all_were_heard(speakers, &heard);
    });
}

#[test]
fn tasks_block_until_a_peer_sends_or_frees_space() {
    rounds("tasks", MANY_ROUNDS, |mut random, living| {
        let (mut server, mut client) = stream::init_with(capacity(&mut random));
        let (messages, seed) = (random.below(400) as u32, random.below(1 << 40));
        let counter = living.clone();
        let speaker = thread::spawn(move || {
            let mut random = Random::new(seed);
            block_on(async {
                for number in 0..messages {
                    random.delay();
                    duologue::Endpoint::ready(&mut client).await;
                    let sent = client.send(Payload::new(0, number, &counter));
                    client = sent.expect("the server reads to the end");
                }
            });
            messages
        });
        let mut heard = 0;
        block_on(async {
            while let Ok(Stream::Send(payload, next)) = server.recv_async().await {
                assert_eq!(payload.number, heard);
                heard += 1;
                server = next;
                random.delay();
            }
        });
        all_were_heard(vec![speaker], &[heard]);
    });
}

#[test]
fn a_side_that_leaves_wakes_the_one_that_blocks() {
    rounds("leaving", 10 * ROUNDS, |mut random, living| {
        let (servers, speakers) = speakers(1, &mut random, living);
        let read = random.below(200);
        for mut server in servers {
            for _ in 0..read {
                let Ok(Stream::Send(_, next)) = server.recv() else {
                    break;
                };
                server = next;
                random.delay();
            }
        }
        for speaker in speakers {
            speaker.join().expect("no panic");
        }
    });
}
