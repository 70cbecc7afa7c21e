//! One sending endpoint for many senders.
//!
//! The endpoint lies behind a lock that is held for one message. A sender that finds the ring full lets go of the
//! lock before it waits: it joins a queue, and the first in the queue leaves the queue's waker with the pipe. That waker
//! empties the queue and wakes all who were in it, so a sender that gave up in the meantime took nothing away from the
//! others.
//!
//! # Why nobody sleeps for ever
//!
//! Whoever joins holds the endpoint's lock. It has seen that there is no room; it joins; and if the queue was empty it leaves
//! the waker with the pipe, which fails if there is room after all. So when the lock is free and somebody is in the
//! queue, the waker is with the pipe, or a report of room has taken it out and it is about to empty the queue.
//! Emptying the queue too often wakes senders for nothing, which then try again.
//!
//! The pipe holds the waker and the waker the queue, which holds nothing of the session: there is no cycle.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::endpoint::Sender;
use crate::error::{Closed, SendError, TrySendError};
use crate::give_way::give_way;
use crate::scheme::{Stay, Transition};
use crate::sync::{current, park, Mutex, MutexGuard};
use crate::wait::{Awaited, Waiter};

/// How often a sender lets other threads run before it sleeps.
const YIELDS: u32 = if cfg!(loom) { 0 } else { 4 };

/// A sending endpoint that many senders use: what the types that are generated for states whose messages all lead back
/// to the state are made of.
///
/// The messages of one sender arrive in the order in which it sent them. The last clone's drop closes the session.
pub struct SharedSender<S> {
    shared: Arc<Shared<S>>,
}

/// What the senders share. `None` when the peer is gone.
struct Shared<S> {
    end: Mutex<Option<Sender<S>>>,
    queue: Arc<Queue>,
}

/// What became of one attempt.
enum Attempt<P> {
    Sent(Option<Waiter>),
    Closed(SendError<P>),
    Full(P),
}

impl<S> SharedSender<S> {
    /// Shares an endpoint.
    pub fn new(sender: Sender<S>) -> SharedSender<S> {
        let shared = Shared {
            end: Mutex::new(Some(sender)),
            queue: Arc::new(Queue {
                waiting: Mutex::new(Waiting::default()),
            }),
        };
        SharedSender {
            shared: Arc::new(shared),
        }
    }

    /// Sends the message with this index. Waits while the ring is full, and others may send meanwhile. Gives the payload back
    /// if the peer is gone.
    pub fn send<const INDEX: u8>(&self, payload: S::Payload) -> Result<(), SendError<S::Payload>>
    where
        S: Transition<INDEX, Next = Stay<S>>,
    {
        let mut place = InQueue::new(&self.shared.queue);
        let (mut payload, mut yields) = (payload, 0);
        loop {
            let mut end = self.shared.lock();
            match attempt::<S, INDEX>(&mut end, payload) {
                Attempt::Full(same) => payload = same,
                Attempt::Closed(error) => return Err(error),
                Attempt::Sent(receiver) => {
                    drop(end);
                    wake(receiver);
                    return Ok(());
                }
            }
            if yields < YIELDS {
                drop(end);
                yields = if give_way() { yields + 1 } else { YIELDS };
            } else if place.join(&end, Waiter::Thread(current())) {
                drop(end);
                park();
            }
        }
    }

    /// Sends the message with this index if there is room, and never waits for room.
    pub fn try_send<const INDEX: u8>(
        &self,
        payload: S::Payload,
    ) -> Result<(), TrySendError<S::Payload>>
    where
        S: Transition<INDEX, Next = Stay<S>>,
    {
        let outcome = attempt::<S, INDEX>(&mut self.shared.lock(), payload);
        match outcome {
            Attempt::Full(payload) => Err(TrySendError::Full(payload)),
            Attempt::Closed(error) => Err(TrySendError::Closed(error)),
            Attempt::Sent(receiver) => {
                wake(receiver);
                Ok(())
            }
        }
    }

    /// A future that does what [`send`](SharedSender::send) does. Dropping it before it is done drops the payload, unsent.
    pub fn send_async<const INDEX: u8>(&self, payload: S::Payload) -> SharedSend<'_, S, INDEX>
    where
        S: Transition<INDEX, Next = Stay<S>>,
    {
        SharedSend {
            shared: &self.shared,
            place: InQueue::new(&self.shared.queue),
            payload: Some(payload),
        }
    }
}

impl<S> Shared<S> {
    fn lock(&self) -> MutexGuard<'_, Option<Sender<S>>> {
        // A panic leaves `None` or an endpoint, both of which are true.
        match self.end.lock() {
            Ok(end) => end,
            Err(poisoned) => poisoned.into_inner(),
        }
    }
}

