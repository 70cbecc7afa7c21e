//! How a session takes frames from what was read, and publishes their messages.

use duologue::transport::{Arrival, Role, Why};

use super::frame::{self, Frame};
use super::{Core, Input, State, Step, Work};
use crate::observe::Direction;

impl Core {
    /// What was read is about to be published.
    pub(crate) fn begin_receiving(&mut self, input: &Input, work: &mut Work) {
        self.is_full = false;
        work.shrinks |= input.is_large();
    }

    /// Publishes what was read, as long as there are complete frames and free slots.
    pub(crate) fn receive(&mut self, input: &mut Input, work: &mut Work) -> Step {
        while self.is_open() {
            let bytes = input.bytes();
            let size = |tag| self.far.size(tag);
            match frame::first(bytes, self.terms.allowed(), size) {
                Frame::Message { tag, payload } => {
                    if !self.far.has_room() {
                        if !self.is_full {
                            self.is_full = true;
                            return Step::Full;
                        }
                        let Some(waker) = &self.waker else {
                            return Step::Done;
                        };
                        if self.far.arm(waker) {
                            return Step::Done;
                        }
                        continue;
                    }
                    let (length, mut more) = (payload.end, 0);
                    let (payload, following) = (&bytes[payload], &bytes[length..]);
                    let memory = self.terms.memory;
                    let name = self.tally.as_ref().map_or("", |_| self.far.name(tag));
                    let arrived = (self.far).arrive(tag, payload, following, memory, &mut more);
                    input.take(length + more);
                    // What followed has the same size.
                    let messages = 1 + (more / length) as u64;
                    match arrived {
                        Ok(Arrival::Published(woken)) => {
                            work.wake(woken);
                            self.count((Direction::Received, name), messages, length + more, work);
                            self.due = None;
                            if self.far.role() != Role::Sends {
                                return Step::Forward;
                            }
                            self.begin(work);
                        }
                        Ok(Arrival::Gone) => {
                            // After these the session ends.
                            if let (true, Some(tally)) = (more > 0, &mut self.tally) {
                                tally.add(Direction::Received, messages, length + more);
                            }
                            self.leave(Why::Left);
                        }
                        Err(malformed) => self.leave(malformed.why()),
                    }
                }
                Frame::Ignored(length) => input.take(length),
                Frame::Leave(why) => {
                    input.end(why);
                    self.close(why, work);
                }
                Frame::Broken => self.leave(Why::Broken),
                Frame::Incomplete => match input.ended() {
                    Some(why) => self.close(why, work),
                    None => return Step::Done,
                },
            }
        }
        match self.state {
            State::Ending(..) => Step::WriteLast,
            State::Open | State::Lingering(_) | State::Closed => Step::Done,
        }
    }
}
