//! Messages of which a program cannot tell whether they were read: a receiver may disconnect without having seen them.

use duologue::generated::{session, End, Slot, Stay, Turn};
use duologue::{Capacity, Receiver, Sender};
use loom::thread;

use crate::explore;

/// Messages that can be forgotten:
/// `asking:send { more(u32) -> asking, ask -> answer, consult -> advice }`, `answer:recv { yes -> ! }`,
/// `advice:recv { advise(u32) -> advice, close -> ! }`.
enum Talk {}

enum Answer {}

enum Advice {}

state! {
    [] Talk, "asking" of "", stays: true, (), |branch| match branch.index() {
        0 => drop(branch.take::<0>()),
        1 => drop(branch.take::<1>()),
        _ => drop(branch.take::<2>()),
    };
    0 "more"(u32) => Stay<Talk>;
    1 "ask"(()) => Turn<Answer>;
    2 "consult"(()) => Turn<Advice>;
}

state! {
    [] Answer, "answer" of "", stays: false, (), |branch| {
        branch.take::<0>();
    };
    0 "yes"(()) => End;
}

state! {
    [] Advice, "advice" of "", stays: true, (), |branch| match branch.index() {
        0 => drop(branch.take::<0>()),
        _ => drop(branch.take::<1>()),
    };
    0 "advise"(u32) => Stay<Advice>;
    1 "close"(()) => End;
}

fn asking(capacity: Capacity) -> (Sender<Talk>, Receiver<Talk>) {
    session(Slot::new().messages(3).fit::<u32>(), capacity)
}
/// Without the fence that models the sender's half of the barrier: no side sleeps in a run here, and a receiver that
/// disconnects in a run where messages can be forgotten must not need it.
fn unfenced_model(conversation: impl Fn() + Send + Sync + 'static) {
    explore(2, false, conversation);
}

#[test]
fn a_sender_that_waits_for_an_answer_learns_that_the_receiver_forgot_the_question() {
    for sent in 0..=2 {
        unfenced_model(move || {
            let (client, server) = asking(Capacity::Bounded(3));
            let asking = thread::spawn(move || {
                let mut client = client;
                for number in 0..sent {
                    client = client.send::<0>(number)?;
                }
                client.send::<1>(())?.recv()
            });
            drop(server);
            assert!(asking.join().expect("no panic").is_err(), "nobody answers");
        });
    }
}

#[test]
fn both_leave_in_a_run_that_nobody_reads() {
    for sent in 0..=2 {
        unfenced_model(move || {
            let (client, server) = asking(Capacity::Bounded(3));
            let leaving = thread::spawn(move || {
                drop((0..sent).try_fold(client, |client, number| client.send::<0>(number)));
            });
            drop(server);
            leaving.join().expect("no panic");
        });
    }
}

#[test]
fn a_sender_that_leaves_before_the_answer_learns_that_the_receiver_forgot_the_question() {
    for sent in 0..=2 {
        unfenced_model(move || {
            let (client, server) = asking(Capacity::Bounded(3));
            let asking = thread::spawn(move || {
                let sent = (0..sent).try_fold(client, |client, number| client.send::<0>(number));
                drop(sent.map(|client| client.send::<1>(())));
            });
            drop(server);
            asking.join().expect("no panic");
        });
        unfenced_model(move || {
            let (client, server) = asking(Capacity::Bounded(3));
            let consulting = thread::spawn(move || {
                let sent = (0..sent).try_fold(client, |client, number| client.send::<0>(number));
                drop(sent.map(|client| client.send::<2>(())));
            });
            drop(server);
            consulting.join().expect("no panic");
        });
    }
}

#[test]
fn a_sender_that_waits_for_room_learns_that_the_receiver_forgot_what_is_there() {
    for sent in 1..=3 {
        unfenced_model(move || {
            let (client, server) = asking(Capacity::Bounded(1));
            let sending = thread::spawn(move || {
                let sent = (0..sent).try_fold(client, |client, number| client.send::<0>(number));
                drop(sent);
            });
            drop(server);
            sending.join().expect("no panic");
        });
    }
}
