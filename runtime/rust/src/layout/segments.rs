//! The parts of a ring that are reported free one by one: see `pipe/room.rs`.

use super::{most, Layout, FEWEST_LINES};

/// So many bytes of lines, or about half of that, are made ready when the block is allocated. Short laps go through no more.
const NEAR: usize = 8 << 10;

/// A ring has long laps if it has at least so many times the lines of its first segment: then a long lap has two segments
/// more than a short one, and none is empty.
const LEAST_LONGER: usize = 6;

/// The largest power of two that is no larger; 1 for 0.
const fn power_below(number: usize) -> usize {
    1 << (most(number, 1)).ilog2()
}

/// How many lines the first segment of a ring has, in which a run may go on for ever.
pub(super) const fn first(lines: usize, pitch: usize) -> usize {
    let near = if cfg!(loom) {
        2
    } else {
        most(NEAR / pitch, FEWEST_LINES)
    };
    let segment = power_below(near) / 2;
    if lines < LEAST_LONGER * segment {
        // There are no long laps: two segments that are about equal.
        power_below(lines * 2 / 3)
    } else {
        segment
    }
}

impl Layout {
    /// How many lines a short lap has: all, where there are no long ones. They are made ready with the block, the others
    /// when a sender first begins a long lap.
    #[inline]
    pub(crate) const fn near(&self) -> usize {
        if self.segment == 0 || (self.lines as usize) < LEAST_LONGER * self.segment as usize {
            self.lines()
        } else {
            2 * self.segment as usize
        }
    }

    /// The first line of the last segment of a long lap; of the only other segment where there are no long laps; 0 where
    /// there is one segment.
    #[inline]
    pub(crate) const fn last_segment(&self) -> usize {
        let segment = self.segment as usize;
        if self.near() == self.lines() {
            segment
        } else {
            (self.lines() + segment) / 2 / segment * segment
        }
    }

    /// Whether a segment may begin with this line; certainly not if this is false. Cheap.
    ///
    /// A bounded run has one segment only: nobody asks what is free, so the receiver says so only at the end of the
    /// ring, which such a run reaches only if the capacity is too small.
    #[inline(always)]
    pub(crate) const fn may_begin_segment(&self, line: usize) -> bool {
        line & (self.segment as usize).wrapping_sub(1) == 0
    }

    /// Which segment begins with this line, if any does: 0 and 1 in each lap, 2 and 3 in long ones.
    #[inline]
    pub(crate) const fn segment_at(&self, line: usize) -> Option<u64> {
        let has_long_laps = self.near() < self.lines();
        if line == 0 {
            Some(0)
        } else if line == self.segment as usize {
            Some(1)
        } else if has_long_laps && line == self.near() {
            Some(2)
        } else if has_long_laps && line == self.last_segment() {
            Some(3)
        } else {
            None
        }
    }

    /// The first line of a segment, which there is.
    pub(crate) const fn start_of_segment(&self, which: u64) -> usize {
        match which {
            0 => 0,
            1 => self.segment as usize,
            2 => self.near(),
            _ => self.last_segment(),
        }
    }
}
