//! A connection over TLS.
//!
//! # Locks
//!
//! `received` is held by the thread that reads, and `out` by the one that writes, even while they wait for the socket.
//! `connection` is held only while bytes are encrypted or decrypted, never while a thread waits. It is taken after one
//! of the others, so a thread that reads does not hold up one that writes.
//!
//! # Memory
//!
//! What an idle connection keeps is a buffer of 4 KiB inside rustls. As long as the session reads little at once, what comes is read
//! into the stack, and passed on to rustls from there. A buffer for whole records is there from when the session reads more, until
//! it shrinks its own.

use std::io::{self, Read, Write};
use std::mem;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rustls::Connection;

use super::{failure, ALPN};
use crate::core::SMALL_BUFFER;
use crate::sync::lock;
use crate::transport::stream::{is_early, is_late, Socket, Stream};
use crate::Error;

/// How much is read from the socket at once if the session reads more than [`SMALL_BUFFER`]: a record of the maximum size, with
/// its header.
const READ: usize = 17 << 10;
/// How much is encrypted and then written at once: without a deadline, and with one.
const LONG_WRITE: usize = 64 << 10;
const SHORT_WRITE: usize = 4 << 10;
/// How much may be read after a deadline without a byte for the session, and after a failed handshake.
const MOST_WITHOUT_DATA: usize = 64 << 10;

pub(super) struct TlsStream {
    socket: Socket,
    connection: Mutex<Connection>,
    received: Mutex<Received>,
    out: Mutex<Out>,
    /// Whether bytes that were read from the socket may be waiting.
    has_more: AtomicBool,
}

/// What was read from the socket and not decrypted yet: `bytes[start..end]`.
struct Received {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Whether the socket has ended.
    is_over: bool,
    /// Whether the connection has failed. It then reports the same error again.
    has_failed: bool,
}

impl Received {
    /// Keeps what rustls has not taken.
    fn keep(&mut self, bytes: &[u8]) {
        (self.start, self.end) = (0, bytes.len());
        if !bytes.is_empty() {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
        }
    }
}

/// Passes bytes on to rustls. Returns what it has not taken.
fn pass_on<'b>(connection: &mut Connection, mut bytes: &'b [u8]) -> io::Result<&'b [u8]> {
    // Bytes after the end of the stream are ignored.
    match connection.read_tls(&mut bytes)? {
        0 => Ok(&[]),
        _ => Ok(bytes),
    }
}

/// A socket on which nothing has arrived.
struct Nothing;

impl Read for Nothing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }
}

/// What was encrypted. The socket has accepted the first `sent` bytes.
struct Out {
    bytes: Vec<u8>,
    sent: usize,
    /// How many of the session's bytes it contains. They are reported as written once all of it has been sent.
    taken: usize,
}

impl Out {
    /// Adds what the connection has to send.
    fn collect(&mut self, connection: &mut Connection) -> io::Result<()> {
        while connection.wants_write() {
            connection.write_tls(&mut self.bytes)?;
        }
        Ok(())
    }

    fn send(&mut self, socket: &Socket, deadline: Option<Instant>) -> io::Result<()> {
        while self.sent < self.bytes.len() {
            self.sent += socket.write(&self.bytes[self.sent..], deadline)?;
        }
        self.bytes.clear();
        self.bytes.shrink_to(2 * LONG_WRITE);
        self.sent = 0;
        Ok(())
    }
}

impl TlsStream {
    pub(super) fn new(socket: Socket, mut connection: Connection) -> TlsStream {
        // No limit is needed: what is written to the connection is taken out of it at once.
        connection.set_buffer_limit(None);
        TlsStream {
            socket,
            connection: Mutex::new(connection),
            received: Mutex::new(Received {
                bytes: Vec::new(),
                start: 0,
                end: 0,
                is_over: false,
                has_failed: false,
            }),
            out: Mutex::new(Out {
                bytes: Vec::new(),
                sent: 0,
                taken: 0,
            }),
            has_more: AtomicBool::new(false),
        }
    }

