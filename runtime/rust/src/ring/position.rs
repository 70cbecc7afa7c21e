//! The position of an endpoint in its session: pure arithmetic, the same on both sides.
//!
//! The messages of a session are totally ordered and both sides know the order, so both compute the same positions
//! without communicating. A position is a line of the ring, a slot in that line, and an *epoch*: the number of times
//! the index went back to line 0, because the direction changed or because an unbounded run wrapped around the ring (a
//! *lap*). A line is stamped with the epoch of its messages and their count, which distinguishes them from all earlier
//! ones.

use super::words::{Key, LineWord, Word, COUNT_SHIFT, EPOCHS, EPOCH_SHIFT};
use crate::floor::layout::{Part, MAX_LINES, MAX_PER_LINE};

/// An endpoint's position and what else it remembers, packed so that an endpoint takes two machine words.
///
/// From the top: 22 bits of epoch, 3 bits of slot in the line, 2 zero bits, the flags, 26 bits of line. Epoch and slot
/// are where a line's word has epoch and count, so that one subtraction compares a word with a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Position(u64);

const ONE: u64 = 1 << COUNT_SHIFT;
const SLOT: u64 = 7 << COUNT_SHIFT;
/// The other side belongs to a transport, which itself checks what is sent inside a run.
const NEAR: u64 = 1 << 33;
/// This side belongs to such a transport.
const FAR: u64 = 1 << 32;
/// Every message that this side sends is swapped.
const NEVER_STORES: u64 = 1 << 31;
/// The session is observed. `NEAR` is set, too, for the code that tests a single bit.
const OBSERVED: u64 = 1 << 34;
const SIDE: u64 = 1 << 35;
const LAP: u64 = 1 << 30;
/// The session is still in the small block with which it began.
const SMALL: u64 = 1 << 29;
/// In a small block, the sender has found that the receiver waited for a message of the current half.
const AWAITED: u64 = 1 << 36;
/// The receiver is known to be a task.
const PEER_IS_TASK: u64 = 1 << 28;
/// Every message is swapped, except what a side with [`NEAR`] sends inside a run.
const SWAPS: u64 = 1 << 27;
/// The state has messages that keep the direction.
const STAYS: u64 = 1 << 26;
const LINE: u64 = STAYS - 1;

const _: () = assert!(MAX_LINES as u64 == LINE && MAX_PER_LINE as u64 == SLOT >> COUNT_SHIFT);

/// From this epoch on, the next turn goes back by this many epochs, after all stamps have been cleared (see
/// [`Position::turned`]).
///
/// This is half of the number space. A stamp that is not rewritten ages by turns, and by the laps that skip its line,
/// of which there are at most half as many (see `block::TOO_OLD`). So no stamp grows older than three quarters of the
/// number space and a few epochs, and an old stamp never matches a later epoch. A cleared word says that its
/// line is empty, which is not a message in any epoch.
pub(crate) const RENEWAL: u32 = EPOCHS / 2;

impl Position {
    /// The first position of a session, for side 0 or side 1. `swaps`: see [`Position::always_swaps`].
    #[inline]
    pub(crate) fn first(side: usize, epoch: u32, swaps: bool) -> Position {
        let side = if side == 0 { 0 } else { SIDE };
        let swaps = u64::from(swaps) * (SWAPS | NEVER_STORES);
        Position(u64::from(epoch) << EPOCH_SHIFT | side | swaps)
    }

    /// The same for a session that begins in this block.
    #[inline]
    pub(crate) fn in_part(self, part: Part) -> Position {
        match part {
            Part::Small => Position(self.0 | SMALL),
            Part::Large => self,
        }
    }

    /// The block that this position is in.
    #[inline]
    pub(crate) fn part(self) -> Part {
        match self.0 & SMALL {
            0 => Part::Large,
            _ => Part::Small,
        }
    }

    /// Whether the message here is the last of one of the halves of a small block, which have this many lines each.
    #[inline]
    pub(crate) fn ends_half(self, lines: usize, per_line: usize) -> bool {
        let last_line = lines as u64 - 1;
        let last = SMALL | ((per_line as u64 - 1) * ONE) | last_line;
        self.0 & (SMALL | SLOT | last_line) == last
    }

