//! What a session does without waiting.
//!
//! # What checks the ring next
//!
//! Inside an unbounded run the side in this process does not wake the far end (see `link::message::apart` in the runtime), so
//! another thread has to check the ring. Whenever `core` is released and the far end receives, one of these holds:
//!
//! 1. *The far end is armed* where the next message, or the end, is published. What the side does there wakes it.
//! 2. *The helper has an entry*, or the thread that has released `core` is about to make one: `After::flushes`.
//! 3. *Something has to be written* and there are no free lines. The thread that finds this waits, or leaves it to
//!    the helper. When it is written, the same thread forwards what follows.
//!
//! The helper clears its note of an entry before it takes `core`. So if a thread finds the note set after it has released
//! `core`, the check that is due comes after what that thread did.

use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use duologue::transport::{Armed, Forwarded, Next, Role, Why};

use super::{After, Core, Session, LAST_WRITE};
use crate::helper;
use crate::memory::LEFT;
use crate::messages::{self, Read, Written};

/// How many encoded bytes are collected before they are written: about as much as the lines hold.
const COLLECTED: usize = 16 << 10;

/// How many reads one step makes. A peer may send long messages in parts of one byte, and must not hold up the thread that
/// works for all sessions.
const READS: u32 = 16;

/// The peer is checked where at least this many reads in a row have found nothing: not in a dialogue whose answer is
/// about to come, because that takes as long as a message.
const EMPTY_READS: u32 = 3;

/// How a session is after a step.
#[derive(Clone, Copy)]
pub(crate) struct State {
    /// Something has to be written, and there are no free lines.
    pub(crate) is_pending: bool,
    /// The session is over for both sides.
    pub(crate) is_over: bool,
    /// Some message, or a part of one, was moved.
    pub(crate) has_moved: bool,
    /// There is more to read: another step has to follow at once.
    pub(crate) is_unfinished: bool,
    /// The helper has to watch the session.
    pub(crate) is_watched: bool,
}

/// Whether a step goes on.
#[derive(PartialEq, Eq)]
enum Goes {
    On,
    /// Nothing is possible at the moment.
    NoFurther,
}

impl Session {
    /// Moves messages in both directions as long as that is possible, but makes at most [`READS`] reads. What follows the
    /// last read is still done: if it has ended the session, no other step may come.
    pub(super) fn step(&self, core: &mut Core, after: &mut After, next: Next) -> State {
        let mut steps = 0;
        let mut reads = 0;
        while core.alive.is_some() {
            let goes = match self.write(core, after) {
                Goes::NoFurther => Goes::NoFurther,
                Goes::On => match core.far.role() {
                    Role::Receives => self.forward(core, after, next),
                    Role::Sends if reads == READS => Goes::NoFurther,
                    Role::Sends => {
                        reads += 1;
                        self.read(core, after)
                    }
                    Role::Over => {
                        let how = core.how;
                        self.close(core, after, Why::Left, how);
                        Goes::On
                    }
                },
            };
            if goes == Goes::NoFurther {
                break;
            }
            steps += 1;
        }
        State {
            is_pending: core.outgoing.is_pending(),
            is_over: core.alive.is_none(),
            has_moved: steps > 0,
            is_unfinished: reads == READS && core.alive.is_some(),
            is_watched: self.is_to_be_watched(core),
        }
    }

    /// Whether the helper has to watch the session: it writes for it, or reads.
    pub(super) fn is_to_be_watched(&self, core: &Core) -> bool {
        let is_awaited = self.is_awaited.load(SeqCst);
        let reads = is_awaited && !core.is_full && core.far.role() == Role::Sends;
        core.alive.is_some() && (core.outgoing.is_pending() || reads)
    }

    /// Writes what was collected.
    fn write(&self, core: &mut Core, after: &mut After) -> Goes {
        if !core.outgoing.is_pending() {
            return Goes::On;
        }
        let Core {
            outgoing,
            position,
            alive,
            ..
        } = core;
        let Some(alive) = alive else {
            return Goes::NoFurther;
        };
        let before = position.progress();
        let why = match outgoing.write(&self.end, position, alive) {
            Written::Everything => {
                core.lingers_until = None;
                return Goes::On;
            }
            Written::Gone(why) => why,
            Written::Some => {
                let gone = alive.gone(&self.end);
                // What the peer has read before it left is read.
                match gone.filter(|_| !outgoing.can_write(&self.end, position)) {
                    Some(why) => why,
                    None => return self.linger(core, after, before),
                }
            }
        };
        self.close(core, after, why, LEFT);
        Goes::On
    }

