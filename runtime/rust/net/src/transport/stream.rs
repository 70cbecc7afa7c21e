//! Connections: sockets, and streams that the program provides.

use std::io;
#[cfg(feature = "tls")]
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::sockopt::{socket_domain, socket_peercred};
use rustix::net::{recv, send, shutdown, AddressFamily, RecvFlags, SendFlags, Shutdown};

#[cfg(feature = "tls")]
use crate::core::SMALL_BUFFER;

/// A connection that carries bytes in order, in both directions. Implement it to use connections of your own.
///
/// One thread reads and another may write at the same time.
pub trait Stream: Send + Sync + 'static {
    /// Reads at least one byte, or returns 0 if the other side has ended the stream. Fails with
    /// [`TimedOut`](io::ErrorKind::TimedOut) if none arrives before the deadline. If the deadline is in the
    /// past, does not wait.
    fn read(&self, to: &mut [u8], deadline: Option<Instant>) -> io::Result<usize>;

    /// Writes at least one byte and returns how many. Fails with [`TimedOut`](io::ErrorKind::TimedOut) if that is
    /// not possible before the deadline.
    fn write(&self, bytes: &[u8], deadline: Option<Instant>) -> io::Result<usize>;

    /// Ends the stream: nothing more is written. Everything written before is still delivered.
    fn close(&self);

    /// A descriptor that becomes readable when there is something to read. Without one, each session for which
    /// tasks wait has a thread that reads.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Whether [`read`](Stream::read) may have something to return although the descriptor is not readable, because it
    /// was read from the descriptor before.
    fn has_more(&self) -> bool {
        false
    }

    /// Whether [`read`](Stream::read) asks the descriptor itself, so that a read which finds nothing means that the
    /// descriptor had nothing.
    #[doc(hidden)]
    fn is_plain(&self) -> bool {
        false
    }

    /// The descriptor, if the stream does not close it while others have it.
    #[doc(hidden)]
    fn shared_descriptor(&self) -> Option<Arc<OwnedFd>> {
        None
    }

    /// Returns the memory of buffers that are empty. Does not wait. The session calls it when it has been idle for a while
    /// after a read into more than 4 KiB.
    #[doc(hidden)]
    fn shrink(&self) {}

    /// The certificate of the other side, in DER, if the stream has verified one.
    fn certificate(&self) -> Option<Vec<u8>> {
        None
    }
}

/// Ends reads, also the one that waits: they find the end of the stream.
pub(crate) fn end_reads(stream: &dyn Stream) {
    if let Some(descriptor) = stream.descriptor() {
        let _ended_already = shutdown(descriptor, Shutdown::Read);
    }
}

/// The user at the other end of a Unix socket.
pub(crate) fn user(stream: &dyn Stream) -> Option<u32> {
    let descriptor = stream.descriptor()?;
    if socket_domain(descriptor) != Ok(AddressFamily::UNIX) {
        return None;
    }
    let credentials = socket_peercred(descriptor).ok()?;
    Some(credentials.uid.as_raw())
}

/// A deadline in the past, for calls that must not wait. The clock is read once only, because a session makes such a call for each message.
pub(crate) fn past() -> Instant {
    static PAST: OnceLock<Instant> = OnceLock::new();
    *PAST.get_or_init(Instant::now)
}

/// How long it is until the deadline; `None` if it has passed.
pub(crate) fn left(deadline: Instant) -> Option<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    (!left.is_zero()).then_some(left)
}

/// Whether the deadline has passed.
pub(crate) fn is_late(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| left(deadline).is_none())
}

/// Whether an operation only took too long.
pub(crate) fn is_early(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
    )
}

/// A connected socket. A runtime that reads it for its tasks has its descriptor, too.
#[derive(Debug)]
pub struct Socket(Arc<OwnedFd>);

impl Socket {
    /// A connected stream socket: from a `UnixStream`, a `TcpStream`, or a descriptor that was passed on.
    #[must_use]
    pub fn of(descriptor: OwnedFd) -> Socket {
        Socket(Arc::new(descriptor))
    }
}

