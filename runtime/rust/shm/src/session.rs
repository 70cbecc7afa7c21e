//! One session: it moves messages between the far end and the region.
//!
//! # Threads
//!
//! There is no thread per session. The thread that sends also writes: it wakes the far end, whose waker is the session
//! itself, so the session runs on the sender's thread, right after the message was published. The thread that waits for a
//! message also reads: it calls [`Driver::wait`], which spins for a short time and then sleeps on the flags of its side.
//! Only for tasks, for threads that wait for several sessions, and for what was sent inside an unbounded run, the
//! process has one thread, the [`helper`].
//!
//! # Locks
//!
//! `core` is held for a short time, never while a thread sleeps: neither reading nor writing the region waits. User code
//! (wakers, destructors of payloads) is called when it is not held: the calls are collected in an [`After`]. A
//! waker of the far end may be called inside the session's own work, by the thread that holds `core`. That thread is
//! remembered in `holder`: it only sets `again`, and works once more.
//!
//! [`Driver::wait`]: duologue::transport::Driver::wait
//! [`helper`]: crate::helper

mod step;

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use duologue::transport::{
    guarded, sync, Ahead, BeforeSleep, Deadline, Driver, FarEnd, Hold, Next, Open, Reason, Why,
    Woken,
};

use crate::end::{Alive, End, Sleepers, PERIOD};
use crate::helper::{self, Helped, Served};
use crate::memory::{DONE, LEFT};
use crate::messages::{Incoming, Outgoing, Terms};
use crate::position::Position;

use step::State;

/// How long a session that is over keeps trying to write its last messages while the peer reads none.
const LAST_WRITE: Duration = Duration::from_secs(5);

pub(crate) struct Session {
    end: Arc<End>,
    terms: Terms,
    core: Mutex<Core>,
    /// The thread that holds `core` and works, or 0.
    holder: AtomicU64,
    /// The thread that holds `core` has to work once more.
    again: AtomicBool,
    /// The side in this process has disconnected while it was its turn to receive.
    is_abandoned: AtomicBool,
    /// The side in this process has disconnected as sender. What it has sent may still have to be written.
    is_leaving: AtomicBool,
    /// Whether a task, or a thread that waits for several sessions, waits for a message, so the helper reads. If nothing
    /// waits any more, it reads once unnecessarily.
    is_awaited: AtomicBool,
    /// Whether tasks use the session, or threads that wait for several sessions: their sends do not wait.
    never_waits: AtomicBool,
    hold: Hold,
    /// When the waits of the side in this process end.
    limit: Deadline,
    why: Reason,
    /// What the helper knows about the session.
    helped: helper::Helped,
}

struct Core {
    far: FarEnd,
    position: Position,
    incoming: Incoming,
    outgoing: Outgoing,
    /// Until the session is over for the peer.
    alive: Option<Alive>,
    sleepers: Sleepers,
    /// The session itself, as the far end's waker. It keeps the session alive until it is over.
    waker: Option<Waker>,
    /// Whether the session is over for the side in this process. Its last messages may still have to be written.
    is_closed: bool,
    /// What ends the session for the peer, once everything is written.
    how: u32,
    /// Whether nothing is read because the ring is full.
    is_full: bool,
    /// Whether something was forwarded since the far end last found nothing.
    has_forwarded: bool,
    /// How many reads in a row have found nothing.
    empty_reads: u32,
    /// When the session is over even though its last messages were not written.
    lingers_until: Option<Instant>,
}

/// What has to be done once no lock is held.
#[derive(Default)]
struct After {
    /// The first waiter; nearly always the only one, for which nothing is allocated.
    woken: Option<Woken>,
    more_woken: Vec<Woken>,
    /// The side that was held back.
    released: Option<Waker>,
    /// A far end that disconnects.
    far: Option<FarEnd>,
    /// What a session that is over keeps no longer.
    alive: Option<Alive>,
    waker: Option<Waker>,
    /// The far end has to check the ring again soon.
    flushes: bool,
}

impl After {
    fn wake(&mut self, woken: Option<Woken>) {
        let Some(woken) = woken else { return };
        match &self.woken {
            None => self.woken = Some(woken),
            Some(_) => self.more_woken.push(woken),
        }
    }
}

/// What a thread waits for.
#[derive(Clone, Copy)]
enum Goal<'a> {
    /// What the side in this process asks for.
    Ready(&'a dyn Fn() -> bool),
    /// Everything that was sent is in the region.
    Written,
}

impl Goal<'_> {
    fn is_met(self, state: State) -> bool {
        match self {
            Goal::Ready(is_ready) => is_ready(),
            Goal::Written => !state.is_pending,
        }
    }
}

