//! The time limits of states, `#[within(...)]` in the protocol.
//!
//! The side that waits for a message ends the session. The other side checks as well when the time has passed: the peer
//! has probably ended the session, and what it says is read even if this side's program does nothing.
//!
//! `timer` checks every session with a limit. A thread that reads a connection holds `input` in the meantime, so it
//! checks itself, and reads for no longer than until the time has passed.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::Arc;
use std::time::{Duration, Instant};

use duologue::transport::{Role, Why};

use super::{After, Core, Patience, Session, LONGEST_PULSE};
use crate::frame;
use crate::input::Input;
use crate::stream::left;

/// How long after the first check that changes nothing the next one follows; each further one takes as long as all before it.
const AGAIN: Duration = Duration::from_millis(50);

/// How often is read after the time has passed. A peer that keeps sending without completing a message is late.
const LAST_READS: u32 = 256;

impl Session {
    /// Begins the time of the state in which the session is, if it has a limit and everything sent before is written.
    pub(super) fn begin(&self, core: &mut Core, after: &mut After) {
        if core.due.is_some() || core.is_closed || core.pending() > 0 {
            return;
        }
        let Some(within) = core.far.within() else {
            return;
        };
        let now = Instant::now();
        let due = now + within;
        core.due = Some(due);
        let at = due.min(now + LONGEST_PULSE);
        if core.checked_at.is_none_or(|known| at < known) {
            core.checked_at = Some(at);
            after.checks = Some(at);
        }
    }

    /// When the peer is late, if the session waits for the peer and that is limited. If the time has not begun, because
    /// something has not been written yet, this is the earliest time that it can pass.
    pub(super) fn due(core: &Core) -> Option<Instant> {
        if core.far.role() != Role::Sends {
            return None;
        }
        let within = core.far.within()?;
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
            if count == LAST_READS || !input.read(&*self.stream, Some(Instant::now())) {
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
            if core.is_closed || core.checked_at.is_some_and(|at| at > now) {
                return;
            }
            next = core.due.map(|due| {
                let passed = now.saturating_duration_since(due);
                let later = now + passed.clamp(AGAIN, LONGEST_PULSE);
                if due > now {
                    due.min(now + LONGEST_PULSE)
                } else {
                    later
                }
            });
            core.checked_at = next;
        });
        self.finish(after);
        next
    }
}
