//! One session over a connection: it moves messages between the far end and the stream.
//!
//! # Threads
//!
//! There is no thread per session. The thread that sends also writes: it wakes the far end, whose waker is the session
//! itself, so the session runs on the sender's thread, right after the message was published. The thread that waits for a
//! message also reads: it calls [`Driver::wait`]. Only for tasks, and for threads that wait for several sessions, the
//! process has one thread that reads, and writes what a connection did not take at once (`watch`); for tasks of tokio
//! their runtime can do the reading (`reactor`). Another thread writes what a sender has collected for too long
//! (`flush`), and a third does timed work (`timer`).
//!
//! These three and the runtime never wait for a connection. The sender of a message waits until it is written, unless
//! tasks use the session (`never_waits`). Where no thread waits and the connection accepts nothing, what was sent stays
//! in the ring until `watch` has written what came before it.
//!
//! # Locks
//!
//! `input` is held while the connection is read, which may take as long as the peer lets it; `core` is held for a short
//! time, or while the connection is written. A thread that needs both takes `input` first. The threads `watch`, `flush`
//! and `timer` only try to take them, because a sender may hold `core` for as long as its peer accepts nothing: what
//! they have read is then `unpublished`, and the thread that releases `core` publishes it. A waker may be called inside
//! the session's own work, by any thread, so it never waits for `core`: it sets `again`, and the holder of the lock
//! works once more. User code (wakers, destructors of payloads) is called when no lock is held: the calls are collected
//! in an [`After`].
//!
//! A failed attempt to take a lock orders nothing by itself. So there is a full fence between setting `again` or
//! `unpublished` and trying `core`, and another between releasing `core` and reading them: either the attempt finds
//! the lock free, or the thread that has released it sees the flag.

mod due;
mod forwarding;
mod hold;
mod side;
mod terms;
mod writing;

use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use std::sync::atomic::{fence, AtomicBool, AtomicU8};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;
use std::time::{Duration, Instant};

use duologue::transport::{guarded, Arrival, Deadline, Encoder, FarEnd, Open, Role, Why, Woken};

use crate::frame::{self, Frame};
use crate::input::Input;
use crate::observe::{Direction, Named, Reports, Seen, Tally};
use crate::reactor::Reactor;
use crate::stream::Stream;
use crate::sync::{lock, try_lock};
use crate::timer::{self, What};
use crate::watch::Watch;
use crate::{flush, watch};

use due::{Checks, Stall};
use forwarding::Next;
use hold::Hold;
pub(crate) use terms::{Held, Holds, Terms};
pub(crate) use writing::Written;

/// A run is written when this much has been collected.
pub(crate) const COLLECTED: usize = 64 << 10;

/// A side that never waits where it sends waits all the same if this much is to be written.
const FAR_AHEAD: usize = 1 << 20;

/// `timer` keeps an entry of a session that is over for at most this long.
const LONGEST_PULSE: Duration = Duration::from_secs(10);

/// How long a session keeps buffers that have grown. Releasing them matters where many sessions are idle, and growing
/// again costs little compared with this time.
const SHRINKS_AFTER: Duration = Duration::from_secs(1);

pub(crate) struct Session {
    stream: Box<dyn Stream>,
    terms: Terms,
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
    limit: Deadline,
    why: AtomicU8,
    /// Whether the session is in the queue of `flush`.
    pub(crate) is_due: AtomicBool,
    /// Whether `timer` shrinks the buffers after a while.
    will_shrink: AtomicBool,
    /// What the session keeps until it is dropped.
    held: Held,
    /// What waits for the session's observer, if it has one.
    reports: Option<Arc<Reports>>,
    watch: Watch,
    reactor: Reactor,
}

struct Core {
    far: FarEnd,
    /// What is to be written. The first `written` bytes have been.
    out: Encoder,
    written: usize,
    /// Whether something was written since the last pulse.
    has_written: bool,
    /// The session itself, as the far end's waker. It keeps the session alive until the connection is closed.
    waker: Option<Waker>,
    /// The connection accepts nothing more, and until when another thread may find out why.
    fails_until: Option<Instant>,
    /// Whether the session is over for the side in this process. Its last bytes may still have to be written.
    is_closed: bool,
    /// When the time of the state in which the session is has passed: it has a limit, and has begun.
    due: Option<Instant>,
    /// The connection accepts nothing at the moment, and that is limited.
    stall: Option<Stall>,
    /// When `timer` checks whether one of these times has passed: see `due`.
    checks: Checks,
    /// When the connection is closed even though its last bytes were not written.
    lingers_until: Option<Instant>,
    /// What is reported to the session's observer, if it has one.
    tally: Option<Box<Tally>>,
}

impl Core {
    /// How many bytes have to be written.
    fn pending(&self) -> usize {
        self.out.bytes().len() - self.written
    }

