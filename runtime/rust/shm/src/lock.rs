//! The locks by which a process shows that it has a side of a region: `runtime/shared-memory.md`, "Locks".
//!
//! A lock belongs to an open file description. The description that has a side's lock is opened only for it, and nothing
//! else refers to it: no mapping, no duplicate, and in a child process it is closed as soon as the child exists. So
//! the system releases the lock when the process ends or executes another program, and not before.

use std::cell::UnsafeCell;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, Once};
use std::thread;
use std::time::{Duration, Instant};

use duologue::transport::sync;
use rustix::fs::{fstat, open, Mode, OFlags};
use rustix::io::Errno;

use crate::memory::{HEAD, SIDES_AT};
use crate::Error;

/// How long to wait for another process that is creating the region of a name, which takes a few microseconds.
const LONGEST_MAKING: Duration = Duration::from_secs(5);

/// How long to pause before the next attempt.
const PAUSE: Duration = Duration::from_micros(100);

fn bytes_of(kind: libc::c_int, from: u64, size: u64) -> libc::flock {
    // SAFETY: all bits are valid for this struct of integers. The process id in it must be 0.
    let mut bytes: libc::flock = unsafe { std::mem::zeroed() };
    bytes.l_type = kind as libc::c_short;
    bytes.l_whence = libc::SEEK_SET as libc::c_short;
    bytes.l_start = from as libc::off_t;
    bytes.l_len = size as libc::off_t;
    bytes
}

/// Locks bytes of a file for this description, if that can be done at once.
fn try_lock(file: BorrowedFd<'_>, from: u64, size: u64) -> Result<bool, Errno> {
    let bytes = bytes_of(libc::F_WRLCK, from, size);
    // SAFETY: the descriptor is open, and this command reads the struct that it gets.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const bytes) };
    if result == 0 {
        return Ok(true);
    }
    match Errno::from_io_error(&std::io::Error::last_os_error()) {
        Some(Errno::AGAIN | Errno::ACCESS) => Ok(false),
        other => Err(other.unwrap_or(Errno::INVAL)),
    }
}

/// Releases all locks that this description has before the lines.
pub(crate) fn unlock_head(file: BorrowedFd<'_>) {
    let bytes = bytes_of(libc::F_UNLCK, 0, HEAD as u64);
    // SAFETY: as in `try_lock`.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const bytes) };
    debug_assert_eq!(result, 0);
}

/// The beginning of the lock that another description holds on a byte; `None` if there is none, or if that cannot be determined.
fn lock_at(file: BorrowedFd<'_>, byte: u64) -> Option<u64> {
    let mut bytes = bytes_of(libc::F_WRLCK, byte, 1);
    // SAFETY: the descriptor is open, and this command reads and writes the struct that it gets.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut bytes) };
    let is_locked = result == 0 && libc::c_int::from(bytes.l_type) != libc::F_UNLCK;
    is_locked.then_some(bytes.l_start as u64)
}