    /// Agrees with the other side on keys and on the protocol.
    pub(super) fn handshake(&self, deadline: Instant) -> Result<(), Error> {
        let until = Some(deadline);
        let is_client = matches!(*lock(&self.connection), Connection::Client(_));
        let failed = |error: io::Error| {
            if is_early(&error) {
                return Error::TimedOut;
            }
            super::failure(&error).unwrap_or_else(|| {
                let advice = match is_client {
                    true => ": check that it listens at a `tls://` address",
                    false => "",
                };
                failure::failed(&format!(
                    "the other side closed the connection during the handshake ({error}){advice}"
                ))
            })
        };
        let mut received = lock(&self.received);
        loop {
            self.send_pending(until).map_err(failed)?;
            let connection = lock(&self.connection);
            let is_over = !connection.is_handshaking();
            let speaks = connection.alpn_protocol() == Some(ALPN);
            drop(connection);
            if is_over {
                // The messages of the session are smaller than those of the handshake.
                lock(&self.out).bytes = Vec::new();
                return match speaks {
                    true => Ok(()),
                    false => Err(failure::failed(failure::NO_PROTOCOL)),
                };
            }
            // A peer that keeps sending does not prolong the handshake.
            if is_late(until) {
                return Err(Error::TimedOut);
            }
            self.receive(&mut received, 0, until).map_err(failed)?;
            self.decrypt(&mut received).map_err(failed)?;
        }
    }

    /// Ends a connection whose handshake failed. The other side receives the reason, if the socket takes it at once.
    pub(super) fn abandon(&self) {
        let mut connection = lock(&self.connection);
        // The handshake is over, and only the ALPN protocol is wrong, so rustls has no alert to send.
        if !connection.is_handshaking() {
            connection.send_close_notify();
        }
        drop(connection);
        // The first error was reported.
        let _also_failed = self.send_pending(Some(Instant::now()));
        self.socket.close();
    }

