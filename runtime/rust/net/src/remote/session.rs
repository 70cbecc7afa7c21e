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

mod calls;

use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use std::sync::atomic::{fence, AtomicBool};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;
use std::time::Instant;

use duologue::transport::{guarded, Deadline, Hold, Open, Reason, Role, Why};

use crate::core::{Core, Input, Next, Patience, Step, Terms, Work, COLLECTED, LAST_WRITE};
use crate::observe::{Reports, Seen, Tally};
use crate::remote::reactor::Reactor;
use crate::remote::timer;
use crate::remote::watch::{self, Watch};
use crate::sync::{lock, try_lock};
use crate::transport::stream::{is_early, is_late, past, Stream};

pub(crate) use calls::Written;

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
        Arc::new(calls::Driven(begun))
    });
    if let Some(session) = session {
        session.run();
        if let Some(held) = &session.held {
            held.begun(&session);
        }
    }
    end
}

/// How many reads are made after the peer's time has passed. A peer that keeps sending without completing a message is late.
const LAST_READS: u32 = 256;

/// How much is read and discarded, at most, before a connection is closed.
const READ_OFF: usize = 1 << 20;

/// Reads once. Returns whether data or the end of the connection arrived. If the peer has been silent for too long, that
/// counts as the end.
fn read(input: &mut Input, stream: &dyn Stream, deadline: Option<Instant>) -> bool {
    let began = input.limits_silence().then(Instant::now);
    let silence = began.and_then(|began| input.until(began));
    let until = [deadline, silence].into_iter().flatten().min();
    match stream.read(input.space(), until) {
        Ok(count) => input.received(count),
        Err(error) if is_early(&error) => {
            return began.is_some_and(|began| input.is_silent(began, Instant::now()));
        }
        Err(_) => input.end(Why::Lost),
    }
    true
}