    /// Remembers that the receiver waited for the message here.
    #[inline]
    pub(crate) fn awaited(self) -> Position {
        Position(self.0 | AWAITED)
    }

    /// Forgets it, where another half of a small block begins.
    #[inline]
    pub(crate) fn in_next_half(self) -> Position {
        Position(self.0 & !AWAITED)
    }

    /// Whether the receiver waited for a message of the half of the small block that this position is in.
    #[inline]
    pub(crate) fn was_awaited(self) -> bool {
        self.0 & AWAITED != 0
    }

    /// The first position of the same side in the large block that replaces a small one, in the same state.
    #[inline]
    pub(crate) fn in_large_block(self, epoch: u32) -> Position {
        const KEPT: u64 = SIDE | SWAPS | NEVER_STORES | STAYS;
        Position(u64::from(epoch) << EPOCH_SHIFT | self.0 & KEPT)
    }

    /// The same for a side that belongs to a transport (`is_far`), or whose peer does. See `link::message::apart`.
    #[inline]
    pub(crate) fn collecting(self, is_far: bool) -> Position {
        match is_far {
            true => Position(self.0 | FAR),
            false => Position(self.0 & !NEVER_STORES | NEAR),
        }
    }

    /// The same for a side of an observed session.
    #[inline]
    pub(crate) fn observed(self) -> Position {
        Position(self.0 | NEAR | OBSERVED)
    }

    /// Whether the session is observed.
    #[inline]
    pub(crate) fn is_observed(self) -> bool {
        self.0 & OBSERVED != 0
    }

    /// Whether what is sent here, in a session that swaps messages, is not published like others: the other side belongs to a
    /// transport that itself checks what is sent inside a run, or the session is observed.
    #[inline]
    pub(crate) fn publishes_apart(self) -> bool {
        self.0 & NEAR != 0
    }

    /// Whether the other side belongs to a transport that itself checks what is sent inside a run.
    #[inline]
    pub(crate) fn is_near(self) -> bool {
        self.0 & (NEAR | OBSERVED) == NEAR
    }

    /// Whether this side belongs to such a transport.
    #[inline]
    pub(crate) fn is_far(self) -> bool {
        self.0 & FAR != 0
    }

    /// Whether the message here is not the first of a segment of this many lines (a power of two).
    #[inline]
    pub(crate) fn is_within(self, segment: usize) -> bool {
        self.0 & (SLOT | LINE & (segment as u64).wrapping_sub(1)) != 0
    }

    #[inline]
    pub(crate) fn epoch(self) -> u32 {
        (self.0 >> EPOCH_SHIFT) as u32
    }

    #[inline]
    pub(crate) fn line(self) -> usize {
        (self.0 & LINE) as usize
    }

    /// The slot of the message in its line.
    #[inline]
    pub(crate) fn slot(self) -> usize {
        ((self.0 & SLOT) >> COUNT_SHIFT) as usize
    }

    /// Which side of the session this is; the other is `1 - side()`.
    #[inline]
    pub(crate) fn side(self) -> usize {
        usize::from(self.0 & SIDE != 0)
    }

    /// What identifies the message at this position.
    #[inline]
    pub(crate) fn key(self) -> Key {
        Key::from_bits(self.0)
    }

    /// The line's word when the messages before this position have been published, without anything else.
    #[inline]
    pub(crate) fn before(self) -> LineWord {
        LineWord::from_bits(self.0 & !(ONE - 1))
    }

    /// The same when the message at this position has been published as well.
    #[inline]
    pub(crate) fn with(self) -> LineWord {
        LineWord::from_bits((self.0 + ONE) & !(ONE - 1))
    }

    /// The word of a line that begins in this position's epoch, without messages.
    #[inline]
    pub(crate) fn beginning_line(self) -> LineWord {
        LineWord::from_bits(u64::from(self.epoch()) << EPOCH_SHIFT)
    }

    /// Whether a word says that the message at this position has been published.
    #[inline]
    pub(crate) fn is_in(self, word: LineWord) -> bool {
        word.bits().wrapping_sub(self.with().bits()) < MAX_PER_LINE as u64 * ONE
    }

