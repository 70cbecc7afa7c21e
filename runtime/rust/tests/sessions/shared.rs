//! One endpoint, many senders.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread;

use duologue::generated::{session, Slot};
use duologue::{Capacity, Closed, SharedSender, TrySendError};

use crate::futures::block_on;
use crate::golden::stream::{self, state, Stream};
use crate::unpark::Unpark;

type Shared<T> = SharedSender<state::Stream<T>>;

fn init<T: Send>(capacity: Capacity) -> (stream::server::Stream<T>, Shared<T>) {
    let (sender, receiver) = session(Slot::new().fit::<T>(), capacity);
    (receiver, SharedSender::new(sender))
}

/// Receives until all senders have disconnected. Checks the order of each sender's messages, and returns how many came
/// from each.
fn read_all(mut server: stream::server::Stream<(usize, u32)>) -> HashMap<usize, u32> {
    let mut expected = HashMap::new();
    while let Ok(Stream::Send((sender, message), next)) = server.recv() {
        let expected = expected.entry(sender).or_insert(0);
        assert_eq!(message, *expected, "of sender {sender}");
        *expected += 1;
        server = next;
    }
    expected
}

#[test]
fn many_threads_send_and_nothing_is_lost_or_overtakes() {
    const SENDERS: usize = 4;
    const MESSAGES: u32 = if cfg!(miri) { 20 } else { 5_000 };
    for capacity in [
        Capacity::Unbounded,
        Capacity::Bounded(1),
        Capacity::Bounded(3),
    ] {
        let (server, shared) = init(capacity);
        let mut threads = Vec::new();
        for sender in 0..SENDERS {
            let shared = shared.clone();
            threads.push(thread::spawn(move || {
                for message in 0..MESSAGES {
                    shared.send::<0>((sender, message))?;
                }
                Ok::<(), Closed>(())
            }));
        }
        drop(shared);
        let heard = read_all(server);
        assert_eq!(heard.len(), SENDERS);
        assert!(heard.values().all(|messages| *messages == MESSAGES));
        for thread in threads {
            thread.join().expect("no panic").expect("receiver is open");
        }
    }
}

#[test]
fn tasks_wait_for_room_as_threads_do() {
    const MESSAGES: u32 = if cfg!(miri) { 20 } else { 2_000 };
    let (server, shared) = init(Capacity::Bounded(2));
    let task = |sender: usize, shared: Shared<(usize, u32)>| {
        thread::spawn(move || {
            block_on(async {
                for message in 0..MESSAGES {
                    shared.send_async::<0>((sender, message)).await?;
                }
                Ok::<(), Closed>(())
            })
        })
    };
    let tasks = [task(0, shared.clone()), task(1, shared.clone())];
    drop(shared);
    assert_eq!(
        read_all(server),
        HashMap::from([(0, MESSAGES), (1, MESSAGES)])
    );
    for task in tasks {
        task.join().expect("no panic").expect("receiver is open");
    }
}

#[test]
fn a_full_ring_is_told_from_a_closed_session() {
    let (server, shared) = init::<u32>(Capacity::Bounded(2));
    assert!(shared.try_send::<0>(1).is_ok() && shared.try_send::<0>(2).is_ok());
    let Err(TrySendError::Full(3)) = shared.try_send::<0>(3) else {
        panic!("there is no room for 3")
    };
    drop(server);
    let Err(TrySendError::Closed(error)) = shared.try_send::<0>(4) else {
        panic!("nobody is there")
    };
    assert_eq!(error.closed().protocol(), "stream");
    assert_eq!(error.into_payload(), 4);
    assert_eq!(
        shared
            .clone()
            .send::<0>(5)
            .map_err(|error| error.into_payload()),
        Err(5)
    );
}

#[test]
fn those_who_wait_for_room_are_told_that_the_receiver_left() {
    let (server, shared) = init::<u32>(Capacity::Bounded(1));
    shared.send::<0>(0).expect("receiver is open");
    let senders = [1, 2, 3].map(|number| {
        let shared = shared.clone();
        thread::spawn(move || shared.send::<0>(number).is_err())
    });
    thread::yield_now();
    drop(server);
    for sender in senders {
        assert!(sender.join().expect("no panic"));
    }
}

#[test]
fn a_sender_that_gives_up_takes_no_room_from_the_others() {
    let wakes = [0, 1].map(|_| Unpark::current());
    let wakers = [&wakes[0], &wakes[1]].map(|wakes| Waker::from(wakes.clone()));
    let (server, shared) = init::<u32>(Capacity::Bounded(1));
    shared.send::<0>(0).expect("receiver is open");
    let mut first = shared.send_async::<0>(1);
    let mut second = shared.send_async::<0>(2);
    assert!(Pin::new(&mut first)
        .poll(&mut Context::from_waker(&wakers[0]))
        .is_pending());
    assert!(Pin::new(&mut second)
        .poll(&mut Context::from_waker(&wakers[1]))
        .is_pending());
    drop(first);
    let Ok(Stream::Send(0, server)) = server.recv() else {
        panic!("0")
    };
    assert_eq!(wakes[0].woken(), 0);
    assert_eq!(wakes[1].woken(), 1);
    let polled = Pin::new(&mut second).poll(&mut Context::from_waker(&wakers[1]));
    assert!(matches!(polled, Poll::Ready(Ok(()))));
    assert!(matches!(server.recv(), Ok(Stream::Send(2, _))));
}
