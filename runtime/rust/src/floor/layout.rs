//! The size of a session's block, and where its words and payloads are stored.
//!
//! The ring consists of *lines*. A line is a word and as many payloads as fit into a cache line with it. The receiver
//! gets the word and the message in one transfer, a stream moves several messages per transfer, and a short dialogue
//! stays in one line. A payload that does not fit into a cache line with a word has a longer line of its own.
//!
//! A ring has *segments*, each of which is reported free on its own, and laps go through some or all of them: see
//! `link::peer`.

mod session;

use std::mem::{align_of, needs_drop, size_of};

pub use session::{Capacity, Session, Slot};

use super::pool::{self, CACHE_LINE};
use super::sync::AtomicU64;

/// The most lines that a ring can have, so that a line's number fits into a position.
pub(crate) const MAX_LINES: usize = (1 << 26) - 1;

/// The most messages in a line, so that their count fits into the line's word.
pub(crate) const MAX_PER_LINE: usize = 7;

/// The size in bytes of the header that precedes the lines: six cache lines, or more in models.
pub(crate) const HEADER: usize = if cfg!(duologue_loom) {
    4_096
} else {
    6 * CACHE_LINE
};

/// The approximate size in bytes of the large block of a session whose runs are unbounded. A larger block would hardly
/// be faster: at this size, the receiver already reads lines that have left the sender's first-level cache. Only the
/// longest laps go through all of it.
const BLOCK: usize = if cfg!(duologue_loom) {
    0
} else if cfg!(target_pointer_width = "64") {
    pool::bytes(7)
} else {
    pool::bytes(4)
};

/// The size in bytes of the small block with which such a session begins, unless two lines take more.
const SMALL: usize = if cfg!(duologue_loom) {
    0
} else {
    pool::bytes(pool::SMALL)
};

/// The ring of such a session has at least this many lines, however large the payload is.
const FEWEST_LINES: usize = if cfg!(duologue_loom) { 12 } else { 8 };

/// The constants of a session. Offsets and sizes are in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// The size and alignment that a payload may need.
    size: u32,
    align: u32,
    /// From the beginning of the block to the first line.
    first: u32,
    /// From one line to the next.
    pitch: u32,
    /// From one payload to the next.
    stride: u32,
    lines: u32,
    /// The logarithms of [`Layout::segment`] and [`Layout::small`], or 0 where each is as if there were none.
    segment: u8,
    small: u8,
    per_line: u8,
    /// Bits of a message's index.
    index_bits: u8,
    /// Whether some payload has a destructor.
    drops: bool,
    /// The side that sends, if this is the layout in a state for which that is known; otherwise [`UNKNOWN`].
    sender: u8,
}

/// Which of the blocks of a session that may have two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// The block with which it begins if [`Layout::grows`].
    Small,
    /// The block that replaces it, or the only one.
    Large,
}

/// The sender is not known.
const UNKNOWN: u8 = 2;

impl Layout {
    /// How many bits of a line's word hold the indexes of its messages.
    pub(crate) const INDEX_BITS: usize = 28;

    /// Distinguishes the layouts of one class of blocks, at the cost of one comparison per session.
    #[inline(always)]
    pub(crate) const fn key(&self, part: Part) -> u64 {
        if self.class(part) == pool::CLASSES {
            // Such blocks are not kept, so their keys are never compared.
            return 0;
        }
        // The other fields follow from these. Sizes and line counts are below 2^16 in a block of at most 64 KiB, and in
        // the large block that replaces one.
        self.size as u64
            | (self.lines as u64) << 16
            | (self.segment as u64) << 32
            | (self.align.ilog2() as u64) << 48
            | (self.per_line as u64) << 52
            | (self.index_bits as u64) << 56
            | (self.drops as u64) << 60
            | (matches!(part, Part::Small) as u64) << 61
    }

