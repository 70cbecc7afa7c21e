//! The memory of a region, mapped into this process: `runtime/shared-memory.md`, "Shared memory".
//!
//! The other process may write anything here at any time. So every word is an atomic, all access is by its atomic
//! operations, and no reference to plain data in the mapping ever exists: bytes are copied to or from memory of this
//! process in words of 8 bytes. What is copied is checked afterwards, and what was checked is not read again. A copy may mix
//! what two writes have stored, but the bytes of a peer that breaks the rules may be anything anyway.
//!
//! Each word of the region is always read and written with the same size.

use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::fs::fstat;
use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};

use crate::Error;

/// In the flags of a side.
pub(crate) const ASLEEP: u32 = 1;
/// The side has ended the session early.
pub(crate) const LEFT: u32 = 2;
/// The side has sent or read the last message of the protocol.
pub(crate) const DONE: u32 = 4;

/// In the word of a line, whose lowest bit is its parity.
pub(crate) const COUNT_SHIFT: u32 = 1;
pub(crate) const FULL: u64 = 0x10;
pub(crate) const LONG: u64 = 0x20;
pub(crate) const MORE: u64 = 0x40;
pub(crate) const TAG_SHIFT: u32 = 8;

/// The cells of a line, of 8 bytes each.
pub(crate) const CELLS: usize = 7;
/// The bytes of all cells of a line.
pub(crate) const SHORT: usize = CELLS * 8;
/// The bytes of a line, at a multiple of which each part of a long message begins.
pub(crate) const LINE: u64 = 64;

/// The lines of a region that this crate creates.
pub(crate) const USUAL_LINES: u32 = 256;

const MAGIC: u64 = u64::from_le_bytes(*b"duologue");
const VERSION: u32 = 2;

#[repr(C, align(64))]
struct Start {
    /// Written last by the process that creates the region.
    magic: AtomicU64,
    version: AtomicU32,
    lines: AtomicU32,
    bytes: AtomicU64,
}

#[repr(C, align(64))]
struct Waiting {
    flags: AtomicU32,
    processor: AtomicU32,
}

#[repr(C, align(64))]
struct Finished {
    lines: AtomicU64,
    bytes: AtomicU64,
}

/// What a side announces about itself.
#[repr(C, align(64))]
pub(crate) struct Hello {
    /// 0: no process is here. 1: a process is here. 2: the fields below are also written, except the verdict.
    pub(crate) state: AtomicU32,
    /// 0 until the side has given its verdict.
    pub(crate) verdict: AtomicU32,
    unused: AtomicU32,
    pub(crate) has_barrier: AtomicU32,
    unused_too: AtomicU64,
    pub(crate) largest: AtomicU64,
    pub(crate) fingerprint: [AtomicU64; 2],
}

/// One side's part of the head.
#[repr(C)]
pub(crate) struct Side {
    waiting: Waiting,
    finished: Finished,
    pub(crate) hello: Hello,
}

impl Side {
    /// The word that the side's process sleeps on.
    pub(crate) fn flags(&self) -> &AtomicU32 {
        &self.waiting.flags
    }

    /// The number of the processor on which the side last waited, plus 1. A hint.
    pub(crate) fn processor(&self) -> &AtomicU32 {
        &self.waiting.processor
    }

    /// How many lines the side has finished with as a receiver.
    pub(crate) fn lines_finished(&self) -> &AtomicU64 {
        &self.finished.lines
    }

    /// The same in bytes of long messages.
    pub(crate) fn bytes_finished(&self) -> &AtomicU64 {
        &self.finished.bytes
    }
}

#[repr(C)]
struct Head {
    start: Start,
    /// The first belongs to the side that sends first.
    sides: [Side; 2],
}

/// A line: its word, and the cells of its messages.
#[repr(C, align(64))]
pub(crate) struct Line {
    pub(crate) word: AtomicU64,
    cells: [AtomicU64; CELLS],
}

