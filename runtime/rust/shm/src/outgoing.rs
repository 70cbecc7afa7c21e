//! What this side sends: frames of the far end, which are written into lines.
//!
//! All frames that are collected at one time are of one state, and have the same tag. Their form is that of byte
//! streams: the tag plus 1, the number of bytes of the payload unless that is fixed, and the payload.

use std::ops::Range;

use duologue::transport::{Encoder, FarEnd, Messages, Role, Size, Why};

use crate::end::{Alive, End};
use crate::memory::{CELLS, COUNT_SHIFT, DONE, FULL, LEFT, LONG, MORE, SHORT, TAG_SHIFT};
use crate::position::Position;

/// What became of an attempt to write.
pub(crate) enum Written {
    Everything,
    /// There are no free lines or bytes at the moment.
    Some,
    /// The peer is gone.
    Gone(Why),
}

/// What follows the last collected frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    Stays,
    Turns,
    Ends,
}

/// Collected frames that have to be written.
pub(crate) struct Outgoing {
    pub(crate) frames: Encoder,
    /// How many of their bytes are done.
    at: usize,
    /// The tag of all of them, how many bytes precede the rest of each, and the number of bytes of each payload, if that is fixed.
    tag: u64,
    head: usize,
    fixed: Option<usize>,
    /// How many cells a message may take that follows one of them, and one that follows the last.
    follow: usize,
    follow_last: usize,
    then: Then,
    /// The long message that is being sent in parts.
    long: Option<LongMessage>,
    /// How many cells may follow in a line, by state.
    known: Vec<(Messages, usize)>,
}

/// A payload of more than a line.
struct LongMessage {
    /// Where the rest of the payload is among the frames.
    rest: Range<usize>,
    size: u64,
}

impl Outgoing {
    pub(crate) fn new() -> Outgoing {
        Outgoing {
            frames: Encoder::new(),
            at: 0,
            tag: 0,
            head: 0,
            fixed: None,
            follow: 0,
            follow_last: 0,
            then: Then::Stays,
            long: None,
            known: Vec::new(),
        }
    }

    /// Whether something has to be written.
    pub(crate) fn is_pending(&self) -> bool {
        self.at < self.frames.bytes().len()
    }

    /// Whether something can be written now.
    pub(crate) fn can_write(&self, end: &End, position: &mut Position) -> bool {
        let long = self.long.as_ref().map(|long| long.rest.len() as u64);
        self.is_pending()
            && match long {
                Some(left) => position.has_part(end, position.part_of(left)),
                None => position.count > 0 || position.has_line(end),
            }
    }

    /// Forgets what was not written.
    pub(crate) fn forget(&mut self) {
        self.frames.clear(0);
        self.at = 0;
        self.long = None;
    }

    /// Frames of a state were collected, whose messages these are.
    pub(crate) fn collected(&mut self, messages: Option<Messages>, far: &FarEnd) {
        self.then = match far.role() {
            Role::Receives => Then::Stays,
            Role::Sends => Then::Turns,
            Role::Over => Then::Ends,
        };
        let mut head = 0;
        // This side has encoded the frames, so they begin with a tag that exists.
        self.tag = count(self.frames.bytes(), &mut head).map_or(0, |count| count - 1);
        self.head = head;
        let size = messages.and_then(|messages| messages.size(self.tag as usize));
        self.fixed = size.and_then(Size::fixed);
        self.follow = self.cells(messages);
        self.follow_last = match self.then {
            Then::Stays => self.cells(far.messages()),
            Then::Turns | Then::Ends => 0,
        };
    }

    /// Nothing follows the frames: the session ends although its protocol goes on.
    pub(crate) fn ends_early(&mut self) {
        self.then = Then::Stays;
        self.follow_last = 0;
    }

    /// Writes until everything is written, or there are no free lines.
    pub(crate) fn write(
        &mut self,
        end: &End,
        position: &mut Position,
        alive: &mut Alive,
    ) -> Written {
        while self.is_pending() {
            if position.is_checked() {
                if let Some(why) = alive.death(end) {
                    return Written::Gone(why);
                }
            }
            if position.count == 0 && !position.has_line(end) {
                return Written::Some;
            }
            let written = match self.long {
                Some(_) => self.write_long(end, position),
                None => self.write_next(end, position),
            };
            match written {
                Written::Everything => {}
                Written::Some | Written::Gone(_) => return written,
            }
        }
        self.frames.clear(SHORT * 256);
        self.at = 0;
        Written::Everything
    }

