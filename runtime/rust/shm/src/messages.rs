//! The messages in the lines of a region: what this side sends, and what the peer sends.
//!
//! # What this side sends
//!
//! Frames of the far end are written into lines. All frames that are collected at one time are of one state, and have the same tag. Their form is that of byte
//! streams: the tag plus 1, the number of bytes of the payload unless that is fixed, and the payload.
//!
//! # What the peer sends
//!
//! It is published to the side in this process. The peer is not trusted: see `memory`. What is read is copied first, then checked. The word of a line is read again each
//! time that more may have come, and everything that is done then follows from that one value.

use std::ops::Range;
use std::sync::atomic::Ordering::Acquire;

use duologue::transport::{Arrival, Encoder, FarEnd, Malformed, Messages, Role, Size, Why, Woken};

use crate::end::{Alive, End};
use crate::memory::{CELLS, COUNT_SHIFT, DONE, FULL, LEFT, LONG, MORE, SHORT, TAG_SHIFT};
use crate::position::Position;

/// What the two sides of a session allow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// The largest payload that the peer accepts.
    pub(crate) theirs: usize,
    /// The largest payload that this side accepts.
    pub(crate) ours: usize,
    /// How much memory the values of one payload may take.
    pub(crate) memory: usize,
}

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

/// The highest tag whose frame begins with one byte, which [`FarEnd::arrive`] expects of what follows a message.
const MOST_AT_ONCE: u64 = 126;

/// What came of reading.
pub(crate) enum Read {
    /// Something was read. If a message was published, the caller wakes its waiter.
    Something(Option<Woken>),
    /// There is no message.
    Nothing,
    /// The session is over: the side in this process has left, the peer has broken the format, or a message takes too much memory. What it sent before may
    /// have been published.
    Over(Why, Option<Woken>),
}

/// A long message of which some parts have arrived.
#[derive(Default)]
pub(crate) struct Incoming {
    tag: usize,
    /// The bytes of the whole payload; 0 if no long message is arriving.
    size: usize,
    bytes: Vec<u8>,
}

/// No correct peer has sent this.
fn broken() -> Read {
    Read::Over(Why::Broken, None)
}

/// Whether the line has a message that was not read yet.
fn is_fresh(position: &Position, word: u64) -> bool {
    (word ^ position.parity) & 1 == 0 && (word >> COUNT_SHIFT) & 7 > position.count
}

/// Whether there is a message, or a part of one.
pub(crate) fn has_come(end: &End, position: &Position) -> bool {
    // Acquire: the peer has written the cells before.
    is_fresh(position, position.line(end).word.load(Acquire))
}

/// Reads what the line has, up to all of its messages or one part of a long message. The ring has a free slot.
pub(crate) fn read(
    end: &End,
    position: &mut Position,
    incoming: &mut Incoming,
    far: &mut FarEnd,
    terms: &Terms,
) -> Read {
    // Acquire: as above.
    let word = position.line(end).word.load(Acquire);
    if !is_fresh(position, word) {
        return Read::Nothing;
    }
    let is_long = word & LONG != 0;
    if !is_long && incoming.size == 0 {
        return read_short(end, position, far, terms, word);
    }
    if !is_long || (word >> COUNT_SHIFT) & 7 != 1 {
        return broken();
    }
    match incoming.add_part(end, position, far, terms, word) {
        Part::Last => incoming.publish(end, position, far, terms),
        Part::More => {
            position.begin_line();
            end.report(position.finished());
            Read::Something(None)
        }
        Part::Broken => broken(),
        Part::TooLarge => Read::Over(Why::TooLarge, None),
    }
}

