//! What the peer sends: messages in lines, which are published to the side in this process.
//!
//! The peer is not trusted: see `memory`. What is read is copied first, then checked. The word of a line is read again each
//! time that more may have come, and everything that is done then follows from that one value.

use std::sync::atomic::Ordering::Acquire;

use duologue::transport::{Arrival, FarEnd, Malformed, Role, Why, Woken};

use crate::end::End;
use crate::memory::{CELLS, COUNT_SHIFT, FULL, LONG, MORE, SHORT, TAG_SHIFT};
use crate::position::Position;
use crate::terms::Terms;

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