    /// Where the payload of the next frame is.
    fn next_payload(&self) -> Option<Range<usize>> {
        let mut at = self.at + self.head;
        let size = match self.fixed {
            Some(fixed) => fixed,
            None => usize::try_from(count(self.frames.bytes(), &mut at)?).ok()?,
        };
        Some(at..at + size)
    }

    /// Writes the next message into the line, and publishes the line if it is full or nothing is left. A long message
    /// only begins.
    fn write_next(&mut self, end: &End, position: &mut Position) -> Written {
        // This side has encoded the frames, so each is complete.
        let Some(payload) = self.next_payload() else {
            self.forget();
            return Written::Gone(Why::Broken);
        };
        if payload.len() > position.space() {
            self.long = Some(LongMessage {
                size: payload.len() as u64,
                rest: payload,
            });
            return Written::Everything;
        }
        let line = position.line(end);
        line.copy_to(position.cells, &self.frames.bytes()[payload.clone()]);
        position.word |= self.tag << (TAG_SHIFT + 8 * position.count as u32);
        position.word += 1 << COUNT_SHIFT;
        position.count += 1;
        position.cells += payload.len().div_ceil(8);
        self.at = payload.end;
        let is_last = !self.is_pending();
        let follow = match is_last {
            true => self.follow_last,
            false => self.follow,
        };
        let is_full = position.count as usize == CELLS || position.cells + follow > CELLS;
        if is_full {
            position.word |= FULL;
        }
        if !is_full && !is_last {
            return Written::Everything;
        }
        let flags = end.publish(&position.line(end).word, position.word);
        self.go_on(position, is_last, is_full, flags)
    }

    /// Writes one part of a long message.
    fn write_long(&mut self, end: &End, position: &mut Position) -> Written {
        let Some(long) = &mut self.long else {
            return Written::Everything;
        };
        let left = long.rest.len() as u64;
        let size = position.part_of(left);
        if !position.has_part(end, size) {
            return Written::Some;
        }
        let middle = long.rest.start + size as usize;
        let part = &self.frames.bytes()[long.rest.start..middle];
        end.memory.copy_to(position.byte_place(), part);
        let line = position.line(end);
        line.set_numbers([size, long.size]);
        position.add_part(size);
        let mut word = position.parity | 1 << COUNT_SHIFT | FULL | LONG | self.tag << TAG_SHIFT;
        if size < left {
            word |= MORE;
        }
        let flags = end.publish(&line.word, word);
        long.rest.start = middle;
        if size < left {
            if flags & (LEFT | DONE) != 0 {
                return Written::Gone(Why::Left);
            }
            position.begin_line();
            return Written::Everything;
        }
        self.at = middle;
        self.long = None;
        let is_last = !self.is_pending();
        self.go_on(position, is_last, true, flags)
    }

    /// What follows a line that was published.
    fn go_on(&self, position: &mut Position, is_last: bool, is_full: bool, flags: u32) -> Written {
        let then = if is_last { self.then } else { Then::Stays };
        let useless = match then {
            Then::Stays => LEFT | DONE,
            // The peer may have answered before it disconnected. The read that follows finds out.
            Then::Turns => 0,
            // A peer that has read the last message is done, and this side may see that at once.
            Then::Ends => LEFT,
        };
        if flags & useless != 0 {
            return Written::Gone(Why::Left);
        }
        match then {
            Then::Turns => position.begin_run(),
            Then::Stays if is_full => position.begin_line(),
            Then::Stays | Then::Ends => {}
        }
        Written::Everything
    }

    /// How many cells a message of this state may take, up to one more than a line has.
    fn cells(&mut self, messages: Option<Messages>) -> usize {
        let Some(messages) = messages else { return 0 };
        let known = self.known.iter().find(|(of, _)| *of == messages);
        if let Some((_, cells)) = known {
            return *cells;
        }
        let sizes = (0..256).map_while(|tag| messages.size(tag));
        let cells = sizes.map(|size| size.most.map_or(CELLS + 1, |most| most.div_ceil(8)));
        let cells = cells.max().unwrap_or(0).min(CELLS + 1);
        self.known.push((messages, cells));
        cells
    }
}

/// A count that this side has encoded.
fn count(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut count = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        count |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Some(count);
        }
    }
    None
}
