//! Addresses at which programs meet.

use crate::socket::tls::{self, Tls};
use crate::socket::{Credentials, Socket, connect};
use duologue_project::Failure;
use std::io;
use std::net::{TcpListener, TcpStream};
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};
#[cfg(unix)]
use std::path::PathBuf;
use std::time::Instant;

/// Where a program is reached.
pub struct Address {
    /// As it was written.
    pub text: String,
    place: Place,
}

enum Place {
    #[cfg(unix)]
    Unix(PathBuf),
    /// A host and a port.
    Tcp(String),
    Tls(String, Tls),
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// What is wrong with it, or with the files that it needs.
    pub fn parse(text: &str, credentials: &Credentials) -> Result<Address, Failure> {
        let usage = |words: &str| usage!("`{text}`: {words}");
        let place = if let Some(path) = text.strip_prefix("unix:") {
            if path.is_empty() {
                return Err(usage("the path is missing"));
            }
            #[cfg(unix)]
            let place = Place::Unix(path.into());
            #[cfg(not(unix))]
            return Err(usage("there are no Unix sockets on this system"));
            #[cfg(unix)]
            place
        } else if let Some(place) = text.strip_prefix("tcp://") {
            check_port(place).map_err(usage)?;
            Place::Tcp(place.to_owned())
        } else if let Some(place) = text.strip_prefix("tls://") {
            check_port(place).map_err(usage)?;
            Place::Tls(place.to_owned(), Tls::new(place, credentials)?)
        } else {
            return Err(usage("its scheme is not `unix:`, `tcp://` or `tls://`"));
        };
        let text = text.to_owned();
        Ok(Address { text, place })
    }

    /// Opens a connection.
    pub fn open(&self, deadline: Instant) -> io::Result<Box<dyn Socket>> {
        Ok(match &self.place {
            #[cfg(unix)]
            Place::Unix(path) => Box::new(connect_unix(path, deadline)?),
            Place::Tcp(place) => Box::new(connect(place, deadline)?),
            Place::Tls(place, tls) => tls::connect(tls, connect(place, deadline)?, deadline)?,
        })
    }
}

/// Where other programs connect to this one.
pub struct Lobby {
    /// Its address, with the port that the system has chosen.
    pub text: String,
    listener: Listener,
}

enum Listener {
    #[cfg(unix)]
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
    Tls(TcpListener, Tls),
}

impl Lobby {
    /// Begins to listen.
    ///
    /// # Errors
    /// If the system does not let this side listen there.
    pub fn open(address: Address) -> Result<Lobby, Failure> {
        let mut text = address.text;
        let opened = match address.place {
            #[cfg(unix)]
            Place::Unix(path) => UnixListener::bind(&path).and_then(|listener| {
                listener.set_nonblocking(true)?;
                Ok(Listener::Unix(listener, path))
            }),
            Place::Tcp(place) => listen(&place).map(Listener::Tcp),
            Place::Tls(place, tls) => listen(&place).map(|listener| Listener::Tls(listener, tls)),
        };
        let listener =
            opened.map_err(|error| environment!("cannot listen at `{text}`: {error}"))?;
        if let Listener::Tcp(socket) | Listener::Tls(socket, _) = &listener
            && let Some(begin) = text.strip_suffix(":0")
            && let Ok(own) = socket.local_addr()
        {
            text = format!("{begin}:{}", own.port());
        }
        Ok(Lobby { text, listener })
    }

    /// A connection, if one is waiting.
    pub fn accept(&self, deadline: Instant) -> io::Result<Option<Box<dyn Socket>>> {
        let accepted = match &self.listener {
            #[cfg(unix)]
            Listener::Unix(listener, _) => listener.accept().and_then(|(socket, _)| {
                socket.set_nonblocking(false)?;
                Ok(Box::new(socket) as Box<dyn Socket>)
            }),
            Listener::Tcp(listener) => accept(listener).map(|socket| Box::new(socket) as _),
            Listener::Tls(listener, tls) => {
                accept(listener).and_then(|socket| tls::accept(tls, socket, deadline))
            }
        };
        match accepted {
            Ok(socket) => Ok(Some(socket)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Lobby {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Listener::Unix(_, path) = &self.listener {
            // Somebody else may have removed it.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn listen(place: &str) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(place)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let (socket, _) = listener.accept()?;
    socket.set_nonblocking(false)?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

fn check_port(place: &str) -> Result<(), &'static str> {
    let port = place.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    match port {
        Some(Ok(_)) => Ok(()),
        None | Some(Err(_)) => Err("the port is missing, or is not a number below 65536"),
    }
}

/// Connects to a Unix socket. While the queue of the server is full the system call waits without a limit, so another thread makes it. If it is
/// too late, that thread closes the connection.
#[cfg(unix)]
fn connect_unix(path: &std::path::Path, deadline: Instant) -> io::Result<UnixStream> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let path = path.to_owned();
    std::thread::Builder::new().spawn(move || {
        // The receiver may be gone.
        let _ = sender.send(UnixStream::connect(path));
    })?;
    let left = deadline.saturating_duration_since(Instant::now());
    match receiver.recv_timeout(left) {
        Ok(socket) => socket,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