    /// Panics if the ring would be larger than 4 GiB.
    #[inline(always)]
    pub(crate) const fn of(slot: Slot, capacity: Capacity) -> Layout {
        let Slot {
            size,
            align,
            messages,
            drops,
        } = slot;
        assert!(
            size < 1 << 31 && align < 1 << 29,
            "a payload is too large for a ring"
        );
        let stride = size.next_multiple_of(align);
        let offset = first_payload(align);
        let index_bits = match messages {
            0 | 1 => 0,
            2..=16 => 4,
            _ => 8,
        };
        let mut per_line = match Layout::INDEX_BITS.checked_div(index_bits) {
            Some(indexes) => least(indexes, MAX_PER_LINE),
            None => MAX_PER_LINE,
        };
        if let Some(fitting) = CACHE_LINE.saturating_sub(offset).checked_div(stride) {
            per_line = least(per_line, fitting);
        }
        if cfg!(duologue_loom) {
            per_line = least(per_line, 2);
        }
        if let Capacity::Bounded(longest) = capacity {
            // The line of a short run has exactly as many slots as the run has messages.
            per_line = least(per_line, longest);
        }
        per_line = most(per_line, 1);
        let line_align = most(align, CACHE_LINE);
        let pitch = (offset + per_line * stride).next_multiple_of(line_align);
        let first = HEADER.next_multiple_of(line_align);
        let (lines, segment, small) = match capacity {
            Capacity::Bounded(longest) => (longest.div_ceil(per_line), 0, 0),
            Capacity::Unbounded => {
                let lines = most(BLOCK.saturating_sub(first) / pitch, FEWEST_LINES);
                let segment = first_segment(lines, pitch);
                let fitting = SMALL.saturating_sub(first) / pitch;
                let small = small_lines(fitting, segment);
                (lines - lines % segment, segment.ilog2(), small)
            }
        };
        let lines = most(lines, 1);
        assert!(
            lines <= MAX_LINES && lines <= (u32::MAX as usize - first) / pitch,
            "a run is too long for a ring"
        );
        Layout {
            size: size as u32,
            align: align as u32,
            first: first as u32,
            pitch: pitch as u32,
            stride: stride as u32,
            lines: lines as u32,
            segment: segment as u8,
            small: small as u8,
            per_line: per_line as u8,
            index_bits: index_bits as u8,
            drops,
            sender: UNKNOWN,
        }
    }

    /// Whether messages can be forgotten, because no payload has a destructor.
    #[inline(always)]
    pub(crate) const fn forgets(&self) -> bool {
        !self.drops
    }

    /// The side that sends if it is known, otherwise `side`.
    #[inline(always)]
    pub(crate) const fn sender_or(&self, side: usize) -> usize {
        if self.sender == UNKNOWN {
            side
        } else {
            self.sender as usize
        }
    }

    /// Whether a payload of this type fits, in a message with this index.
    #[inline]
    pub(crate) const fn fits<P>(&self, index: u8) -> bool {
        (self.drops || !needs_drop::<P>())
            && size_of::<P>() <= self.size as usize
            && align_of::<P>() <= self.align as usize
            && (index as usize) < 1 << self.index_bits
    }

    #[inline]
    pub(crate) const fn per_line(&self) -> usize {
        self.per_line as usize
    }

    #[inline]
    pub(crate) const fn lines(&self) -> usize {
        self.lines as usize
    }

    /// The offset of a line's word in the block.
    #[inline]
    pub(crate) const fn line(&self, line: usize) -> usize {
        if self.lines == 1 {
            // Lets the compiler ignore the line number.
            return self.first as usize;
        }
        self.first as usize + line * self.pitch as usize
    }

    /// The offset of a payload in the block.
    #[inline]
    pub(crate) const fn payload(&self, line: usize, place: usize) -> usize {
        let place = if self.per_line == 1 { 0 } else { place };
        self.line(line) + first_payload(self.align as usize) + place * self.stride as usize
    }

