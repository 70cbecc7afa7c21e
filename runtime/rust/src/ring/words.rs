//! The words that the two sides of a session share, as typed values in atomics, and the key of a message, to which some of
//! them refer.

use std::marker::PhantomData;
use std::sync::atomic::Ordering;

use crate::floor::barrier::Cpu;
use crate::floor::layout::{Layout, MAX_LINES};
use crate::floor::sync::AtomicU64;

/// A value of 64 bits whose bits have names in one place only: its type.
pub(crate) trait Word: Copy {
    fn from_bits(bits: u64) -> Self;
    fn bits(self) -> u64;
}

/// The side that set it waits for the other side to change the word.
const AWAITED: u64 = 1;

/// A word for whose change a side can wait.
pub(crate) trait Awaitable: Word {
    /// Whether a side waits for a change of this word.
    #[inline]
    fn is_awaited(self) -> bool {
        self.bits() & AWAITED != 0
    }

    #[inline]
    fn awaited(self) -> Self {
        Self::from_bits(self.bits() | AWAITED)
    }

    #[inline]
    fn not_awaited(self) -> Self {
        Self::from_bits(self.bits() & !AWAITED)
    }
}

/// A word in memory that two sides share.
#[repr(transparent)]
pub(crate) struct Shared<W>(AtomicU64, PhantomData<W>);

impl<W: Word> Shared<W> {
    pub(crate) fn new(word: W) -> Shared<W> {
        Shared(AtomicU64::new(word.bits()), PhantomData)
    }

    #[inline(always)]
    pub(crate) fn load(&self, order: Ordering) -> W {
        W::from_bits(self.0.load(order))
    }

    #[inline(always)]
    pub(crate) fn store(&self, word: W, order: Ordering) {
        self.0.store(word.bits(), order);
    }

    #[inline(always)]
    pub(crate) fn swap(&self, word: W, order: Ordering) -> W {
        W::from_bits(self.0.swap(word.bits(), order))
    }

    #[inline(always)]
    pub(crate) fn compare_exchange(
        &self,
        old: W,
        new: W,
        order: Ordering,
        failure: Ordering,
    ) -> Result<W, W> {
        match (self.0).compare_exchange(old.bits(), new.bits(), order, failure) {
            Ok(old) => Ok(W::from_bits(old)),
            Err(now) => Err(W::from_bits(now)),
        }
    }

    /// Changes the word by `change`, as long as that returns a new value, and returns the old one.
    #[inline]
    pub(crate) fn update(
        &self,
        order: Ordering,
        mut change: impl FnMut(W) -> Option<W>,
    ) -> Option<W> {
        let mut old = self.load(Ordering::Relaxed);
        while let Some(new) = change(old) {
            match self.compare_exchange(old, new, order, Ordering::Relaxed) {
                Ok(old) => return Some(old),
                Err(now) => old = now,
            }
        }
        None
    }
}

