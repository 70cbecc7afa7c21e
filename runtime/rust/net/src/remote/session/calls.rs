//! Who calls a session: the side in this process, to wait, to write and to be woken; its far end's waker; the thread or runtime
//! that watches its connection; and the timer, when one of its core's deadlines has passed.

use std::sync::atomic::fence;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, MutexGuard};
use std::task::{Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use duologue::transport::{guarded, Ahead, Driver, Role, Why};

use super::{lock, read, try_lock, Session};
use crate::core::{Core, Due, Input, Next, Patience, Work, AGAIN, COLLECTED};
use crate::remote::watch::{self, Arrived, Watch, Watched};
use crate::remote::{reactor, timer};
use crate::transport::stream::{end_reads, is_late, past, Stream};

/// What became of an attempt to write without waiting.
pub(crate) enum Written {
    Everything,
    /// The connection accepts nothing more at the moment.
    Some,
    /// Another thread is working on the session at the moment.
    Unknown,
}

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
        // Waits as a send at the end of a run does.
        let session = &self.0;
        let work = session.with_core(Patience::Endless, |core, work| {
            session.forward_and_write(core, work, Next::Later, None);
        });
        session.finish(work);
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

impl Session {
    /// Does what is due. Never waits: a thread that holds a lock is reading or writing, and notices the same. Returns when the
    /// next deadline is, unless `timer` has an earlier entry.
    pub(crate) fn on_time(self: &Arc<Session>) -> Option<Instant> {
        let now = Instant::now();
        let mut due = Due::default();
        let Some(core) = try_lock(&self.core) else {
            return Some(now + AGAIN);
        };
        let work = self.work(core, Patience::None, |core, work| {
            due = core.tick(work);
            if due.writes {
                self.write(core, work);
            }
        });
        self.finish(work);
        if due.shrinks {
            self.shrink();
        }
        if due.reads {
            self.look();
        }
        let mut next = None;
        let Some(core) = try_lock(&self.core) else {
            return Some(now + AGAIN);
        };
        let work = self.work(core, Patience::None, |core, _| next = core.checked(now));
        self.finish(work);
        next
    }

    /// Returns the memory of buffers that are empty. If a thread waits for the connection, it asks for this again when it has read.
    fn shrink(self: &Arc<Session>) {
        let mut is_large = false;
        if let Some(mut input) = try_lock(&self.input) {
            input.shrink();
            self.stream.shrink();
            is_large = input.is_large();
            let is_open = input.ended().is_none();
            drop(input);
            if is_open {
                self.read_on();
            }
        }
        if let Some(core) = try_lock(&self.core) {
            // Another thread may have set `again` in the meantime.
            let work = self.work(core, Patience::None, |core, work| {
                core.shrink();
                work.shrinks = is_large || core.has_grown();
            });
            self.finish(work);
        }
    }

    /// Reads what has arrived and publishes it.
    fn look(self: &Arc<Session>) {
        let Some(mut input) = try_lock(&self.input) else {
            return;
        };
        let mut is_open = true;
        if let Some(core) = try_lock(&self.core) {
            if !core.is_full() && input.ended().is_none() {
                read(&mut input, &*self.stream, Some(past()));
            }
            let work = self.work(core, Patience::None, |core, work| {
                if core.role() != Role::Over {
                    self.publish(&mut input, core, work);
                    self.expire(&mut input, core, work);
                }
                is_open = !core.is_over();
            });
            drop(input);
            self.finish(work);
        } else {
            self.leave_unpublished(input);
        }
        if is_open {
            self.read_on();
        }
    }

    /// Ends the session for both sides: this one is lost, and the peer learns that it has left. Does not wait: if a thread holds
    /// `core`, which may be as long as the peer accepts nothing, the connection is closed, and the session is lost for both.
    pub(crate) fn cut(self: &Arc<Session>) {
        // Most threads hold it for a moment only.
        let core = (0..64).find_map(|_| {
            let core = try_lock(&self.core);
            if core.is_none() {
                std::thread::yield_now();
            }
            core
        });
        match core {
            Some(core) => {
                let work = self.work(core, Patience::None, |core, work| {
                    self.leave(core, work, Why::Lost);
                });
                self.finish(work);
            }
            // The program's own streams may panic.
            None => {
                guarded(|| self.stream.close());
            }
        }
        // A thread that waits for the peer finds the end of the connection.
        guarded(|| end_reads(&*self.stream));
    }

    /// Writes what was collected and forwards more, without waiting.
    pub(crate) fn write_on(self: &Arc<Session>) -> Written {
        self.write_and(|session, core, work| session.forward(core, work, Next::Later))
    }

    fn write_and(
        self: &Arc<Session>,
        forward: impl FnOnce(&Session, &mut Core, &mut Work),
    ) -> Written {
        let Some(core) = try_lock(&self.core) else {
            // Another thread works at the moment, and may collect more without writing it.
            return Written::Unknown;
        };
        let mut work = self.work(core, Patience::None, |core, work| {
            let before = core.pending();
            self.write(core, work);
            core.lingers(core.pending() < before, work);
            forward(self, core, work);
        });
        let written = match std::mem::take(&mut work.writes) {
            true => Written::Some,
            false => Written::Everything,
        };
        self.finish(work);
        written
    }

    /// Forwards and writes what has been collected for too long. Returns whether to try again later.
    pub(crate) fn flush(self: &Arc<Session>) -> bool {
        self.report();
        let written = self.write_and(|session, core, work| {
            session.forward_and_write(core, work, Next::Awaited, None);
        });
        match written {
            Written::Everything => false,
            Written::Some => {
                watch::until_written(self);
                false
            }
            Written::Unknown => true,
        }
    }
}