impl Line {
    /// The bytes of the cells from this one on, and zeros after them.
    pub(crate) fn copy_from(&self, from: usize) -> [u8; SHORT] {
        let mut bytes = [0; SHORT];
        let cells = self.cells.iter().skip(from);
        for (cell, into) in cells.zip(bytes.chunks_exact_mut(8)) {
            into.copy_from_slice(&cell.load(Relaxed).to_ne_bytes());
        }
        bytes
    }

    /// Writes bytes into the cells from this one on. They fit.
    pub(crate) fn copy_to(&self, from: usize, bytes: &[u8]) {
        let cells = self.cells.iter().skip(from);
        for (cell, part) in cells.zip(bytes.chunks(8)) {
            cell.store(word_of(part), Relaxed);
        }
    }

    /// The two numbers of a part of a long message.
    pub(crate) fn numbers(&self) -> [u64; 2] {
        [self.cells[0].load(Relaxed), self.cells[1].load(Relaxed)]
    }

    pub(crate) fn set_numbers(&self, numbers: [u64; 2]) {
        self.cells[0].store(numbers[0], Relaxed);
        self.cells[1].store(numbers[1], Relaxed);
    }
}

/// At most 8 bytes as a word, with zeros after them.
fn word_of(part: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..part.len()].copy_from_slice(part);
    u64::from_ne_bytes(word)
}

// What runtime/shared-memory.md says about the layout.
const _: () = assert!(size_of::<Side>() == 192 && size_of::<Head>() == 448);
const _: () = assert!(size_of::<Line>() == 64 && SIDES_AT[0] == 64 && SIDES_AT[1] == 256);
const _: () = assert!(std::mem::offset_of!(Side, finished) == 64);
const _: () = assert!(std::mem::offset_of!(Side, hello) == 128);
const _: () = assert!(std::mem::offset_of!(Hello, fingerprint) == 32);

/// The bytes of the head, before the lines.
pub(crate) const HEAD: usize = size_of::<Head>();

/// Where the sides begin.
pub(crate) const SIDES_AT: [u64; 2] = {
    let first = std::mem::offset_of!(Head, sides) as u64;
    [first, first + size_of::<Side>() as u64]
};

/// A file whose head is mapped.
struct Mapping {
    base: NonNull<u8>,
    size: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread, and it is accessed by atomic operations only.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first bytes of a file, which has that many and keeps them: the caller has checked that it cannot shrink.
    fn of(region: BorrowedFd<'_>, size: usize) -> Result<Mapping, Error> {
        debug_assert!(size >= HEAD);
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: the system chooses an address where nothing is mapped, so no memory of this process changes.
        let base = unsafe { mmap(ptr::null_mut(), size, access, flags, region, 0) };
        let base = base.map_err(Error::io("map the region"))?;
        let base = NonNull::new(base.cast()).ok_or(Error::NotARegion)?;
        Ok(Mapping { base, size })
    }

    fn head(&self) -> &Head {
        // SAFETY: the mapping has at least the size of a head, begins at a page, and exists as long as `self`. A head
        // consists of atomics, for which all bits are valid, and which may change while references to them exist. This
        // process accesses these bytes in no other way. (The other process does what it wants. The language says nothing
        // about that; the atomic operations are machine instructions, which return some value.)
        unsafe { self.base.cast().as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this size, and all references to it have ended, because they borrow `self`.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.size) };
        debug_assert!(unmapped.is_ok());
    }
}

/// What a file contains.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// No region yet.
    Unmade,
    /// A region whose sides were never taken.
    Fresh,
    /// A region with a side that is or was taken.
    Used,
}

/// What a file of at least the size of a head contains.
pub(crate) fn shape(region: BorrowedFd<'_>) -> Result<Shape, Error> {
    let mapping = Mapping::of(region, HEAD)?;
    let head = mapping.head();
    // Acquire: another process has written the head before.
    if head.start.magic.load(Acquire) == 0 {
        return Ok(Shape::Unmade);
    }
    let is_free = |side: &Side| side.hello.state.load(Acquire) == 0;
    Ok(match head.sides.iter().all(is_free) {
        true => Shape::Fresh,
        false => Shape::Used,
    })
}