    /// Whether words contain the indexes of messages. They do not if no state has more than one message.
    #[inline]
    pub(crate) const fn has_indexes(&self) -> bool {
        self.index_bits > 0
    }

    /// The shift of the index of the message in this slot, within the indexes of its line.
    #[inline]
    pub(crate) const fn index_shift(&self, place: usize) -> u32 {
        place as u32 * self.index_bits as u32
    }

    /// The index of the message in this slot, from all indexes of its line. The bits above the indexes are ignored.
    #[inline]
    pub(crate) const fn index(&self, indexes: u64, place: usize) -> u8 {
        if !self.has_indexes() {
            return 0;
        }
        (indexes >> self.index_shift(place)) as u8 & ((1_u32 << self.index_bits) - 1) as u8
    }

    /// The class of blocks of ended sessions that fit: see `pool`.
    #[inline]
    pub(crate) const fn class(&self, part: Part) -> usize {
        let (size, align) = self.block(part);
        pool::class(size, align)
    }

    /// The size and the alignment of the block.
    #[inline]
    pub(crate) const fn block(&self, part: Part) -> (usize, usize) {
        (
            self.first as usize + self.lines_of(part) * self.pitch as usize,
            most(self.align as usize, CACHE_LINE),
        )
    }
}

const _: () = assert!(size_of::<AtomicU64>().is_power_of_two());

/// The offset of the first payload in a line, after the word. A multiple of `align`, which is a power of two.
#[inline]
const fn first_payload(align: usize) -> usize {
    most(size_of::<AtomicU64>(), align)
}

#[inline]
const fn least(one: usize, other: usize) -> usize {
    if one < other {
        one
    } else {
        other
    }
}

#[inline]
const fn most(one: usize, other: usize) -> usize {
    if one > other {
        one
    } else {
        other
    }
}

/// This many bytes of lines, or about half as many, are initialized when a large block is allocated. Short laps use no
/// other lines. More would hardly be faster, and with fewer, streams between tasks cost up to half as much again.
const NEAR: usize = BLOCK.next_power_of_two() / 16;

/// The most segments that a ring can have: two up to each of the two ends that a lap can have.
const SEGMENTS: usize = 4;

/// The largest power of two that is not larger than the number; 1 for 0.
const fn power_below(number: usize) -> usize {
    1 << (most(number, 1)).ilog2()
}

/// How many lines the first segment has, in a ring in which a run may go on forever. The ring is then cut to a multiple
/// of this number, so that every segment begins and ends at such a multiple.
const fn first_segment(lines: usize, pitch: usize) -> usize {
    let near = if cfg!(duologue_loom) {
        4
    } else {
        most(NEAR / pitch, FEWEST_LINES)
    };
    let segment = power_below(near) / 2;
    if has_long_laps(lines, segment) {
        segment
    } else {
        // Two segments, the second of which may be longer.
        power_below(lines / 2)
    }
}

/// The logarithm of how many lines the small block has, of which this many fit into it, or 0 if a session has no small
/// block.
const fn small_lines(fitting: usize, segment: usize) -> u32 {
    if cfg!(duologue_without = "small-blocks") {
        return 0;
    }
    // A line for each half.
    least(power_below(most(fitting, 2)), segment).ilog2()
}

/// Says to the compiler that what follows is rare, so that it is not computed in advance.
#[cold]
#[inline]
const fn rarely() {}

/// Whether two more segments, neither of them empty, follow the first two, which are of this length.
const fn has_long_laps(lines: usize, segment: usize) -> bool {
    cfg!(not(duologue_without = "short-laps")) && segment > 0 && lines >= 5 * segment
}

impl Layout {
    /// How many lines the first segment has: a power of two. The first line of every segment is a multiple of it. 0 if
    /// there is only one segment.
    #[inline(always)]
    pub(crate) const fn segment(&self) -> usize {
        match self.segment {
            0 => 0,
            logarithm => 1 << logarithm,
        }
    }