/// `core`, held by a thread that works.
struct Working<'a> {
    core: MutexGuard<'a, Core>,
    holder: &'a AtomicU64,
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.holder.store(0, Relaxed);
    }
}

/// A number of this thread that no other has.
fn this_thread() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static NUMBER: u64 = LAST.fetch_add(1, Relaxed) + 1;
    }
    // While a thread's variables are destroyed it has a number that no lock was taken with.
    NUMBER.try_with(|number| *number).unwrap_or(u64::MAX)
}

/// Begins a session in a region in which both sides have agreed.
pub(crate) fn open<E: Open>(end: Arc<End>, alive: Alive, terms: Terms) -> E {
    let mut session = None;
    let endpoint = E::open(|far| {
        let position = Position::new(&end);
        let begun = Arc::new(Session {
            end,
            terms,
            core: Mutex::new(Core {
                far,
                position,
                incoming: Incoming::default(),
                outgoing: Outgoing::new(),
                alive: Some(alive),
                sleepers: Sleepers::default(),
                waker: None,
                is_closed: false,
                how: DONE,
                is_full: false,
                has_forwarded: false,
                empty_reads: 0,
                lingers_until: None,
            }),
            holder: AtomicU64::new(0),
            again: AtomicBool::new(false),
            is_abandoned: AtomicBool::new(false),
            is_leaving: AtomicBool::new(false),
            is_awaited: AtomicBool::new(false),
            never_waits: AtomicBool::new(false),
            hold: Hold::default(),
            limit: Deadline::new(),
            why: Reason::default(),
            helped: helper::Helped::default(),
        });
        begun.core().waker = Some(Waker::from(Arc::clone(&begun)));
        session = Some(Arc::clone(&begun));
        Arc::new(Driven(begun))
    });
    if let Some(session) = session {
        session.work(Next::Later);
    }
    endpoint
}

impl Session {
    fn core(&self) -> MutexGuard<'_, Core> {
        sync::lock(&self.core)
    }

    /// Does everything that is possible without waiting.
    fn work(self: &Arc<Session>, next: Next) -> State {
        let mut after = After::default();
        let state = {
            let core = self.core();
            self.holder.store(this_thread(), Relaxed);
            let mut working = Working {
                core,
                holder: &self.holder,
            };
            let core = &mut *working.core;
            loop {
                // Only this thread sets it, while it works here.
                self.again.store(false, Relaxed);
                let state = self.step(core, &mut after, next);
                if !self.again.load(Relaxed) {
                    after.released = self.hold.compare(state.is_pending && !core.is_closed);
                    break state;
                }
            }
        };
        self.finish(after);
        state
    }

    /// Does what has to be done without a lock.
    fn finish(self: &Arc<Session>, after: After) {
        if after.flushes {
            helper::flush_later(self);
        }
        let After {
            far,
            alive,
            waker,
            released,
            ..
        } = after;
        guarded(|| drop(far));
        drop(alive);
        for woken in after.woken.into_iter().chain(after.more_woken) {
            guarded(|| woken.wake());
        }
        if let Some(waker) = released {
            guarded(|| waker.wake());
        }
        // The session may end here.
        drop(waker);
    }

    /// Handles what the side in this process has done. Called by that side, possibly inside the session's own work.
    /// Waits until what was sent is in the region, if this thread may wait, but not beyond the side's time limit.
    fn run(self: &Arc<Session>, next: Next, limit: Option<Duration>) {
        if self.holder.load(Relaxed) == this_thread() {
            self.again.store(true, Relaxed);
            return;
        }
        if !self.work(next).is_pending {
            return;
        }
        if !self.never_waits.load(SeqCst) && !helper::is_this_thread() {
            let deadline = limit.map(|limit| Instant::now() + limit);
            let deadline = self.limit.or_earlier(deadline);
            if self.wait_for(Goal::Written, next, deadline) {
                return;
            }
        }
        helper::watch(self);
    }

    /// Moves messages until the goal is met. Returns false if the deadline has passed first, or the session is over.
    fn wait_for(
        self: &Arc<Session>,
        goal: Goal<'_>,
        next: Next,
        deadline: Option<Instant>,
    ) -> bool {
        let mut before = None;
        loop {
            let state = self.work(next);
            if goal.is_met(state) {
                return true;
            }
            if state.is_over || deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return goal.is_met(state);
            }
            if state.has_moved || state.is_unfinished {
                // The next wait begins with a full budget.
                before = None;
                if state.is_unfinished {
                    continue;
                }
            }
            let policy = before.get_or_insert_with(|| match self.end.may_spin() {
                true => BeforeSleep::new(),
                false => BeforeSleep::without_spinning(),
            });
            let mut has_news = false;
            while !has_news && policy.pass(1) {
                has_news = self.has_news();
                if let Goal::Ready(is_ready) = goal {
                    if is_ready() {
                        return true;
                    }
                }
            }
            if has_news {
                continue;
            }
            let flags = self.end.announce(&mut self.core().sleepers);
            self.end.barrier();
            let state = self.work(next);
            let is_met = goal.is_met(state);
            if !is_met && !state.is_over && !state.has_moved && !state.is_unfinished {
                let now = Instant::now();
                let left = deadline.map_or(PERIOD, |end| end.saturating_duration_since(now));
                self.end.sleep(flags, left.min(PERIOD));
            }
            self.end.retract(&mut self.core().sleepers);
            if is_met {
                return true;
            }
            if state.has_moved {
                before = None;
            }
        }
    }

    /// Ends the session for the side in this process. What it has sent is still written.
    fn conclude(&self, core: &mut Core, after: &mut After, why: Why) {
        if !std::mem::replace(&mut core.is_closed, true) {
            self.why.set(why);
            after.far = Some(std::mem::replace(&mut core.far, FarEnd::over()));
            core.how = LEFT;
        }
    }

    /// Ends the session for both sides, even if something was not written.
    fn close(&self, core: &mut Core, after: &mut After, why: Why, how: u32) {
        self.conclude(core, after, why);
        core.outgoing.forget();
        core.lingers_until = None;
        if let Some(alive) = core.alive.take() {
            self.end.set(how);
            after.alive = Some(alive);
        }
        after.waker = after.waker.take().or(core.waker.take());
    }
}

