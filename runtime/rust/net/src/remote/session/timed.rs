//! What a session does when one of its core's deadlines has passed.

use std::sync::Arc;
use std::time::Instant;

use duologue::transport::Role;

use super::io::read;
use super::{try_lock, Session};
use crate::core::{Due, Patience, AGAIN};
use crate::transport::stream::past;

impl Session {
    /// Does what is due. Never waits: a thread that holds a lock is reading or writing, and notices the same. Returns when the
    /// next deadline is, unless `timer` has an earlier entry.
    pub(crate) fn on_time(self: &Arc<Session>) -> Option<Instant> {
        let now = Instant::now();
        let mut due = Due::default();
        let Some(core) = try_lock(&self.core) else {
            return Some(now + AGAIN);
        };
        let work = self.work(core, Patience::None, |core, work| {
            due = core.tick(work);
            if due.writes {
                self.write(core, work);
            }
        });
        self.finish(work);
        if due.shrinks {
            self.shrink();
        }
        if due.reads {
            self.look();
        }
        let mut next = None;
        let Some(core) = try_lock(&self.core) else {
            return Some(now + AGAIN);
        };
        let work = self.work(core, Patience::None, |core, _| next = core.checked(now));
        self.finish(work);
        next
    }

    /// Returns the memory of buffers that are empty. If a thread waits for the connection, it asks for this again when it has read.
    fn shrink(self: &Arc<Session>) {
        let mut is_large = false;
        if let Some(mut input) = try_lock(&self.input) {
            input.shrink();
            self.stream.shrink();
            is_large = input.is_large();
            let is_open = input.ended().is_none();
            drop(input);
            if is_open {
                self.read_on();
            }
        }
        if let Some(core) = try_lock(&self.core) {
            // Another thread may have set `again` in the meantime.
            let work = self.work(core, Patience::None, |core, work| {
                core.shrink();
                work.shrinks = is_large || core.has_grown();
            });
            self.finish(work);
        }
    }

    /// Reads what has arrived and publishes it.
    fn look(self: &Arc<Session>) {
        let Some(mut input) = try_lock(&self.input) else {
            return;
        };
        let mut is_open = true;
        if let Some(core) = try_lock(&self.core) {
            if !core.is_full() && input.ended().is_none() {
                read(&mut input, &*self.stream, Some(past()));
            }
            let work = self.work(core, Patience::None, |core, work| {
                if core.role() != Role::Over {
                    self.publish(&mut input, core, work);
                    self.expire(&mut input, core, work);
                }
                is_open = !core.is_over();
            });
            drop(input);
            self.finish(work);
        } else {
            self.leave_unpublished(input);
        }
        if is_open {
            self.read_on();
        }
    }
}
