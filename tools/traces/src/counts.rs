//! How many sessions and messages there were.

use super::blame::Finding;
use super::session::{Gap, Place, Session};
use super::table::OVER;
use serde::Serialize;
use std::sync::Arc;

/// The sessions of a protocol, by what became of them. Within version 1 of the report, fields are only added.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counts {
    /// How many sessions there are.
    pub sessions: u64,
    /// How many messages they have.
    pub messages: u64,
    /// How many sessions came to an end of the protocol.
    pub finished: u64,
    /// How many sessions a side left earlier.
    pub left: u64,
    /// How many sessions go on at the end of the logs.
    pub unfinished: u64,
    /// How many sessions have a wrong event.
    pub wrong: u64,
    /// How many sessions were seen in part, and have an event that does not follow from what was seen.
    pub partial: u64,
    /// How many lines of sessions have no event that the mapping names.
    pub unnamed: u64,
    /// Which transitions were seen.
    #[serde(skip)]
    pub covered: Vec<bool>,
    /// For each state, how many sessions are unfinished there, and the first of them.
    #[serde(skip)]
    pub open: Vec<(u64, Option<Unfinished>)>,
}

/// An unfinished session: its name and its last event.
pub type Unfinished = (Arc<str>, Place);

impl Counts {
    /// Counts a session that is over.
    pub(super) fn close(&mut self, session: &mut Session) {
        session.is_closed = true;
        session.is_left = session.farthest().state != OVER;
        match session.is_left {
            true => self.left += 1,
            false => self.finished += 1,
        }
    }

    /// Counts a session with a finding, which blames nobody if something may be missing before it.
    pub(super) fn judged(&mut self, found: Finding, gap: Option<Gap>) -> Finding {
        match gap {
            Some(gap) => {
                self.partial += 1;
                found.in_part(gap)
            }
            None => {
                self.wrong += 1;
                found
            }
        }
    }

    /// No longer counts a session as over, and returns whether it did.
    pub(super) fn reopen(&mut self, session: &mut Session) -> bool {
        let is_closed = std::mem::take(&mut session.is_closed);
        match session.is_left {
            true => self.left -= u64::from(is_closed),
            false => self.finished -= u64::from(is_closed),
        }
        is_closed
    }
}
