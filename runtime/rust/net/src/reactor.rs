//! Tasks of tokio, which wait for their connections by tokio's own reactor.
//!
//! The thread of [`watch`](crate::watch) reads for any executor, but then each message passes from that thread to the task's. Where
//! a task of tokio is polled, its runtime already waits for descriptors, on the thread that polls the task next. So the
//! session is registered there, and reads when that runtime wakes it.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use tokio::io::unix::AsyncFd;
use tokio::io::Interest;
use tokio::runtime::{Handle, Id};

use crate::session::{guarded, Session};
use crate::watch::{self, Watched};

/// How often a session reads in a row. A peer that sends more than is read must not keep the runtime's thread from its
/// tasks: after that the thread of `watch` reads.
const READS: usize = 16;

/// A session's registration with the runtime whose task was the last to wait for it.
#[derive(Default)]
pub(crate) struct Reactor(Mutex<Option<Registered>>);

#[derive(Clone)]
struct Registered {
    runtime: Id,
    /// A copy of the connection's descriptor, because the program's own streams may close theirs at any time.
    ready: Arc<AsyncFd<OwnedFd>>,
    /// Reads what has arrived.
    waker: Waker,
}

impl Reactor {
    fn registered(&self) -> MutexGuard<'_, Option<Registered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The registration with this runtime, which replaces one with another runtime: that may never run again.
    fn with(&self, runtime: Id, session: &Arc<Session>) -> Option<Registered> {
        let mut registered = self.registered();
        if let Some(found) = registered.as_ref().filter(|found| found.runtime == runtime) {
            return Some(found.clone());
        }
        *registered = None;
        let descriptor = session.stream().descriptor()?.try_clone_to_owned().ok()?;
        // What the function that replaces this one requires is that the descriptor stays open, and this one is owned.
        #[allow(deprecated)]
        let ready = AsyncFd::with_interest(descriptor, Interest::READABLE).ok()?;
        let new = Registered {
            runtime,
            ready: Arc::new(ready),
            waker: Waker::from(Arc::new(Reads(Arc::downgrade(session)))),
        };
        *registered = Some(new.clone());
        Some(new)
    }
}

impl Registered {
    /// Reads until the connection has no more, or a waiter was woken. Returns false if another thread has to read.
    fn read(&self, session: &Arc<Session>) -> bool {
        let mut context = Context::from_waker(&self.waker);
        for _ in 0..READS {
            match self.ready.poll_read_ready(&mut context) {
                Poll::Pending => return true,
                Poll::Ready(Ok(mut ready)) => {
                    let arrived = session.arrived(Some(Instant::now()));
                    if arrived.is_drained {
                        ready.clear_ready();
                    }
                    if !arrived.continues {
                        return true;
                    }
                }
                // The runtime is shut down.
                Poll::Ready(Err(_)) => return false,
            }
        }
        false
    }
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
            if !registered.is_some_and(|registered| registered.read(&session)) {
                watch::until_readable(&session, false);
            }
        });
    }
}

/// For a task that waits, while it is polled (`by_task`): lets its runtime read what arrives next. `is_full`: input that
/// was read before may be waiting. Returns false if another thread has to read: for a task without a runtime, and for a
/// thread, since the runtime may need that one.
pub(crate) fn until_readable(session: &Arc<Session>, by_task: bool, is_full: bool) -> bool {
    let runtime = Handle::try_current().ok().filter(|_| by_task);
    let Some(runtime) = runtime else {
        // The runtime that read before may never run again.
        let registered = session.reactor().registered().take();
        drop(registered);
        return false;
    };
    let Some(registered) = session.reactor().with(runtime.id(), session) else {
        return false;
    };
    if (is_full || session.stream().has_more()) && !session.arrived(Some(Instant::now())).continues
    {
        return true;
    }
    registered.read(session)
}

/// For any thread that has published what another one had read, while a task or a thread waits for more: lets the
/// runtime read on for which the session is registered. Returns false if there is none.
pub(crate) fn continues(session: &Arc<Session>) -> bool {
    let registered = session.reactor().registered().clone();
    registered.is_some_and(|registered| registered.read(session))
}