/// Waits for the lock under which the region of a name is created.
pub(crate) fn lock_first_byte(file: BorrowedFd<'_>) -> Result<(), Error> {
    const WHAT: &str = "lock the region";
    let deadline = Instant::now() + LONGEST_MAKING;
    while !try_lock(file, 0, 1).map_err(Error::io(WHAT))? {
        if Instant::now() >= deadline {
            return Err(Error::io(WHAT)(Errno::TIMEDOUT));
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Locks everything before the lines, if that can be done at once.
pub(crate) fn try_lock_head(file: BorrowedFd<'_>) -> Result<bool, Error> {
    try_lock(file, 0, HEAD as u64).map_err(Error::io("lock the region"))
}

/// The descriptions of this process that have locks of sides, each with its key.
struct Held {
    all: Vec<(u64, OwnedFd)>,
    last: u64,
}

static HELD: Mutex<Held> = Mutex::new(Held {
    all: Vec::new(),
    last: 0,
});

fn held() -> MutexGuard<'static, Held> {
    sync::lock(&HELD)
}

/// While a thread forks, what keeps the list of descriptions as it is.
struct Forking(UnsafeCell<Option<MutexGuard<'static, Held>>>);

// SAFETY: only a thread that forks accesses this, after it has taken the lock and before it has released it.
unsafe impl Sync for Forking {}

static FORKING: Forking = Forking(UnsafeCell::new(None));

extern "C" fn before_fork() {
    let guard = held();
    // SAFETY: this thread has the lock: see `Forking`.
    unsafe { *FORKING.0.get() = Some(guard) };
}

extern "C" fn after_fork() {
    // SAFETY: this thread has the lock since `before_fork`.
    drop(unsafe { (*FORKING.0.get()).take() });
}

/// The sides belong to the parent: if their descriptions stayed open here, the parent's end would go unnoticed.
extern "C" fn in_child() {
    // SAFETY: the only thread of a child process is a copy of the thread that forked, and it has the lock.
    if let Some(mut guard) = unsafe { (*FORKING.0.get()).take() } {
        guard.all.clear();
    }
}

fn guard_forks() {
    static GUARDED: Once = Once::new();
    GUARDED.call_once(|| {
        // SAFETY: the functions are as the call expects them, and always exist: this library is not unloaded while its
        // sessions exist, and the C library removes the functions of a library that is.
        let result =
            unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(in_child)) };
        debug_assert_eq!(result, 0);
    });
}

/// The lock of a side that this process has. Released when this is dropped.
pub(crate) struct SideLock {
    key: u64,
}

impl SideLock {
    /// Takes the lock of the side at this place.
    pub(crate) fn take(region: BorrowedFd<'_>, place: usize) -> Result<SideLock, Error> {
        guard_forks();
        let path = format!("/proc/self/fd/{}", region.as_raw_fd());
        let lock = {
            // Under the lock: when a thread forks, all such descriptions are in the list.
            let mut held = held();
            let flags = OFlags::RDWR | OFlags::CLOEXEC;
            let description = open(&*path, flags, Mode::empty());
            let description = description.map_err(Error::io("open the region in /proc"))?;
            held.last += 1;
            let key = held.last;
            held.all.push((key, description));
            SideLock { key }
        };
        let byte = SIDES_AT[place];
        let deadline = Instant::now() + LONGEST_MAKING;
        while !lock.with(|file| try_lock(file, byte, 1))? {
            // A process that creates a region again holds all of its locks for a moment. A region that came from a peer
            // has no name.
            let is_passing = lock.with(|file| {
                let is_named = fstat(file)?.st_nlink > 0;
                Ok(is_named && lock_at(file, byte) != Some(byte))
            })?;
            if !is_passing || Instant::now() >= deadline {
                return Err(Error::Taken);
            }
            thread::sleep(PAUSE);
        }
        Ok(lock)
    }

    /// Calls `act` with the description. It is gone in a child process, whose sides belong to its parent.
    fn with<T>(&self, act: impl FnOnce(BorrowedFd<'_>) -> Result<T, Errno>) -> Result<T, Error> {
        use std::os::fd::AsFd;
        let held = held();
        let found = held.all.iter().find(|(key, _)| *key == self.key);
        let file = found.map(|(_, file)| file.as_fd()).ok_or(Errno::BADF);
        file.and_then(act)
            .map_err(Error::io("lock a side of the region"))
    }

    /// Whether some process has the side at this place.
    pub(crate) fn is_held(&self, place: usize) -> bool {
        let locked = self.with(|file| Ok(lock_at(file, SIDES_AT[place])));
        locked.is_ok_and(|start| start.is_some())
    }
}

impl Drop for SideLock {
    fn drop(&mut self) {
        // Before any thread forks, since the child would keep it open.
        held().all.retain(|(key, _)| *key != self.key);
    }
}
