//! The time limits of states, `#[within(...)]` in the protocol, and of waiting in the other states, which the program sets.
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
use crate::frame;
use crate::input::Input;
use crate::stream::{left, past};

/// The delay after the first check that changes nothing; each further delay is as long as all before it together.
const AGAIN: Duration = Duration::from_millis(50);

/// Replaces a time limit that is longer than the clock can represent.
const LONGEST_IDLE: Duration = Duration::from_secs(1 << 30);

/// How many reads are made after the time has passed. A peer that keeps sending without completing a message is late.
const LAST_READS: u32 = 256;

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
        let at = due.min(now + LONGEST_PULSE);
        if core.checks.request(at) {
            after.checks = Some(at);
        }
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

    /// Ends the session if the peer is late. The caller has published what was read. What has arrived is read before that:
    /// this thread may itself be late.
    pub(super) fn expire(&self, input: &mut Input, core: &mut Core, after: &mut After) {
        for count in 0..=LAST_READS {
            let is_due = core.due.is_some_and(|due| left(due).is_none());
            // While the ring is full, a message of the peer is there.
            let is_waiting = core.far.role() == Role::Sends && !self.is_full.load(SeqCst);
            if !is_due || !is_waiting || core.is_closed {
                return;
            }
            if count == LAST_READS || !input.read(&*self.stream, Some(past())) {
                break;
            }
            self.publish(input, core, after);
        }
        self.leave(core, after, Why::Late, &frame::LATE);
    }

    /// Checks whether the peer is late, or whether it says that this side is. Returns when to check next.
    pub(super) fn check(self: &Arc<Session>) -> Option<Instant> {
        let now = Instant::now();
        let is_due = |core: &Core| core.due.is_some_and(|due| due <= now);
        let mut has_to_look = false;
        let mut next = None;
        let Some(core) = super::try_lock(&self.core) else {
            return Some(now + AGAIN);
        };
        let after = self.work(core, Patience::None, |core, _| {
            has_to_look = is_due(core) && !core.is_closed;
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
            let at = core.due.map(|due| {
                let passed = now.saturating_duration_since(due);
                let later = now + passed.clamp(AGAIN, LONGEST_PULSE);
                if due > now {
                    due.min(now + LONGEST_PULSE)
                } else {
                    later
                }
            });
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