impl<W: Awaitable> Shared<W> {
    /// Announces in the word, which had this value, that this side waits for its change. False if it has changed.
    #[inline]
    pub(crate) fn raise(&self, value: W) -> bool {
        self.compare_exchange(value, value.awaited(), Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Takes that back. False if it was not announced, or the word has changed: then the other side has seen it.
    #[inline]
    pub(crate) fn lower(&self, value: W) -> bool {
        value.is_awaited()
            && self
                .compare_exchange(
                    value,
                    value.not_awaited(),
                    Ordering::AcqRel,
                    Ordering::Acquire,
                )
                .is_ok()
    }
}

/// Implements [`Word`] for a tuple struct of one `u64`.
macro_rules! word {
    ($word:ident) => {
        impl Word for $word {
            #[inline(always)]
            fn from_bits(bits: u64) -> $word {
                $word(bits)
            }

            #[inline(always)]
            fn bits(self) -> u64 {
                self.0
            }
        }
    };
}

/// The word of a line, which publishes the messages in it.
///
/// It holds the epoch of the messages and how many of them there are (see `position`), the index of each among the
/// messages of its state, the processor on which the sender runs, and flags:
///
/// ```text
/// 63      42 41   39    38    37       31 30     3   2      1      0
/// | epoch   | count | KNOWS | processor | indexes | CLOSED DEAD WAITS |
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LineWord(u64);

word!(LineWord);

impl Awaitable for LineWord {}

/// The receiver is gone.
const DEAD: u64 = 2;
/// After the messages of the line: the sender is gone.
const CLOSED: u64 = 4;

const INDEXES_SHIFT: u32 = 3;
const INDEXES: u64 = ((1 << INDEX_BITS) - 1) << INDEXES_SHIFT;
/// How many bits the indexes of the messages of a line take together.
const INDEX_BITS: u32 = 28;

const CPU_SHIFT: u32 = INDEXES_SHIFT + INDEX_BITS;
/// The session continues in a large block after the last message of the line, which keeps the direction. Only messages that
/// turn have a processor.
const MOVES: u64 = 1 << CPU_SHIFT;

/// The sender of the last message has seen that the receiver is a task, and swaps from then on.
const KNOWS: u64 = 1 << (CPU_SHIFT + Cpu::BITS);

/// The shift of the count of messages.
pub(super) const COUNT_SHIFT: u32 = CPU_SHIFT + Cpu::BITS + 1;
/// The shift of the epoch.
pub(super) const EPOCH_SHIFT: u32 = COUNT_SHIFT + 3;

const _: () = assert!(EPOCH_SHIFT == 42 && INDEX_BITS as usize == Layout::INDEX_BITS);

impl LineWord {
    /// A line without messages, in no epoch in particular.
    pub(crate) const EMPTY: LineWord = LineWord(0);

    #[inline]
    pub(crate) fn is_dead(self) -> bool {
        self.0 & DEAD != 0
    }

    #[inline]
    pub(crate) fn dead(self) -> LineWord {
        LineWord(self.0 | DEAD)
    }

    /// Whether the sender is gone after the messages of the line.
    #[inline]
    pub(crate) fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    #[inline]
    pub(crate) fn closed(self) -> LineWord {
        LineWord(self.0 | CLOSED)
    }

    /// Whether the sender of the last message has seen that the receiver is a task.
    #[inline]
    pub(crate) fn knows_task(self) -> bool {
        self.0 & KNOWS != 0
    }

    #[inline]
    pub(crate) fn knowing_task(self) -> LineWord {
        LineWord(self.0 | KNOWS)
    }

    /// Whether the session continues in a large block after the line.
    pub(crate) fn moves(self) -> bool {
        self.0 & MOVES != 0
    }

    pub(crate) fn moving(self) -> LineWord {
        LineWord(self.0 | MOVES)
    }

    #[inline]
    pub(crate) fn cpu(self) -> Cpu {
        Cpu::from_bits(self.0 >> CPU_SHIFT)
    }

    /// This word, which has no processor yet, with that of the sender.
    #[inline(always)]
    pub(crate) fn with_cpu(self, cpu: Cpu) -> LineWord {
        LineWord(self.0 | cpu.bits() << CPU_SHIFT)
    }

    /// The index of the message in this slot.
    #[inline(always)]
    pub(crate) fn index(self, layout: &Layout, slot: usize) -> u8 {
        layout.index(self.0 >> INDEXES_SHIFT, slot)
    }

    /// This word with the indexes of another word of the same line.
    #[inline(always)]
    pub(crate) fn with_indexes_of(self, other: LineWord) -> LineWord {
        LineWord(self.0 | other.0 & INDEXES)
    }

    /// This word, which has no index for this slot yet, with one.
    #[inline(always)]
    pub(crate) fn with_index(self, index: u8, layout: &Layout, slot: usize) -> LineWord {
        LineWord(self.0 | u64::from(index) << (INDEXES_SHIFT + layout.index_shift(slot)))
    }
}

/// How many epochs there are before they wrap around.
pub(crate) const EPOCHS: u32 = 1 << 22;

/// What identifies a message within its session, as long as no epoch wraps around: epoch, line and slot, the same on
/// both sides. It leaves the bits 26 to 38 free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Key(u64);

impl Key {
    const BITS: u64 = u64::MAX << COUNT_SHIFT | MAX_LINES as u64;

    /// The key in these bits; further bits are ignored.
    #[inline]
    pub(super) fn from_bits(bits: u64) -> Key {
        Key(bits & Key::BITS)
    }

    #[inline]
    pub(super) fn bits(self) -> u64 {
        self.0
    }

    #[inline]
    pub(crate) fn epoch(self) -> u32 {
        (self.0 >> EPOCH_SHIFT) as u32
    }
}

/// The flags of a side: what a receiver reports to a sender that stores its messages.
///
/// They are written by that side when it receives, and changed by the other side when it sends. They
/// hold one [`Report`] or none, the position to which the report refers, and whether the side is a task:
///
/// | report | written by | meaning |
/// | --- | --- | --- |
/// | none | either | nothing to report |
/// | `Waiting` | receiver | a waiter is in its slot until the message at this position arrives |
/// | `Leaving` | receiver | it is about to disconnect unless the message at this position is there, or the sender disconnects as well |
/// | `Gone` | receiver, after `Leaving` | it has disconnected; the session belongs to the sender |
/// | `Claimed` | sender, after `Leaving` | the message is taken back and the sender has disconnected; the session belongs to the receiver |
/// | `Ending` | sender | its last message, or that it disconnects, is about to be published at this position |
///
/// Each step from one value to the next is a compare-and-swap, except from nothing at positions where the other side
/// never changes it. The position makes it harmless for the sender to read a value late: it responds only to the
/// position at which it has just published.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PeerFlags(u64);

word!(PeerFlags);

/// What flags report. The bits are those that a [`Key`] leaves free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub(crate) enum Report {
    Waiting = 1 << 26,
    Leaving = 1 << 27,
    Gone = 1 << 28,
    Claimed = 1 << 29,
    Ending = 1 << 30,
}

/// The side that waits here is a task, which does not run the barrier each time. Stays set until the end of the
/// session.
const TASK: u64 = 1 << 31;

impl PeerFlags {
    /// Nothing to report.
    pub(crate) const NONE: PeerFlags = PeerFlags(0);
    /// Nothing to report, by a task.
    pub(crate) const TASK: PeerFlags = PeerFlags(TASK);

