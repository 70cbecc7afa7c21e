//! One sending endpoint for many senders.
//!
//! The endpoint is protected by a lock that is held for one message at a time. A sender that finds the ring full
//! releases the lock before it waits: it joins a queue, and the first sender in the queue registers the queue's waker
//! with the pipe. That waker empties the queue and wakes all senders that were in it, so a sender that gave up in the
//! meantime takes nothing away from the others.
//!
//! # Why no sender sleeps forever
//!
//! A sender that joins holds the endpoint's lock. It has seen that there is no space; it joins; and if the queue was
//! empty, it registers the waker with the pipe, which fails if there is space after all. So when the lock is free and
//! the queue is not empty, the waker is with the pipe, or a report of free slots has taken it out and it is about to
//! empty the queue. Emptying the queue too often wakes senders unnecessarily, and they try again.
//!
//! The pipe holds the waker, and the waker holds the queue, which holds nothing of the session: there is no cycle.
//!
//! # What runs under the locks
//!
//! Only code of this crate that does not wait. A waker is cloned, woken and dropped where no lock is held, because that
//! runs user code, which may use or drop the same shared sender. The same applies to observers, to dropping a payload,
//! and to having the transport of a session between processes forward what was sent, because it may wait for its peer.
//! Therefore what follows from an attempt is done by [`Attempt::done`], after the lock was released.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use crate::floor::sync::{current, park, Mutex, MutexGuard};
use crate::floor::waiting::{with_each, BeforeSleep, PendingWake, Waiter};
use crate::link::message::{Forwards, Unsent};
use crate::ring::driver::{Ahead, Driver, Why};
use crate::ring::observer::Watched;
use crate::typed::endpoint::{does_not_fit, Sender, Stay, Transition};
use crate::typed::error::{Closed, SendError, TrySendError};

/// A sending endpoint that many senders use. Generated code wraps it for states whose messages all lead back to the
/// same state.
///
/// The messages of one sender arrive in the order in which it sent them. Dropping the last clone closes the session.
pub struct SharedSender<S> {
    shared: Arc<Shared<S>>,
}

/// What the senders share.
struct Shared<S> {
    end: Mutex<End<S>>,
    queue: Arc<Queue>,
}

/// The endpoint, or why the session was closed.
enum End<S> {
    Open(Sender<S>),
    Closed(Why),
}

/// The result of a send that did not have to wait, or that has finished waiting.
type Done<P> = Result<(), SendError<P>>;

/// The outcome of one attempt.
enum Attempt<P> {
    /// Nothing remains to be done. A variant of its own, because it is the usual case and copies nothing.
    Sent,
    /// With the receiver if it waits, the driver if it has to forward what was sent, and what reports it if the session is
    /// observed.
    Follow(
        Option<Waiter>,
        Option<Arc<dyn Driver>>,
        Option<Arc<Watched>>,
    ),
    /// The peer is gone: this attempt has found out, and ends the session.
    Closed(Unsent<P>),
    /// An earlier attempt has found out, and why.
    Gone(P, Why),
    Full(P),
    DoesNotFit(P),
}

impl<P> Attempt<P> {
    /// Does the remaining work, where no lock is held. Returns the payload if there is no space.
    fn done(self, state: &'static &'static str) -> Result<Done<P>, P> {
        match self {
            Attempt::Sent => Ok(Ok(())),
            Attempt::Follow(receiver, driver, watched) => {
                if let Some(receiver) = receiver {
                    receiver.wake();
                }
                if let Some(driver) = driver {
                    driver.collected(Ahead::More);
                }
                if let Some(watched) = watched {
                    watched.deliver();
                }
                Ok(Ok(()))
            }
            Attempt::Closed(Unsent { payload, left }) => {
                let why = left.end();
                Ok(Err(SendError::new(payload, Closed::new(state, why))))
            }
            Attempt::Gone(payload, why) => {
                Ok(Err(SendError::new(payload, Closed::new(state, why))))
            }
            Attempt::Full(payload) => Err(payload),
            Attempt::DoesNotFit(_payload) => does_not_fit(state),
        }
    }
}

