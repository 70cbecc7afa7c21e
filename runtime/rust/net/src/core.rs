//! The core of a session over bytes: what it does, without I/O, locks, threads or a clock. `session` is the shell around
//! it, which has all of these.
//!
//! # What goes in
//!
//! * *Bytes of the peer*: they are read into an [`Input`], from which [`Core::receive`] takes frames. The input is apart
//!   from the core, because a thread that waits for the peer holds it while others write.
//! * *What the program does*: its side publishes messages, or disconnects. [`Core::forward`] finds that at the far end,
//!   which calls the session's waker. A side that disconnects as receiver is [`abandoned`](Core::abandon).
//! * *How writing went*: the connection has [accepted](Core::wrote) bytes or [none](Core::refused), or
//!   [fails](Core::write_failed).
//! * *The time*: a [`Work`] has the clock that is asked, and [`Core::tick`] is called when a deadline has passed. A test
//!   turns that clock. Most steps do not ask for the time.
//!
//! # What comes out
//!
//! * *Bytes to write*: [`Core::output`].
//! * *What has to happen before the core goes on*: a [`Step`].
//! * *What has to happen later*, when no lock is held: the [`Work`] collects whom to wake, and what to wait for.
//! * *The next deadline*: [`Work::check_at`], by [`Core::schedule`], and [`Core::checked`].
//! * *Why the session ended*: [`Core::why`].
//!
//! # States
//!
//! ```text
//! Open -> Ending -> Closed            the last bytes are written, or given up
//!            `----> Lingering -> Closed   the side in this process is done, but the peer has not read the last bytes
//! ```
//!
//! A session that is lost, or that the peer has ended, goes from any state to `Closed`. In `Open` the far end says whose
//! turn it is: [`Role::Sends`], the peer's, whose messages it publishes, or [`Role::Receives`].
//!
//! # Invariants
//!
//! 1. `output` begins with what was not accepted. A frame is appended as a whole, and nothing follows a `leave`.
//! 2. The far end is given up, with a reason, where `Open` or `Ending` is left, and nowhere else.
//! 3. Time limits of a state begin when everything sent before is written (`due`), or when the connection accepts nothing
//!    (`stall`), and not before.
//! 4. At [`Step::Write`] and [`Step::WriteLast`] the shell writes, and then asks again. If it may not wait, or not any
//!    longer, it says so, and the core asks it for no further write in the same [`Work`].

mod ending;
mod forwarding;
pub(crate) mod frame;
pub(crate) mod input;
mod limits;
mod receiving;
pub(crate) mod terms;
mod work;

use std::mem;
use std::task::Waker;
use std::time::{Duration, Instant};

pub(crate) use duologue::transport::Next;
use duologue::transport::{Encoder, FarEnd, Role, Why};

use crate::observe::{Named, Tally};

pub(crate) use input::{Input, COLLECTED, FIRST_BUFFER, SMALL_BUFFER};
use limits::{Checks, Stall};
pub(crate) use limits::{Due, AGAIN, LAST_WRITE};
pub(crate) use terms::Terms;
pub(crate) use work::{Clock, Patience, Work};

/// A side that never waits where it sends waits all the same if this much is to be written.
const FAR_AHEAD: usize = 1 << 20;

/// What has to happen before the core goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Nothing: all that was possible is done.
    Done,
    /// What is collected has to be written.
    Write,
    /// The last bytes have to be written, and [`Core::last_written`] has to be called.
    WriteLast,
    /// What the side in this process sends has to be forwarded: it is its turn.
    Forward,
    /// The ring is full. Others have to know before its waker is called.
    Full,
}

/// Where a session is: see "States".
enum State {
    Open,
    /// It ends for this reason. A thread that may wait until the last bytes are written does so for at most this long.
    Ending(Why, Option<Duration>),
    /// It is over for the side in this process. The connection is closed at this time, even if the last bytes were not written.
    Lingering(Instant),
    Closed,
}

pub(crate) struct Core {
    far: FarEnd,
    terms: Terms,
    state: State,
    why: Option<Why>,
    /// What is to be written. The first `written` bytes have been.
    out: Encoder,
    written: usize,
    /// Whether something was written since the last heartbeat was due.
    has_written: bool,
    /// Wakes the session when its side has sent something, or has taken something from a ring that was full.
    waker: Option<Waker>,
    /// The ring is full, so complete frames may be waiting in the input.
    is_full: bool,
    is_abandoned: bool,
    /// The connection accepts nothing more, and until when another thread may find out why.
    fails_until: Option<Instant>,
    /// When the time of the state in which the session is has passed: it has a limit, and has begun.
    due: Option<Instant>,
    /// The connection accepts nothing at the moment, and that is limited.
    stall: Option<Stall>,
    /// When the next heartbeat is due, or the peer's silence is checked.
    pulse_at: Option<Instant>,
    /// When buffers that have grown are returned.
    shrinks_at: Option<Instant>,
    /// When the shell calls [`Core::tick`].
    checks: Checks,
    /// What is reported to the session's observer, if it has one.
    tally: Option<Box<Tally>>,
}

