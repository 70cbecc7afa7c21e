//! The addresses of listeners.

use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{connect, socket_with, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::transport::stream::{is_early, left, Socket};
use crate::Error;

/// How long to wait before another attempt to connect: at first, and at most.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Where a listener is: `unix:/run/bank.sock`, `tcp://host:7000`, `tcp://[::1]:7000` or `tls://host:7000`.
///
/// ```
/// let address: duologue_net::Address = "tcp://127.0.0.1:7000".parse()?;
/// assert_eq!(address.to_string(), "tcp://127.0.0.1:7000");
/// # Ok::<(), duologue_net::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// A Unix socket with this path.
    Unix(PathBuf),
    /// A TCP port, with its host: `host:port`.
    Tcp(String),
    /// A TCP port for sessions over TLS, with its host: `host:port`.
    Tls(String),
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Address, Error> {
        let wrong = |problem| Error::Address {
            text: text.to_owned(),
            problem,
        };
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err(wrong("the path is missing")),
                path => Ok(Address::Unix(path.into())),
            };
        }
        let (rest, is_tls) = match (text.strip_prefix("tcp://"), text.strip_prefix("tls://")) {
            (Some(rest), _) => (rest, false),
            (None, Some(rest)) => (rest, true),
            (None, None) => {
                return Err(wrong("its scheme is not `unix:`, `tcp://` or `tls://`"));
            }
        };
        check_host(rest).map_err(wrong)?;
        let rest = rest.to_owned();
        Ok(if is_tls {
            Address::Tls(rest)
        } else {
            Address::Tcp(rest)
        })
    }
}

/// Fails if this is not `host:port`.
fn check_host(text: &str) -> Result<(), &'static str> {
    let (host, port) = text.rsplit_once(':').ok_or("the port is missing")?;
    if port.parse::<u16>().is_err() {
        return Err("the port is not a number below 65536");
    }
    let is_bracketed = host.starts_with('[') && host.ends_with(']');
    if host.is_empty() || host.contains(':') && !is_bracketed || host.contains('/') {
        return Err("the host is missing, or is an IPv6 address without brackets");
    }
    if host.contains('@') {
        return Err("it has a user; pass credentials as options, so that addresses can be logged");
    }
    Ok(())
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Tcp(host) => write!(f, "tcp://{host}"),
            Address::Tls(host) => write!(f, "tls://{host}"),
        }
    }
}

impl Address {
    /// The address of a TCP port.
    fn of_host(host: String, is_tls: bool) -> Address {
        if is_tls {
            Address::Tls(host)
        } else {
            Address::Tcp(host)
        }
    }

    pub(crate) fn is_tls(&self) -> bool {
        matches!(self, Address::Tls(_))
    }

    /// The host that a certificate is checked for, if there is one.
    pub(crate) fn tls_host(&self) -> Option<&str> {
        match self {
            Address::Tls(host) => Some(host.rsplit_once(':').map_or(host, |(host, _)| host)),
            Address::Unix(_) | Address::Tcp(_) => None,
        }
    }

    /// Connects a socket.
    pub(crate) fn connect(&self, deadline: Instant) -> Result<Socket, Error> {
        let failed = |source: io::Error| {
            if is_early(&source) {
                return Error::TimedOut;
            }
            Error::Io {
                what: format!("connect to {self}"),
                source,
            }
        };
        match self {
            Address::Unix(path) => connect_unix(path, deadline)
                .map(|stream| Socket::of(stream.into()))
                .map_err(failed),
            Address::Tcp(host) | Address::Tls(host) => {
                let mut last = None;
                for at in host.to_socket_addrs().map_err(failed)? {
                    let Some(left) = left(deadline) else { break };
                    match TcpStream::connect_timeout(&at, left) {
                        Ok(stream) => {
                            stream.set_nodelay(true).map_err(failed)?;
                            return Ok(Socket::of(stream.into()));
                        }
                        Err(error) => last = Some(error),
                    }
                }
                Err(last.map_or(Error::TimedOut, failed))
            }
        }
    }

    pub(crate) fn bind(&self) -> Result<Bound, Error> {
        let failed = |source| Error::Io {
            what: format!("listen on {self}"),
            source,
        };
        match self {
            Address::Unix(path) => {
                let listener = match UnixListener::bind(path) {
                    Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_stale(path) => {
                        fs::remove_file(path).map_err(failed)?;
                        UnixListener::bind(path)
                    }
                    bound => bound,
                };
                Ok(Bound::Unix(listener.map_err(failed)?, path.clone()))
            }
            Address::Tcp(host) | Address::Tls(host) => {
                let all: Vec<SocketAddr> = host.to_socket_addrs().map_err(failed)?.collect();
                let listener = TcpListener::bind(&all[..]).map_err(failed)?;
                Ok(Bound::Tcp(listener, self.is_tls()))
            }
        }
    }
}