/// Reads the next message of a line, and those of the same kind that follow it there.
fn read_short(
    end: &End,
    position: &mut Position,
    far: &mut FarEnd,
    terms: &Terms,
    word: u64,
) -> Read {
    let all = (word >> COUNT_SHIFT) & 7;
    let tag_at = |place: u64| (word >> (u64::from(TAG_SHIFT) + 8 * place)) & 0xff;
    let tag = tag_at(position.count);
    let Some((size, limit)) = far.size(tag as usize) else {
        return broken();
    };
    let bytes = position.line(end).copy_from(position.cells);
    let space = position.space();
    let (arrived, messages, cells) = if let Some(fixed) = size.fixed() {
        let cells = fixed.div_ceil(8);
        if fixed > space.min(limit) {
            return broken();
        }
        // The payload, and then the frames of those that follow: each has a byte more than its payload.
        let mut frames = [0; 2 * SHORT];
        let mut length = fixed;
        frames[..fixed].copy_from_slice(&bytes[..fixed]);
        let mut place = position.count + 1;
        let mut from = cells * 8;
        while place < all && tag <= MOST_AT_ONCE && tag_at(place) == tag && from + fixed <= space {
            frames[length] = tag as u8 + 1;
            frames[length + 1..length + 1 + fixed].copy_from_slice(&bytes[from..from + fixed]);
            length += 1 + fixed;
            place += 1;
            from += cells * 8;
        }
        let (payload, following) = frames[..length].split_at(fixed);
        let mut more = 0;
        let arrived = far.arrive(tag as usize, payload, following, terms.memory, &mut more);
        let messages = 1 + more / (fixed + 1);
        (arrived, messages as u64, messages * cells)
    } else {
        // What comes after the payload belongs to later messages, or means nothing.
        let bytes = &bytes[..space.min(limit)];
        match far.arrive_first(tag as usize, bytes, terms.memory) {
            Ok((arrival, used)) => (Ok(arrival), 1, used.div_ceil(8)),
            Err(malformed) => (Err(malformed), 1, 0),
        }
    };
    position.count += messages;
    position.cells += cells;
    after(arrived, far, || {
        if far_turns(far) {
            // The last message of a run is the last of its line.
            let is_last = position.count == all;
            position.begin_run();
            return is_last;
        }
        if word & FULL != 0 && position.count == all {
            position.begin_line();
            if position.is_quarter() {
                end.report(position.finished());
            }
        }
        true
    })
}

/// Whether the peer has sent the last message of a run.
fn far_turns(far: &FarEnd) -> bool {
    far.role() == Role::Receives
}

/// What follows a message that was published, if it was. `go_on` returns whether the peer keeps to the format.
fn after(arrived: Result<Arrival, Malformed>, far: &FarEnd, go_on: impl FnOnce() -> bool) -> Read {
    match arrived {
        Ok(Arrival::Gone) => Read::Over(Why::Left, None),
        Err(malformed) => Read::Over(malformed.why(), None),
        Ok(Arrival::Published(woken)) if far.role() == Role::Over => Read::Something(woken),
        Ok(Arrival::Published(woken)) => match go_on() {
            true => Read::Something(woken),
            false => Read::Over(Why::Broken, woken),
        },
    }
}

/// What a part of a long message is.
enum Part {
    More,
    Last,
    Broken,
    TooLarge,
}

impl Incoming {
    /// Copies a part.
    fn add_part(
        &mut self,
        end: &End,
        position: &mut Position,
        far: &FarEnd,
        terms: &Terms,
        word: u64,
    ) -> Part {
        let [part, whole] = position.line(end).numbers();
        let has_more = word & MORE != 0;
        if self.size != 0 && part == 0 && whole == 0 && !has_more {
            // The sender has given up.
            self.forget();
            return Part::More;
        }
        if self.size == 0 {
            let tag = ((word >> TAG_SHIFT) & 0xff) as usize;
            let Some((size, limit)) = far.size(tag) else {
                return Part::Broken;
            };
            let whole = usize::try_from(whole).unwrap_or(usize::MAX);
            if whole == 0 || whole > terms.ours.min(limit) || !size.admits(whole) {
                return Part::Broken;
            }
            (self.tag, self.size) = (tag, whole);
        }
        let left = (self.size - self.bytes.len()) as u64;
        if part == 0 || part > left.min(position.longest_part()) || has_more != (part < left) {
            return Part::Broken;
        }
        // At most `left`, which fits.
        let size = part as usize;
        if !self.makes_space(size) {
            return Part::TooLarge;
        }
        (end.memory).copy_from(position.byte_place(), size, &mut self.bytes);
        position.add_part(part);
        match has_more {
            true => Part::More,
            false => Part::Last,
        }
    }

    /// Makes space for a part, which is copied in words of 8 bytes. Memory is taken only for what has arrived, up to twice
    /// as much, and never for more than the whole payload. Returns false if there is none.
    fn makes_space(&mut self, part: usize) -> bool {
        let (length, words) = (self.bytes.len(), part.next_multiple_of(8));
        if self.bytes.capacity() - length >= words {
            return true;
        }
        let rest = self.size - length;
        let more = length.min(rest).max(words);
        self.bytes.try_reserve_exact(more).is_ok()
    }

    /// Publishes a message that is complete.
    fn publish(
        &mut self,
        end: &End,
        position: &mut Position,
        far: &mut FarEnd,
        terms: &Terms,
    ) -> Read {
        let arrived = far.arrive(self.tag, &self.bytes, &[], terms.memory, &mut 0);
        self.forget();
        after(arrived, far, || {
            if far_turns(far) {
                position.begin_run();
            } else {
                position.begin_line();
                end.report(position.finished());
            }
            true
        })
    }

    fn forget(&mut self) {
        *self = Incoming::default();
    }
}

const _: () = assert!(CELLS * 8 + CELLS <= 2 * SHORT);