impl<S> SharedSender<S> {
    /// Shares an endpoint.
    pub fn new(sender: Sender<S>) -> SharedSender<S> {
        // From here on, the queue's waiter is the only one that is registered here.
        drop(sender.wait().disarm_slowly());
        let shared = Shared {
            end: Mutex::new(End::Open(sender)),
            queue: Arc::new(Queue(Mutex::default())),
        };
        SharedSender {
            shared: Arc::new(shared),
        }
    }

    /// Sends the message with this index. Blocks while the ring is full; other senders may send in the meantime. Fails
    /// with [`SendError`], which contains the payload, if the peer has disconnected.
    pub fn send<const INDEX: u8>(&self, payload: S::Payload) -> Result<(), SendError<S::Payload>>
    where
        S: Transition<INDEX, Next = Stay<S>>,
    {
        let attempt = attempt::<S, INDEX>(&mut self.shared.lock(), payload, true);
        if let Attempt::Sent = attempt {
            return Ok(());
        }
        match attempt.done(&S::NAME) {
            Ok(result) => result,
            Err(payload) => self.send_when_free::<INDEX>(payload),
        }
    }

    /// [`send`](SharedSender::send) after the ring was full.
    #[cold]
    #[inline(never)]
    fn send_when_free<const INDEX: u8>(
        &self,
        payload: S::Payload,
    ) -> Result<(), SendError<S::Payload>>
    where
        S: Transition<INDEX, Next = Stay<S>>,
    {
        let mut place = InQueue::new(&self.shared.queue);
        let mut payload = payload;
        let mut before = BeforeSleep::without_spinning();
        loop {
            let sleeps = !before.pass(1);
            let waiter = sleeps.then(|| {
                drop(place.leave());
                Waiter::Thread(current())
            });
            match self
                .shared
                .send_or_join::<INDEX>(payload, &mut place, waiter, true)
            {
                Ok(result) => return result,
                Err((same, is_waiting)) => {
                    payload = same;
                    if is_waiting {
                        park();
                    }
                }
            }
        }
    }

    /// Sends the message with this index if the ring is not full, and never waits for space. Fails with
    /// [`TrySendError`], which contains the payload, if the ring is full or the peer has disconnected.
    pub fn try_send<const INDEX: u8>(
        &self,
        payload: S::Payload,
    ) -> Result<(), TrySendError<S::Payload>>
    where
        S: Transition<INDEX, Next = Stay<S>>,
    {
        let attempt = attempt::<S, INDEX>(&mut self.shared.lock(), payload, false);
        match attempt.done(&S::NAME) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(TrySendError::Closed(error)),
            Err(payload) => Err(TrySendError::Full(payload)),
        }
    }

    /// A future that does what [`send`](SharedSender::send) does.
    ///
    /// # Cancel safety
    ///
    /// The future owns the payload. Dropping it before it completes drops the payload, unsent. The session goes on.
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
    fn lock(&self) -> MutexGuard<'_, End<S>> {
        // A panic leaves a closed end or an endpoint, and both are valid.
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends if there is space. If not, returns the payload, and whether the waiter, if there is one, has joined the
    /// queue. It does not join if there is space by then. A sender that passes a waiter must not be in the queue.
    fn send_or_join<const INDEX: u8>(
        &self,
        payload: S::Payload,
        place: &mut InQueue<'_>,
        waiter: Option<Waiter>,
        may_wait: bool,
    ) -> Result<Done<S::Payload>, (S::Payload, bool)>
    where
        S: Transition<INDEX, Next = Stay<S>>,
    {
        // A waiter that does not join is dropped last.
        let _refused;
        let mut end = self.lock();
        let attempt = attempt::<S, INDEX>(&mut end, payload, may_wait);
        if let Attempt::Sent = attempt {
            drop(end);
            drop(waiter);
            return Ok(Ok(()));
        }
        let joined = match (&attempt, waiter) {
            (Attempt::Full(_), Some(waiter)) => place.join(&end, waiter),
            (_, waiter) => Err(waiter),
        };
        drop(end);
        let is_waiting = joined.is_ok();
        _refused = joined.err();
        attempt
            .done(&S::NAME)
            .map_err(|payload| (payload, is_waiting))
    }
}