    /// Where nothing more can be written: a session that is over ends after a while in which the peer reads nothing.
    fn linger(&self, core: &mut Core, after: &mut After, before: u64) -> Goes {
        if core.far.role() != Role::Over && !self.is_leaving.load(SeqCst) {
            return Goes::NoFurther;
        }
        let now = Instant::now();
        let until = match core.lingers_until {
            Some(until) if core.position.progress() == before => until,
            Some(_) | None => now + LAST_WRITE,
        };
        core.lingers_until = Some(until);
        if until > now || !helper::is_this_thread() {
            return Goes::NoFurther;
        }
        self.close(core, after, Why::Left, LEFT);
        Goes::On
    }

    /// Collects what the side in this process has sent, and arms the far end for what it sends next.
    fn forward(&self, core: &mut Core, after: &mut After, next: Next) -> Goes {
        let messages = core.far.messages();
        let (frames, largest) = (&mut core.outgoing.frames, self.terms.theirs);
        let (forwarded, _, woken) = core.far.forward(frames, largest, COLLECTED);
        after.wake(woken);
        if core.outgoing.is_pending() {
            core.outgoing.collected(messages, &core.far);
        }
        match forwarded {
            Forwarded::Message => core.has_forwarded = true,
            Forwarded::Nothing => return self.wait_inside(core, after, next),
            Forwarded::Left => self.close(core, after, Why::Left, LEFT),
            Forwarded::TooLarge => {
                core.outgoing.ends_early();
                self.conclude(core, after, Why::TooLarge);
            }
        }
        Goes::On
    }

    /// Where the far end has found nothing: makes sure that what the side in this process does next is noticed.
    fn wait_inside(&self, core: &mut Core, after: &mut After, next: Next) -> Goes {
        let Some(waker) = &core.waker else {
            return Goes::NoFurther;
        };
        let has_forwarded = std::mem::take(&mut core.has_forwarded);
        match core.far.arm_next(waker, next, has_forwarded) {
            Armed::Wakes => Goes::NoFurther,
            Armed::ChecksAgain => {
                after.flushes = true;
                Goes::NoFurther
            }
            Armed::Not => Goes::On,
        }
    }

    /// Reads what the peer has sent, and publishes it.
    fn read(&self, core: &mut Core, after: &mut After) -> Goes {
        if self.is_abandoned.load(SeqCst) {
            self.close(core, after, Why::Left, LEFT);
            return Goes::On;
        }
        if !messages::has_come(&self.end, &core.position) {
            core.empty_reads = core.empty_reads.saturating_add(1);
            let gone = match core.empty_reads < EMPTY_READS {
                true => self.end.has_left().then_some(Why::Left),
                false => (core.alive.as_mut()).and_then(|alive| alive.gone(&self.end)),
            };
            // What the peer has sent before it left is read.
            let Some(why) = gone.filter(|_| !messages::has_come(&self.end, &core.position)) else {
                return match gone {
                    Some(_) => Goes::On,
                    None => Goes::NoFurther,
                };
            };
            self.close(core, after, why, LEFT);
            return Goes::On;
        }
        core.empty_reads = 0;
        core.is_full = !core.far.has_room();
        if core.is_full {
            let Some(waker) = &core.waker else {
                return Goes::NoFurther;
            };
            return match core.far.arm(waker) {
                true => Goes::NoFurther,
                false => Goes::On,
            };
        }
        let Core {
            position,
            incoming,
            far,
            ..
        } = core;
        match messages::read(&self.end, position, incoming, far, &self.terms) {
            Read::Something(woken) => {
                // The one that was woken asks again when it waits again.
                if woken.is_some() {
                    self.is_awaited.store(false, SeqCst);
                }
                after.wake(woken);
                Goes::On
            }
            Read::Nothing => Goes::NoFurther,
            Read::Over(why, woken) => {
                after.wake(woken);
                self.close(core, after, why, LEFT);
                Goes::On
            }
        }
    }

    /// Whether the next step can move something.
    pub(super) fn has_news(&self) -> bool {
        let core = &mut *self.core();
        if core.alive.is_none() || core.outgoing.can_write(&self.end, &mut core.position) {
            return true;
        }
        let reads = core.far.role() == Role::Sends && !core.is_full;
        reads && (messages::has_come(&self.end, &core.position) || self.end.has_left())
    }
}

const _: () = assert!(helper::LONGEST.as_millis() < Duration::from_secs(1).as_millis());