    /// How many messages have been published at this position and after it in its line, according to a word. Never
    /// below 8 if the word's epoch is an earlier one.
    #[inline]
    pub(crate) fn ahead(self, word: LineWord) -> u64 {
        (word.bits() >> COUNT_SHIFT).wrapping_sub(self.0 >> COUNT_SHIFT)
            & ((1 << (64 - COUNT_SHIFT)) - 1)
    }

    /// Whether the current run has wrapped around the ring, so that lines must be free before they are written.
    #[inline]
    pub(crate) fn is_lapping(self) -> bool {
        self.0 & LAP != 0
    }

    /// Whether the message here is published by a plain store, as far as the sender knows, in a line of a large block that is
    /// neither the first nor one of the last two of a segment of this many lines (a power of two, or 0 where there are no
    /// segments).
    /// `owns_memory`: payloads do, so a side whose peer belongs to a transport has it forward before each line.
    #[inline]
    pub(crate) fn is_inside(self, segment: usize, owns_memory: bool) -> bool {
        // One comparison covers everything: what is not plain becomes a large number.
        let not_stored = if owns_memory { SWAPS } else { NEVER_STORES };
        let bits = not_stored | PEER_IS_TASK | SMALL | (segment as u64).wrapping_sub(1) & LINE;
        segment > 3 && ((self.0 + 2) & bits).wrapping_sub(3) < segment as u64 - 3
    }

    /// Whether a line begins here that was already used in this run, so that the sender needs to know that it is free. In a
    /// small block it always knows.
    #[inline]
    pub(crate) fn begins_used_line(self) -> bool {
        self.0 & (LAP | SLOT | SMALL) == LAP
    }

    /// Whether this is the first message of a run.
    #[inline]
    pub(crate) fn begins_run(self) -> bool {
        self.0 & (LAP | SLOT | LINE) == 0
    }

    /// Whether this is the first message of a run and also its last, whichever message it is.
    #[inline]
    pub(crate) fn alternates(self) -> bool {
        self.0 & (LAP | SLOT | LINE | STAYS) == 0
    }

    /// Whether there is no asymmetric barrier, so that every message is swapped. Fixed for a session.
    #[inline]
    pub(crate) fn always_swaps(self) -> bool {
        self.0 & SWAPS != 0
    }

    /// Whether the message here is published by a plain store, as far as the sender knows.
    #[inline]
    pub(crate) fn is_plain(self) -> bool {
        self.0 & (SWAPS | PEER_IS_TASK) == 0
    }

    /// Remembers that the receiver is a task.
    #[inline]
    pub(crate) fn knowing_task(self) -> Position {
        Position(self.0 | PEER_IS_TASK)
    }

    /// Whether the receiver is known to be a task.
    #[inline]
    pub(crate) fn knows_task(self) -> bool {
        self.0 & PEER_IS_TASK != 0
    }

    /// Whether the state has messages that keep the direction.
    #[inline]
    pub(crate) fn stays(self) -> bool {
        self.0 & STAYS != 0
    }

    /// This position in a state that has messages that keep the direction (`stays`) or has none.
    #[inline]
    pub(crate) fn in_state(self, stays: bool) -> Position {
        Position(self.0 & !STAYS | if stays { STAYS } else { 0 })
    }

    /// The position after a message that keeps the direction, if the line has another slot.
    #[inline]
    pub(crate) fn next_slot(self, per_line: usize) -> Option<Position> {
        (per_line > 1 && self.slot() + 1 < per_line).then_some(Position(self.0 + ONE))
    }

    /// The position after a message that keeps the direction and is not in the ring's last line.
    #[inline]
    pub(crate) fn stayed(self, per_line: usize) -> Position {
        // The slot of the last message is known.
        let in_next_line = Position((self.0 + 1).wrapping_sub((per_line as u64 - 1) * ONE));
        self.next_slot(per_line).unwrap_or(in_next_line)
    }

