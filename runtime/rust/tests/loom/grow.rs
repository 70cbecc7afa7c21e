//! Sessions that begin in a small block, of two lines in a model, and move to a large one while the receiver reads, sleeps or
//! disconnects.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

use duologue::generated::{session, End, Slot, Stay, Turn};
use duologue::{Capacity, Receiver, Sender};
use loom::thread;

use super::golden::stream::{self, Stream};
use super::tasks::block_on;
use super::{explore, Counted};

/// A payload that has a line to itself.
#[allow(dead_code)]
struct Line(u32, [u32; 14], Option<Counted>);

fn line(number: u32) -> Line {
    Line(number, [0; 14], None)
}

/// How many messages fit into a small block.
const SMALL: u32 = 2;

/// Explores conversations that begin after `before` numbers, and checks that some laps of the small block ended and that some
/// sessions grew.
fn both_ways(preemptions: usize, before: &[u32], conversation: fn(u32)) {
    let [stayed, grown] = duologue::model_growth();
    for before in before.iter().copied() {
        explore(preemptions, true, move || conversation(before));
    }
    let now = duologue::model_growth();
    assert!(now[0] > stayed, "no lap ends in the small block");
    assert!(now[1] > grown, "no session grows");
}

/// A session in which as many numbers were sent and read one after the other, fewer than fill the small block.
fn begun(before: u32) -> (stream::server::Stream<Line>, stream::client::Stream<Line>) {
    assert!(before < SMALL);
    let (mut server, mut client) = stream::init_with::<Line>(Capacity::Unbounded);
    for number in 0..before {
        client = client.send(line(number)).expect("no disconnect");
        (_, server) = server.recv().expect("a number").sent();
    }
    (server, client)
}

/// Sends the numbers from `first` on, and then stops or disconnects.
fn send(mut client: stream::client::Stream<Line>, first: u32, more: u32, stops: bool) {
    for number in first..first + more {
        client = client.send(line(number)).expect("no disconnect");
    }
    if stops {
        client.stop().expect("no disconnect");
    }
}

#[test]
fn a_thread_reads_across_the_end_of_a_small_block() {
    fn conversation(before: u32, more: u32, stops: bool) {
        let (mut server, client) = begun(before);
        let sending = thread::spawn(move || send(client, before, more, stops));
        for expected in before..before + more {
            let (got, next) = server.recv().expect("a number").sent();
            assert_eq!(got.0, expected);
            server = next;
        }
        assert_eq!(matches!(server.recv(), Ok(Stream::Stop)), stops);
        sending.join().expect("no panic");
    }
    both_ways(2, &[1], |before| conversation(before, 2, true));
    both_ways(1, &[0, 1], |before| conversation(before, 3, false));
}

#[test]
fn a_task_reads_across_the_end_of_a_small_block() {
    fn conversation(before: u32, more: u32, stops: bool) {
        let (mut server, client) = begun(before);
        let sending = thread::spawn(move || send(client, before, more, stops));
        for expected in before..before + more {
            let (got, next) = block_on(server.recv_async()).expect("a number").sent();
            assert_eq!(got.0, expected);
            server = next;
        }
        assert_eq!(
            matches!(block_on(server.recv_async()), Ok(Stream::Stop)),
            stops
        );
        sending.join().expect("no panic");
    }
    both_ways(2, &[1], |before| conversation(before, 2, true));
    both_ways(1, &[1], |before| conversation(before, 3, false));
}

/// A receiver that waits now as a thread and now as a task, which its sender need not have seen.
#[test]
fn a_receiver_that_becomes_a_task_is_woken_in_the_next_lap() {
    both_ways(2, &[1], |before| {
        let (server, client) = begun(before);
        let sending = thread::spawn(move || send(client, before, 2, false));
        let server = match super::tasks::look(server) {
            Ok(Stream::Send(_, next)) => next,
            Ok(Stream::Stop) => panic!("a number"),
            Err(same) => match same.recv() {
                Ok(Stream::Send(_, next)) => next,
                _ => panic!("a number"),
            },
        };
        let (got, server) = block_on(server.recv_async()).expect("a number").sent();
        assert_eq!(got.0, before + 1);
        assert!(block_on(server.recv_async()).is_err());
        sending.join().expect("no panic");
    });
}

#[test]
fn a_receiver_that_leaves_at_the_end_of_a_small_block_loses_nothing() {
    both_ways(1, &[0, 1], |before| conversation(before, 1));
    for read in 0..=1 {
        explore(2, true, move || conversation(1, read));
    }

    /// Reads at most one message, and disconnects.
    fn conversation(before: u32, read: u32) {
        let drops = Arc::new(AtomicUsize::new(0));
        let (mut server, mut client) = begun(before);
        let counter = drops.clone();
        let sending = thread::spawn(move || {
            for number in before..before + 3 {
                let counted = Some(Counted(counter.clone()));
                client = match client.send(Line(number, [0; 14], counted)) {
                    Ok(next) => next,
                    Err(_) => return,
                };
            }
        });
        for _ in 0..read {
            (_, server) = server.recv().expect("a number").sent();
        }
        drop(server);
        sending.join().expect("no panic");
        let made = drops.load(Relaxed) + Arc::strong_count(&drops) - 1;
        assert_eq!(
            Arc::strong_count(&drops),
            1,
            "{made} were made, and one was lost"
        );
    }
}

/// `asking:send { more(u32) -> asking, ask -> answer }`, `answer:recv { yes -> ! }`.
enum Ask {}

enum Asked {
    More(Receiver<Ask>),
    Ask(Sender<Answer>),
}

state! {
    [] Ask, "asking" of "", stays: true, Asked, |branch| match branch.index() {
        0 => Asked::More(branch.take::<0>().1),
        _ => Asked::Ask(branch.take::<1>().1),
    };
    0 "more"(u32) => Stay<Ask>;
    1 "ask"(()) => Turn<Answer>;
}

enum Answer {}

state! {
    [] Answer, "answer" of "", stays: false, (), |branch| {
        branch.take::<0>();
    };
    0 "yes"(()) => End;
}

/// Sends numbers and a question, of which four fill the small block. The server answers, or forgets what it has not read.
#[test]
fn the_sides_change_roles_in_whichever_block_they_are() {
    for (sent, answers) in [(3, false), (4, false), (4, true)] {
        // A receiver that disconnects must not need the sender's half of the barrier here.
        explore(if answers { 1 } else { 2 }, answers, move || {
            let slot = Slot::new().messages(2).fit::<u32>();
            let (client, server) = session::<Ask>(slot, Capacity::Unbounded);
            let asking = thread::spawn(move || {
                let mut client = client;
                for number in 0..sent {
                    client = client.send::<0>(number).map_err(drop)?;
                }
                client.send::<1>(()).map_err(drop)?.recv().map_err(drop)
            });
            let mut server = answers.then_some(server);
            while let Some(receiver) = server {
                server = match receiver.recv().expect("no disconnect") {
                    Asked::More(next) => Some(next),
                    Asked::Ask(answer) => {
                        answer.send::<0>(()).expect("no disconnect");
                        None
                    }
                };
            }
            assert_eq!(asking.join().expect("no panic").is_ok(), answers);
        });
    }
}