/// Sends if that does not wait for room. If the peer is gone, so is the endpoint afterwards.
fn attempt<S, const INDEX: u8>(
    end: &mut Option<Sender<S>>,
    payload: S::Payload,
) -> Attempt<S::Payload>
where
    S: Transition<INDEX, Next = Stay<S>>,
{
    let Some(sender) = end.take() else {
        return Attempt::Closed(SendError::new(payload, Closed::new(S::NAME)));
    };
    if !sender.watched().is_ready() {
        *end = Some(sender);
        return Attempt::Full(payload);
    }
    match sender.publish::<INDEX>(payload) {
        Ok((next, receiver)) => {
            *end = Some(next);
            Attempt::Sent(receiver.and_then(Awaited::fetch))
        }
        Err(error) => Attempt::Closed(error),
    }
}

fn wake(waiter: Option<Waiter>) {
    if let Some(waiter) = waiter {
        waiter.wake();
    }
}

/// The senders that wait for room.
struct Queue {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    waiters: Vec<(u64, Waiter)>,
    /// How many have joined ever, which numbers them.
    joined: u64,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        match self.waiting.lock() {
            Ok(waiting) => waiting,
            // No change is made in steps.
            Err(poisoned) => poisoned.into_inner(),
        }
    }
}

impl Wake for Queue {
    fn wake(self: Arc<Self>) {
        let waiters = std::mem::take(&mut self.lock().waiters);
        for (_, waiter) in waiters {
            waiter.wake();
        }
    }
}

/// A sender's place in the queue, which it leaves when it is done or gives up.
struct InQueue<'a> {
    queue: &'a Arc<Queue>,
    number: Option<u64>,
}

impl<'a> InQueue<'a> {
    fn new(queue: &'a Arc<Queue>) -> InQueue<'a> {
        InQueue {
            queue,
            number: None,
        }
    }

    /// Joins at the end. False, and the sender is not in the queue, if there is something to do.
    fn join<S>(&mut self, end: &Option<Sender<S>>, waiter: Waiter) -> bool {
        self.leave();
        let Some(sender) = end else { return false };
        let mut waiting = self.queue.lock();
        let number = waiting.joined;
        let is_first = waiting.waiters.is_empty();
        waiting.joined += 1;
        waiting.waiters.push((number, waiter));
        drop(waiting);
        self.number = Some(number);
        let is_waiting = !is_first
            || sender
                .watched()
                .arm_for_room(Waiter::Task(Waker::from(self.queue.clone())));
        if !is_waiting {
            self.leave();
        }
        is_waiting
    }

    fn leave(&mut self) {
        if let Some(number) = self.number.take() {
            let mut waiting = self.queue.lock();
            waiting.waiters.retain(|(other, _)| *other != number);
        }
    }
}

impl Drop for InQueue<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The future of [`SharedSender::send_async`].
#[must_use = "futures do nothing unless they are awaited"]
pub struct SharedSend<'a, S: Transition<INDEX>, const INDEX: u8> {
    shared: &'a Shared<S>,
    place: InQueue<'a>,
    payload: Option<S::Payload>,
}

// The payload is moved, never pinned.
impl<S: Transition<INDEX>, const INDEX: u8> Unpin for SharedSend<'_, S, INDEX> {}

impl<S, const INDEX: u8> Future for SharedSend<'_, S, INDEX>
where
    S: Transition<INDEX, Next = Stay<S>>,
{
    type Output = Result<(), SendError<S::Payload>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(mut payload) = this.payload.take() else {
            panic!("a `SharedSend` was polled after it was done")
        };
        loop {
            let mut end = this.shared.lock();
            match attempt::<S, INDEX>(&mut end, payload) {
                Attempt::Full(same) => payload = same,
                Attempt::Closed(error) => return Poll::Ready(Err(error)),
                Attempt::Sent(receiver) => {
                    drop(end);
                    wake(receiver);
                    return Poll::Ready(Ok(()));
                }
            }
            if this.place.join(&end, Waiter::Task(context.waker().clone())) {
                this.payload = Some(payload);
                return Poll::Pending;
            }
        }
    }
}

impl<S> Clone for SharedSender<S> {
    fn clone(&self) -> SharedSender<S> {
        SharedSender {
            shared: self.shared.clone(),
        }
    }
}

impl<S> fmt::Debug for SharedSender<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSender")
    }
}

/// Writes what a generated shared sender has in common with all others: `From` its endpoint, `Clone` and `Debug`.
#[doc(hidden)]
#[macro_export]
macro_rules! shared {
    ($shared:ident, $end:ident $(<$($parameter:ident),+>)?) => {
        impl $(<$($parameter),+>)? ::std::convert::From<$end $(<$($parameter),+>)?> for $shared $(<$($parameter),+>)? {
            fn from(end: $end $(<$($parameter),+>)?) -> Self {
                $shared($crate::SharedSender::new(end.0))
            }
        }

        impl $(<$($parameter),+>)? ::std::clone::Clone for $shared $(<$($parameter),+>)? {
            fn clone(&self) -> Self {
                $shared(::std::clone::Clone::clone(&self.0))
            }
        }

        impl $(<$($parameter),+>)? ::std::fmt::Debug for $shared $(<$($parameter),+>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(::std::stringify!($shared))
            }
        }
    };
}
