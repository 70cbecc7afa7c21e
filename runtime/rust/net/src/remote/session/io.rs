//! How a session reads and writes for its core.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::Arc;
use std::time::Instant;

use duologue::transport::{guarded, Role, Why};

use super::{try_lock, Session};
use crate::core::{Core, Input, Next, Patience, Step, Work, COLLECTED, LAST_WRITE};
use crate::remote::watch;
use crate::transport::stream::{end_reads, is_early, is_late, past, Stream};

/// How many reads are made after the peer's time has passed. A peer that keeps sending without completing a message is late.
const LAST_READS: u32 = 256;

/// How much is read and discarded, at most, before a connection is closed.
const READ_OFF: usize = 1 << 20;

/// What became of an attempt to write without waiting.
pub(crate) enum Written {
    Everything,
    /// The connection accepts nothing more at the moment.
    Some,
    /// Another thread is working on the session at the moment.
    Unknown,
}

/// Reads once. Returns whether data or the end of the connection arrived. If the peer has been silent for too long, that
/// counts as the end.
pub(super) fn read(input: &mut Input, stream: &dyn Stream, deadline: Option<Instant>) -> bool {
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
pub(super) fn read_off(input: &mut Input, stream: &dyn Stream) {
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
    /// Publishes what was read, as long as there are complete frames and free slots.
    pub(super) fn publish(&self, input: &mut Input, core: &mut Core, work: &mut Work) {
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
    pub(super) fn forward(&self, core: &mut Core, work: &mut Work, next: Next) {
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
    pub(super) fn write(&self, core: &mut Core, work: &mut Work) {
        let deadline = match work.patience {
            Patience::None => Some(past()),
            Patience::Brief => Some(Instant::now() + LAST_WRITE),
            Patience::Endless => None,
        };
        self.write_until(core, work, deadline);
    }

    /// Writes until everything is written, or until the deadline or the side's time limit. If the peer is late, writes the
    /// last bytes.
    pub(super) fn write_until(&self, core: &mut Core, work: &mut Work, deadline: Option<Instant>) {
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
    pub(super) fn forward_and_write(
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
    pub(super) fn expire(&self, input: &mut Input, core: &mut Core, work: &mut Work) {
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
