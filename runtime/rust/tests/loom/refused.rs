//! Conversations in which the kernel refuses the barrier, and no fence of the sender replaces it. So every sender may
//! miss what its receiver sets in the flags, and every receiver may miss what was just stored.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

use duologue::Capacity;
use loom::thread;

use crate::golden::{
    greeting,
    stream::{self, Stream},
};
use crate::{explore_refused, Counted};

#[test]
fn who_waits_in_a_run_looks_again() {
    explore_refused(|| {
        let (mut server, client) = stream::init_with::<u32>(Capacity::Bounded(2));
        let sending = thread::spawn(move || {
            client.send(1)?.send(2)?.stop()?;
            Ok::<_, duologue::Closed>(())
        });
        for expected in 1..3 {
            let Ok(Stream::Send(number, next)) = server.recv() else {
                panic!("a number")
            };
            assert_eq!(number, expected);
            server = next;
        }
        assert!(matches!(server.recv(), Ok(Stream::Stop)));
        sending.join().expect("no panic").expect("no disconnect");
    });
}

/// A message may be leaked, but none is destroyed twice, and every session ends.
#[test]
fn a_session_ends_though_its_receiver_misses_messages() {
    for sent in 0..3 {
        explore_refused(move || {
            let (server, client) = stream::init_with::<Counted>(Capacity::Bounded(3));
            let destroyed = Arc::new(AtomicUsize::new(0));
            let counter = destroyed.clone();
            let sending = thread::spawn(move || {
                let mut client = client;
                for number in 0..sent {
                    client = match client.send(Counted(counter.clone())) {
                        Ok(next) => next,
                        Err(_) => return number + 1,
                    };
                }
                sent
            });
            drop(server);
            let made = sending.join().expect("no panic");
            assert!(destroyed.load(Relaxed) <= made, "one was destroyed twice");
        });
    }
}

/// The sender waits for an answer to what its receiver may have missed.
#[test]
fn nobody_waits_for_a_receiver_that_missed_a_message_and_left() {
    explore_refused(|| {
        let (server, client) = greeting::init();
        let serving = thread::spawn(move || {
            let reply = server.welcome("a".into())?.advice("b".into())?;
            reply.recv().map(drop)
        });
        drop(client);
        assert!(serving.join().expect("no panic").is_err());
    });
}

/// The same, but the sender disconnects where it would wait.
#[test]
fn both_sides_leave_though_one_missed_a_message() {
    explore_refused(|| {
        let (server, client) = greeting::init();
        let serving = thread::spawn(move || {
            let _reply = server.welcome("a".into())?.advice("b".into())?;
            Ok::<_, duologue::Closed>(())
        });
        drop(client);
        let _ = serving.join().expect("no panic");
    });
}
