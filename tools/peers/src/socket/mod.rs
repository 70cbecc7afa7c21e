//! Connections to a program in another process.

#[cfg_attr(target_family = "wasm", path = "no_tls.rs")]
pub mod tls;

use clap::Args;
use duologue::fingerprint::Fingerprint;
use duologue::relation::View;
use duologue::wire::Plan;
use duologue_project::Failure;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A connection that carries bytes in order.
pub trait Socket: Read + Write {
    /// Limits how long a read or a write waits.
    ///
    /// # Errors
    /// The system refuses it.
    fn set_timeout(&mut self, timeout: Duration) -> io::Result<()>;

    /// Ends what this side sends.
    fn end(&mut self) -> io::Result<()>;
}

impl Socket for TcpStream {
    fn set_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(timeout))?;
        self.set_write_timeout(Some(timeout))
    }

    fn end(&mut self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

#[cfg(unix)]
impl Socket for UnixStream {
    fn set_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(timeout))?;
        self.set_write_timeout(Some(timeout))
    }

    fn end(&mut self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

/// What a connection needs besides its address.
#[derive(Debug, Default, Args)]
pub struct Credentials {
    /// The certificates of the authorities to trust, in PEM, for addresses tls://HOST:PORT
    #[arg(long, value_name = "FILE")]
    pub authorities: Option<PathBuf>,
    /// The certificate of this side, in PEM, for addresses tls://HOST:PORT
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    /// The private key of that certificate, in PEM
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// The name that the other side's certificate must have, if it is not the host of the address
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,
    /// A token that the hello carries, for servers that admit by it
    #[arg(long, value_name = "TEXT")]
    pub token: Option<String>,
}

/// How many bytes a token has at most, so that it fits into a hello with the longest name.
const LONGEST_TOKEN: usize = 2_048;

impl Credentials {
    /// The token, if there is one.
    pub fn token(&self) -> Result<Option<&str>, Failure> {
        match self.token.as_deref() {
            Some(token) if token.len() > LONGEST_TOKEN => Err(usage!(
                "the token has {} bytes: at most {LONGEST_TOKEN} are sent",
                token.len()
            )),
            token => Ok(token),
        }
    }
}

/// The fingerprint of a protocol that two processes can speak.
pub fn fingerprint(view: View<'_>) -> Result<Fingerprint, Failure> {
    let name = view.name();
    let plan =
        Plan::of(view).map_err(|obstacle| usage!("`{name}` stays in one process: {obstacle}"))?;
    plan.fingerprint.ok_or_else(|| {
        usage!("`{name}` has type parameters: name an instance, as in FILE#INSTANCE")
    })
}

/// Whether a read or a write has taken too long.
#[must_use]
pub fn is_late(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
    )
}

/// Why a read or a write has failed.
#[must_use]
pub fn reason(error: &io::Error) -> String {
    match is_late(error) {
        true => "there was no answer in time".to_owned(),
        false => error.to_string(),
    }
}

/// Writes all bytes, however slowly the other side reads, until the deadline.
pub fn write_all(socket: &mut dyn Socket, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        set_deadline(socket, deadline)?;
        match socket.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(length) => bytes = &bytes[length..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    set_deadline(socket, deadline)?;
    socket.flush()
}

fn set_deadline(socket: &mut dyn Socket, deadline: Instant) -> io::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    socket.set_timeout(left)
}

/// Reads what has arrived, or waits for it until the deadline. Returns 0 at the end of the connection.
pub fn read(socket: &mut dyn Socket, bytes: &mut [u8], deadline: Instant) -> io::Result<usize> {
    loop {
        set_deadline(socket, deadline)?;
        match socket.read(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Connects over TCP to the first of the addresses of a host that accepts.
pub fn connect(place: &str, deadline: Instant) -> io::Result<TcpStream> {
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in place.to_socket_addrs()? {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                return Ok(socket);
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}
