//! Tasks of tokio, whose runtime reads their connections.
//!
//! The thread of [`watch`](super::watch) reads for any executor, but then each message passes from that thread to the task's.
//! The runtime that polls a task waits for descriptors anyway. So the session is registered there, and reads when the runtime
//! wakes it: [`Reads`].
//!
//! # Why nothing is missed
//!
//! tokio reports a descriptor once when more arrives, and from then on calls it ready until that is cleared. After
//! [`Registered::read`] has returned true, a waker is registered for the next report, or the session is settled: a waiter was
//! woken, which arms again when it waits again, the session is over, or the ring is full, so that the waiter finds a message.
//! If it returns false, `watch` reads, which checks the descriptor itself.

use std::future::{poll_fn, Future};
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use duologue::transport::guarded;
use rustix::event::{PollFd, PollFlags};
use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};
use tokio::io::Interest;
use tokio::runtime::{Handle, Id};
use tokio::task::coop::unconstrained;

use crate::remote::session::Session;
use crate::remote::watch::{self, Arrived, Watched};
use crate::sync;
use crate::transport::stream::{past, poll_until, Stream};

/// How many times a session reads in a row. A peer that sends more than is read must not keep the runtime's thread from
/// its tasks: after that the thread of `watch` reads.
const READS: usize = 16;

/// How many times a thread that finds a session in use lets others run before it leaves the reading to `watch`.
const YIELDS: usize = 16;

/// The runtimes that were built without `enable_io`.
static REFUSED: Mutex<Vec<Id>> = Mutex::new(Vec::new());

/// A session's registration with the runtime whose task was the last to wait for it.
pub(crate) struct Reactor(Mutex<Option<Arc<Registered>>>);

struct Registered {
    runtime: Id,
    /// With the connection's descriptor; or with a copy, because the program's own streams may close theirs at any time.
    ready: AsyncFd<Arc<OwnedFd>>,
    /// Reads what has arrived.
    waker: Waker,
}

impl Reactor {
    pub(crate) fn new() -> Reactor {
        Reactor(Mutex::new(None))
    }

    fn registered(&self) -> MutexGuard<'_, Option<Arc<Registered>>> {
        sync::lock(&self.0)
    }

    /// Ends the registration.
    pub(crate) fn forget(&self) {
        let registered = self.registered().take();
        drop(registered);
    }

    /// The registration with this runtime, which replaces one with another runtime: that may never run again.
    fn with(&self, runtime: Id, session: &Arc<Session>) -> Option<Arc<Registered>> {
        let mut registered = self.registered();
        if let Some(found) = registered.as_ref().filter(|found| found.runtime == runtime) {
            return Some(Arc::clone(found));
        }
        *registered = None;
        let new = Arc::new(Registered {
            runtime,
            ready: register(session.stream(), runtime)?,
            waker: Waker::from(Arc::new(Reads(Arc::downgrade(session)))),
        });
        *registered = Some(Arc::clone(&new));
        Some(new)
    }
}

/// Registers the descriptor, or a copy, with the current runtime.
fn register(stream: &dyn Stream, runtime: Id) -> Option<AsyncFd<Arc<OwnedFd>>> {
    let refused = || sync::lock(&REFUSED);
    if refused().contains(&runtime) {
        return None;
    }
    let copy = || stream.descriptor()?.try_clone_to_owned().ok().map(Arc::new);
    let descriptor = stream.shared_descriptor().or_else(copy)?;
    // The replacement for this function requires that the descriptor stay open, which its owner guarantees.
    #[allow(deprecated)]
    let register = || AsyncFd::with_interest(descriptor, Interest::READABLE);
    match guarded(register) {
        Some(registered) => registered.ok(),
        // The message, which says that the runtime needs `enable_io`, is printed once.
        None => {
            refused().push(runtime);
            None
        }
    }
}

/// Asks whether the descriptor is readable. For a task that has used up its budget, tokio says no and calls
/// the waker at once, which would be a recursion here.
fn poll<'r>(
    ready: &'r AsyncFd<Arc<OwnedFd>>,
    context: &mut Context<'_>,
) -> Poll<std::io::Result<AsyncFdReadyGuard<'r, Arc<OwnedFd>>>> {
    pin!(unconstrained(poll_fn(
        |context| ready.poll_read_ready(context)
    )))
    .poll(context)
}

impl Registered {
    /// Reads until the connection has no more, or the session is settled. Returns false if another thread has to read.
    fn read(&self, session: &Arc<Session>) -> bool {
        let stream = session.stream();
        let mut context = Context::from_waker(&self.waker);
        for _ in 0..READS {
            if stream.has_more() {
                if arrived(session).is_settled {
                    return true;
                }
                continue;
            }
            match poll(&self.ready, &mut context) {
                Poll::Pending => return true,
                Poll::Ready(Ok(mut ready)) => {
                    let arrived = arrived(session);
                    if arrived.is_drained && is_drained(stream) {
                        ready.clear_ready();
                    }
                    if arrived.is_settled {
                        return true;
                    }
                }
                // The runtime is shut down.
                Poll::Ready(Err(_)) => {
                    session.reactor().forget();
                    return false;
                }
            }
        }
        false
    }
}

/// Reads once what has arrived. A thread that uses the session at this moment is given time to finish.
fn arrived(session: &Arc<Session>) -> Arrived {
    for _ in 0..YIELDS {
        let arrived = session.arrived(Some(past()));
        if !arrived.is_busy {
            return arrived;
        }
        thread::yield_now();
    }
    session.arrived(Some(past()))
}

/// Whether the descriptor of a stream that has just found nothing has nothing either.
fn is_drained(stream: &dyn Stream) -> bool {
    let is_readable = |descriptor| {
        let mut polled = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
        poll_until(&mut polled, Some(past())).is_ok()
    };
    stream.is_plain() || !stream.descriptor().is_some_and(is_readable)
}

/// Wakes a session by reading from its connection.
struct Reads(Weak<Session>);

impl Wake for Reads {
    fn wake(self: Arc<Reads>) {
        let Some(session) = self.0.upgrade() else {
            return;
        };
        let registered = session.reactor().registered().clone();
        // Destructors of payloads, streams and observers run here.
        guarded(move || {
            let is_done = match registered {
                Some(registered) => registered.read(&session),
                // The session was closed, or a thread waits now.
                None => arrived(&session).is_settled,
            };
            if !is_done {
                watch::until_readable(&session, false);
            }
        });
    }
}

/// For a task that waits for a message, while it is polled (`by_task`): lets its runtime read what arrives next. `is_full`:
/// input that was read before may be waiting. Returns false if `watch` has to read: for a task without a runtime, and for a
/// thread, because the runtime may need that thread.
pub(crate) fn until_readable(session: &Arc<Session>, by_task: bool, is_full: bool) -> bool {
    let runtime = Handle::try_current().ok().filter(|_| by_task);
    let Some(runtime) = runtime else {
        // The runtime that read before may never run again.
        session.reactor().forget();
        return false;
    };
    let Some(registered) = session.reactor().with(runtime.id(), session) else {
        return false;
    };
    if is_full && arrived(session).is_settled {
        return true;
    }
    registered.read(session)
}

/// For any thread that has published what another one had read, while a task or a thread waits for more. Returns whether
/// the runtime reads what arrives next.
pub(crate) fn continues(session: &Arc<Session>) -> bool {
    let registered = session.reactor().registered().clone();
    registered.is_some_and(|registered| {
        let mut context = Context::from_waker(&registered.waker);
        !session.stream().has_more() && poll(&registered.ready, &mut context).is_pending()
    })
}
