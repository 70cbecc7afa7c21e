//! The segments of a ring, each of which is reported free on its own, and the laps that go through some or all of them:
//! see `link::lap`.

use super::{most, Layout, BLOCK, FEWEST_LINES};

/// This many bytes of lines, or about half as many, are initialized when the block is allocated. Short laps use no
/// other lines. More would hardly be faster, and with fewer, streams between tasks cost up to half as much again.
const NEAR: usize = BLOCK / 16;

/// The most segments that a ring can have: two up to each of the two ends that a lap can have.
const SEGMENTS: usize = 4;

/// The largest power of two that is not larger than the number; 1 for 0.
const fn power_below(number: usize) -> usize {
    1 << (most(number, 1)).ilog2()
}

/// How many lines the first segment has, in a ring in which a run may go on forever. The ring is then cut to a multiple
/// of this number, so that every segment begins and ends at such a multiple.
pub(super) const fn first(lines: usize, pitch: usize) -> usize {
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

/// Whether two more segments, neither of them empty, follow the first two, which are of this length.
const fn has_long_laps(lines: usize, segment: usize) -> bool {
    cfg!(not(duologue_without = "short-laps")) && segment > 0 && lines >= 5 * segment
}

impl Layout {
    /// How many lines the first segment has: a power of two. The first line of every segment is a multiple of it. 0 if
    /// there is only one segment.
    #[inline(always)]
    pub(crate) const fn segment(&self) -> usize {
        self.segment as usize
    }

    /// How many lines a short lap has: all lines of the ring if every lap has the same length. These lines are
    /// initialized with the block, the others when a sender first continues past them.
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

    /// Whether a segment, and with it possibly a lap, may end after this many lines. If this is false, none does.
    #[inline(always)]
    pub(crate) const fn may_end_segment(&self, lines: usize) -> bool {
        if self.segment == 0 {
            lines == self.lines()
        } else {
            lines & (self.segment() - 1) == 0
        }
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
