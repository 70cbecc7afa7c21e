//! Sending where a run is unbounded: without waiting, and in tasks that never block their thread.

use std::future::{poll_fn, Future};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use duologue::{Capacity, Closed, Endpoint, TrySendError};

use crate::futures::block_on;
use crate::golden::stream::{self, client, server, Stream};
use crate::unpark::Unpark;

/// Sends until the ring is full. Returns what came back, and how many were sent.
fn fill(mut client: client::Stream<u32>) -> (client::Stream<u32>, u32) {
    for number in 0.. {
        match client.try_send(number) {
            Ok(next) => client = next,
            Err(TrySendError::Full((client, payload))) => {
                assert_eq!(payload, number);
                return (client, number);
            }
            Err(TrySendError::Closed(error)) => panic!("{error}"),
        }
    }
    unreachable!("the ring is full some time")
}

/// Reads these numbers.
fn read(
    mut server: server::Stream<u32>,
    numbers: std::ops::Range<u32>,
) -> Result<server::Stream<u32>, Closed> {
    for expected in numbers {
        server = server.recv()?.sent_is(expected);
    }
    Ok(server)
}

/// Polls two futures in turn until both have completed.
async fn both<A: Future, B: Future>(one: A, other: B) -> (A::Output, B::Output) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    let (mut first, mut second) = (None, None);
    poll_fn(|context| {
        if first.is_none() {
            if let Poll::Ready(output) = one.as_mut().poll(context) {
                first = Some(output);
            }
        }
        if second.is_none() {
            if let Poll::Ready(output) = other.as_mut().poll(context) {
                second = Some(output);
            }
        }
        match (first.is_some(), second.is_some()) {
            (true, true) => Poll::Ready(()),
            _ => Poll::Pending,
        }
    })
    .await;
    match (first, second) {
        (Some(first), Some(second)) => (first, second),
        _ => unreachable!("both have completed"),
    }
}

#[test]
fn a_full_ring_gives_the_endpoint_and_the_payload_back() -> Result<(), Closed> {
    for capacity in [Capacity::Unbounded, Capacity::Bounded(3)] {
        let (server, client) = stream::init_with::<u32>(capacity);
        let (client, sent) = fill(client);
        assert!(!client.is_ready());
        let server = read(server, 0..sent)?;
        let client = client.try_send(sent).map_err(|error| match error {
            TrySendError::Full(_) => panic!("everything was read"),
            TrySendError::Closed(error) => error.closed(),
        })?;
        let server = read(server, sent..sent + 1)?;
        let (client, _) = fill(client);
        assert!(matches!(
            client.try_stop(),
            Err(TrySendError::Full((_, ())))
        ));
        drop(server);
    }
    let (server, client) = stream::init::<u32>();
    drop(server);
    match client.try_send(7) {
        Err(TrySendError::Closed(error)) => assert_eq!(error.into_payload(), 7),
        other => panic!("{other:?}"),
    }
    Ok(())
}

/// Blocking sends would hang here: the receiver runs on the same thread.
#[test]
fn both_sides_on_one_thread() -> Result<(), Closed> {
    const MESSAGES: u32 = if cfg!(miri) { 100 } else { 100_000 };
    for capacity in [Capacity::Unbounded, Capacity::Bounded(2)] {
        let (mut server, mut client) = stream::init_with::<u32>(capacity);
        let sending = async {
            for number in 0..MESSAGES {
                client = client.send_async(number).await?;
            }
            client.stop_async().await.map_err(Closed::from)
        };
        let receiving = async {
            let mut expected = 0;
            while let Stream::Send(number, next) = server.recv_async().await? {
                assert_eq!(number, expected);
                expected += 1;
                server = next;
            }
            Ok::<u32, Closed>(expected)
        };
        let (sent, received) = block_on(both(sending, receiving));
        sent?;
        assert_eq!(received?, MESSAGES);
    }
    Ok(())
}

#[test]
fn a_send_that_is_given_up_gives_everything_back_and_wakes_nobody() -> Result<(), Closed> {
    let (server, client) = stream::init_with::<u32>(Capacity::Bounded(2));
    let (client, sent) = fill(client);
    let wakes = Unpark::current();
    let mut sending = client.send_async(sent);
    assert!(wakes.poll(&mut sending).is_pending());
    assert!(wakes.poll(&mut sending).is_pending());
    let (client, payload) = sending.into_inner().expect("it was not sent");
    assert_eq!(payload, sent);
    let server = read(server, 0..sent)?;
    assert_eq!(wakes.woken(), 0);

    // The session goes on.
    let mut sending = client.send_async(payload);
    assert!(matches!(wakes.poll(&mut sending), Poll::Ready(Ok(_))));
    assert!(sending.into_inner().is_none());
    let _server = read(server, sent..sent + 1)?;
    Ok(())
}

#[test]
fn a_send_that_is_dropped_drops_the_payload_and_closes_the_session() -> Result<(), Closed> {
    let (mut server, mut client) = stream::init_with::<Arc<()>>(Capacity::Bounded(2));
    let payload = Arc::new(());
    while client.is_ready() {
        client = client.send(payload.clone())?;
    }
    let mut sending = client.send_async(payload.clone());
    let wakes = Unpark::current();
    assert!(wakes.poll(&mut sending).is_pending());
    let sent = Arc::strong_count(&payload) - 2;
    drop(sending);
    assert_eq!(Arc::strong_count(&payload) - 1, sent);
    for _ in 0..sent {
        (_, server) = server.recv()?.sent();
    }
    assert!(server.recv().is_err());
    assert_eq!((Arc::strong_count(&payload), wakes.woken()), (1, 0));
    Ok(())
}

#[test]
fn a_peer_that_disconnects_wakes_a_send_and_the_payload_comes_back() {
    let (server, client) = stream::init_with::<u32>(Capacity::Bounded(2));
    let (client, sent) = fill(client);
    let mut sending = client.send_async(sent);
    let wakes = Unpark::current();
    assert!(wakes.poll(&mut sending).is_pending());
    drop(server);
    assert!(wakes.woken() > 0);
    let Poll::Ready(Err(error)) = wakes.poll(&mut sending) else {
        panic!("the peer is gone")
    };
    assert_eq!(error.into_payload(), sent);
}