impl Core {
    /// A session that begins.
    pub(crate) fn new(far: FarEnd, terms: Terms, tally: Option<Box<Tally>>, clock: Clock) -> Core {
        Core {
            far,
            state: State::Open,
            why: None,
            out: Encoder::new(),
            written: 0,
            has_written: true,
            waker: None,
            is_full: false,
            is_abandoned: false,
            fails_until: None,
            due: None,
            stall: None,
            pulse_at: terms.pulse().map(|pulse| clock() + pulse),
            shrinks_at: None,
            checks: Checks::default(),
            tally,
            terms,
        }
    }

    /// Sets what wakes the session. It is kept until the session is closed.
    pub(crate) fn wake_with(&mut self, waker: Waker) {
        self.waker = Some(waker);
    }

    /// Whether the session goes on.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    /// Whether the session is over for the side in this process. Its last bytes may still have to be written.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Lingering(_) | State::Closed)
    }

    /// Why it is over.
    pub(crate) fn why(&self) -> Option<Why> {
        self.why
    }

    /// Whether nothing is published because the ring is full.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// What the far end does next.
    pub(crate) fn role(&self) -> Role {
        self.far.role()
    }

    /// The side in this process has disconnected while it was its turn to receive.
    pub(crate) fn abandon(&mut self) {
        self.is_abandoned = true;
    }

    /// What is to be written.
    pub(crate) fn output(&self) -> &[u8] {
        &self.out.bytes()[self.written..]
    }

    /// How many bytes have to be written.
    pub(crate) fn pending(&self) -> usize {
        self.out.bytes().len() - self.written
    }

    /// Whether the connection is behind what the side in this process has sent.
    pub(crate) fn is_behind(&self) -> bool {
        !self.is_over() && self.pending() >= COLLECTED
    }

    /// Whether it is so far behind that a side that does not wait waits all the same.
    pub(crate) fn is_far_behind(&self) -> bool {
        !self.is_over() && self.pending() >= FAR_AHEAD
    }

    /// The connection has accepted this many bytes.
    pub(crate) fn wrote(&mut self, count: usize) {
        self.written += count;
        self.has_written = true;
        if self.stall.as_mut().is_some_and(|stall| stall.moved(count)) {
            self.stall = None;
        }
    }

    /// The connection has accepted everything.
    pub(crate) fn all_written(&mut self, work: &mut Work) {
        self.written = 0;
        // The last frame that was collected may have gone beyond.
        self.out.clear(2 * COLLECTED);
        work.shrinks |= self.has_grown();
        work.refused = false;
        self.begin(work);
    }

    /// The connection accepts nothing at the moment. Returns until when a thread that may wait until this deadline waits
    /// before it tries again; `None` if it stops writing.
    pub(crate) fn refused(
        &mut self,
        deadline: Option<Instant>,
        work: &mut Work,
    ) -> Option<Instant> {
        let now = work.now();
        let by = self.stalled(now);
        let has_passed = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if has_passed(deadline) {
            self.out.forget(self.written);
            self.written = 0;
            work.writes = true;
            work.refused = true;
            return None;
        }
        if has_passed(by) {
            // Other threads write the last bytes.
            work.patience = Patience::None;
            self.leave(Why::Late);
            return None;
        }
        // A peer that accepts nothing may be gone, or may have ended the session, which is checked from time to time.
        let look = now + self.terms.patience().unwrap_or(limits::LOOK);
        let until = [deadline, by].into_iter().flatten();
        Some(until.fold(look, Instant::min))
    }

    /// Gives up what is to be written.
    fn forget_pending(&mut self) {
        self.out.clear(0);
        self.written = 0;
        self.stall = None;
    }

    /// Whether the buffer of what is to be written is larger than an idle session needs.
    pub(crate) fn has_grown(&self) -> bool {
        self.out.capacity() > SMALL_BUFFER
    }

    /// Returns the memory of the buffer, if it is empty.
    pub(crate) fn shrink(&mut self) {
        if self.pending() == 0 {
            self.out.clear(FIRST_BUFFER);
        }
    }

    /// Counts messages of one state that were sent or received.
    fn count(&mut self, named: Named, messages: u64, bytes: usize, work: &mut Work) {
        if let Some(tally) = &mut self.tally {
            tally.count(named, messages, bytes, &self.far, work.clock());
            work.reports = true;
        }
    }

    /// The session's far end, which is given up.
    fn give_up(&mut self) -> FarEnd {
        mem::replace(&mut self.far, FarEnd::over())
    }
}

#[cfg(test)]
mod tests;
