//! The segments of a ring, each of which is reported free on its own, and the laps that go through some or all of them:
//! see `pipe/room.rs`.

use super::{most, Layout, FEWEST_LINES};

/// This many bytes of lines, or about half as many, are initialised when the block is allocated. The shortest laps use
/// no other lines.
const NEAR: usize = 1 << 10;

/// Laps of middle length have this many times the lines of the shortest laps.
const MIDDLE: usize = if cfg!(duologue_loom) { 4 } else { 8 };

/// How many early ends there are, at which a lap may end before the end of the ring: one after the near lines, and one
/// after the middle lines.
pub(crate) const EARLY_ENDS: usize = 2;

/// The most segments that a ring can have: two up to each end.
const SEGMENTS: usize = 2 * (EARLY_ENDS + 1);

/// The largest power of two that is not larger than the number; 1 for 0.
const fn power_below(number: usize) -> usize {
    1 << (most(number, 1)).ilog2()
}

/// How many lines the first segment has, in a ring in which a run may go on forever.
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
        // Two segments of about the same length.
        power_below(lines * 2 / 3)
    }
}

/// Whether two more segments, neither of them empty, follow this end, which is a power of two.
const fn has_longer_laps(lines: usize, end: usize, segment: usize) -> bool {
    segment > 0 && lines >= 2 * end + segment
}

impl Layout {
    /// How many lines the first segment has: a power of two. The first line of every segment is a multiple of it. 0 if
    /// there is only one segment.
    #[inline(always)]
    pub(crate) const fn segment(&self) -> usize {
        self.segment as usize
    }

    /// How many lines a lap has that ends at this early end, the shortest first. All lines of the ring if no lap ends
    /// there.
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

    /// Whether laps may end early after this number of lines or one more. If this is false, they certainly do not.
    /// Cheap, like [`Layout::may_begin_segment`].
    #[inline(always)]
    pub(crate) const fn may_end_about(&self, lines: usize) -> bool {
        (lines + 1) & self.segment().wrapping_sub(1) <= 1
    }

    /// How many lines the shortest laps have. These are initialised with the block, the others when a sender first
    /// continues past them.
    #[inline]
    pub(crate) const fn near(&self) -> usize {
        self.early_end(0)
    }

    /// How many lines a lap has that continues past this early end but not past the next one.
    pub(crate) const fn next_end(&self, early: usize) -> usize {
        if early + 1 < EARLY_ENDS {
            self.early_end(early + 1)
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
        let begin = self.early_end(which / 2 - 1);
        if which % 2 == 0 || begin == self.lines() {
            return begin;
        }
        let half = power_below((begin + self.next_end(which / 2 - 1)) / 2);
        most(half, 2 * begin)
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
