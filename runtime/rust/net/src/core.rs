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
//!
//! # When time passes
//!
//! Time limits are those of the session's states, `#[within(...)]` in the protocol, and of waiting in the other states, which
//! the program sets. Time also passes until heartbeats, until last bytes that the peer does not read are given up, and until
//! memory is returned.
//!
//! The limits of states also apply to a peer that does not read what was sent. The side that waits for a message ends the
//! session. The other side checks as well when the time has passed: the peer has probably ended the session, and what it says
//! is read even if this side's program does nothing.
//!
//! One thread has the deadlines of all sessions, and cannot remove an entry. So a session adds one only if all its others are
//! later, and one that falls due is added again only if the next time is before all others: [`Checks`]. Then there is at
//! most one entry for each limit of the protocol, and a few more: an entry that was added for the same limit before is
//! earlier.

#[cfg(test)]
mod tests;
mod work;

use std::mem;
use std::task::Waker;
use std::time::{Duration, Instant};

use duologue::transport::{Encoder, FarEnd, Role, Why};

use crate::observe::{Named, Tally};

pub(crate) use duologue::transport::Next;
use work::{leave_frame, Allowed, FIRST_BUFFER, STILL_THERE};
pub(crate) use work::{Clock, Input, Patience, Work, COLLECTED, SMALL_BUFFER};

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
        let look = now + self.terms.patience().unwrap_or(LOOK);
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

impl Core {
    /// Ends the session early, with a last frame for the peer. The shell writes it.
    pub(crate) fn leave(&mut self, why: Why) {
        match self.state {
            State::Open => {
                self.out.put(&leave_frame(why));
                self.state = State::Ending(why, Some(LAST_WRITE));
            }
            // The frame is there already.
            State::Ending(_, most) => self.state = State::Ending(why, most),
            State::Lingering(_) | State::Closed => {}
        }
    }

    /// Ends the session after the last message of the protocol. The shell writes what is left.
    fn end(&mut self) {
        if self.is_open() {
            self.state = State::Ending(Why::Left, None);
        }
    }

    /// Whether the last bytes have to be written now.
    pub(crate) fn is_ending(&self) -> bool {
        matches!(self.state, State::Ending(..))
    }

    /// Until when a thread that may wait writes the last bytes.
    pub(crate) fn last_deadline(&self, work: &Work) -> Option<Instant> {
        match self.state {
            State::Ending(_, most) => most.map(|most| work.now() + most),
            State::Open | State::Lingering(_) | State::Closed => None,
        }
    }

    /// The last bytes have been written, as far as the connection has accepted them. If the thread has waited for that
    /// as long as it may, they are given up. If it must not wait, the session is over for the side in this process, and the
    /// connection is closed later.
    pub(crate) fn last_written(&mut self, has_waited: bool, work: &mut Work) {
        let State::Ending(why, _) = self.state else {
            return;
        };
        if self.pending() == 0 || has_waited {
            return self.close(why, work);
        }
        self.conclude(why, work);
        self.state = State::Lingering(work.now() + LAST_WRITE);
    }

    /// A session that is over has written more of its last bytes, or has tried to.
    pub(crate) fn lingers(&mut self, has_moved: bool, work: &mut Work) {
        if !self.is_over() {
        } else if self.pending() == 0 {
            self.close(Why::Left, work);
        } else if has_moved {
            self.state = State::Lingering(work.now() + LAST_WRITE);
        }
    }

    /// The connection accepts nothing more. The peer may have said why, in what was read: `None` if another thread reads.
    pub(crate) fn write_failed(&mut self, input: Option<&Input>, work: &mut Work) {
        if self.far.role() == Role::Sends {
            // The peer's messages may have arrived before the connection ended. Reading finds both.
            return self.forget_pending();
        }
        if let Some(input) = input {
            let said = input.said(self.terms.allowed());
            let why = said.or(input.ended()).unwrap_or(Why::Lost);
            return self.close(why, work);
        }
        // The other thread may wait for this one. Once it goes on, it finds what the peer said and ends the session. If it does
        // not, because its own read does not end, the session is lost.
        let now = work.now();
        let until = *self.fails_until.get_or_insert(now + LOOK);
        match self.is_over() || until <= now {
            true => self.close(Why::Lost, work),
            false => {
                work.flushes = true;
                work.refused = true;
            }
        }
    }

    /// Ends the session for the side in this process.
    fn conclude(&mut self, why: Why, work: &mut Work) {
        if self.why.is_none() {
            self.why = Some(why);
            if let Some(tally) = &self.tally {
                tally.end(why, work.now());
                work.reports = true;
            }
            work.far = Some(self.give_up());
        }
    }

    /// Ends the session, and closes the connection even if something was not written.
    pub(crate) fn close(&mut self, why: Why, work: &mut Work) {
        self.conclude(why, work);
        self.forget_pending();
        self.state = State::Closed;
        work.closes |= self.waker.take().is_some();
    }
}