/// Connects to a Unix socket. While the listener's backlog is full, tries again until the deadline.
fn connect_unix(path: &Path, deadline: Instant) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let mut pause = SHORTEST_PAUSE;
    loop {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        match connect(&socket, &address) {
            Ok(()) => {
                let stream = UnixStream::from(socket);
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(Errno::INTR) => {}
            // The system does not report when the backlog has space again.
            Err(Errno::AGAIN) => {
                let left = left(deadline).ok_or(io::ErrorKind::TimedOut)?;
                thread::sleep(pause.min(left));
                pause = (2 * pause).min(LONGEST_PAUSE);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether this is a socket on which no process listens: a file left behind when its program was
/// killed.
fn is_stale(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    // A listener whose backlog is full still listens.
    let refused = || match connect_unix(path, Instant::now()) {
        Ok(_) => false,
        Err(error) => error.kind() == io::ErrorKind::ConnectionRefused,
    };
    is_socket && refused()
}

/// What counts as one peer of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// An IPv4 address.
    Host([u8; 4]),
    /// The first half of an IPv6 address: the network's owner can choose the other half.
    Network([u8; 8]),
    /// A user of this system, over a Unix socket.
    User(u32),
    /// The system does not know.
    Unknown,
}

impl Origin {
    fn of_ip(ip: IpAddr) -> Origin {
        match ip.to_canonical() {
            IpAddr::V4(ip) => Origin::Host(ip.octets()),
            IpAddr::V6(ip) => {
                let mut network = [0; 8];
                network.copy_from_slice(&ip.octets()[..8]);
                Origin::Network(network)
            }
        }
    }

    fn of_user(stream: &UnixStream) -> Origin {
        let credentials = socket_peercred(stream);
        credentials.map_or(Origin::Unknown, |credentials| {
            Origin::User(credentials.uid.as_raw())
        })
    }
}

/// A connection, and where it comes from. The other end of a Unix socket has no address.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) socket: Socket,
    pub(crate) peer: Option<Address>,
    pub(crate) origin: Origin,
}

/// A socket that listens.
#[derive(Debug)]
pub(crate) enum Bound {
    Unix(UnixListener, PathBuf),
    /// The second value: whether it is for sessions over TLS.
    Tcp(TcpListener, bool),
}

impl Bound {
    pub(crate) fn address(&self) -> Address {
        match self {
            Bound::Unix(_, path) => Address::Unix(path.clone()),
            Bound::Tcp(listener, is_tls) => {
                let address = listener.local_addr();
                let text = address.map_or("unknown:0".to_owned(), |address| address.to_string());
                Address::of_host(text, *is_tls)
            }
        }
    }

    pub(crate) fn accept(&self) -> io::Result<Incoming> {
        match self {
            Bound::Unix(listener, _) => {
                let stream = listener.accept()?.0;
                Ok(Incoming {
                    peer: None,
                    origin: Origin::of_user(&stream),
                    socket: Socket::of(stream.into()),
                })
            }
            Bound::Tcp(listener, is_tls) => {
                let (stream, peer) = listener.accept()?;
                // On some systems this fails if the peer is gone, which the next read reports.
                let _gone = stream.set_nodelay(true);
                Ok(Incoming {
                    origin: Origin::of_ip(peer.ip()),
                    peer: Some(Address::of_host(peer.to_string(), *is_tls)),
                    socket: Socket::of(stream.into()),
                })
            }
        }
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Bound::Unix(listener, _) => listener.as_fd(),
            Bound::Tcp(listener, _) => listener.as_fd(),
        }
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if let Bound::Unix(_, path) = self {
            let _gone = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use rustix::net::{bind, listen};

    /// A listener with the smallest backlog that the system allows, which is full.
    fn full(path: &Path) -> (UnixListener, Vec<UnixStream>) {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let socket = socket.expect("there are descriptors");
        let _stale = fs::remove_file(path);
        let address = SocketAddrUnix::new(path).expect("the path is short");
        bind(&socket, &address).expect("no other listener uses the path");
        listen(&socket, 0).expect("it is bound");
        let connect = || connect_unix(path, Instant::now());
        let taken = std::iter::from_fn(|| connect().ok()).collect();
        (UnixListener::from(socket), taken)
    }

    #[test]
    fn peers_are_hosts_networks_and_users() {
        let of = |text: &str| Origin::of_ip(text.parse().expect("it is an address"));
        assert_eq!(of("10.0.0.1"), of("::ffff:10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:0:0:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        let (one, other) = UnixStream::pair().expect("there are descriptors");
        assert!(matches!(Origin::of_user(&one), Origin::User(_)));
        assert_eq!(Origin::of_user(&one), Origin::of_user(&other));
    }

    #[test]
    fn waiting_for_a_full_backlog_has_a_limit() {
        let path = std::env::temp_dir().join(format!("duologue-{}-full", std::process::id()));
        let (listener, taken) = full(&path);
        assert!(!taken.is_empty());
        let soon = Instant::now() + Duration::from_millis(20);
        let error = connect_unix(&path, soon).expect_err("there is no place");
        assert!(is_early(&error), "{error}");
        let address = Address::Unix(path.clone());
        let timed_out = address.connect(soon).map(drop);
        assert!(matches!(timed_out, Err(Error::TimedOut)), "{timed_out:?}");
        // A listener is there, though it is busy.
        let in_use = address.bind().map(drop);
        assert!(matches!(in_use, Err(Error::Io { .. })), "{in_use:?}");

        let accepting = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            let accepted = listener.accept().expect("connections wait");
            (listener, accepted)
        });
        connect_unix(&path, Instant::now() + Duration::from_secs(30)).expect("there is a place");
        drop(accepting.join().expect("it does not panic"));
        fs::remove_file(&path).expect("it is there");
    }
}
