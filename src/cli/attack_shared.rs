//! The system calls for memory that two processes share, which the standard library does not have.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A file in memory, mapped into this process.
pub struct Shared {
    begin: NonNull<libc::c_void>,
    size: usize,
}

impl Shared {
    /// Maps the first bytes of a file, which has at least as many, and does not shrink.
    pub fn of(file: &File, size: usize) -> io::Result<Shared> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a mapping at an address that the system chooses replaces nothing.
        let begin = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                access,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(begin).filter(|begin| begin.as_ptr() != libc::MAP_FAILED) {
            Some(begin) => Ok(Shared { begin, size }),
            None => Err(io::Error::last_os_error()),
        }
    }

    /// A number of 4 bytes at this offset, which is a multiple of 4.
    pub fn number(&self, at: u64) -> &AtomicU32 {
        let at = self.checked(at, 4);
        // SAFETY: the 4 bytes are in the mapping and aligned, and all accesses of this process through it are atomic.
        unsafe { AtomicU32::from_ptr(self.begin.as_ptr().byte_add(at).cast()) }
    }

    /// A number of 8 bytes at this offset, which is a multiple of 8.
    pub fn word(&self, at: u64) -> &AtomicU64 {
        let at = self.checked(at, 8);
        // SAFETY: as in `number`, with 8 bytes.
        unsafe { AtomicU64::from_ptr(self.begin.as_ptr().byte_add(at).cast()) }
    }

    fn checked(&self, at: u64, size: usize) -> usize {
        let at = at as usize;
        assert!(at.is_multiple_of(size) && at < self.size && self.size - at >= size);
        at
    }

    /// Wakes all threads that sleep on the number at this offset.
    pub fn wake(&self, at: u64) {
        let number = self.number(at).as_ptr();
        // SAFETY: the call only uses the address, which is in the mapping.
        unsafe { libc::syscall(libc::SYS_futex, number, libc::FUTEX_WAKE, libc::c_int::MAX) };
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one, and nothing borrows from it any more.
        unsafe { libc::munmap(self.begin.as_ptr(), self.size) };
    }
}

fn byte_at(at: u64) -> libc::flock {
    // SAFETY: all bits are valid for this struct of integers. The process id in it must be 0.
    let mut byte: libc::flock = unsafe { std::mem::zeroed() };
    byte.l_type = libc::F_WRLCK as libc::c_short;
    byte.l_whence = libc::SEEK_SET as libc::c_short;
    byte.l_start = at as libc::off_t;
    byte.l_len = 1;
    byte
}

/// Locks a byte for this description of the file.
pub fn lock(file: &File, at: u64) -> io::Result<()> {
    let byte = byte_at(at);
    // SAFETY: the descriptor is open, and this command reads the struct that it gets.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const byte) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether another description of the file has a lock on a byte.
pub fn lock_is_held(file: &File, at: u64) -> bool {
    let mut byte = byte_at(at);
    // SAFETY: the descriptor is open, and this command reads and writes the struct that it gets.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut byte) };
    asked == 0 && libc::c_int::from(byte.l_type) != libc::F_UNLCK
}