    /// Reads and discards what arrives, until the other side closes the connection or the deadline has passed.
    pub(super) fn read_off(&self, deadline: Instant) {
        let _reading = lock(&self.received);
        let mut count = 0;
        while count < MOST_WITHOUT_DATA && !is_late(Some(deadline)) {
            match self.socket.read_with(Some(deadline), <[u8]>::len) {
                Ok(read) if read > 0 => count += read,
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// Sends what TLS itself has to send, such as the messages of the handshake.
    fn send_pending(&self, deadline: Option<Instant>) -> io::Result<()> {
        let mut out = lock(&self.out);
        out.collect(&mut lock(&self.connection))?;
        out.send(&self.socket, deadline)
    }

    /// Reads from the socket, if everything read before was decrypted. Returns how many bytes came. `wanted`: how many the
    /// session reads at once.
    fn receive(
        &self,
        received: &mut Received,
        wanted: usize,
        deadline: Option<Instant>,
    ) -> io::Result<usize> {
        if received.start < received.end || received.has_failed {
            return Ok(0);
        }
        let count = if wanted > SMALL_BUFFER {
            received.bytes.resize(READ, 0);
            let count = self.socket.read(&mut received.bytes, deadline)?;
            (received.start, received.end) = (0, count);
            count
        } else {
            let read = self.socket.read_with(deadline, |bytes| {
                if !bytes.is_empty() {
                    received.keep(pass_on(&mut lock(&self.connection), bytes)?);
                }
                Ok::<_, io::Error>(bytes.len())
            });
            read??
        };
        if count == 0 {
            received.is_over = true;
            // So the connection distinguishes an end with `close_notify` from one without it.
            lock(&self.connection).read_tls(&mut io::empty())?;
        }
        Ok(count)
    }

    /// Decrypts what was read. If that fails, the other side receives the reason.
    fn decrypt(&self, received: &mut Received) -> io::Result<()> {
        let mut connection = lock(&self.connection);
        // rustls accepts more only when it has processed what it has and nothing decrypted waits. Otherwise it fails, as its buffers
        // are full, and the connection with it.
        let mut processed = connection.process_new_packets();
        let is_read = matches!(&processed, Ok(state) if state.plaintext_bytes_to_read() == 0);
        if is_read && received.start < received.end {
            let bytes = &received.bytes[received.start..received.end];
            received.start = received.end - pass_on(&mut connection, bytes)?.len();
            processed = connection.process_new_packets();
        }
        let at_end = received.is_over && connection.is_handshaking();
        drop(connection);
        if let Err(error) = processed {
            received.has_failed = true;
            if let Ok(mut out) = self.out.try_lock() {
                // A thread that is writing also sends the reason.
                let _collected = out.collect(&mut lock(&self.connection));
                let _failed_already = out.send(&self.socket, Some(Instant::now()));
            }
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        if at_end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// What was decrypted; `None` if more has to be read first.
    fn take(&self, received: &Received, to: &mut [u8]) -> io::Result<Option<usize>> {
        let mut connection = lock(&self.connection);
        match connection.reader().read(to) {
            Ok(count) => {
                let decrypted = connection.process_new_packets();
                let is_more = decrypted.map_or(true, |state| {
                    state.plaintext_bytes_to_read() > 0 || state.peer_has_closed()
                });
                let is_more = is_more || received.start < received.end;
                self.has_more.store(is_more && count > 0, SeqCst);
                Ok(Some(count))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Stream for TlsStream {
    fn read(&self, to: &mut [u8], deadline: Option<Instant>) -> io::Result<usize> {
        let mut received = lock(&self.received);
        let mut count = 0;
        loop {
            if let Some(count) = self.take(&received, to)? {
                return Ok(count);
            }
            if received.start == received.end {
                self.has_more.store(false, SeqCst);
                // A peer that sends records without data does not hold the thread up.
                if count > MOST_WITHOUT_DATA && is_late(deadline) {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                count += self.receive(&mut received, to.len(), deadline)?;
            }
            if let Err(error) = self.decrypt(&mut received) {
                // What was decrypted before the failure is delivered first.
                return self.take(&received, to)?.ok_or(error);
            }
        }
    }

    /// After [`TimedOut`](io::ErrorKind::TimedOut) the caller must pass the same bytes again: they may already be encrypted.
    fn write(&self, bytes: &[u8], deadline: Option<Instant>) -> io::Result<usize> {
        let mut out = lock(&self.out);
        if out.taken == 0 {
            let most = match deadline {
                None => LONG_WRITE,
                Some(_) => SHORT_WRITE,
            };
            let mut connection = lock(&self.connection);
            out.taken = connection.writer().write(&bytes[..bytes.len().min(most)])?;
            out.collect(&mut connection)?;
        }
        out.send(&self.socket, deadline)?;
        // After a failure that ended the session, the caller may pass fewer bytes.
        Ok(mem::take(&mut out.taken).min(bytes.len()))
    }

    fn close(&self) {
        if let Ok(mut out) = self.out.try_lock() {
            let mut connection = lock(&self.connection);
            connection.send_close_notify();
            let collected = out.collect(&mut connection);
            drop(connection);
            // If the socket does not accept it at once, the session is lost for the other side.
            let _lost = collected.and_then(|()| out.send(&self.socket, Some(Instant::now())));
        }
        self.socket.close();
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.socket.descriptor()
    }

    fn has_more(&self) -> bool {
        self.has_more.load(SeqCst)
    }

    fn shared_descriptor(&self) -> Option<Arc<OwnedFd>> {
        self.socket.shared_descriptor()
    }

    fn shrink(&self) {
        // A thread that holds one of the locks uses the buffers.
        if let Ok(mut received) = self.received.try_lock() {
            if received.start == received.end {
                received.bytes = Vec::new();
            }
            if let Ok(mut connection) = self.connection.try_lock() {
                // Before it reads, rustls adapts its buffer to what is in it.
                let _nothing = connection.read_tls(&mut Nothing);
            }
        }
        if let Ok(mut out) = self.out.try_lock() {
            if out.bytes.is_empty() {
                out.bytes = Vec::new();
            }
        }
    }

    fn certificate(&self) -> Option<Vec<u8>> {
        let connection = lock(&self.connection);
        Some(connection.peer_certificates()?.first()?.to_vec())
    }
}
