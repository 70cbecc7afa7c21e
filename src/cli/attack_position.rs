//! Where a session is in memory that two processes share, and the names of such memory.

use duologue::attack::memory::{HEAD, LINE};
use std::path::{Path, PathBuf};

/// The folder that has the names of shared memory.
const FOLDER: &str = "/dev/shm";

/// How many lines a region of an attack has, and how many bytes for long messages.
pub const LINES: u64 = 256;
pub const BYTES: u64 = 256 << 10;

/// A name for regions.
pub struct RegionName(pub PathBuf);

impl RegionName {
    /// From the name after `shm:`, which begins with a slash and has no other.
    pub fn parse(name: &str) -> Option<RegionName> {
        let bare = name.strip_prefix('/')?;
        let is_plain = !bare.is_empty() && !bare.contains('/') && bare != "." && bare != "..";
        is_plain.then(|| RegionName(Path::new(FOLDER).join(bare)))
    }

    /// The address of the region.
    pub fn text(&self) -> String {
        let name = self.0.file_name().unwrap_or_default();
        format!("shm:/{}", name.to_string_lossy())
    }
}

/// Where a session is in a region. Both directions take turns in the same lines.
pub struct Position {
    pub node: Option<usize>,
    /// Lines begun, and those before the run; the same in bytes.
    pub lines: u64,
    pub run_lines: u64,
    pub bytes: u64,
    pub run_bytes: u64,
    /// Of the last use of each line.
    parities: Vec<bool>,
    /// How many messages and cells of the line are done, and its word, as far as this side has written it.
    pub count: u64,
    pub cells: usize,
    pub word: u64,
}

impl Position {
    pub fn new() -> Position {
        let mut position = Position {
            node: Some(0),
            lines: 0,
            run_lines: 0,
            bytes: 0,
            run_bytes: 0,
            parities: vec![false; LINES as usize],
            count: 0,
            cells: 0,
            word: 0,
        };
        position.begin_line();
        position
    }

    pub fn begin_run(&mut self) {
        self.run_lines = self.lines;
        self.run_bytes = self.bytes;
        self.begin_line();
    }

    pub fn begin_line(&mut self) {
        let index = ((self.lines - self.run_lines) % LINES) as usize;
        self.parities[index] = !self.parities[index];
        self.word = u64::from(self.parities[index]);
        self.lines += 1;
        (self.count, self.cells) = (0, 0);
    }

    /// The offset of the line in the region.
    pub fn line(&self) -> u64 {
        HEAD + (self.lines - 1 - self.run_lines) % LINES * LINE
    }

    pub fn parity(&self) -> u64 {
        self.word & 1
    }

    /// The offset of the next bytes of a long message, and how many there are without a gap.
    pub fn next_bytes(&self) -> (u64, u64) {
        let at = (self.bytes - self.run_bytes) % BYTES;
        (HEAD + LINES * LINE + at, BYTES - at)
    }

    pub fn add_bytes(&mut self, size: u64) {
        self.bytes += size.next_multiple_of(LINE);
    }
}
