//! What a session writes, how it ends, and its timed work.

use std::mem;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::Arc;
use std::time::{Duration, Instant};

use duologue::transport::{guarded, FarEnd, Role, Why};

use super::{code, try_lock, After, Core, Next, Patience, Session, COLLECTED, SHRINKS_AFTER};
use crate::frame;
use crate::input::{FIRST_BUFFER, SMALL_BUFFER};
use crate::stream::{end_reads, is_early, left, past};
use crate::timer::What;
use crate::watch;

/// How long a write waits before it checks whether the peer has ended the session, if the peer has promised no heartbeat.
const LOOK: Duration = Duration::from_secs(1);

/// How long a session keeps trying to write its last bytes while the connection accepts none of them.
const LAST_WRITE: Duration = Duration::from_secs(5);

/// What became of an attempt to write without waiting.
pub(crate) enum Written {
    Everything,
    /// The connection accepts nothing more at the moment.
    Some,
    /// Another thread is working on the session at the moment.
    Unknown,
}

impl Session {
    /// Writes everything, or as much as possible if this thread must not wait.
    pub(super) fn write(&self, core: &mut Core, after: &mut After) {
        let deadline = match after.patience {
            Patience::None => Some(past()),
            Patience::Brief => Some(Instant::now() + LAST_WRITE),
            Patience::Endless => None,
        };
        self.write_until(core, after, deadline);
    }

    /// Writes until everything is written, or until the deadline or the side's time limit.
    pub(super) fn write_until(
        &self,
        core: &mut Core,
        after: &mut After,
        deadline: Option<Instant>,
    ) {
        let deadline = self.limit.or_earlier(deadline);
        // Others may share the endpoint, and send while this thread waits.
        self.hold.note(core.pending());
        // The first attempt does not wait: nearly always the connection accepts everything.
        let (mut until, mut has_waited) = (past(), false);
        while core.pending() > 0 {
            let bytes = &core.out.bytes()[core.written..];
            match self.stream.write(bytes, Some(until)) {
                Ok(count) if count > 0 => {
                    core.written += count;
                    core.has_written = true;
                    core.moved(count);
                }
                Err(error) if is_early(&error) => {
                    let is_over = deadline.is_some_and(|deadline| left(deadline).is_none());
                    if (has_waited || is_over) && self.is_silent() {
                        return self.write_failed(core, after);
                    }
                    let by = self.stalled(core, after);
                    if is_over {
                        core.out.forget(core.written);
                        core.written = 0;
                        after.writes = true;
                        return;
                    }
                    if by.is_some_and(|by| left(by).is_none()) {
                        // Other threads write the last bytes.
                        after.patience = Patience::None;
                        return self.leave(core, after, Why::Late);
                    }
                    // A peer that accepts nothing may be gone, or may have ended the session, which is checked from time to time.
                    let look = Instant::now() + self.terms.patience().unwrap_or(LOOK);
                    until = [deadline, by]
                        .into_iter()
                        .flatten()
                        .fold(look, Instant::min);
                    has_waited = true;
                }
                Ok(_) | Err(_) => return self.write_failed(core, after),
            }
        }
        core.written = 0;
        // The last frame that was collected may have gone beyond.
        core.out.clear(2 * COLLECTED);
        after.shrinks |= core.out.capacity() > SMALL_BUFFER;
        self.begin(core, after);
    }

    /// Forwards and writes. If the connection accepted nothing at first and then everything, more is forwarded: nothing
    /// else would forward what was left in the ring. `until`: as in [`Session::write_until`], instead of what `after`
    /// says.
    pub(super) fn forward_and_write(
        &self,
        core: &mut Core,
        after: &mut After,
        next: Next,
        until: Option<Option<Instant>>,
    ) {
        loop {
            self.forward_until(core, after, next);
            let is_stalled = core.pending() >= COLLECTED;
            if core.is_closed {
                break;
            }
            match until {
                Some(deadline) => self.write_until(core, after, deadline),
                None => self.write(core, after),
            }
            if !is_stalled || core.pending() > 0 || core.is_closed {
                break;
            }
        }
    }

    /// Whether the peer has been silent for too long, or the connection has ended.
    fn is_silent(&self) -> bool {
        // A thread that is reading notices the silence itself.
        let Some(mut input) = try_lock(&self.input) else {
            return false;
        };
        if input.ended.is_none() && input.end - input.start < COLLECTED {
            input.read(&*self.stream, Some(past()));
        }
        // This thread holds `core`. Once it has released it, it publishes and reads on.
        self.unpublished.store(true, SeqCst);
        input.ended.is_some()
    }

