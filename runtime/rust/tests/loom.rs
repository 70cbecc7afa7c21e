//! All interleavings of short conversations, and all values that relaxed memory allows: `RUSTFLAGS="--cfg loom"`.
#![cfg(loom)]

extern crate duologue_runtime as duologue;

#[path = "sessions/golden.rs"]
mod golden;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

use duologue::{Capacity, Endpoint, TryRecvError};
use golden::{greeting, stream};
use loom::thread;

fn model(conversation: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(conversation);
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
            panic!("nobody leaves")
        };
        let Ok(greeting::More::Advice(advice, answer)) = more.recv() else {
            panic!("nobody leaves")
        };
        assert_eq!((welcome.as_str(), advice.as_str()), ("a", "b"));
        answer.bye().expect("nobody leaves");
        serving.join().expect("no panic").expect("nobody leaves");
    });
}

#[test]
fn a_full_ring_waits_and_is_woken() {
    for capacity in [Capacity::Bounded(1), Capacity::Bounded(2)] {
        model(move || {
            let (mut server, client) = stream::init_with::<u32>(capacity);
            let sending = thread::spawn(move || {
                let mut client = client;
                for number in 0..3 {
                    client = client.send(number).expect("nobody leaves");
                }
                client.stop().expect("nobody leaves");
            });
            for expected in 0..3 {
                let Ok(stream::Stream::Send(number, next)) = server.recv() else {
                    panic!("a number")
                };
                assert_eq!(number, expected);
                server = next;
            }
            assert!(matches!(server.recv(), Ok(stream::Stream::Stop)));
            sending.join().expect("no panic");
        });
    }
}

#[test]
fn leaving_at_the_same_time_loses_nothing() {
    for (capacity, sent) in [(1, 1), (1, 2), (2, 2), (2, 3)] {
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

#[test]
fn leaving_a_full_ring_is_seen_behind_the_last_message() {
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