    /// Gives up what is to be written.
    fn forget_pending(&mut self) {
        self.out.clear(0);
        self.written = 0;
        self.stall = None;
    }

    /// Counts messages of one state that were sent or received.
    fn count(&mut self, named: Named, messages: u64, bytes: usize, after: &mut After) {
        if let Some(tally) = &mut self.tally {
            tally.count(named, messages, bytes, &self.far);
            after.reports = true;
        }
    }
}

/// How long a thread waits until the connection accepts what it writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    None,
    /// For a limited time at each write. What is not written by then is lost.
    Brief,
    Endless,
}

/// What has to be done once no lock is held, and how long the work until then may wait.
struct After {
    /// How long this thread waits until the connection accepts what it writes.
    patience: Patience,
    /// The first waiter; nearly always the only one, for which nothing is allocated.
    woken: Option<Woken>,
    more_woken: Vec<Woken>,
    /// The side that was held back.
    released: Option<Waker>,
    /// A far end that disconnects.
    far: Option<FarEnd>,
    closes: bool,
    flushes: bool,
    /// The connection did not accept everything.
    writes: bool,
    lingers: Option<Instant>,
    /// When `timer` has to check whether a time has passed.
    checks: Vec<Instant>,
    /// Something waits for the session's observer.
    reports: bool,
    /// A buffer is larger than an idle session needs.
    shrinks: bool,
}

impl After {
    fn new(patience: Patience) -> After {
        After {
            patience,
            woken: None,
            more_woken: Vec::new(),
            released: None,
            far: None,
            closes: false,
            flushes: false,
            writes: false,
            lingers: None,
            checks: Vec::new(),
            reports: false,
            shrinks: false,
        }
    }

    fn wake(&mut self, woken: Option<Woken>) {
        let Some(woken) = woken else { return };
        match &self.woken {
            None => self.woken = Some(woken),
            Some(_) => self.more_woken.push(woken),
        }
    }

    fn is_empty(&self) -> bool {
        self.woken.is_none()
            && self.released.is_none()
            && self.far.is_none()
            && !self.closes
            && !self.flushes
            && !self.writes
            && self.lingers.is_none()
            && self.checks.is_empty()
            && !self.reports
    }
}

/// Begins a session over a connection on which both sides have agreed. `early` was read after the hello or answer.
/// `seen`: the session is observed.
pub(crate) fn open<E: Open>(
    stream: Box<dyn Stream>,
    terms: Terms,
    early: Vec<u8>,
    seen: Option<Seen>,
    held: Held,
) -> E {
    let mut session = None;
    let end = E::open(|far| {
        let tally = seen.map(|seen| Tally::begin::<E>(seen, terms.accepted, &far));
        let reports = tally.as_ref().map(|tally| tally.reports());
        let begun = Arc::new(Session {
            stream,
            terms,
            input: Mutex::new(Input::of(early, terms.patience())),
            core: Mutex::new(Core {
                far,
                out: Encoder::new(),
                written: 0,
                has_written: true,
                waker: None,
                fails_until: None,
                is_closed: false,
                due: None,
                stall: None,
                checks: Checks::default(),
                lingers_until: None,
                tally,
            }),
            again: AtomicBool::new(false),
            is_abandoned: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
            unpublished: AtomicBool::new(false),
            never_waits: AtomicBool::new(false),
            hold: Hold::new(),
            limit: Deadline::new(),
            why: AtomicU8::new(code(Why::Left)),
            is_due: AtomicBool::new(false),
            will_shrink: AtomicBool::new(false),
            held,
            reports,
            watch: Watch::new(),
            reactor: Reactor::new(),
        });
        lock(&begun.core).waker = Some(Waker::from(Arc::clone(&begun)));
        session = Some(Arc::clone(&begun));
        Arc::new(side::Driven(begun))
    });
    if let Some(session) = session {
        session.run();
        if let Some(held) = &session.held {
            held.begun(&session);
        }
        if let Some(pulse) = terms.pulse() {
            timer::at(Instant::now() + pulse, What::Pulse, &session);
        }
    }
    end
}