    #[inline]
    pub(crate) fn report(self, report: Report) -> bool {
        self.0 & report as u64 != 0
    }

    /// Whether the side is about to disconnect, or has disconnected.
    #[inline]
    pub(crate) fn is_leaving_or_gone(self) -> bool {
        self.0 & (Report::Leaving as u64 | Report::Gone as u64) != 0
    }

    #[inline]
    pub(crate) fn is_task(self) -> bool {
        self.0 & TASK != 0
    }

    /// Whether there is anything in the flags apart from whether the side is a task.
    #[inline]
    pub(crate) fn is_quiet(self) -> bool {
        self.0 & !TASK == 0
    }

    #[inline]
    pub(crate) fn key(self) -> Key {
        Key::from_bits(self.0)
    }

    /// These flags without anything to report.
    #[inline]
    pub(crate) fn quiet(self) -> PeerFlags {
        PeerFlags(self.0 & TASK)
    }

    /// These flags, of a side that is a task.
    #[inline]
    pub(crate) fn of_task(self) -> PeerFlags {
        PeerFlags(self.0 | TASK)
    }

    /// Flags of the same side that report this for the position with this key.
    #[inline]
    pub(crate) fn reporting(self, report: Report, key: Key) -> PeerFlags {
        PeerFlags(self.0 & TASK | report as u64 | key.bits())
    }
}

/// The credit word of a session: which segment of the ring the receiver has emptied last, and flags. What the sender
/// does with it is in `link::peer`.
/// Both sides change it only by read-modify-writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Credit(u64);

word!(Credit);

/// The sender waits for space. A receiver that reports a segment or disconnects lowers the flag and wakes the sender.
impl Awaitable for Credit {}

/// The receiver consumes its last messages and will then be gone: the sender gets no more space.
const NO_MORE: u64 = 2;
/// The sender has disconnected while the ring was full. The receiver finds it when it reports the segment that the
/// sender would have entered next, and publishes there on behalf of the sender that the session is closed.
const ORPHANED: u64 = 4;

const NUMBER_SHIFT: u32 = 8;

/// How many segment numbers an epoch has: more than a lap has segments, and a power of two, so that the numbers
/// continue where epochs wrap around.
const NUMBERS: u64 = 8;
/// The bits of a segment number over all epochs.
const ALL_NUMBERS: u64 = EPOCHS as u64 * NUMBERS - 1;

/// A segment of the lap with this epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment(u64);

impl Segment {
    /// The segment with this number.
    pub(crate) fn of(epoch: u32, which: usize) -> Segment {
        Segment(u64::from(epoch) * NUMBERS + which as u64)
    }