/// The delay after the first check that changes nothing; each further delay is as long as all before it together.
pub(crate) const AGAIN: Duration = Duration::from_millis(50);

/// How long a write waits before it checks whether the peer has ended the session, if the peer has promised no heartbeat.
const LOOK: Duration = Duration::from_secs(1);

/// How long a session keeps trying to write its last bytes while the connection accepts none of them.
pub(crate) const LAST_WRITE: Duration = Duration::from_secs(5);

/// An entry of a session that is over is kept for at most this long.
const LONGEST_CHECK: Duration = Duration::from_secs(10);

/// Replaces a time limit that is longer than the clock can represent.
const LONGEST_IDLE: Duration = Duration::from_secs(1 << 30);

/// How long a session keeps buffers that have grown. Releasing them matters where many sessions are idle, and growing
/// again costs little compared with this time.
const SHRINKS_AFTER: Duration = Duration::from_secs(1);

/// The connection has accepted nothing at some time.
struct Stall {
    /// When the peer is late, unless it has read what was to be written then.
    by: Instant,
    /// How many bytes of that are left.
    left: usize,
}

impl Stall {
    /// The connection has accepted this many bytes. Returns whether it has accepted all that was to be written.
    fn moved(&mut self, count: usize) -> bool {
        self.left = self.left.saturating_sub(count);
        self.left == 0
    }
}

/// What is due.
#[derive(Default)]
pub(crate) struct Due {
    /// What has arrived has to be read: the peer may be late or silent, or may have said that this side is.
    pub(crate) reads: bool,
    /// What is collected has to be written.
    pub(crate) writes: bool,
    /// The memory of buffers that have grown has to be returned.
    pub(crate) shrinks: bool,
}

/// When a session has entries.
#[derive(Default)]
struct Checks {
    /// The earliest last.
    entries: Vec<Instant>,
    /// When the last check was. What was due by then has been done, or is checked again.
    last: Option<Instant>,
}

impl Checks {
    /// Whether no entry leads to a check by this time, and a check then is not what the last one was.
    fn needs(&self, at: Instant) -> bool {
        self.last.is_none_or(|last| at > last) && self.is_before_all(at)
    }

    fn is_before_all(&self, at: Instant) -> bool {
        self.entries.last().is_none_or(|first| at < *first)
    }

    /// Requests a check at this time. Returns whether the caller has to add an entry.
    fn request(&mut self, at: Instant) -> bool {
        let is_first = self.is_before_all(at);
        if is_first {
            self.entries.push(at);
        }
        is_first
    }

    /// An entry is due.
    fn come(&mut self, now: Instant) {
        self.last = Some(now);
        while self.entries.last().is_some_and(|first| *first <= now) {
            self.entries.pop();
        }
    }
}

impl Core {
    /// When the peer is late, because it does not send or does not read, if these times have begun.
    fn limits(&self) -> [Option<Instant>; 2] {
        [self.due, self.stall.as_ref().map(|stall| stall.by)]
    }

    /// How long the state in which the session is may last.
    fn limit(&self) -> Option<Duration> {
        let idle = self.terms.idle.filter(|_| self.far.role() == Role::Sends);
        self.far
            .within()
            .or(idle.map(|idle| idle.min(LONGEST_IDLE)))
    }

    /// Begins the time of the state in which the session is, if it has a limit and everything sent before is written.
    fn begin(&mut self, work: &Work) {
        if self.due.is_none() && self.is_open() && self.pending() == 0 {
            self.due = self.limit().map(|limit| work.now() + limit);
        }
    }

    /// The connection accepts nothing. Returns when the peer, which does not read, is late, if that is limited.
    fn stalled(&mut self, now: Instant) -> Option<Instant> {
        if self.is_over() {
            return None;
        }
        if self.stall.is_none() {
            let limit = self.far.within().or(self.terms.idle)?;
            self.stall = Some(Stall {
                by: now + limit.min(LONGEST_IDLE),
                left: self.pending(),
            });
        }
        self.stall.as_ref().map(|stall| stall.by)
    }

    /// When the peer is late, if the session waits for the peer and that is limited. If the time has not begun, because
    /// something has not been written yet, this is the earliest time that it can pass.
    pub(crate) fn due(&self, work: &Work) -> Option<Instant> {
        if self.far.role() != Role::Sends {
            return None;
        }
        let limit = self.limit()?;
        Some(self.due.unwrap_or_else(|| work.now() + limit))
    }

    /// Whether the peer is late, if nothing has arrived that was not published.
    pub(crate) fn is_late(&self, work: &Work) -> bool {
        let limits = self.limits();
        if !self.is_open() || limits == [None; 2] {
            return false;
        }
        let now = work.now();
        let [is_due, is_stalled] = limits.map(|at| at.is_some_and(|at| at <= now));
        // While the ring is full, a message of the peer is there.
        let is_waiting = self.far.role() == Role::Sends && !self.is_full;
        is_stalled || is_due && is_waiting
    }