    /// The position after the last message of a line, in a ring of this many lines.
    #[inline]
    pub(crate) fn next_line(self, lines: usize) -> Position {
        if self.line() + 1 < lines {
            Position((self.0 & !SLOT) + 1)
        } else {
            // The epoch is in the highest bits, so it wraps correctly.
            Position((self.0 & !(SLOT | LINE) | LAP).wrapping_add(1 << EPOCH_SHIFT))
        }
    }

    /// Whether this position comes after the one with this key in the same run, less than a lap later. The key is from
    /// this run or from a later one.
    pub(crate) fn is_after(self, key: Key) -> bool {
        let other = Position(key.bits());
        let order = |at: Position| (at.line(), at.slot());
        match self.epoch().wrapping_sub(other.epoch()) % EPOCHS {
            0 => order(self) > order(other),
            laps => laps == 1,
        }
    }

    /// The position a whole lap later.
    #[inline]
    pub(crate) fn in_next_lap(self) -> Position {
        Position(self.0.wrapping_add(1 << EPOCH_SHIFT))
    }

    /// Whether a turn here goes back to earlier epochs, so that the stamps must be cleared.
    #[inline]
    pub(crate) fn renews(self) -> bool {
        self.epoch() >= RENEWAL
    }

    /// The position after a message that reverses the direction.
    #[inline]
    pub(crate) fn turned(self) -> Position {
        const RENEWED: u64 = ((RENEWAL - 1) as u64) << EPOCH_SHIFT;
        const KEPT: u64 =
            SIDE | SWAPS | NEVER_STORES | PEER_IS_TASK | NEAR | FAR | OBSERVED | SMALL;
        Position((self.0 & (RENEWED | KEPT)) + (1 << EPOCH_SHIFT))
    }
}

const _: () = assert!(RENEWAL.is_power_of_two());

/// The epoch after a turn.
#[inline]
pub(crate) fn renewed(epoch: u32) -> u32 {
    (epoch & (RENEWAL - 1)) + 1
}

#[cfg(all(test, not(duologue_loom)))]
mod tests {
    use super::*;

    fn stayed(at: Position, per_line: usize, lines: usize) -> Position {
        at.next_slot(per_line)
            .unwrap_or_else(|| at.next_line(lines))
    }

    #[test]
    fn the_index_returns_to_zero_at_every_turn() {
        let start = Position::first(1, 1, false).in_state(true);
        let third = stayed(stayed(start, 2, 4), 2, 4);
        assert_eq!(
            (third.line(), third.slot(), third.epoch(), third.side()),
            (1, 0, 1, 1)
        );
        assert!(start.begins_run() && !third.begins_run() && !third.is_lapping());
        let reply = third.turned().in_state(false);
        assert_eq!((reply.line(), reply.epoch(), reply.side()), (0, 2, 1));
        assert!(reply.alternates() && !start.alternates());
    }

    #[test]
    fn a_full_ring_starts_a_lap_and_a_turn_ends_it() {
        let lap = Position::first(0, 1, true).next_line(2).next_line(2);
        assert_eq!((lap.line(), lap.epoch(), lap.is_lapping()), (0, 2, true));
        assert!(lap.begins_used_line() && lap.always_swaps());
        assert!(lap.next_line(2).is_lapping());
        assert!(!lap.turned().is_lapping() && lap.turned().always_swaps());
    }

    #[test]
    fn epochs_go_back_at_a_turn_and_wrap_in_a_lap() {
        assert_eq!(
            Position::first(0, RENEWAL - 1, false).turned().epoch(),
            RENEWAL
        );
        assert_eq!(Position::first(0, RENEWAL, false).turned().epoch(), 1);
        for epoch in [0, 1, 6, RENEWAL - 1, RENEWAL, RENEWAL + 5, EPOCHS - 1] {
            let at = Position::first(0, epoch, false);
            assert_eq!(at.turned().epoch(), renewed(epoch));
            assert_eq!(at.renews(), renewed(epoch) <= epoch);
        }
        let last = Position::first(0, EPOCHS - 1, false);
        assert_eq!(last.next_line(1).epoch(), 0);
    }

