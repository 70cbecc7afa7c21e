//! The parts of a ring that are reported free one by one, and the laps that go through some or all of them: see
//! `pipe/room.rs`.

use super::{most, Layout, FEWEST_LINES};

/// So many bytes of lines, or about half of that, are made ready when the block is allocated. The shortest laps go through
/// no more.
const NEAR: usize = 1 << 10;

/// Laps that are neither the shortest nor the longest go through so many times the lines of the shortest.
const MIDDLE: usize = if cfg!(duologue_loom) { 4 } else { 8 };

/// Where a lap may end before the end of the ring: behind the near lines, and behind those in the middle.
pub(crate) const EARLY_ENDS: usize = 2;

/// The most segments that a ring can have: two up to each end.
const SEGMENTS: usize = 2 * (EARLY_ENDS + 1);

/// The largest power of two that is no larger; 1 for 0.
const fn power_below(number: usize) -> usize {
    1 << (most(number, 1)).ilog2()
}

/// How many lines the first segment of a ring has, in which a run may go on for ever.
pub(super) const fn first(lines: usize, pitch: usize) -> usize {
    let near = if cfg!(duologue_loom) {
        4
    } else {
        most(NEAR / pitch, FEWEST_LINES)
    };
    let segment = power_below(near) / 2;
    if has_longer_laps(lines, 2 * segment, segment) {
        segment
    } else {
        // Two segments that are about equal.
        power_below(lines * 2 / 3)
    }
}

/// Whether there are two more segments behind this end, which is a power of two, none of them empty.
const fn has_longer_laps(lines: usize, end: usize, segment: usize) -> bool {
    segment > 0 && lines >= 2 * end + segment
}

impl Layout {
    /// How many lines the first segment has, a power of two; every segment begins with a multiple of it. 0 if there is one
    /// segment only.
    #[inline(always)]
    pub(crate) const fn segment(&self) -> usize {
        self.segment as usize
    }

    /// How many lines a lap has that ends early, the shortest first; all of them, where no lap ends there.
    #[inline]
    pub(crate) const fn early_end(&self, which: usize) -> usize {
        let segment = self.segment();
        let end = if which == 0 { 2 } else { 2 * MIDDLE } * segment;
        if has_longer_laps(self.lines(), end, segment) {
            end
        } else {
            self.lines()
        }
    }

    /// Whether laps may end early behind this number of lines or one more; certainly not if this is false. Cheap, as
    /// [`Layout::may_begin_segment`].
    #[inline(always)]
    pub(crate) const fn may_end_about(&self, lines: usize) -> bool {
        (lines + 1) & self.segment().wrapping_sub(1) <= 1
    }

    /// How many lines the shortest laps have. They are made ready with the block, the others when a sender first goes on
    /// there.
    #[inline]
    pub(crate) const fn near(&self) -> usize {
        self.early_end(0)
    }

    /// How many lines a lap has that goes on behind this early end, and not behind the next.
    pub(crate) const fn next_end(&self, early: usize) -> usize {
        if early + 1 < EARLY_ENDS {
            self.early_end(early + 1)
        } else {
            self.lines()
        }
    }

    /// The first line of a segment; a line that there is not, where there is no such segment. Those up to the same end of
    /// a lap are two, and of similar length.
    #[inline]
    pub(crate) const fn start_of_segment(&self, which: usize) -> usize {
        let segment = self.segment();
        if which < 2 {
            return which * segment;
        }
        let begin = self.early_end(which / 2 - 1);
        if which % 2 == 0 || begin == self.lines() {
            return begin;
        }
        let half = power_below((begin + self.next_end(which / 2 - 1)) / 2);
        most(half, 2 * begin)
    }

    /// The first line of the last segment of a lap that has so many lines.
    pub(crate) const fn last_segment(&self, lines_of_lap: usize) -> usize {
        let mut which = 1;
        while which + 2 < SEGMENTS && self.start_of_segment(which + 1) < lines_of_lap {
            which += 2;
        }
        self.start_of_segment(which)
    }

    /// Whether a segment may begin with this line; certainly not if this is false. Cheap: all begin with a power of two, or
    /// with 0.
    ///
    /// A bounded run has one segment only: nobody asks what is free, so the receiver says so only at the end of the
    /// ring, which such a run reaches only if the capacity is too small.
    #[inline(always)]
    pub(crate) const fn may_begin_segment(&self, line: usize) -> bool {
        line & (line.wrapping_sub(1) | self.segment().wrapping_sub(1)) == 0
    }

    /// Which segment begins with this line, if any does: 0 and 1 in each lap, the others in longer ones.
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
