//! One session over a connection: the shell around its [`Core`], which reads and writes, waits, and has the locks and the time.
//!
//! # Threads
//!
//! There is no thread per session. The thread that sends also writes: it wakes the far end, whose waker is the session
//! itself, so the session runs on the sender's thread, right after the message was published. The thread that waits for a
//! message also reads: it calls [`Driver::wait`]. Only for tasks, and for threads that wait for several sessions, the
//! process has one thread that reads, and writes what a connection did not take at once (`watch`); for tasks of tokio
//! their runtime can do the reading (`reactor`). Another thread (`timer`) does timed work, and writes what a sender has
//! collected for too long.
//!
//! Both threads and the runtime never wait for a connection. The sender of a message waits until it is written, unless
//! tasks use the session (`never_waits`). Where no thread waits and the connection accepts nothing, what was sent stays
//! in the ring until `watch` has written what came before it.
//!
//! # Locks
//!
//! `input` is held while the connection is read, which may take as long as the peer lets it; `core` is held for a short
//! time, or while the connection is written. A thread that needs both takes `input` first. The threads `watch`
//! and `timer` only try to take them, because a sender may hold `core` for as long as its peer accepts nothing: what
//! they have read is then `unpublished`, and the thread that releases `core` publishes it. A waker may be called inside
//! the session's own work, by any thread, so it never waits for `core`: it sets `again`, and the holder of the lock
//! works once more. User code (wakers, destructors of payloads) is called when no lock is held: the calls are collected
//! in a [`Work`].
//!
//! A failed attempt to take a lock orders nothing by itself. So there is a full fence between setting `again` or
//! `unpublished` and trying `core`, and another between releasing `core` and reading them: either the attempt finds
//! the lock free, or the thread that has released it sees the flag.

mod io;
mod side;
mod timed;

use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use std::sync::atomic::{fence, AtomicBool};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;
use std::time::Instant;

use duologue::transport::{guarded, Deadline, Hold, Open, Reason};

use crate::core::{Core, Input, Next, Patience, Terms, Work};
use crate::observe::{Reports, Seen, Tally};
use crate::remote::reactor::Reactor;
use crate::remote::timer;
use crate::remote::watch::{self, Watch};
use crate::sync::{lock, try_lock};
use crate::transport::stream::Stream;

pub(crate) use io::Written;

/// What a session keeps until it is over on both sides.
pub(crate) type Held = Option<Box<dyn Holds>>;

/// What learns of a session and is dropped with it.
pub(crate) trait Holds: Send + Sync {
    /// The session has begun.
    fn begun(&self, session: &Arc<Session>);
}

pub(crate) struct Session {
    stream: Box<dyn Stream>,
    input: Mutex<Input>,
    core: Mutex<Core>,
    /// The thread that holds `core` has to work once more.
    again: AtomicBool,
    /// The side in this process has disconnected while it was its turn to receive.
    is_abandoned: AtomicBool,
    /// Whether complete frames may be waiting in the input because the ring is full.
    is_full: AtomicBool,
    /// Whether something was read that could not be published, because another thread held `core`.
    unpublished: AtomicBool,
    /// Whether tasks use the session, or threads that wait for several sessions: their sends do not wait.
    never_waits: AtomicBool,
    hold: Hold,
    /// Whether the side, which does not wait, is much further ahead of the connection than it should be.
    is_far_ahead: AtomicBool,
    limit: Deadline,
    why: Reason,
    /// Whether the session has an entry with `timer` to be flushed.
    pub(crate) is_due: AtomicBool,
    /// What the session keeps until it is dropped.
    held: Held,
    /// What waits for the session's observer, if it has one.
    reports: Option<Arc<Reports>>,
    watch: Watch,
    reactor: Reactor,
}

/// Begins a session over a connection on which both sides have agreed. `seen`: the session is observed.
pub(crate) fn open<E: Open>(
    stream: Box<dyn Stream>,
    terms: Terms,
    seen: Option<Seen>,
    held: Held,
) -> E {
    let mut session = None;
    let end = E::open(|far| {
        let tally = seen.map(|seen| Tally::begin::<E>(seen, terms.accepted, &far));
        let reports = tally.as_ref().map(|tally| tally.reports());
        let begun = Arc::new(Session {
            stream,
            input: Mutex::new(Input::new(terms.patience())),
            core: Mutex::new(Core::new(far, terms, tally, Instant::now)),
            again: AtomicBool::new(false),
            is_abandoned: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
            unpublished: AtomicBool::new(false),
            never_waits: AtomicBool::new(false),
            hold: Hold::default(),
            is_far_ahead: AtomicBool::new(false),
            limit: Deadline::new(),
            why: Reason::default(),
            is_due: AtomicBool::new(false),
            held,
            reports,
            watch: Watch::new(),
            reactor: Reactor::new(),
        });
        lock(&begun.core).wake_with(Waker::from(Arc::clone(&begun)));
        session = Some(Arc::clone(&begun));
        Arc::new(side::Driven(begun))
    });
    if let Some(session) = session {
        session.run();
        if let Some(held) = &session.held {
            held.begun(&session);
        }
    }
    end
}