    #[test]
    fn positions_of_a_run_have_an_order() {
        for epoch in [0, 1, 7, EPOCHS - 1] {
            let first = Position::first(0, epoch, false);
            let later = (0..7).map(|count| (0..count).fold(first, |at, _| stayed(at, 2, 2)));
            let later: Vec<Position> = later.collect();
            for (at, this) in later.iter().enumerate() {
                for (before, other) in later.iter().enumerate().skip(at.saturating_sub(4)) {
                    assert_eq!(
                        this.is_after(other.key()),
                        at > before,
                        "{this:?} {other:?}"
                    );
                }
                assert!(!this.is_after(this.turned().key()));
                assert!(!this.is_after(this.turned().turned().key()));
            }
        }
    }

    #[test]
    fn a_word_tells_how_many_messages_are_ahead() {
        let at = Position::first(0, 5, false)
            .next_slot(7)
            .expect("a second slot");
        assert_eq!(at.ahead(at.before()), 0);
        assert_eq!(at.ahead(at.with()), 1);
        let end = (0..5).fold(at, |at, _| at.next_slot(7).expect("seven slots"));
        assert_eq!(end.next_slot(7), None);
        assert_eq!(at.ahead(end.with()), 6);
        for age in [1, 2, RENEWAL - 1, RENEWAL] {
            let old = Position::first(0, 5_u32.wrapping_sub(age) % EPOCHS, false);
            let full = (0..6).fold(old, |at, _| at.next_slot(7).expect("seven slots"));
            assert!(at.ahead(full.with()) > 7 && at.ahead(old.before()) > 7);
        }
    }

    #[test]
    fn no_line_that_begins_here_has_a_message_of_the_next_epoch() {
        for epoch in [0, 1, RENEWAL, EPOCHS - 1] {
            let at = Position::first(0, epoch, false);
            for count in 0..=MAX_PER_LINE as u64 {
                let word = LineWord::from_bits(at.in_next_lap().0 + count * ONE);
                assert!(!at.is_in(word) && at.ahead(word) != 0);
            }
        }
    }

    #[test]
    fn a_message_is_in_a_word_whose_count_is_higher_in_the_same_epoch() {
        for epoch in [0, 1, 2, RENEWAL, EPOCHS - 1] {
            let words =
                [EPOCHS - 1, 0, 1].map(|step| Position::first(0, (epoch + step) % EPOCHS, false));
            for word in words {
                for count in 0..=MAX_PER_LINE as u64 {
                    for low in [0, 7, ONE - 1] {
                        let word = LineWord::from_bits(word.0 + count * ONE + low);
                        let mut at = Position::first(1, epoch, true);
                        for _ in 0..MAX_PER_LINE {
                            assert_eq!(at.is_in(word), (1..8).contains(&at.ahead(word)));
                            at = Position(at.0 + ONE);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_lines_inside_a_segment_are_neither_the_first_nor_one_of_the_last_two() {
        let first = |swaps| Position::first(1, EPOCHS - 1, swaps).next_line(1);
        let all = [
            (first(false), [true, true]),
            (first(true), [false, false]),
            (first(false).knowing_task(), [false, false]),
            (first(true).knowing_task(), [false, false]),
            // Payloads that own memory are forwarded line by line.
            (first(true).collecting(false), [true, false]),
            (first(true).collecting(true), [false, false]),
        ];
        for segment in [0, 1, 2, 4, 32] {
            for (mut at, stores) in all {
                for line in 0..100 {
                    let place = line % segment.max(1);
                    let has_place = place > 0 && place + 2 < segment;
                    for (owns_memory, stores) in [(false, stores[0]), (true, stores[1])] {
                        for at in [at, at.in_state(true), Position(at.0 + 6 * ONE)] {
                            let is_inside = at.is_inside(segment, owns_memory);
                            assert_eq!(is_inside, has_place && stores);
                        }
                    }
                    let last = Position(at.0 + 6 * ONE);
                    assert_eq!(last.stayed(7), last.next_line(MAX_LINES));
                    at = last.stayed(7);
                }
            }
        }
        let turned = first(true).collecting(false).turned().next_line(9);
        assert!(turned.is_inside(4, false) && !turned.is_inside(4, true));
    }
}