/// Waits until a descriptor is ready for this, or fails when the deadline has passed.
fn wait(fd: BorrowedFd<'_>, what: PollFlags, deadline: Option<Instant>) -> io::Result<()> {
    // The caller has just tried, so there is no need to check the descriptor once more.
    if is_late(deadline) {
        return Err(io::ErrorKind::TimedOut.into());
    }
    poll_until(&mut [PollFd::from_borrowed_fd(fd, what)], deadline)
}

/// Waits until one of the descriptors may be ready, or fails when the deadline has passed and none is.
pub(crate) fn poll_until(all: &mut [PollFd<'_>], deadline: Option<Instant>) -> io::Result<()> {
    let left = deadline.map(left);
    let longest = Timespec {
        tv_sec: i64::from(i32::MAX),
        tv_nsec: 0,
    };
    let timeout = left.map(|left| {
        let left = left.unwrap_or(Duration::ZERO);
        Timespec::try_from(left).unwrap_or(longest)
    });
    match poll(all, timeout.as_ref()) {
        Ok(0) if left == Some(None) => Err(io::ErrorKind::TimedOut.into()),
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl Socket {
    /// Receives once; waits for that until the deadline.
    fn receive<T>(
        &self,
        deadline: Option<Instant>,
        mut receive: impl FnMut(RecvFlags) -> Result<T, Errno>,
    ) -> io::Result<T> {
        // Without a deadline the system waits, which saves a call.
        let flags = match deadline {
            None => RecvFlags::empty(),
            Some(_) => RecvFlags::DONTWAIT,
        };
        loop {
            match receive(flags) {
                Ok(received) => return Ok(received),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => wait(self.0.as_fd(), PollFlags::IN, deadline)?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Like [`read`](Stream::read), but what is read, at most [`SMALL_BUFFER`], is passed on to a function. So there is no buffer
    /// while this waits.
    #[cfg(feature = "tls")]
    pub(crate) fn read_with<T>(
        &self,
        deadline: Option<Instant>,
        mut with: impl FnMut(&[u8]) -> T,
    ) -> io::Result<T> {
        let mut space = [MaybeUninit::uninit(); SMALL_BUFFER];
        self.receive(deadline, |flags| {
            let ((bytes, _), _) = recv(&self.0, &mut space[..], flags)?;
            Ok(with(bytes))
        })
    }
}

impl Stream for Socket {
    fn read(&self, to: &mut [u8], deadline: Option<Instant>) -> io::Result<usize> {
        self.receive(deadline, |flags| Ok(recv(&self.0, &mut *to, flags)?.0))
    }

    fn write(&self, bytes: &[u8], deadline: Option<Instant>) -> io::Result<usize> {
        let flags = match deadline {
            None => SendFlags::NOSIGNAL,
            Some(_) => SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
        };
        loop {
            match send(&self.0, bytes, flags) {
                Ok(count) => return Ok(count),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => wait(self.0.as_fd(), PollFlags::OUT, deadline)?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn close(&self) {
        let _ended_already = shutdown(&self.0, Shutdown::Write);
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }

    fn is_plain(&self) -> bool {
        true
    }

    fn shared_descriptor(&self) -> Option<Arc<OwnedFd>> {
        Some(Arc::clone(&self.0))
    }
}

/// Writes all bytes.
pub(crate) fn write_all(
    stream: &dyn Stream,
    mut bytes: &[u8],
    deadline: Option<Instant>,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.write(bytes, deadline)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => bytes = &bytes[count..],
        }
    }
    Ok(())
}

/// Fills the buffer.
pub(crate) fn read_all(
    stream: &dyn Stream,
    mut to: &mut [u8],
    deadline: Option<Instant>,
) -> io::Result<()> {
    while !to.is_empty() {
        match stream.read(to, deadline)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => to = &mut to[count..],
        }
    }
    Ok(())
}
