//! What sides report about how they use their endpoints.

use std::time::Instant;

use super::{KeptSide, Registry};
use crate::ring::observer::Session;
use crate::ring::usage::{Owner, Usage};

impl Registry {
    /// The session's sides report how they use their endpoints.
    pub(super) fn knows_sides(&self, session: &Session) {
        if let Some(kept) = self.live().get_mut(&("", session.id)) {
            let side = || KeptSide {
                state: Some(session.state),
                ..KeptSide::default()
            };
            kept.sides = Some([side(), side()]);
        }
    }
}

impl KeptSide {
    pub(super) fn used(&mut self, usage: &Usage) {
        match usage {
            Usage::Adopts(owner) => self.belongs_to(owner),
            Usage::Sends(owner, next) => {
                self.passes(owner, *next);
                self.sent += 1;
            }
            Usage::Receives(owner, next) => {
                self.passes(owner, *next);
                self.received += 1;
            }
            Usage::WaitsForMessage(owner) => self.waits(owner, false),
            Usage::WaitsForSpace(owner) => self.waits(owner, true),
            Usage::StaysInSet => self.is_in_set = true,
            Usage::StopsWaiting => self.waits = None,
            Usage::Leaves => self.has_left = true,
        }
    }

    fn passes(&mut self, owner: &Owner, next: Option<&'static str>) {
        // The thread that runs a task without a name is not the one to which the endpoint belongs.
        if !self.is_anonymous_task {
            self.belongs_to(owner);
        }
        self.state = next;
        self.waits = None;
    }

    /// A task that is polled again before the message has come still waits since it began.
    fn waits(&mut self, owner: &Owner, for_space: bool) {
        self.belongs_to(owner);
        self.waits.get_or_insert_with(Instant::now);
        self.for_space = for_space;
        self.is_in_set = false;
    }

    fn belongs_to(&mut self, owner: &Owner) {
        self.is_anonymous_task = owner.is_anonymous_task;
        self.owner = Some(owner.name.clone());
    }
}