    /// How many lines the small block has with which the session begins: a power of two, and at most
    /// [`Layout::segment`]. All lines of the ring if there is no small block.
    #[inline(always)]
    pub(crate) const fn small(&self) -> usize {
        match self.small {
            0 => self.lines(),
            logarithm => 1 << logarithm,
        }
    }

    /// How many lines each half of the small block has: a power of two.
    #[inline(always)]
    pub(crate) const fn half(&self) -> usize {
        self.small() / 2
    }

    /// Whether a session begins in a small block, which a large one may replace: see `link::message::grow`.
    #[inline(always)]
    pub(crate) const fn grows(&self) -> bool {
        self.small != 0
    }

    /// The block with which a session begins.
    #[inline(always)]
    pub(crate) const fn first_part(&self) -> Part {
        match self.grows() {
            true => Part::Small,
            false => Part::Large,
        }
    }

    /// How many lines a block has.
    #[inline(always)]
    pub(crate) const fn lines_of(&self, part: Part) -> usize {
        match part {
            Part::Small => self.small(),
            Part::Large => self.lines(),
        }
    }

    /// How many lines are initialized with the block: all of a small one, and the near lines of a large one.
    pub(crate) const fn cleared(&self, part: Part) -> usize {
        match part {
            Part::Small => self.small(),
            Part::Large => self.near(),
        }
    }

    /// How many lines a short lap of the large block has: all lines of the ring if every lap has the same length. These
    /// lines are initialized with the block, the others when a sender first continues past them.
    #[inline]
    pub(crate) const fn near(&self) -> usize {
        let segment = self.segment();
        if has_long_laps(self.lines(), segment) {
            2 * segment
        } else {
            self.lines()
        }
    }

    /// The first line of a segment; if there is no such segment, a line past the last one. (A ring with only one
    /// segment is an exception: there, this is line 0 for segment 1 as well.) Up to each end of a lap there are two
    /// segments, of similar length.
    #[inline]
    pub(crate) const fn start_of_segment(&self, which: usize) -> usize {
        let segment = self.segment();
        if which < 2 {
            return which * segment;
        }
        let near = self.near();
        if which == 2 || near == self.lines() {
            return near;
        }
        most(power_below((near + self.lines()) / 2), 2 * near)
    }

    /// The first line of the last segment of a lap with this many lines.
    pub(crate) const fn last_segment(&self, lines_of_lap: usize) -> usize {
        let mut which = 1;
        while which + 2 < SEGMENTS && self.start_of_segment(which + 1) < lines_of_lap {
            which += 2;
        }
        self.start_of_segment(which)
    }

    /// Whether a segment may begin with this line. If this is false, none does. Cheap: the first line of every segment
    /// is 0 or a power of two.
    ///
    /// A ring for bounded runs has only one segment: the sender does not have to check what is free, so the receiver
    /// reports it only at the end of the ring, which such a run reaches only if the capacity is too small.
    #[inline(always)]
    pub(crate) const fn may_begin_segment(&self, line: usize) -> bool {
        line & (line.wrapping_sub(1) | self.segment().wrapping_sub(1)) == 0
    }

    /// Whether a segment of the large block, and with it possibly a lap, or a half of the small block ends after this many
    /// lines. If this is false, neither does.
    #[inline(always)]
    pub(crate) const fn may_end_segment(&self, lines: usize, part: Part) -> bool {
        if self.segment == 0 {
            return lines == self.lines();
        }
        if self.grows() {
            // For most lines, one comparison is enough.
            if lines & (self.half() - 1) != 0 {
                return false;
            }
            rarely();
            if matches!(part, Part::Small) {
                return true;
            }
        }
        lines & (self.segment() - 1) == 0
    }