/// Sends if that does not have to wait for space. `may_wait`: the caller waits in other cases. If the peer is gone, the end is closed afterwards.
fn attempt<S, const INDEX: u8>(
    end: &mut End<S>,
    payload: S::Payload,
    may_wait: bool,
) -> Attempt<S::Payload>
where
    S: Transition<INDEX, Next = Stay<S>>,
{
    let sender = match mem::replace(end, End::Closed(Why::Left)) {
        End::Open(sender) => sender,
        End::Closed(why) => {
            *end = End::Closed(why);
            return Attempt::Gone(payload, why);
        }
    };
    if !sender.fits::<INDEX>() {
        *end = End::Open(sender);
        return Attempt::DoesNotFit(payload);
    }
    if !may_wait {
        sender.wait().never_waits();
    }
    if !sender.wait().has_space() {
        *end = End::Open(sender);
        return Attempt::Full(payload);
    }
    match sender.publish_as::<INDEX>(payload, Forwards::Caller) {
        Ok((next, receiver)) => {
            let driver = next
                .pipe()
                .driver_at_segment(mem::needs_drop::<S::Payload>());
            let watched = next.pipe().watched().cloned();
            *end = End::Open(next);
            if receiver.is_none() && driver.is_none() && watched.is_none() {
                return Attempt::Sent;
            }
            Attempt::Follow(receiver.and_then(PendingWake::fetch), driver, watched)
        }
        Err(unsent) => {
            *end = End::Closed(unsent.left.why());
            Attempt::Closed(unsent)
        }
    }
}

/// The senders that wait for space.
struct Queue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    waiters: Vec<(u64, Waiter)>,
    /// How many senders have ever joined, which is the number of the next one.
    joined: u64,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Every change is a single step, so a panic leaves nothing inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Queue {
    fn wake(self: Arc<Self>) {
        let waiters = mem::take(&mut self.lock().waiters);
        with_each(waiters, |(_, waiter)| waiter.wake());
    }
}

/// A sender's position in the queue. The sender leaves the queue when it is done or gives up.
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

    /// Joins the queue at the end. If the sender does not have to wait after all, it is not in the queue afterwards,
    /// and the waiter is returned, unless it was woken. The sender must not be in the queue already.
    fn join<S>(&mut self, end: &End<S>, waiter: Waiter) -> Result<(), Option<Waiter>> {
        let End::Open(sender) = end else {
            return Err(Some(waiter));
        };
        let mut waiting = self.queue.lock();
        let number = waiting.joined;
        let is_first = waiting.waiters.is_empty();
        waiting.joined += 1;
        waiting.waiters.push((number, waiter));
        drop(waiting);
        self.number = Some(number);
        let is_waiting =
            !is_first || (sender.wait()).arm(Waiter::Task(Waker::from(self.queue.clone())));
        if is_waiting {
            return Ok(());
        }
        Err(self.leave())
    }

    /// Takes the waiter out of the queue, for the caller to drop.
    #[inline]
    fn leave(&mut self) -> Option<Waiter> {
        match self.number {
            None => None,
            Some(_) => self.leave_queue(),
        }
    }

    #[cold]
    #[inline(never)]
    fn leave_queue(&mut self) -> Option<Waiter> {
        let number = self.number.take()?;
        let mut waiting = self.queue.lock();
        let is_this = |(other, _): &(u64, Waiter)| *other == number;
        let at = waiting.waiters.iter().position(is_this)?;
        Some(waiting.waiters.remove(at).1)
    }
}

impl Drop for InQueue<'_> {
    fn drop(&mut self) {
        drop(self.leave());
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
        let mut waiter = None;
        loop {
            let Some(payload) = this.payload.take() else {
                panic!("`SharedSend` polled after completion")
            };
            match this
                .shared
                .send_or_join::<INDEX>(payload, &mut this.place, waiter, false)
            {
                Ok(result) => return Poll::Ready(result),
                Err((payload, is_waiting)) => {
                    this.payload = Some(payload);
                    if is_waiting {
                        return Poll::Pending;
                    }
                }
            }
            drop(this.place.leave());
            waiter = Some(Waiter::Task(context.waker().clone()));
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

/// Implements what all generated shared senders have in common: `From` for their endpoint, `Clone` and `Debug`.
#[doc(hidden)]
#[macro_export]
macro_rules! shared {
    ($shared:ident, $end:ident $(<$($parameter:ident),+>)? $(,)?) => {
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
