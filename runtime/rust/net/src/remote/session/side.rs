//! What the side in this process requests from its session: to wait, to write, and to be woken.

use std::sync::atomic::fence;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, MutexGuard};
use std::task::{Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use duologue::transport::{Ahead, Driver, Role, Why};

use super::io::read;
use super::{lock, try_lock, Session};
use crate::core::{Input, Next, Patience, COLLECTED};
use crate::remote::reactor;
use crate::remote::timer;
use crate::remote::watch::{self, Arrived, Watch, Watched};
use crate::transport::stream::{is_late, Stream};

impl Session {
    /// Publishes what was read before and could not be published then.
    fn resume(self: &Arc<Session>) {
        if let Some(mut input) = try_lock(&self.input) {
            let work = self.with_core(Patience::None, |core, work| {
                self.publish(&mut input, core, work)
            });
            drop(input);
            self.finish(work);
        }
    }

    /// Publishes what another thread has read but could not publish. Does not wait: a thread that holds one
    /// of the locks does the publishing, or calls this once it has released the lock.
    pub(super) fn publish_rest(self: &Arc<Session>) {
        let Some(mut input) = try_lock(&self.input) else {
            return;
        };
        let Some(core) = try_lock(&self.core) else {
            return self.leave_unpublished(input);
        };
        let mut is_settled = false;
        let work = self.work(core, Patience::None, |core, work| {
            self.publish(&mut input, core, work);
            is_settled = work.woken.is_some() || core.is_over();
        });
        drop(input);
        self.finish_once(work);
        if !is_settled {
            self.read_on();
        }
    }

    /// Leaves what was read to the thread that holds `core`.
    pub(super) fn leave_unpublished(self: &Arc<Session>, input: MutexGuard<'_, Input>) {
        // In this order: the other thread needs `input`, and may have released `core` before it could see the flag.
        drop(input);
        self.unpublished.store(true, SeqCst);
        fence(SeqCst);
        if let Some(core) = try_lock(&self.core) {
            let work = self.work(core, Patience::None, |_, _| {});
            self.finish(work);
        }
    }

    /// Lets another thread read what arrives next, if this side may wait for it. Called while the session is open, and once
    /// `input` is released: in the meantime `watch` may have failed to take it, and has then stopped watching the session. If
    /// nothing waits, it reads once unnecessarily.
    pub(super) fn read_on(self: &Arc<Session>) {
        let is_awaited = self.never_waits.load(SeqCst) && !self.is_full.load(SeqCst);
        if is_awaited && !reactor::continues(self) {
            watch::until_readable(self, false);
        }
    }

    fn wait_until(
        self: &Arc<Session>,
        is_ready: &dyn Fn() -> bool,
        deadline: Option<Instant>,
    ) -> bool {
        let mut has_read = false;
        // What this side has sent is written before it waits. Nearly always it has been, which the first look at `core` tells.
        let mut writes = false;
        'write: loop {
            if writes {
                let work = self.with_core(Patience::None, |core, work| {
                    self.forward_and_write(core, work, Next::Later, Some(deadline));
                });
                self.finish(work);
                if is_ready() {
                    return true;
                }
            }
            let mut input = match try_lock(&self.input) {
                Some(input) => input,
                None if !writes => {
                    writes = true;
                    continue;
                }
                None => match self.input_until(is_ready, deadline) {
                    Some(input) => input,
                    None => return is_ready(),
                },
            };
            loop {
                let mut is_open = input.ended().is_none();
                let (mut has_more, mut due) = (false, None);
                let work = self.with_core(Patience::None, |core, work| {
                    has_more = core.pending() > 0 || core.role() == Role::Receives;
                    if writes || !has_more {
                        self.publish(&mut input, core, work);
                        self.expire(&mut input, core, work);
                        is_open &= !core.is_over();
                        due = core.due(work);
                    }
                });
                let has_to_write = has_more && !writes;
                if has_to_write || !is_open || !work.is_empty() || is_ready() {
                    drop(input);
                    self.finish(work);
                    if !has_to_write && !is_open || is_ready() {
                        return is_ready();
                    }
                    writes = true;
                    continue 'write;
                }
                // Control frames do not prolong the wait. The rest of a message may: its length has a limit.
                if has_read && is_late(deadline) && input.bytes().len() < 2 {
                    return is_ready();
                }
                has_read = true;
                let is_due_first = due.is_some_and(|due| deadline.is_none_or(|end| due < end));
                let until = if is_due_first { due } else { deadline };
                if !read(&mut input, &*self.stream, until) && !is_due_first {
                    return is_ready();
                }
            }
        }
    }

    /// The input; `None` if it is no longer needed, or the deadline has passed.
    fn input_until(
        &self,
        is_ready: &dyn Fn() -> bool,
        deadline: Option<Instant>,
    ) -> Option<MutexGuard<'_, Input>> {
        loop {
            if let Some(input) = try_lock(&self.input) {
                return Some(input);
            }
            if self.stream.descriptor().is_some() {
                // No other thread waits for the connection.
                return Some(lock(&self.input));
            }
            // A thread waits for the connection, and publishes what arrives.
            if is_ready() || is_late(deadline) {
                return None;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Writes what the side has sent, waiting as a send at the end of a run does.
    fn write_now(self: &Arc<Session>) {
        let work = self.with_core(Patience::Endless, |core, work| {
            self.forward_and_write(core, work, Next::Later, None);
        });
        self.finish(work);
    }
}

impl Watched for Session {
    fn stream(&self) -> &dyn Stream {
        &*self.stream
    }

    fn watch(&self) -> &Watch {
        &self.watch
    }

    fn arrived(self: &Arc<Session>, deadline: Option<Instant>) -> Arrived {
        let mut arrived = Arrived::default();
        let Some(mut input) = try_lock(&self.input) else {
            arrived.is_busy = true;
            return arrived;
        };
        // Nothing is read while earlier input waits to be published, so that input is at most what one read returns.
        let has_room = !self.is_full.load(SeqCst) && !self.unpublished.load(SeqCst);
        if has_room && input.ended().is_none() {
            arrived.is_drained = !read(&mut input, &*self.stream, deadline)
                || self.stream.is_plain() && !input.was_filled();
        }
        // All sessions depend on this thread, so it does not wait for one whose peer accepts nothing.
        let Some(core) = try_lock(&self.core) else {
            // The one that has it publishes and reads on.
            self.leave_unpublished(input);
            arrived.is_settled = true;
            return arrived;
        };
        let work = self.work(core, Patience::None, |core, work| {
            self.publish(&mut input, core, work);
            self.expire(&mut input, core, work);
            arrived.is_settled = work.woken.is_some() || core.is_over();
            arrived.is_peers = core.role() == Role::Sends;
        });
        drop(input);
        self.finish(work);
        // While the ring is full nothing is read, and the connection stays readable.
        arrived.is_settled |= self.is_full.load(SeqCst);
        arrived
    }
}

/// The session in its role as its far end's waker.
impl Wake for Session {
    fn wake(self: Arc<Session>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Session>) {
        self.run();
        if self.is_full.load(SeqCst) {
            self.resume();
        }
    }
}

/// The session as its side in this process sees it.
pub(crate) struct Driven(pub(crate) Arc<Session>);

impl Driver for Driven {
    fn wait(&self, is_ready: &dyn Fn() -> bool, deadline: Option<Instant>) -> bool {
        self.0.wait_until(is_ready, deadline)
    }

    fn armed(&self, sends: bool, by_task: bool) {
        self.0.never_waits.store(true, SeqCst);
        if sends {
            // What it waits for may be that what it has sent is forwarded. Another thread does that: this one may hold
            // a lock of the program, or of a shared sender.
            timer::flush(&self.0);
        }
        let is_full = self.0.is_full.load(SeqCst);
        if !reactor::until_readable(&self.0, by_task, is_full) {
            watch::until_readable(&self.0, is_full);
        }
    }

    fn never_waits(&self) {
        self.0.never_waits.store(true, SeqCst);
    }

    fn collected(&self, ahead: Ahead) {
        let session = &self.0;
        let patience = match ahead {
            // Others that share the endpoint do not wait for a thread that writes: that one works once more.
            Ahead::More => {
                session.hold.passed_over();
                session.run();
                return session.hold.hold();
            }
            Ahead::Last => Patience::Endless,
            Ahead::Leaves => Patience::Brief,
        };
        let work = session.with_core(patience, |core, work| {
            session.forward(core, work, Next::AwaitedHere);
            let is_brief = work.patience == Patience::Brief && !core.is_over();
            if is_brief && core.pending() >= COLLECTED {
                if session.limit.has_passed() {
                    // The peer did not have the whole time, so other threads write the rest.
                    session.never_waits.store(true, SeqCst);
                    work.never_waits();
                    session.forward(core, work, Next::AwaitedHere);
                } else {
                    // The peer takes nothing, so what is still in the ring is lost as well.
                    core.close(Why::Left, work);
                }
            }
        });
        session.finish(work);
    }

    fn holds_back(&self, waker: Option<Waker>) -> bool {
        self.0.hold.holds(waker)
    }

    fn catch_up(&self) {
        let session = &self.0;
        if session.hold.is_passed_over() {
            let work = session.with_core(Patience::Endless, |core, work| {
                session.forward(core, work, Next::Later);
            });
            session.finish(work);
        }
        if session.is_far_ahead.load(Relaxed) && session.hold.holds(None) {
            let work = session.with_core(Patience::None, |core, work| {
                session.forward_and_write(core, work, Next::Later, Some(None));
            });
            session.finish(work);
        }
    }

    fn flush(&self) {
        self.0.write_now();
    }

    fn abandoned(&self) {
        self.0.is_abandoned.store(true, SeqCst);
        self.0.run();
    }

    fn limit(&self, until: Option<Instant>) {
        self.0.limit.set(until);
    }

    fn why(&self) -> Why {
        self.0.why.get()
    }
}