    /// What is reported at the end of a lap, because the lap is empty then: a number that is larger than those of its
    /// segments.
    pub(crate) fn last_of(epoch: u32) -> Segment {
        Segment(u64::from(epoch) * NUMBERS + NUMBERS - 1)
    }
}

impl Credit {
    pub(crate) const NONE: Credit = Credit(0);

    /// Whether this reports the segment, or one that is less than a lap later.
    pub(crate) fn has_reported(self, segment: Segment) -> bool {
        (self.0 >> NUMBER_SHIFT).wrapping_sub(segment.0) & ALL_NUMBERS < NUMBERS
    }

    /// The credit word after this one in which the receiver reports a segment.
    pub(crate) fn reporting(self, segment: Segment) -> Credit {
        Credit(segment.0 << NUMBER_SHIFT | self.0 & NO_MORE)
    }

    pub(crate) fn is_leaving(self) -> bool {
        self.0 & NO_MORE != 0
    }

    /// The receiver is disconnecting. The caller wakes a sender that waited.
    pub(crate) fn leaving(self) -> Credit {
        Credit(self.not_awaited().0 | NO_MORE)
    }

    pub(crate) fn is_orphaned(self) -> bool {
        self.0 & ORPHANED != 0
    }

    /// The sender disconnects, and no longer waits.
    pub(crate) fn orphaned(self) -> Credit {
        Credit(self.not_awaited().0 | ORPHANED)
    }
}

/// What a side records about being a task: see `link::wait`. Only this side accesses it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TaskNote(u64);

word!(TaskNote);

/// The side announced that it is a task, and the sender has seen that after this position. The bits are those that a
/// [`Key`] leaves free.
const KNOWN: u64 = 1 << 26;
/// It announced, at this position, that it is a task.
const ANNOUNCED: u64 = 1 << 27;
/// It then yielded there, instead of waiting.
const DEFERRED: u64 = 1 << 28;

impl TaskNote {
    /// The side has announced nothing.
    pub(crate) const NONE: TaskNote = TaskNote(0);

    /// The sender has seen the announcement after this position.
    pub(crate) fn known(key: Key) -> TaskNote {
        TaskNote(KNOWN | key.bits())
    }

    /// The side announces, at this position, that it is a task.
    pub(crate) fn announced(key: Key) -> TaskNote {
        TaskNote(ANNOUNCED | key.bits())
    }

    /// The side announces this and yields instead of waiting.
    pub(crate) fn deferred(key: Key) -> TaskNote {
        TaskNote(ANNOUNCED | DEFERRED | key.bits())
    }

    pub(crate) fn is_known(self) -> bool {
        self.0 & KNOWN != 0
    }

    pub(crate) fn is_announced(self) -> bool {
        self.0 & ANNOUNCED != 0
    }

    /// Whether the side yielded at this position instead of waiting.
    pub(crate) fn is_deferred_at(self, key: Key) -> bool {
        self == TaskNote::deferred(key)
    }

    pub(crate) fn key(self) -> Key {
        Key::from_bits(self.0)
    }
}

#[cfg(all(test, not(duologue_loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_bits_of_its_own() {
        let none = LineWord::EMPTY;
        let upper = LineWord::from_bits(!0 << COUNT_SHIFT);
        let parts = [
            none.awaited(),
            none.dead(),
            none.closed(),
            none.with_indexes_of(LineWord(!0)),
            none.with_cpu(Cpu::from_bits(!0)),
            none.knowing_task(),
            upper,
        ];
        let all = parts.iter().fold(0, |all: u64, part| {
            assert_eq!(all & part.0, 0);
            all | part.0
        });
        assert_eq!(all, !0);
    }

    #[test]
    fn a_processor_is_read_as_it_was_written() {
        let cpu = Cpu::from_bits(0x55);
        assert_eq!(LineWord::EMPTY.with_cpu(cpu).knowing_task().cpu(), cpu);
    }
}
