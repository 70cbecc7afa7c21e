//! The word of a line, which publishes the messages in it.
//!
//! It holds the epoch of the messages and how many of them there are (see `position`), the index of each among the
//! messages of its state, the processor on which the sender runs, and flags:
//!
//! ```text
//! 63      42 41   39    38    37       31 30     3   2      1      0
//! | epoch   | count | KNOWS | processor | indexes | CLOSED DEAD WAITS |
//! ```

use super::word::{word, Awaitable};
use crate::floor::barrier::Cpu;
use crate::floor::layout::Layout;

/// The word of a line.
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

#[cfg(all(test, not(duologue_loom)))]
mod tests {
    use super::super::word::Word;
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
