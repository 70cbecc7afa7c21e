//! Connections to a program in another process.

use super::{Failure, needs_native};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// A connection that carries bytes in order.
pub trait Socket: Read + Write {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()>;

    /// Ends what this side sends.
    fn end(&self) -> io::Result<()>;
}

impl Socket for TcpStream {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(timeout))?;
        self.set_write_timeout(Some(timeout))
    }

    fn end(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

#[cfg(unix)]
impl Socket for std::os::unix::net::UnixStream {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(timeout))?;
        self.set_write_timeout(Some(timeout))
    }

    fn end(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

/// Opens a connection for a command. The outer error is that of the address.
pub fn open(
    address: &str,
    deadline: Instant,
    command: &str,
) -> Result<io::Result<Box<dyn Socket>>, Failure> {
    needs_native(format_args!("`{command} --connect`"), "sockets")?;
    let usage = |words: &str| Err(Failure::Usage(format!("`{address}`: {words}")));
    if let Some(path) = address.strip_prefix("unix:") {
        if path.is_empty() {
            return usage("the path is missing");
        }
        #[cfg(unix)]
        return Ok(
            std::os::unix::net::UnixStream::connect(path).map(|socket| Box::new(socket) as _)
        );
        #[cfg(not(unix))]
        return usage("there are no Unix sockets on this system");
    }
    if let Some(place) = address.strip_prefix("tcp://") {
        if place
            .rsplit_once(':')
            .is_none_or(|(_, port)| port.parse::<u16>().is_err())
        {
            return usage("the port is missing, or is not a number below 65536");
        }
        let socket = connect(place, deadline).and_then(|socket| {
            socket.set_nodelay(true)?;
            Ok(Box::new(socket) as _)
        });
        return Ok(socket);
    }
    if address.starts_with("tls://") {
        return usage(&format!("`{command}` has no TLS: use `unix:` or `tcp://`"));
    }
    usage("its scheme is not `unix:` or `tcp://`")
}

/// Connects to the first of the addresses of a host that accepts.
fn connect(place: &str, deadline: Instant) -> io::Result<TcpStream> {
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in place.to_socket_addrs()? {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(socket) => return Ok(socket),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

pub fn is_late(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
    )
}

pub fn reason(error: &io::Error) -> String {
    match is_late(error) {
        true => "there was no answer in time".to_owned(),
        false => error.to_string(),
    }
}

/// Writes all bytes, however slowly the other side reads, until the deadline.
pub fn write_all(socket: &mut dyn Socket, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_timeout(left)?;
        match socket.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(length) => bytes = &bytes[length..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads what has arrived, or waits for it until the deadline. Returns 0 at the end of the connection.
pub fn read(socket: &mut dyn Socket, bytes: &mut [u8], deadline: Instant) -> io::Result<usize> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_timeout(left)?;
        match socket.read(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}