/// How often a side that is held back sends all the same, each time at most a line of the ring, before it waits.
const FAR_AHEAD: u32 = 16;

/// The session in its role as its far end's waker.
impl Wake for Session {
    fn wake(self: Arc<Session>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Session>) {
        self.run(Next::Later, None);
    }
}

/// The session as the helper sees it.
impl Served for Session {
    fn end(&self) -> &End {
        &self.end
    }

    fn helped(&self) -> &Helped {
        &self.helped
    }

    fn serve(self: Arc<Session>) -> (bool, bool) {
        let state = self.work(Next::Later);
        (state.is_watched, state.is_unfinished || state.has_moved)
    }

    fn flush(self: Arc<Session>) {
        if self.work(Next::Awaited).is_pending {
            helper::watch(&self);
        }
    }

    fn is_watched(&self) -> bool {
        self.is_to_be_watched(&self.core())
    }

    fn announce(&self) -> u32 {
        self.end.announce(&mut self.core().sleepers)
    }

    fn retract(&self) {
        self.end.retract(&mut self.core().sleepers);
    }
}

/// The session as its side in this process sees it.
struct Driven(Arc<Session>);

impl Driver for Driven {
    fn wait(&self, is_ready: &dyn Fn() -> bool, deadline: Option<Instant>) -> bool {
        self.0
            .wait_for(Goal::Ready(is_ready), Next::Later, deadline)
    }

    fn armed(&self, sends: bool, _by_task: bool) {
        self.0.never_waits.store(true, SeqCst);
        if sends {
            // What it waits for may be that what it has sent is forwarded. The helper does that: this thread may hold a
            // lock of the program, or of a shared sender.
            helper::flush_later(&self.0);
        } else {
            self.0.is_awaited.store(true, SeqCst);
            helper::watch(&self.0);
        }
    }

    fn never_waits(&self) {
        self.0.never_waits.store(true, SeqCst);
    }

    fn collected(&self, ahead: Ahead) {
        match ahead {
            Ahead::More => {
                self.0.run(Next::Later, None);
                self.0.hold.hold();
            }
            Ahead::Last => self.0.run(Next::AwaitedHere, None),
            Ahead::Leaves => {
                self.0.is_leaving.store(true, SeqCst);
                self.0.run(Next::AwaitedHere, Some(LAST_WRITE));
            }
        }
    }

    fn holds_back(&self, waker: Option<Waker>) -> bool {
        self.0.hold.holds(waker)
    }

    fn catch_up(&self) {
        // A payload that is dropped inside the session's own work may send.
        let is_inside = self.0.holder.load(Relaxed) == this_thread();
        let is_far_ahead = self.0.hold.sent() >= FAR_AHEAD && self.0.hold.holds(None);
        if !is_inside && is_far_ahead {
            let limit = self.0.limit.get();
            self.0.wait_for(Goal::Written, Next::Later, limit);
        }
    }

    fn flush(&self) {
        self.0.run(Next::Later, None);
    }

    fn abandoned(&self) {
        self.0.is_abandoned.store(true, SeqCst);
        self.0.run(Next::Later, None);
    }

    fn limit(&self, until: Option<Instant>) {
        self.0.limit.set(until);
    }

    fn why(&self) -> Why {
        self.0.why.get()
    }
}
