//! The terms of a session.

use std::time::Duration;

use super::frame::Allowed;

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
    pub(super) fn pulse(&self) -> Option<Duration> {
        // At most two pulses pass between one write and the next, which is less than `our_heartbeat`.
        let ours = Duration::from_secs(u64::from(self.our_heartbeat)) / 3;
        let theirs = Duration::from_secs(u64::from(self.their_heartbeat)) / 2;
        let pulses = [ours, theirs].into_iter();
        let shortest = pulses.filter(|pulse| !pulse.is_zero()).min();
        shortest.map(|pulse| pulse.min(LONGEST_PULSE))
    }

    /// What this side allows in frames.
    pub(super) fn allowed(&self) -> Allowed {
        Allowed {
            largest: self.ours,
            drain: !self.accepted,
        }
    }
}
