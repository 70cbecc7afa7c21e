//! Where a side is in the lines and in the bytes. Both sides count alike, and neither reads a position from the region.

use std::sync::atomic::Ordering::Acquire;

use crate::end::End;
use crate::memory::{Line, CELLS, LINE};

/// The largest part of a long message, limited so that reading and writing overlap.
const PART: u64 = 16_384;

/// The line that comes next or continues, and what both sides have counted.
pub(crate) struct Position {
    line_count: u64,
    byte_count: u64,
    /// A bit for each line: the parity of its last use.
    parities: Vec<u64>,
    /// The index of the line, and the parity of its use.
    line: usize,
    pub(crate) parity: u64,
    /// How many of its messages and cells are done.
    pub(crate) count: u64,
    pub(crate) cells: usize,
    /// As sender: its word, which may not have been published yet.
    pub(crate) word: u64,
    /// Lines begun, how many may be, and how many were when the run began; the same in bytes.
    line_at: u64,
    line_limit: u64,
    line_run: u64,
    byte_at: u64,
    byte_limit: u64,
    byte_run: u64,
}

impl Position {
    /// At the beginning of the first run.
    pub(crate) fn new(end: &End) -> Position {
        let lines = end.memory.lines().len();
        let mut position = Position {
            line_count: lines as u64,
            byte_count: end.memory.byte_count(),
            parities: vec![0; lines.div_ceil(64)],
            line: 0,
            parity: 0,
            count: 0,
            cells: 0,
            word: 0,
            line_at: 0,
            line_limit: 0,
            line_run: 0,
            byte_at: 0,
            byte_limit: 0,
            byte_run: 0,
        };
        position.begin_run();
        position
    }

    /// The line itself.
    pub(crate) fn line<'e>(&self, end: &'e End) -> &'e Line {
        &end.memory.lines()[self.line]
    }

    /// Goes to the first line, where each run begins. Everything before was read by one side or the other, so everything
    /// is free.
    pub(crate) fn begin_run(&mut self) {
        self.line_run = self.line_at;
        self.line_limit = self.line_at + self.line_count;
        self.byte_run = self.byte_at;
        self.byte_limit = self.byte_at + self.byte_count;
        self.begin_line();
    }

    pub(crate) fn begin_line(&mut self) {
        let index = (self.line_at - self.line_run) & (self.line_count - 1);
        let (word, bit) = ((index / 64) as usize, 1 << (index % 64));
        self.parities[word] ^= bit;
        self.parity = u64::from(self.parities[word] & bit != 0);
        self.line = index as usize;
        self.count = 0;
        self.cells = 0;
        self.word = self.parity;
        self.line_at += 1;
    }

    /// As sender: whether the line may be written. The peer's count need not make sense.
    pub(crate) fn has_line(&mut self, end: &End) -> bool {
        if self.line_at <= self.line_limit {
            return true;
        }
        // Acquire: the peer has read the lines that it has counted.
        let finished = end.peer().lines_finished().load(Acquire);
        if finished < self.line_at {
            self.line_limit = finished + self.line_count;
        }
        self.line_at <= self.line_limit
    }

    /// As sender: whether the line and the bytes of a part of this size may be written.
    pub(crate) fn has_part(&mut self, end: &End, size: u64) -> bool {
        if !self.has_line(end) {
            return false;
        }
        let wanted = self.byte_at + whole(size);
        if wanted <= self.byte_limit {
            return true;
        }
        // Acquire: as above.
        let finished = end.peer().bytes_finished().load(Acquire);
        if finished <= self.byte_at {
            self.byte_limit = finished + self.byte_count;
        }
        wanted <= self.byte_limit
    }

    /// As sender: the size of the next part if this many bytes remain.
    pub(crate) fn part_of(&self, left: u64) -> u64 {
        left.min(PART)
            .min(self.byte_count / 4)
            .min(self.byte_count - self.byte_place())
    }

    /// Where the next part begins.
    pub(crate) fn byte_place(&self) -> u64 {
        (self.byte_at - self.byte_run) & (self.byte_count - 1)
    }

    /// How many bytes a part may have that begins here.
    pub(crate) fn longest_part(&self) -> u64 {
        self.byte_count - self.byte_place()
    }

    /// Counts the bytes of a part.
    pub(crate) fn add_part(&mut self, size: u64) {
        self.byte_at += whole(size);
    }

    /// How many lines and bytes this side has finished with as receiver. The line that was begun last is not finished.
    pub(crate) fn finished(&self) -> [u64; 2] {
        [self.line_at - 1, self.byte_at]
    }

    /// As receiver, after a line was begun: whether a quarter of the lines was finished since the last report.
    pub(crate) fn is_quarter(&self) -> bool {
        (self.line_at - 1) & (self.line_count / 4 - 1) == 0
    }

    /// As sender: whether this line is one before which the peer is checked.
    pub(crate) fn is_checked(&self) -> bool {
        self.count == 0 && (self.line_at - self.line_run) % 32 == 0
    }

    /// A number that changes with every line that is begun.
    pub(crate) fn progress(&self) -> u64 {
        self.line_at
    }

    /// The space that is left in the line, in bytes.
    pub(crate) fn space(&self) -> usize {
        (CELLS - self.cells) * 8
    }
}

/// Parts are counted in whole lines, so that each begins at one.
fn whole(bytes: u64) -> u64 {
    bytes.div_ceil(LINE) * LINE
}