    /// The connection accepts nothing more. The peer may have said why.
    fn write_failed(&self, core: &mut Core, after: &mut After) {
        if core.far.role() == Role::Sends {
            // The peer's messages may have arrived before the connection ended. Reading finds both.
            return core.forget_pending();
        }
        let Some(mut input) = try_lock(&self.input) else {
            // The thread that has it may wait for `core`. Once it has both, it finds what the peer said and ends the session. If it does
            // not, because its own read does not end, the session is lost.
            let until = core
                .fails_until
                .get_or_insert_with(|| Instant::now() + LOOK);
            match core.is_closed || left(*until).is_none() {
                true => self.close(core, after, Why::Lost),
                false => after.flushes = true,
            }
            return;
        };
        // A peer that keeps sending does not hold this thread up.
        while input.ended.is_none()
            && input.end - input.start < COLLECTED
            && input.read(&*self.stream, Some(past()))
        {}
        let said = input.said(self.terms.allowed());
        let why = said.or(input.ended).unwrap_or(Why::Lost);
        drop(input);
        self.close(core, after, why);
    }

    /// Ends the session early, with a last frame for the peer.
    pub(super) fn leave(&self, core: &mut Core, after: &mut After, why: Why) {
        if !core.is_closed {
            core.out.put(&frame::leave(why));
            self.write_last(core, after, why, Some(LAST_WRITE));
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
                let after = self.work(core, Patience::None, |core, after| {
                    self.leave(core, after, Why::Lost);
                });
                self.finish(after);
            }
            // The program's own streams may panic.
            None => {
                guarded(|| self.stream.close());
            }
        }
        // A thread that waits for the peer finds the end of the connection.
        guarded(|| end_reads(&*self.stream));
    }

    /// Ends the session after the last message of the protocol.
    pub(super) fn end(&self, core: &mut Core, after: &mut After) {
        if !core.is_closed {
            self.write_last(core, after, Why::Left, None);
        }
    }

    /// Writes the last bytes and closes the connection. A thread that may wait does so for at most `patience`. If this
    /// thread must not wait, the session is over for the side in this process, and the connection is closed later.
    fn write_last(&self, core: &mut Core, after: &mut After, why: Why, patience: Option<Duration>) {
        let may_wait = after.patience != Patience::None && !self.limit.has_passed();
        let deadline = if may_wait {
            patience.map(|patience| Instant::now() + patience)
        } else {
            Some(past())
        };
        self.write_until(core, after, deadline);
        if core.is_closed {
            // The peer is late.
            return;
        }
        // The side's time limit may have passed in the meantime.
        if core.pending() == 0 || may_wait && !self.limit.has_passed() {
            return self.close(core, after, why);
        }
        self.conclude(core, after, why);
        core.lingers_until = Some(Instant::now() + LAST_WRITE);
        after.lingers = core.lingers_until;
    }

    /// Ends the session for the side in this process.
    fn conclude(&self, core: &mut Core, after: &mut After, why: Why) {
        if !mem::replace(&mut core.is_closed, true) {
            self.why.store(code(why), SeqCst);
            if let Some(tally) = &core.tally {
                tally.end(why);
                after.reports = true;
            }
            after.far = Some(mem::replace(&mut core.far, FarEnd::over()));
        }
    }

    /// Ends the session, and closes the connection even if something was not written.
    pub(super) fn close(&self, core: &mut Core, after: &mut After, why: Why) {
        self.conclude(core, after, why);
        core.forget_pending();
        core.lingers_until = None;
        after.closes |= core.waker.take().is_some();
    }

    /// Writes what was collected and forwards more, without waiting.
    pub(crate) fn write_on(self: &Arc<Session>) -> Written {
        self.write_and(|session, core, after| session.forward(core, after))
    }

    fn write_and(
        self: &Arc<Session>,
        forward: impl FnOnce(&Session, &mut Core, &mut After),
    ) -> Written {
        let Some(core) = try_lock(&self.core) else {
            // Another thread works at the moment, and may collect more without writing it.
            return Written::Unknown;
        };
        let mut written = Written::Everything;
        let mut after = self.work(core, Patience::None, |core, after| {
            let before = core.pending();
            self.write(core, after);
            if !core.is_closed {
                forward(self, core, after);
            } else if core.pending() == 0 {
                self.close(core, after, Why::Left);
            } else if core.pending() < before {
                core.lingers_until = Some(Instant::now() + LAST_WRITE);
            }
        });
        if mem::take(&mut after.writes) {
            written = Written::Some;
        }
        self.finish(after);
        written
    }

    /// Forwards and writes what has been collected for too long. Returns whether to try again later.
    pub(crate) fn flush(self: &Arc<Session>) -> bool {
        self.report();
        let written = self.write_and(|session, core, after| {
            session.forward_and_write(core, after, Next::Awaited, None);
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

    /// Does timed work. Returns when the next work is due.
    pub(crate) fn on_time(self: &Arc<Session>, what: What) -> Option<Instant> {
        match what {
            What::Pulse => self.pulse(),
            What::Due => self.check(),
            What::Linger => self.linger(),
            What::Shrink => self.shrink(),
        }
    }

    /// Returns the memory of buffers that are empty. Returns when to try again: not if a thread waits for the connection, which
    /// requests this again when it has read.
    fn shrink(self: &Arc<Session>) -> Option<Instant> {
        // First, so that what another thread requests from now on is not lost.
        self.will_shrink.store(false, SeqCst);
        let mut is_large = false;
        if let Some(mut input) = try_lock(&self.input) {
            input.shrink();
            self.stream.shrink();
            is_large = input.is_large();
            let is_open = input.ended.is_none();
            drop(input);
            if is_open {
                self.read_on();
            }
        }
        if let Some(mut core) = try_lock(&self.core) {
            if core.pending() == 0 {
                core.out.clear(FIRST_BUFFER);
            }
            is_large |= core.out.capacity() > SMALL_BUFFER;
            // Another thread may have set `again` in the meantime.
            let after = self.work(core, Patience::None, |_, _| {});
            self.finish(after);
        }
        let is_next = is_large && !self.will_shrink.swap(true, SeqCst);
        is_next.then(|| Instant::now() + SHRINKS_AFTER)
    }

    /// Closes the connection of a session that is over, if the peer has read nothing for too long.
    fn linger(self: &Arc<Session>) -> Option<Instant> {
        let mut next = None;
        // No thread holds the lock for long: none waits for the connection of a session that is over.
        let after = self.with_core(Patience::None, |core, after| {
            next = core.lingers_until;
            if next.is_some_and(|deadline| left(deadline).is_none()) {
                self.close(core, after, Why::Left);
                next = None;
            }
        });
        self.finish(after);
        next
    }

    /// Notifies the peer that this side is still there, if it has written nothing for a while, and
    /// reads what has arrived, which reveals whether the peer is silent. Never waits: a thread that
    /// holds a lock is reading or writing, and notices the same.
    fn pulse(self: &Arc<Session>) -> Option<Instant> {
        let pulse = self.terms.pulse()?;
        if let Some(core) = try_lock(&self.core) {
            let is_gone = core.waker.is_none();
            let after = self.work(core, Patience::None, |core, after| {
                let is_quiet = !mem::replace(&mut core.has_written, false);
                let promises = self.terms.our_heartbeat > 0;
                if is_quiet && promises && !core.is_closed && core.pending() == 0 {
                    core.out.put(&frame::STILL_THERE);
                    self.write(core, after);
                }
            });
            self.finish(after);
            if is_gone {
                return None;
            }
        }
        if self.terms.their_heartbeat > 0 {
            self.look();
        }
        Some(Instant::now() + pulse)
    }

    /// Reads what has arrived and publishes it.
    pub(super) fn look(self: &Arc<Session>) {
        let Some(mut input) = try_lock(&self.input) else {
            return;
        };
        let mut is_open = true;
        if let Some(core) = try_lock(&self.core) {
            if !self.is_full.load(SeqCst) && input.ended.is_none() {
                input.read(&*self.stream, Some(past()));
            }
            let after = self.work(core, Patience::None, |core, after| {
                if core.far.role() != Role::Over {
                    self.publish(&mut input, core, after);
                    self.expire(&mut input, core, after);
                }
                is_open = !core.is_closed;
            });
            drop(input);
            self.finish(after);
        } else {
            self.leave_unpublished(input);
        }
        if is_open {
            self.read_on();
        }
    }
}