/// Reads and discards what has arrived: if a connection with unread data is closed, some systems also discard what was
/// written before.
fn read_off(input: &mut Input, stream: &dyn Stream) {
    let mut bytes = [0; 4 << 10];
    let mut count = 0;
    while input.ended().is_none() && count < READ_OFF {
        match stream.read(&mut bytes, Some(past())) {
            Ok(read) if read > 0 => count += read,
            Ok(_) | Err(_) => input.end(Why::Left),
        }
    }
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
                    read_off(&mut input, &*self.stream);
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

    /// Publishes what was read, as long as there are complete frames and free slots.
    fn publish(&self, input: &mut Input, core: &mut Core, work: &mut Work) {
        // Only threads that hold `core` set it.
        if self.is_full.load(Relaxed) {
            self.is_full.store(false, SeqCst);
        }
        // If this misses that another thread sets it, that thread publishes, or the one that releases `core`.
        if self.unpublished.load(Relaxed) {
            self.unpublished.store(false, SeqCst);
        }
        core.begin_receiving(input, work);
        loop {
            match core.receive(input, work) {
                Step::Full => self.is_full.store(true, SeqCst),
                Step::Forward => self.forward(core, work, Next::Later),
                Step::Write => self.write(core, work),
                Step::WriteLast => self.write_last(core, work),
                Step::Done => return,
            }
        }
    }

    /// Forwards what the side in this process has sent, and arms the far end for what it sends next.
    fn forward(&self, core: &mut Core, work: &mut Work, next: Next) {
        work.begin_forwarding();
        loop {
            match core.forward(next, work) {
                Step::Write => self.write(core, work),
                Step::WriteLast => self.write_last(core, work),
                Step::Done | Step::Forward | Step::Full => return,
            }
        }
    }

    /// Writes everything, or as much as possible if this thread must not wait.
    fn write(&self, core: &mut Core, work: &mut Work) {
        let deadline = match work.patience {
            Patience::None => Some(past()),
            Patience::Brief => Some(Instant::now() + LAST_WRITE),
            Patience::Endless => None,
        };
        self.write_until(core, work, deadline);
    }

    /// Writes until everything is written, or until the deadline or the side's time limit. If the peer is late, writes the
    /// last bytes.
    fn write_until(&self, core: &mut Core, work: &mut Work, deadline: Option<Instant>) {
        self.write_pending(core, work, deadline);
        if core.is_ending() {
            self.write_last(core, work);
        }
    }

    fn write_pending(&self, core: &mut Core, work: &mut Work, deadline: Option<Instant>) {
        let deadline = self.limit.or_earlier(deadline);
        // Others may share the endpoint, and send while this thread waits.
        self.hold.note(core.is_behind());
        // The first attempt does not wait: nearly always the connection accepts everything.
        let (mut until, mut has_waited) = (past(), false);
        while core.pending() > 0 {
            match self.stream.write(core.output(), Some(until)) {
                Ok(count) if count > 0 => core.wrote(count),
                Err(error) if is_early(&error) => {
                    if (has_waited || is_late(deadline)) && self.has_peer_ended() {
                        return self.write_failed(core, work);
                    }
                    let Some(next) = core.refused(deadline, work) else {
                        return;
                    };
                    (until, has_waited) = (next, true);
                }
                Ok(_) | Err(_) => return self.write_failed(core, work),
            }
        }
        core.all_written(work);
    }

    /// Writes the last bytes. A thread that may wait does so for as long as the core says. If this thread must not wait, the
    /// session is over for the side in this process, and the connection is closed later.
    fn write_last(&self, core: &mut Core, work: &mut Work) {
        let may_wait = |work: &Work| work.waits() && !self.limit.has_passed();
        let deadline = match may_wait(work) {
            true => core.last_deadline(work),
            false => Some(past()),
        };
        self.write_pending(core, work, deadline);
        // The side's time limit may have passed in the meantime, or the peer may be late.
        let has_waited = core.is_ending() && core.pending() > 0 && may_wait(work);
        core.last_written(has_waited, work);
    }

    /// Ends the session early, with a last frame for the peer.
    fn leave(&self, core: &mut Core, work: &mut Work, why: Why) {
        if core.is_open() {
            core.leave(why);
            self.write_last(core, work);
        }
    }

    /// Forwards and writes. If the connection accepted nothing at first and then everything, more is forwarded: nothing
    /// else would forward what was left in the ring. `until`: as in [`Session::write_until`], instead of what `work`
    /// says.
    fn forward_and_write(
        &self,
        core: &mut Core,
        work: &mut Work,
        next: Next,
        until: Option<Option<Instant>>,
    ) {
        loop {
            self.forward(core, work, next);
            let is_stalled = core.pending() >= COLLECTED;
            if core.is_over() {
                break;
            }
            match until {
                Some(deadline) => self.write_until(core, work, deadline),
                None => self.write(core, work),
            }
            if !is_stalled || core.pending() > 0 || core.is_over() {
                break;
            }
        }
    }

    /// Whether the peer has been silent for too long, or the connection has ended.
    fn has_peer_ended(&self) -> bool {
        // A thread that is reading notices the silence itself.
        let Some(mut input) = try_lock(&self.input) else {
            return false;
        };
        if input.ended().is_none() && input.bytes().len() < COLLECTED {
            read(&mut input, &*self.stream, Some(past()));
        }
        // This thread holds `core`. Once it has released it, it publishes and reads on.
        self.unpublished.store(true, SeqCst);
        input.ended().is_some()
    }

    /// The connection accepts nothing more. The peer may have said why.
    fn write_failed(&self, core: &mut Core, work: &mut Work) {
        let mut input = match core.role() {
            // The core keeps the session: what has arrived is published first.
            Role::Sends => None,
            Role::Receives | Role::Over => try_lock(&self.input),
        };
        if let Some(input) = input.as_deref_mut() {
            // A peer that keeps sending does not hold this thread up.
            while input.ended().is_none()
                && input.bytes().len() < COLLECTED
                && read(input, &*self.stream, Some(past()))
            {}
        }
        core.write_failed(input.as_deref(), work);
    }

    /// Ends the session if the peer is late. The caller has published what was read, and does not wait. What the connection
    /// accepts is written before that, and what has arrived is read: this thread may itself be late.
    fn expire(&self, input: &mut Input, core: &mut Core, work: &mut Work) {
        if core.is_stalled() && core.is_late(work) {
            self.write(core, work);
        }
        for count in 0..=LAST_READS {
            if !core.is_late(work) {
                return;
            }
            if count == LAST_READS || !read(input, &*self.stream, Some(past())) {
                break;
            }
            self.publish(input, core, work);
        }
        self.leave(core, work, Why::Late);
    }
}
