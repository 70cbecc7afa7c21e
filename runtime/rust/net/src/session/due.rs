//! The time limits of states, `#[within(...)]` in the protocol, and of waiting in the other states, which the program sets.
//! The same limits apply to a peer that does not read what was sent.
//!
//! The side that waits for a message ends the session. The other side checks as well when the time has passed: the peer
//! has probably ended the session, and what it says is read even if this side's program does nothing.
//!
//! `timer` checks every session with a limit. A thread that reads a connection holds `input` in the meantime, so it
//! checks itself, and reads for no longer than until the time has passed.
//!
//! `timer` cannot remove an entry. So a session adds one only if all its others are later, and an entry that falls
//! due is added again only if the next time is before all others: [`Checks`]. Then there is at most one entry for each limit of the
//! protocol, and one more: an entry that was added for the same limit before is earlier.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::Arc;
use std::time::{Duration, Instant};

use duologue::transport::{Role, Why};

use super::{After, Core, Patience, Session, LONGEST_PULSE};
use crate::input::Input;
use crate::stream::{left, past};

/// The delay after the first check that changes nothing; each further delay is as long as all before it together.
const AGAIN: Duration = Duration::from_millis(50);

/// Replaces a time limit that is longer than the clock can represent.
const LONGEST_IDLE: Duration = Duration::from_secs(1 << 30);

/// How many reads are made after the time has passed. A peer that keeps sending without completing a message is late.
const LAST_READS: u32 = 256;

/// The connection has accepted nothing at some time.
pub(super) struct Stall {
    /// When the peer is late, unless it has read what was to be written then.
    by: Instant,
    /// How many bytes of that are left.
    left: usize,
}

impl Core {
    /// When the peer is late, because it does not send or does not read, if these times have begun.
    fn limits(&self) -> [Option<Instant>; 2] {
        [self.due, self.stall.as_ref().map(|stall| stall.by)]
    }

    /// Lets `timer` check whether the time has passed.
    fn check_at(&mut self, at: Instant, now: Instant, after: &mut After) {
        let at = at.min(now + LONGEST_PULSE);
        if self.checks.request(at) {
            after.checks.push(at);
        }
    }

    /// The connection has accepted this many bytes.
    pub(super) fn moved(&mut self, count: usize) {
        if let Some(stall) = &mut self.stall {
            stall.left = stall.left.saturating_sub(count);
            if stall.left == 0 {
                self.stall = None;
            }
        }
    }
}

/// When `timer` has entries of a session, the earliest last.
#[derive(Default)]
pub(super) struct Checks(Vec<Instant>);

impl Checks {
    /// Requests a check at this time. Returns whether the caller has to add an entry.
    fn request(&mut self, at: Instant) -> bool {
        let is_first = self.0.last().is_none_or(|first| at < *first);
        if is_first {
            self.0.push(at);
        }
        is_first
    }

    /// An entry is due.
    fn come(&mut self, now: Instant) {
        while self.0.last().is_some_and(|first| *first <= now) {
            self.0.pop();
        }
    }
}

impl Session {
    /// How long the state in which the session is may last.
    fn limit(&self, core: &Core) -> Option<Duration> {
        let idle = self.terms.idle.filter(|_| core.far.role() == Role::Sends);
        core.far
            .within()
            .or(idle.map(|idle| idle.min(LONGEST_IDLE)))
    }

    /// Begins the time of the state in which the session is, if it has a limit and everything sent before is written.
    pub(super) fn begin(&self, core: &mut Core, after: &mut After) {
        if core.due.is_some() || core.is_closed || core.pending() > 0 {
            return;
        }
        let Some(within) = self.limit(core) else {
            return;
        };
        let now = Instant::now();
        let due = now + within;
        core.due = Some(due);
        core.check_at(due, now, after);
    }

    /// The connection accepts nothing. Returns when the peer, which does not read, is late, if that is limited.
    pub(super) fn stalled(&self, core: &mut Core, after: &mut After) -> Option<Instant> {
        if core.is_closed {
            return None;
        }
        if core.stall.is_none() {
            let limit = core.far.within().or(self.terms.idle)?;
            let now = Instant::now();
            let by = now + limit.min(LONGEST_IDLE);
            let left = core.pending();
            core.stall = Some(Stall { by, left });
            core.check_at(by, now, after);
        }
        core.stall.as_ref().map(|stall| stall.by)
    }

    /// When the peer is late, if the session waits for the peer and that is limited. If the time has not begun, because
    /// something has not been written yet, this is the earliest time that it can pass.
    pub(super) fn due(&self, core: &Core) -> Option<Instant> {
        if core.far.role() != Role::Sends {
            return None;
        }
        let within = self.limit(core)?;
        Some(core.due.unwrap_or_else(|| Instant::now() + within))
    }

    fn is_late(&self, core: &Core) -> bool {
        let [is_due, is_stalled] = core
            .limits()
            .map(|at| at.is_some_and(|at| left(at).is_none()));
        // While the ring is full, a message of the peer is there.
        let is_waiting = core.far.role() == Role::Sends && !self.is_full.load(SeqCst);
        !core.is_closed && (is_stalled || is_due && is_waiting)
    }

    /// Ends the session if the peer is late. The caller has published what was read, and does not wait. What the connection
    /// accepts is written before that, and what has arrived is read: this thread may itself be late.
    pub(super) fn expire(&self, input: &mut Input, core: &mut Core, after: &mut After) {
        if core.stall.is_some() && self.is_late(core) {
            self.write(core, after);
        }
        for count in 0..=LAST_READS {
            if !self.is_late(core) {
                return;
            }
            if count == LAST_READS || !input.read(&*self.stream, Some(past())) {
                break;
            }
            self.publish(input, core, after);
        }
        self.leave(core, after, Why::Late);
    }

    /// Checks whether the peer is late, or says that this side is. Returns when to check next.
    pub(super) fn check(self: &Arc<Session>) -> Option<Instant> {
        let now = Instant::now();
        let limits = |core: &Core| core.limits().into_iter().flatten();
        let mut has_to_look = false;
        let mut next = None;
        let Some(core) = super::try_lock(&self.core) else {
            return Some(now + AGAIN);
        };
        let after = self.work(core, Patience::None, |core, _| {
            has_to_look = limits(core).any(|at| at <= now) && !core.is_closed;
        });
        self.finish(after);
        if has_to_look {
            self.look();
        }
        let Some(core) = super::try_lock(&self.core) else {
            return Some(now + AGAIN);
        };
        let after = self.work(core, Patience::None, |core, _| {
            core.checks.come(now);
            if core.is_closed {
                return;
            }
            let check = |at: Instant| match at > now {
                true => at.min(now + LONGEST_PULSE),
                false => now + (now - at).clamp(AGAIN, LONGEST_PULSE),
            };
            let at = limits(core).map(check).min();
            next = at.filter(|at| core.checks.request(*at));
        });
        self.finish(after);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session whose states have limits of different length by turns, as `timer` sees it: its entries do not accumulate.
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
            assert_eq!(entries.len(), checks.0.len());
            assert!(entries.len() <= 5, "{step}: {} entries", entries.len());
        }
    }
}