    /// Whether the connection accepts nothing, and that is limited.
    pub(crate) fn is_stalled(&self) -> bool {
        self.stall.is_some()
    }

    /// Does what is due at this time. The shell does the rest.
    pub(crate) fn tick(&mut self, work: &mut Work) -> Due {
        let now = work.now();
        let has_passed = |at: &mut Option<Instant>| at.take_if(|at| *at <= now).is_some();
        let mut due = Due {
            shrinks: has_passed(&mut self.shrinks_at),
            ..Due::default()
        };
        match self.state {
            State::Open | State::Ending(..) => {}
            State::Closed => return due,
            State::Lingering(until) => {
                if until <= now {
                    self.close(Why::Left, work);
                }
                return due;
            }
        }
        if has_passed(&mut self.pulse_at) {
            self.pulse_at = self.terms.pulse().map(|pulse| now + pulse);
            // Notifies the peer that this side is still there, if it has written nothing for a while.
            let is_quiet = !mem::replace(&mut self.has_written, false);
            if is_quiet && self.terms.our_heartbeat > 0 && self.pending() == 0 {
                self.out.put(&STILL_THERE);
                due.writes = true;
            }
            // Reading reveals whether the peer is silent.
            due.reads = self.terms.their_heartbeat > 0;
        }
        due.reads |= self.limits().into_iter().flatten().any(|at| at <= now);
        due
    }

    /// The deadlines at which [`tick`](Core::tick) has something to do.
    fn deadlines(&self) -> impl Iterator<Item = Instant> {
        let [due, stall] = self.limits();
        let of_state = match self.state {
            State::Open | State::Ending(..) => [due, stall, self.pulse_at],
            State::Lingering(until) => [Some(until), None, None],
            State::Closed => [None; 3],
        };
        of_state.into_iter().chain([self.shrinks_at]).flatten()
    }

    /// After some work: asks for a check at the next deadline, unless there is one before it.
    pub(crate) fn schedule(&mut self, work: &mut Work) {
        if work.shrinks && self.shrinks_at.is_none() {
            self.shrinks_at = Some(work.now() + SHRINKS_AFTER);
        }
        let next = self.deadlines().filter(|at| self.checks.needs(*at)).min();
        if let Some(at) = next {
            let at = at.min(work.now() + LONGEST_CHECK);
            work.check_at = self.checks.request(at).then_some(at);
        }
    }

    /// A check that was asked for is done, and began at this time. Returns when the next is due, unless there is one before it.
    pub(crate) fn checked(&mut self, now: Instant) -> Option<Instant> {
        self.checks.come(now);
        let check = |at: Instant| match at > now {
            true => at.min(now + LONGEST_CHECK),
            // It did not change anything.
            false => now + (now - at).clamp(AGAIN, LONGEST_CHECK),
        };
        let at = self.deadlines().map(check).min()?;
        self.checks.request(at).then_some(at)
    }
}

/// The longest time between two heartbeats.
const LONGEST_PULSE: Duration = Duration::from_secs(10);

/// What both sides agreed on, and what this side allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// Whether this is the accepting side.
    pub(crate) accepted: bool,
    /// The largest payload that the peer accepts.
    pub(crate) theirs: usize,
    /// The largest payload that this side accepts.
    pub(crate) ours: usize,
    /// How much memory the values of one payload may take.
    pub(crate) memory: usize,
    /// The heartbeat that this side has promised, in seconds, or 0.
    pub(crate) our_heartbeat: u16,
    /// The heartbeat that the peer has promised, in seconds, or 0.
    pub(crate) their_heartbeat: u16,
    /// How long this side waits for a message in states that have no time limit of their own.
    pub(crate) idle: Option<Duration>,
}

impl Terms {
    /// How long the peer may be silent, if it has promised a heartbeat.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let seconds = 3 * u64::from(self.their_heartbeat);
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }

    /// How often the session checks whether it has to send a heartbeat, and whether the peer is silent.
    fn pulse(&self) -> Option<Duration> {
        // At most two pulses pass between one write and the next, which is less than `our_heartbeat`.
        let ours = Duration::from_secs(u64::from(self.our_heartbeat)) / 3;
        let theirs = Duration::from_secs(u64::from(self.their_heartbeat)) / 2;
        let pulses = [ours, theirs].into_iter();
        let shortest = pulses.filter(|pulse| !pulse.is_zero()).min();
        shortest.map(|pulse| pulse.min(LONGEST_PULSE))
    }

    /// What this side allows in frames.
    fn allowed(&self) -> Allowed {
        Allowed {
            largest: self.ours,
            drain: !self.accepted,
        }
    }
}