fn code(why: Why) -> u8 {
    match why {
        Why::Left => 0,
        Why::Broken => 2,
        Why::Late => 3,
        Why::TooLarge => 4,
        Why::Lost | _ => 1,
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
            let after = self.work(core, patience, |_, _| {});
            self.finish_once(after);
        }
    }

    /// Calls `act`, and handles what the side in this process has done in the meantime. The caller has to call
    /// [`finish`](Session::finish) once it holds no lock.
    fn with_core(&self, patience: Patience, act: impl FnOnce(&mut Core, &mut After)) -> After {
        self.work(lock(&self.core), patience, act)
    }

    fn work(
        &self,
        mut core: MutexGuard<'_, Core>,
        patience: Patience,
        act: impl FnOnce(&mut Core, &mut After),
    ) -> After {
        let mut after = After::new(match self.never_waits.load(Relaxed) {
            true => Patience::None,
            false => patience,
        });
        act(&mut core, &mut after);
        // The load only saves the swap. If it misses something, `run_again` finds it once `core` is released. `wait_until` may read
        // before that: only the endpoint's own thread waits there, and misses nothing that it has sent itself.
        while self.again.load(Relaxed) && self.again.swap(false, SeqCst) {
            self.hold.forwards();
            self.forward(&mut core, &mut after);
            // The side may send faster than this thread forwards.
            self.hold.note(core.pending());
        }
        after.writes &= core.pending() > 0;
        let ahead = if core.is_closed { 0 } else { core.pending() };
        after.released = self.hold.compare(ahead);
        after
    }

    /// Does what has to be done without a lock, and works once more if another thread found the lock taken.
    fn finish(self: &Arc<Session>, after: After) {
        let patience = after.patience;
        self.finish_once(after);
        self.run_again(patience);
    }

    /// Does what has to be done without a lock. Passes a full fence after that.
    fn finish_once(self: &Arc<Session>, after: After) {
        if after.closes {
            // The program's own streams may panic.
            guarded(|| {
                if let Some(mut input) = try_lock(&self.input) {
                    input.read_off(&*self.stream);
                }
                self.stream.close();
                self.reactor.forget();
            });
        }
        if after.writes {
            watch::until_written(self);
        } else if after.flushes && !self.is_due.swap(true, Relaxed) {
            flush::later(self);
        }
        if let Some(deadline) = after.lingers {
            timer::at(deadline, What::Linger, self);
        }
        for at in after.checks {
            timer::at(at, What::Due, self);
        }
        if after.shrinks && !self.will_shrink.swap(true, SeqCst) {
            timer::at(Instant::now() + SHRINKS_AFTER, What::Shrink, self);
        }
        if let Some(far) = after.far {
            guarded(|| drop(far));
        }
        if let Some(woken) = after.woken {
            guarded(|| woken.wake());
        }
        for woken in after.more_woken {
            guarded(|| woken.wake());
        }
        if let Some(waker) = after.released {
            guarded(|| waker.wake());
        }
        // See "Locks": `core` was released.
        fence(SeqCst);
        if self.unpublished.load(SeqCst) {
            self.publish_rest();
        }
        if after.reports {
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
            flush::again(self);
        }
    }

    /// Publishes what was read, as long as there are complete frames and free slots.
    fn publish(&self, input: &mut Input, core: &mut Core, after: &mut After) {
        // Only threads that hold `core` set it.
        if self.is_full.load(Relaxed) {
            self.is_full.store(false, SeqCst);
        }
        // If this misses that another thread sets it, that thread publishes, or the one that releases `core`.
        if self.unpublished.load(Relaxed) {
            self.unpublished.store(false, SeqCst);
        }
        after.shrinks |= input.is_large();
        while !core.is_closed {
            let bytes = &input.bytes[input.start..input.end];
            let size = |tag| core.far.size(tag);
            match frame::first(bytes, self.terms.allowed(), size) {
                Frame::Message { tag, payload } => {
                    if !core.far.has_room() {
                        self.is_full.store(true, SeqCst);
                        let Some(waker) = &core.waker else { return };
                        if core.far.arm(waker) {
                            return;
                        }
                        continue;
                    }
                    let (length, mut more) = (payload.end, 0);
                    let (payload, following) = (&bytes[payload], &bytes[length..]);
                    let memory = self.terms.memory;
                    let name = core.tally.as_ref().map_or("", |_| core.far.name(tag));
                    let arrived = (core.far).arrive(tag, payload, following, memory, &mut more);
                    input.start += length + more;
                    match arrived {
                        Ok(Arrival::Published(woken)) => {
                            after.wake(woken);
                            // What followed has the same size.
                            let messages = 1 + (more / length) as u64;
                            core.count((Direction::Received, name), messages, length + more, after);
                            core.due = None;
                            match core.far.role() {
                                Role::Sends => self.begin(core, after),
                                Role::Receives | Role::Over => self.forward(core, after),
                            }
                        }
                        Ok(Arrival::Gone) => {
                            // After these the session ends.
                            if let (true, Some(tally)) = (more > 0, &mut core.tally) {
                                let messages = 1 + (more / length) as u64;
                                tally.add(Direction::Received, messages, length + more);
                            }
                            return self.leave(core, after, Why::Left);
                        }
                        Err(malformed) => return self.leave(core, after, malformed.why()),
                    }
                }
                Frame::Ignored(length) => input.start += length,
                Frame::Leave(why) => {
                    input.ended = Some(why);
                    return self.close(core, after, why);
                }
                Frame::Broken => return self.leave(core, after, Why::Broken),
                Frame::Incomplete => {
                    if let Some(why) = input.ended {
                        self.close(core, after, why);
                    }
                    return;
                }
            }
        }
    }
}
