//! The segments of a ring, each of which is reported free on its own, and the laps that go through some or all of them:
//! see `link::lap`.

use super::{least, most, Layout, Part, BLOCK, FEWEST_LINES};

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

/// The logarithm of how many lines the small block has, of which this many fit into it, or 0 if a session has no small
/// block.
pub(super) const fn small(fitting: usize, segment: usize) -> u32 {
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

    /// Whether a session begins in a small block, which a large one may replace: see `link::publish::grow`.
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
