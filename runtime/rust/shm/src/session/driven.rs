//! What the side in this process requests from its session: to wait, to write, and to be woken.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Instant;

use duologue::transport::{Ahead, Driver, Next, Why};

use super::{this_thread, Goal, Session, LAST_WRITE};
use crate::end::End;
use crate::helper::{self, Helped, Served};

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
pub(super) struct Driven(pub(super) Arc<Session>);

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
