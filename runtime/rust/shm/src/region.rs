//! Regions: how they are created, and how two processes get the same one.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags};
use rustix::fs::{
    fallocate, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs, ftruncate, memfd_create,
    FallocateFlags, MemfdFlags, SealFlags,
};
use rustix::io::Errno;
use rustix::net::{
    recvmsg, sendmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use rustix::process::geteuid;
use rustix::shm;
use rustix::time::Timespec;

use crate::lock;
use crate::memory::{self, Line, Shape, HEAD, USUAL_LINES};
use crate::Error;

const USUAL_SPACE: usize = 256 << 10;
const LEAST_SPACE: u64 = 4_096;
const MOST_SPACE: u64 = if cfg!(target_pointer_width = "32") {
    1 << 30
} else {
    1 << 40
};

/// `TMPFS_MAGIC` of Linux.
const TMPFS: u64 = 0x0102_1994;

/// The memory of one session between two processes: a descriptor of a file, which each of them attaches to.
///
/// The descriptor is closed when a program is executed. It may be dropped once both sides are attached, or at any other
/// time: a session does not need it.
#[derive(Debug)]
pub struct Region(OwnedFd);

impl Region {
    /// Creates a region without a name, for a child process, or to be sent over a socket. All of its memory is reserved
    /// at once.
    ///
    /// # Errors
    /// If the system has not enough memory, or no memory for files.
    pub fn create() -> Result<Region, Error> {
        Region::with_space(USUAL_SPACE)
    }

    /// Like [`create`](Region::create), with this many bytes for long messages, rounded up to a power of two of at least 4
    /// KiB. [`create`](Region::create) takes 256 KiB. A longer message is sent in parts.
    ///
    /// # Errors
    /// As for [`create`](Region::create).
    pub fn with_space(space: usize) -> Result<Region, Error> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("duologue", flags).map_err(Error::io("create a region"))?;
        lay_out(file.as_fd(), space)?;
        // The processes that get it can rely on its size.
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&file, seals).map_err(Error::io("seal a region"))?;
        Ok(Region(file))
    }

    /// Opens the region with this name, which begins with a slash and has no other, and creates it if it does not exist.
    /// Only processes of the same user can open it. The name remains until [`unlink`](Region::unlink). If its session is
    /// over, because both sides have closed it or their processes have ended, the next call with this name creates the
    /// region again. As long as a process has a side, the region belongs to that process's session.
    ///
    /// # Errors
    /// If the name belongs to another user, or the system refuses it.
    pub fn open(name: &str) -> Result<Region, Error> {
        Region::open_with_space(name, USUAL_SPACE)
    }

    /// Like [`open`](Region::open), with this many bytes for long messages if this process creates the region.
    ///
    /// # Errors
    /// As for [`open`](Region::open).
    pub fn open_with_space(name: &str, space: usize) -> Result<Region, Error> {
        loop {
            let flags = shm::OFlags::RDWR | shm::OFlags::CREATE;
            let mode = shm::Mode::RUSR | shm::Mode::WUSR;
            let opened = shm::open(name, flags, mode);
            let file = opened.map_err(Error::io("open the region's name"))?;
            if !is_own(file.as_fd()) {
                return Err(Error::ForeignName);
            }
            let mut is_made = false;
            match make(file.as_fd(), space, &mut is_made) {
                Ok(true) => {
                    lock::unlock_head(file.as_fd());
                    return Ok(Region(file));
                }
                // The name was removed in the meantime.
                Ok(false) => {}
                Err(error) => {
                    if is_made {
                        // What is half done has no use. The first error is the one to report.
                        let _ = shm::unlink(name);
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Removes the name. Processes that have opened the region are not affected.
    ///
    /// # Errors
    /// If there is no such name, or the system refuses it.
    pub fn unlink(name: &str) -> Result<(), Error> {
        shm::unlink(name).map_err(Error::io("remove the region's name"))
    }

    /// Sends the region over a socket.
    ///
    /// # Errors
    /// If the socket does not accept it.
    pub fn send(&self, socket: &UnixStream) -> Result<(), Error> {
        let descriptors = [self.0.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fits = control.push(SendAncillaryMessage::ScmRights(&descriptors));
        debug_assert!(fits);
        let flags = SendFlags::NOSIGNAL;
        let sent = retry(|| sendmsg(socket, &[IoSlice::new(&[0])], &mut control, flags));
        sent.map(drop).map_err(Error::io("send the region"))
    }

    /// Receives a region over a socket and waits for it, for at most that long if there is a limit.
    ///
    /// # Errors
    /// If the other end sends something else or is closed, or if nothing has arrived in time.
    pub fn receive(socket: &UnixStream, limit: Option<Duration>) -> Result<Region, Error> {
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            if let Some(region) = receive_now(socket)? {
                return Ok(region);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(Error::TimedOut);
            }
            // At most a minute per call, which every time can express.
            let left = left.map_or(Duration::from_secs(60), |left| {
                left.min(Duration::from_secs(60))
            });
            let pause = Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: left.subsec_nanos().into(),
            };
            let mut polled = [PollFd::new(socket, PollFlags::IN)];
            match poll(&mut polled, Some(&pause)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(Error::io("wait for the region")(error)),
            }
        }
    }
}

impl AsFd for Region {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for Region {
    /// A descriptor that came from elsewhere. What it refers to is checked where a side is attached.
    fn from(descriptor: OwnedFd) -> Region {
        Region(descriptor)
    }
}

impl From<Region> for OwnedFd {
    fn from(region: Region) -> OwnedFd {
        region.0
    }
}

/// Repeats a call that a signal has interrupted.
fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

/// What is in the socket now.
fn receive_now(socket: &UnixStream) -> Result<Option<Region>, Error> {
    // The system closes descriptors that do not fit. In the padding after the first there is space for a second one.
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let received = retry(|| {
        recvmsg(
            socket,
            &mut [IoSliceMut::new(&mut byte)],
            &mut control,
            flags,
        )
    });
    let received = match received {
        Ok(received) => received,
        Err(Errno::AGAIN) => return Ok(None),
        Err(error) => return Err(Error::io("receive a region")(error)),
    };
    // All of them are closed where they are dropped.
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    if received.bytes == 0 {
        return Err(Error::SocketClosed);
    }
    let is_cut = received.flags.contains(ReturnFlags::CTRUNC);
    match (descriptors.pop(), descriptors.is_empty()) {
        // A file that can shrink could take memory away from the process that reads it.
        (Some(file), true) if !is_cut && is_sealed(file.as_fd()) => Ok(Some(Region(file))),
        (Some(_) | None, _) => Err(Error::NoRegion),
    }
}

/// Whether only this user (and root) can open a file.
fn is_own(file: BorrowedFd<'_>) -> bool {
    fstat(file)
        .is_ok_and(|status| status.st_uid == geteuid().as_raw() && status.st_mode & 0o077 == 0)
}

/// Whether no peer can take away memory of this file, because of a seal that cannot be removed.
fn is_sealed(file: BorrowedFd<'_>) -> bool {
    fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK))
}

/// Whether the memory of a file cannot be taken away: it is in tmpfs, and it cannot shrink, or it belongs to this user
/// alone.
pub(crate) fn is_sound(file: BorrowedFd<'_>) -> bool {
    // Other file systems have seals too, but their memory may be elsewhere, or run out.
    let is_memory = fstatfs(file).is_ok_and(|system| system.f_type as u64 == TMPFS);
    is_memory && (is_sealed(file) || is_own(file))
}

/// Creates the region of a name if no process has done so, or if its session is over: a side was taken, and now no process
/// has one. This process then holds all of the head's locks, so no other process attaches meanwhile, and no process in
/// a session has mapped the file. Returns false if the name was removed.
fn make(file: BorrowedFd<'_>, space: usize, is_made: &mut bool) -> Result<bool, Error> {
    const WHAT: &str = "create the region";
    lock::lock_first_byte(file)?;
    let status = fstat(file).map_err(Error::io(WHAT))?;
    if status.st_nlink == 0 {
        return Ok(false);
    }
    let shape = match status.st_size < HEAD as i64 {
        true => Shape::Unmade,
        false => memory::shape(file)?,
    };
    *is_made = match shape {
        Shape::Unmade => true,
        Shape::Fresh => false,
        Shape::Used => lock::try_lock_head(file)?,
    };
    if *is_made {
        ftruncate(file, 0).map_err(Error::io(WHAT))?;
        lay_out(file, space)?;
    }
    Ok(true)
}

/// Gives a new file its memory and its head.
fn lay_out(file: BorrowedFd<'_>, space: usize) -> Result<(), Error> {
    let space = (space as u64).clamp(LEAST_SPACE, MOST_SPACE);
    let bytes = space.next_power_of_two();
    let lines = u64::from(USUAL_LINES) * size_of::<Line>() as u64;
    reserve(file, HEAD as u64 + lines + bytes)?;
    memory::write_head(file, USUAL_LINES, bytes)
}

/// Gives a file its size and all of its memory, so that no later store finds the system out of memory, which would kill
/// the process. A signal would make the system start again, so signals are blocked meanwhile.
fn reserve(file: BorrowedFd<'_>, size: u64) -> Result<(), Error> {
    let signals = WithoutSignals::new();
    let reserved = retry(|| fallocate(file, FallocateFlags::empty(), 0, size));
    drop(signals);
    reserved.map_err(Error::io("reserve the memory of a region"))
}

/// While this exists, this thread handles no signals.
struct WithoutSignals(libc::sigset_t);

impl WithoutSignals {
    fn new() -> WithoutSignals {
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the first call initializes the set that the second one reads; the second one initializes `before`. It
        // cannot fail with these arguments.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            WithoutSignals(before.assume_init())
        }
    }
}

impl Drop for WithoutSignals {
    fn drop(&mut self) {
        // SAFETY: the set was initialized by `new`. The thread is the same: this type has no way to another.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut());
        }
    }
}
