//! What a session does when time passes: the limits of its states, `#[within(...)]` in the protocol, and of waiting in the
//! other states, which the program sets; heartbeats; giving up last bytes that the peer does not read; and returning memory.
//!
//! The limits of states also apply to a peer that does not read what was sent. The side that waits for a message ends the
//! session. The other side checks as well when the time has passed: the peer has probably ended the session, and what it says
//! is read even if this side's program does nothing.
//!
//! One thread has the deadlines of all sessions, and cannot remove an entry. So a session adds one only if all its others are
//! later, and one that falls due is added again only if the next time is before all others: [`Checks`]. Then there is at
//! most one entry for each limit of the protocol, and a few more: an entry that was added for the same limit before is
//! earlier.

use std::mem;
use std::time::{Duration, Instant};

use duologue::transport::{Role, Why};

use super::{frame, Core, State, Work};

/// The delay after the first check that changes nothing; each further delay is as long as all before it together.
pub(crate) const AGAIN: Duration = Duration::from_millis(50);

/// How long a write waits before it checks whether the peer has ended the session, if the peer has promised no heartbeat.
pub(super) const LOOK: Duration = Duration::from_secs(1);

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
pub(super) struct Stall {
    /// When the peer is late, unless it has read what was to be written then.
    by: Instant,
    /// How many bytes of that are left.
    left: usize,
}

impl Stall {
    /// The connection has accepted this many bytes. Returns whether it has accepted all that was to be written.
    pub(super) fn moved(&mut self, count: usize) -> bool {
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
pub(super) struct Checks {
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
    pub(super) fn begin(&mut self, work: &Work) {
        if self.due.is_none() && self.is_open() && self.pending() == 0 {
            self.due = self.limit().map(|limit| work.now() + limit);
        }
    }

    /// The connection accepts nothing. Returns when the peer, which does not read, is late, if that is limited.
    pub(super) fn stalled(&mut self, now: Instant) -> Option<Instant> {
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
                self.out.put(&frame::STILL_THERE);
                due.writes = true;
            }
            // Reading reveals whether the peer is silent.
            due.reads = self.terms.their_heartbeat > 0;
        }
        due.reads |= self.limits().into_iter().flatten().any(|at| at <= now);
        due
    }

    /// The deadlines at which [`tick`](Core::tick) has something to do.
    pub(super) fn deadlines(&self) -> impl Iterator<Item = Instant> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A session whose states have limits of different length by turns, as the thread sees it that has the deadlines: its entries do not accumulate.
    #[test]
    fn there_is_one_entry_for_each_limit() {
        let limits = [10_000, 10, 300, 10, 10_000, 25];
        let start = Instant::now();
        let mut checks = Checks::default();
        let mut entries: Vec<Instant> = Vec::new();
        for step in 0..20_000_u64 {
            let now = start + Duration::from_millis(step);
            let due = now + Duration::from_millis(limits[step as usize % limits.len()]);
            if checks.request(due) {
                entries.push(due);
            }
            let come = entries.iter().filter(|at| **at <= now).count();
            entries.retain(|at| *at > now);
            for _ in 0..come {
                checks.come(now);
                if checks.request(due) {
                    entries.push(due);
                }
            }
            assert!(entries.iter().any(|at| *at <= due), "{step}: no entry");
            assert_eq!(entries.len(), checks.entries.len());
            assert!(entries.len() <= 5, "{step}: {} entries", entries.len());
        }
    }
}