    /// Which segment begins with this line, if any does. Segments 0 and 1 are part of every lap, the others only of
    /// longer laps.
    #[inline(always)]
    pub(crate) const fn segment_at(&self, line: usize) -> Option<usize> {
        if !self.may_begin_segment(line) || line >= self.lines() {
            return None;
        }
        let mut which = 0;
        while which < SEGMENTS {
            if line == self.start_of_segment(which) {
                return Some(which);
            }
            which += 1;
        }
        None
    }
}

#[cfg(all(test, not(duologue_loom)))]
mod tests {
    use super::*;

    fn in_a_line<P>() -> usize {
        Layout::of(Slot::new().messages(2).fit::<P>(), Capacity::Unbounded).per_line()
    }

    #[test]
    fn a_line_takes_what_fits_beside_its_word() {
        assert_eq!(in_a_line::<()>(), 7);
        assert_eq!(in_a_line::<u64>(), 7);
        assert_eq!(in_a_line::<u128>(), 3);
        assert_eq!(in_a_line::<[u64; 3]>(), 2);
        assert_eq!(in_a_line::<[u64; 7]>(), 1);
        assert_eq!(in_a_line::<[u64; 100]>(), 1);
        let many = Layout::of(Slot::new().fit::<u64>(), Capacity::Unbounded);
        assert_eq!(many.per_line(), 3);
    }

    #[test]
    fn layouts_of_blocks_that_are_kept_have_keys_of_their_own() {
        let mut found = std::collections::HashMap::new();
        let sizes = [
            0, 1, 8, 24, 48, 56, 57, 1_000, 1_001, 9_000, 60_000, 65_535, 70_000,
        ];
        let mut slots = Vec::new();
        for size in sizes {
            for align in [1, 8, 64, 128] {
                for messages in [1, 2, 17] {
                    slots.extend([false, true].map(|drops| Slot {
                        size,
                        align,
                        messages,
                        drops,
                    }));
                }
            }
        }
        for slot in slots {
            let bounded = [0, 1, 2, 3, 7, 8, 100, 1_000, 8_000].map(Capacity::Bounded);
            for capacity in bounded.into_iter().chain([Capacity::Unbounded]) {
                let layout = Layout::of(slot, capacity);
                for part in [Part::Small, Part::Large] {
                    if layout.class(part) < pool::CLASSES && (part == Part::Large || layout.grows())
                    {
                        let said = format!("{layout:?} {part:?}");
                        let first = found.entry(layout.key(part)).or_insert(said.clone());
                        assert_eq!(*first, said);
                    }
                }
            }
        }
        assert_eq!(found.len() > 500, cfg!(all(feature = "pool", not(miri))));
    }

    #[test]
    fn a_short_run_is_one_line() {
        let layout = Layout::of(Slot::new().messages(3).fit::<u64>(), Capacity::Bounded(7));
        assert_eq!(
            (layout.lines(), layout.block(Part::Large).0),
            (1, HEADER + 64)
        );
    }

    #[test]
    fn an_unbounded_ring_keeps_to_its_block() {
        let layout = Layout::of(Slot::new().fit::<u64>(), Capacity::Unbounded);
        let segment = layout.segment() * 64;
        let bytes = layout.block(Part::Large).0;
        assert!(bytes <= BLOCK && bytes > BLOCK - segment - 64);
        let large = Layout::of(Slot::new().fit::<[u8; 5_000]>(), Capacity::Unbounded);
        assert_eq!(
            (large.lines(), large.near(), large.last_segment(12)),
            (12, 12, 4)
        );
        let larger = Layout::of(Slot::new().fit::<[u8; 50_000]>(), Capacity::Unbounded);
        assert_eq!(
            (larger.lines(), larger.near(), larger.last_segment(8)),
            (8, 8, 4)
        );
    }