/// Writes the head of a region, into a file that has the memory for it and is zero.
pub(crate) fn write_head(region: BorrowedFd<'_>, lines: u32, bytes: u64) -> Result<(), Error> {
    let mapping = Mapping::of(region, HEAD)?;
    let start = &mapping.head().start;
    start.version.store(VERSION, Relaxed);
    start.lines.store(lines, Relaxed);
    start.bytes.store(bytes, Relaxed);
    // Release: a process that reads the magic sees the rest.
    start
        .magic
        .store(MAGIC, std::sync::atomic::Ordering::Release);
    Ok(())
}

/// A region that is mapped as a whole.
pub(crate) struct Memory {
    mapping: Mapping,
    lines: usize,
    bytes: u64,
}

impl Memory {
    /// Maps a region of at most `most` bytes. The caller has checked that the file cannot shrink.
    pub(crate) fn of(region: BorrowedFd<'_>, most: usize) -> Result<Memory, Error> {
        let status = fstat(region).map_err(Error::io("inspect the region"))?;
        let size = usize::try_from(status.st_size).map_err(|_| Error::NotARegion)?;
        if size < HEAD {
            return Err(Error::NotARegion);
        }
        if size > most {
            return Err(Error::LargeRegion { size });
        }
        let mapping = Mapping::of(region, size)?;
        let start = &mapping.head().start;
        // Each is read once. Acquire: see `write_head`.
        let magic = start.magic.load(Acquire);
        let version = start.version.load(Relaxed);
        let lines = start.lines.load(Relaxed);
        let bytes = start.bytes.load(Relaxed);
        let is_sound = magic == MAGIC && version == VERSION && lines.is_power_of_two();
        if !is_sound || !(8..=65_536).contains(&lines) || !bytes.is_power_of_two() || bytes < 4_096
        {
            return Err(Error::NotARegion);
        }
        let lines = lines as usize;
        let used = bytes.checked_add((HEAD + lines * size_of::<Line>()) as u64);
        if used.is_none_or(|used| used > size as u64) {
            return Err(Error::NotARegion);
        }
        Ok(Memory {
            mapping,
            lines,
            bytes,
        })
    }

    /// The side that sends first, or the other one.
    pub(crate) fn side(&self, place: usize) -> &Side {
        &self.mapping.head().sides[place]
    }

    pub(crate) fn lines(&self) -> &[Line] {
        // SAFETY: `of` has checked that the mapping has that many lines after the head, whose size is a multiple of
        // theirs. The rest is as in `Mapping::head`.
        unsafe {
            let first = self.mapping.base.add(HEAD).cast::<Line>();
            std::slice::from_raw_parts(first.as_ptr(), self.lines)
        }
    }

    /// How many bytes there are for long messages.
    pub(crate) fn byte_count(&self) -> u64 {
        self.bytes
    }

    /// The bytes for long messages, in words.
    fn words(&self) -> &[AtomicU64] {
        let place = HEAD + self.lines * size_of::<Line>();
        // SAFETY: `of` has checked that the mapping has that many bytes after the lines. Their number is a power of two
        // that is at least 4,096, and they begin at a multiple of 64. The rest is as in `Mapping::head`.
        unsafe {
            let first = self.mapping.base.add(place).cast::<AtomicU64>();
            std::slice::from_raw_parts(first.as_ptr(), self.bytes as usize / 8)
        }
    }

    /// Appends a part of a long message, which begins at a multiple of 8 and does not extend past the end.
    pub(crate) fn copy_from(&self, place: u64, size: usize, into: &mut Vec<u8>) {
        let start = into.len();
        let first = (place / 8) as usize;
        let words = &self.words()[first..first + size.div_ceil(8)];
        for word in words {
            into.extend_from_slice(&word.load(Relaxed).to_ne_bytes());
        }
        into.truncate(start + size);
    }

    /// Writes a part of a long message, which begins at a multiple of 8 and does not extend past the end.
    pub(crate) fn copy_to(&self, place: u64, bytes: &[u8]) {
        let first = (place / 8) as usize;
        let words = &self.words()[first..first + bytes.len().div_ceil(8)];
        for (word, part) in words.iter().zip(bytes.chunks(8)) {
            word.store(word_of(part), Relaxed);
        }
    }
}
