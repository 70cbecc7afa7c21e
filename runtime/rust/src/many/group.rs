//! Waiting until one of several endpoints is ready.
//!
//! The same waiter is registered with every endpoint, and the peer that wakes it may leave it registered with the
//! others: it is taken back from all of them before the result is returned. So the next operation of an endpoint that
//! was not chosen finds it as if there had been no wait.

use std::future::Future;
use std::pin::{pin, Pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::floor::barrier;
use crate::floor::deadline::{self, earlier};
use crate::floor::fairness;
use crate::floor::sync::current;
use crate::floor::waiting::{with_each, BeforeSleep, Waiter};
use crate::typed::futures::Watch;

/// The first endpoint that is ready, beginning at `start`.
pub(crate) fn find(ends: &[Watch<'_>], start: usize) -> Option<usize> {
    first(ends, start, |end| end.0.is_ready())
}

fn first(ends: &[Watch<'_>], start: usize, is: impl Fn(&Watch<'_>) -> bool) -> Option<usize> {
    let mut indexes = (start..ends.len()).chain(0..start);
    indexes.find(|at| is(&ends[*at]))
}

/// Waits until an endpoint is ready, or until the deadline.
pub(crate) fn until(ends: &[Watch<'_>], start: usize, deadline: Option<Instant>) -> Option<usize> {
    let mut before = BeforeSleep::new();
    loop {
        if let Some(ready) = find(ends, start) {
            return Some(ready);
        }
        if !before.pass(ends.len()) {
            break;
        }
    }
    let _left = Left(ends);
    let ready = arm(ends, start, || Waiter::Thread(current()));
    if ready.is_some() {
        return ready;
    }
    // An endpoint whose limit has passed is ready.
    let limits = ends.iter().map(|end| end.0.limit());
    let deadline = limits.fold(deadline, earlier);
    loop {
        if let Some(ready) = find(ends, start) {
            return Some(ready);
        }
        if !deadline::sleep(deadline) {
            return find(ends, start);
        }
    }
}

/// Registers a waiter with every endpoint, and checks whether one is ready.
fn arm(ends: &[Watch<'_>], start: usize, waiter: impl Fn() -> Waiter) -> Option<usize> {
    let (mut needs_barrier, mut by_task) = (false, false);
    for end in ends {
        let waiter = waiter();
        by_task = waiter.is_task();
        needs_barrier |= end.0.announce(waiter);
    }
    if needs_barrier {
        barrier::heavy();
    }
    first(ends, start, |end| !end.0.confirm(by_task))
}

/// Takes the waiters back, even when the future that registered them is dropped.
struct Left<'e, 'a>(&'e [Watch<'a>]);

impl Drop for Left<'_, '_> {
    fn drop(&mut self) {
        with_each(self.0, |end| drop(end.0.disarm()));
    }
}

/// A future that checks all endpoints and registers the task's waker with those that are not ready.
pub(crate) struct Any<'e, 'a> {
    left: Left<'e, 'a>,
    start: usize,
}

impl<'e, 'a> Any<'e, 'a> {
    pub(crate) fn new(ends: &'e [Watch<'a>], start: usize) -> Any<'e, 'a> {
        Any {
            left: Left(ends),
            start,
        }
    }
}

impl Future for Any<'_, '_> {
    type Output = usize;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<usize> {
        let ends = self.left.0;
        ends.iter().for_each(|end| end.0.never_waits());
        if let Some(ready) = find(ends, self.start) {
            return Poll::Ready(ready);
        }
        match arm(ends, self.start, || Waiter::Task(context.waker().clone())) {
            Some(ready) => Poll::Ready(ready),
            None => Poll::Pending,
        }
    }
}

/// For [`select!`](crate::select): waits until one of the endpoints is ready and returns its index, or the number of
/// endpoints if none is ready within `patience`.
#[doc(hidden)]
pub fn wait<const N: usize>(ends: [Watch<'_>; N], patience: Option<Duration>) -> usize {
    let deadline = patience.map(|patience| Instant::now().checked_add(patience));
    until(&ends, fairness::next(N), deadline.flatten()).unwrap_or(N)
}

/// For `select! { async; ... }`: waits until one of the endpoints is ready and returns its index, or the number of
/// endpoints if the other future completes first.
///
/// # Cancel safety
///
/// Nothing is received, and the endpoints are borrowed: dropping the future loses nothing.
#[doc(hidden)]
pub async fn wait_async<const N: usize>(ends: [Watch<'_>; N], limit: impl Future) -> usize {
    let mut limit = pin!(limit);
    let mut any = Any::new(&ends, fairness::next(N));
    std::future::poll_fn(move |context| {
        if let Poll::Ready(ready) = Pin::new(&mut any).poll(context) {
            return Poll::Ready(ready);
        }
        limit.as_mut().poll(context).map(|_| N)
    })
    .await
}
