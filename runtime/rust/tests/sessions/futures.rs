//! The same sessions on futures, without an async runtime: a task is a loop around a waker that unparks its thread.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;

use duologue::{Closed, Endpoint};

use crate::golden::stream;
use crate::unpark::Unpark;

pub fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Unpark::current());
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn a_pending_future_gives_its_endpoint_back_and_wakes_nobody() -> Result<(), Closed> {
    let wakes = Unpark::current();
    let (server, client) = stream::init::<u32>();
    let mut receiving = server.recv_async();
    assert!(wakes.poll(&mut receiving).is_pending());
    // Where there is a barrier to be saved, it yields before it waits.
    let before = wakes.woken();
    assert!(wakes.poll(&mut receiving).is_pending());
    let mut server = receiving.into_inner().expect("no message was delivered");
    assert!(wakes.poll(&mut server.ready()).is_pending());
    let client = client.send(1)?;
    assert_eq!(wakes.woken(), before);
    assert!(matches!(server.recv()?, stream::Stream::Send(1, _)));
    drop(client);
    Ok(())
}

#[test]
fn the_last_waker_is_woken() -> Result<(), Closed> {
    let old = Unpark::current();
    let new = Unpark::current();
    let (server, client) = stream::init::<u32>();
    let mut receiving = server.recv_async();
    // The first time it may only yield.
    for waker in [&old, &old, &new] {
        assert!(waker.poll(&mut receiving).is_pending());
    }
    let before = old.woken();
    drop(client);
    assert_eq!((old.woken(), new.woken()), (before, 1));
    assert!(block_on(receiving).is_err());
    Ok(())
}

#[test]
fn a_forgotten_future_does_no_harm() -> Result<(), Closed> {
    let (mut server, client) = stream::init::<u32>();
    let waker = Unpark::current();
    let mut ready = server.ready();
    assert!(waker.poll(&mut ready).is_pending());
    std::mem::forget(ready);
    let sender = thread::spawn(move || client.send(3).map(drop));
    assert!(matches!(server.recv()?, stream::Stream::Send(3, _)));
    sender.join().expect("no panic")?;
    let (mut server, client) = stream::init::<u32>();
    let mut ready = server.ready();
    assert!(waker.poll(&mut ready).is_pending());
    std::mem::forget(ready);
    drop(server);
    assert!(client.send(1).is_err());
    Ok(())
}