    #[test]
    fn a_small_block_has_as_many_lines_as_fit_beside_its_header() {
        let small = |slot: Slot| {
            let layout = Layout::of(slot, Capacity::Unbounded);
            assert!(layout.grows());
            (layout.small(), layout.block(Part::Small).0)
        };
        assert_eq!(small(Slot::new().fit::<u64>()), (8, HEADER + 8 * 64));
        assert_eq!(small(Slot::new().fit::<[u64; 8]>()), (4, HEADER + 4 * 128));
        assert_eq!(small(Slot::new().fit::<[u64; 30]>()), (2, HEADER + 2 * 256));
        assert_eq!(
            small(Slot::new().fit::<[u8; 5_000]>()),
            (2, HEADER + 2 * 5_056)
        );
        let bounded = Layout::of(Slot::new().fit::<u64>(), Capacity::Bounded(99));
        assert!(!bounded.grows());
    }

    /// The first line of each segment.
    fn segments(layout: Layout) -> Vec<usize> {
        let begins: Vec<usize> = (0..layout.lines())
            .filter(|line| layout.segment_at(*line).is_some())
            .collect();
        for (which, line) in begins.iter().enumerate() {
            assert_eq!(layout.segment_at(*line), Some(which));
            assert_eq!(layout.start_of_segment(which), *line);
        }
        begins
    }

    #[test]
    fn up_to_each_end_of_a_lap_there_are_two_segments_more() {
        let layout = Layout::of(Slot::new().fit::<u64>(), Capacity::Unbounded);
        if cfg!(target_pointer_width = "64") {
            assert_eq!(segments(layout), [0, 32, 64, 512]);
            assert_eq!(layout.near(), 64);
        } else {
            assert_eq!(segments(layout).len(), 4);
        }
        for end in [layout.near(), layout.lines()] {
            let last = segments(layout).into_iter().filter(|line| *line < end);
            assert_eq!(last.max(), Some(layout.last_segment(end)));
        }
        let larger = Layout::of(Slot::new().fit::<[u64; 150]>(), Capacity::Unbounded);
        assert_eq!(larger.near(), 8);
        assert_eq!(segments(larger).len(), 4);
        let largest = Layout::of(Slot::new().fit::<[u8; 50_000]>(), Capacity::Unbounded);
        assert_eq!(segments(largest), [0, 4]);
        let bounded = Layout::of(Slot::new().fit::<u64>(), Capacity::Bounded(99));
        assert_eq!((segments(bounded), bounded.last_segment(33)), (vec![0], 0));
    }

    #[test]
    fn a_ring_consists_of_whole_segments() {
        for size in (1..300).chain([1_000, 3_000, 5_000, 6_000, 10_000, 50_000]) {
            let slot = Slot {
                size,
                ..Slot::new()
            };
            let layout = Layout::of(slot, Capacity::Unbounded);
            let segment = layout.segment();
            assert!(segment.is_power_of_two() && segment < layout.lines());
            assert!(layout.lines() % segment == 0 && layout.near() % segment == 0);
            let ends = |lines, part| layout.may_end_segment(lines, part);
            assert!(ends(layout.near(), Part::Large) && ends(layout.lines(), Part::Large));
            let (small, part) = (layout.small(), Part::Small);
            assert!(small >= 2 && small <= segment && small + 2 <= layout.near());
            let half = layout.half();
            assert!((1..=small).all(|lines| ends(lines, part) == (lines % half == 0)));
            for lines in 1..=layout.lines() {
                assert_eq!(ends(lines, Part::Large), lines % segment == 0);
            }
        }
    }

    #[test]
    fn payloads_lie_as_they_are_aligned() {
        #[repr(align(256))]
        struct Aligned(#[allow(dead_code)] u8);
        let layout = Layout::of(Slot::new().fit::<Aligned>(), Capacity::Bounded(3));
        for line in 0..layout.lines() {
            assert_eq!(layout.payload(line, 0) % 256, 0);
            assert_eq!(layout.line(line) % 64, 0);
        }
        assert_eq!(layout.block(Part::Large).1, 256);
    }
}