impl Session {
    #[cfg(feature = "tokio")]
    pub(crate) fn reactor(&self) -> &Reactor {
        &self.reactor
    }

    /// Handles what the side in this process has done, or leaves it to the thread that already works on the session.
    /// Called by that side.
    fn run(self: &Arc<Session>) {
        // The thread that swaps it sees what this one did before.
        self.again.store(true, Release);
        // See "Locks".
        fence(SeqCst);
        self.run_again(Patience::Endless);
    }

    /// Works as often as `again` is set. The caller has passed a full fence since it set `again`, or released `core`.
    fn run_again(self: &Arc<Session>, patience: Patience) {
        while self.again.load(SeqCst) {
            let Some(core) = try_lock(&self.core) else {
                return;
            };
            let work = self.work(core, patience, |_, _| {});
            self.finish_once(work);
        }
    }

    /// Calls `act`, and handles what the side in this process has done in the meantime. The caller has to call
    /// [`finish`](Session::finish) once it holds no lock.
    fn with_core(&self, patience: Patience, act: impl FnOnce(&mut Core, &mut Work)) -> Work {
        self.work(lock(&self.core), patience, act)
    }

    fn work(
        &self,
        mut core: MutexGuard<'_, Core>,
        patience: Patience,
        act: impl FnOnce(&mut Core, &mut Work),
    ) -> Work {
        let mut work = Work::new(patience, self.never_waits.load(Relaxed), Instant::now);
        act(&mut core, &mut work);
        // The load only saves the swap. If it misses something, `run_again` finds it once `core` is released. `wait_until` may read
        // before that: only the endpoint's own thread waits there, and misses nothing that it has sent itself.
        while self.again.load(Relaxed) && self.again.swap(false, SeqCst) {
            self.hold.forwards();
            if self.is_abandoned.load(Relaxed) {
                core.abandon();
            }
            self.forward(&mut core, &mut work, Next::Later);
            // The side may send faster than this thread forwards.
            self.hold.note(core.is_behind());
        }
        work.writes &= core.pending() > 0;
        work.released = self.hold.compare(core.is_behind());
        // Only tells the side whether to wait for `core`.
        let is_far_ahead = core.is_far_behind();
        if self.is_far_ahead.load(Relaxed) != is_far_ahead {
            self.is_far_ahead.store(is_far_ahead, Relaxed);
        }
        core.schedule(&mut work);
        if let Some(why) = core.why() {
            self.why.set(why);
        }
        work
    }

    /// Does what has to be done without a lock, and works once more if another thread found the lock taken.
    fn finish(self: &Arc<Session>, work: Work) {
        let patience = work.patience;
        self.finish_once(work);
        self.run_again(patience);
    }

    /// Does what has to be done without a lock. Passes a full fence after that.
    fn finish_once(self: &Arc<Session>, work: Work) {
        if work.closes {
            // The program's own streams may panic.
            guarded(|| {
                if let Some(mut input) = try_lock(&self.input) {
                    io::read_off(&mut input, &*self.stream);
                }
                self.stream.close();
                self.reactor.forget();
            });
        }
        if work.writes {
            watch::until_written(self);
        } else if work.flushes {
            timer::flush(self);
        }
        if let Some(at) = work.check_at {
            timer::at(at, self);
        }
        if let Some(far) = work.far {
            guarded(|| drop(far));
        }
        if let Some(woken) = work.woken {
            guarded(|| woken.wake());
        }
        for woken in work.more_woken {
            guarded(|| woken.wake());
        }
        if let Some(waker) = work.released {
            guarded(|| waker.wake());
        }
        // See "Locks": `core` was released.
        fence(SeqCst);
        if self.unpublished.load(SeqCst) {
            self.publish_rest();
        }
        if work.reports {
            self.report();
        }
    }

    /// Calls the observer with what has happened. The caller holds no lock.
    fn report(self: &Arc<Session>) {
        if self
            .reports
            .as_ref()
            .is_some_and(|reports| reports.deliver())
        {
            timer::flush(self);
        }
    }
}
