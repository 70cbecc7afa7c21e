//! A proxy between the two programs of a session, which does to their bytes what networks do.

use rustix::net::sockopt::set_socket_linger;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// What happens to the bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// They arrive one at a time.
    SingleBytes,
    /// Each piece that is read arrives this much later.
    Delay(Duration),
    /// After that many bytes from the client, both directions end.
    CutFromClient(usize),
    /// After that many bytes from the server, both directions end.
    CutFromServer(usize),
    /// After that many bytes from the client, both connections are reset.
    ResetFromClient(usize),
    /// After that many bytes from the server, both connections are reset.
    ResetFromServer(usize),
}

/// How many bytes went through the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    pub from_client: usize,
    pub from_server: usize,
}

/// A proxy for one connection.
pub struct Proxy(Receiver<Traffic>);

/// A connection that the proxy passes on.
trait Connection: Read + Write + Send + Sized + 'static {
    fn copy(&self) -> io::Result<Self>;

    fn end(&self, how: Shutdown);

    /// Makes the end of the connection a reset. Systems reset only TCP.
    fn reset_at_end(&self);
}

impl Connection for UnixStream {
    fn copy(&self) -> io::Result<UnixStream> {
        self.try_clone()
    }

    fn end(&self, how: Shutdown) {
        // The other side may have ended it.
        let _ = self.shutdown(how);
    }

    fn reset_at_end(&self) {
        panic!("a Unix socket cannot be reset");
    }
}

impl Connection for TcpStream {
    fn copy(&self) -> io::Result<TcpStream> {
        self.try_clone()
    }

    fn end(&self, how: Shutdown) {
        let _ = self.shutdown(how);
    }

    fn reset_at_end(&self) {
        set_socket_linger(self, Some(Duration::ZERO)).expect("it is open");
    }
}

impl Proxy {
    /// Listens at the Unix socket `own` and passes the first connection on to `server`.
    pub fn between(own: &Path, server: &Path, fault: Fault) -> Proxy {
        let listener = UnixListener::bind(own).expect("the folder can be written");
        let server = server.to_owned();
        Proxy::start(fault, move || {
            let (client, _) = listener.accept().expect("the client connects");
            let server = UnixStream::connect(server).expect("the server listens");
            (client, server)
        })
    }

    /// Listens at the port `own` and passes the first connection on to the port `server`.
    pub fn between_ports(own: &str, server: &str, fault: Fault) -> Proxy {
        let listener = TcpListener::bind(own).expect("no other program listens there");
        let server = server.to_owned();
        Proxy::start(fault, move || {
            let (client, _) = listener.accept().expect("the client connects");
            let server = TcpStream::connect(server).expect("the server listens");
            for connection in [&client, &server] {
                connection.set_nodelay(true).expect("it is open");
            }
            (client, server)
        })
    }

    fn start<C: Connection>(
        fault: Fault,
        connect: impl FnOnce() -> (C, C) + Send + 'static,
    ) -> Proxy {
        let (done, traffic) = channel();
        thread::spawn(move || pass_both(connect(), fault, &done));
        Proxy(traffic)
    }

    /// Waits until the connection has ended.
    pub fn traffic(self) -> Traffic {
        let limit = Duration::from_secs(60);
        let traffic = self.0.recv_timeout(limit);
        traffic.expect("both sides close the connection")
    }
}

fn pass_both<C: Connection>((client, server): (C, C), fault: Fault, done: &Sender<Traffic>) {
    let [from_client, from_server] = [
        (&client, &server, cut(fault, true)),
        (&server, &client, cut(fault, false)),
    ]
    .map(|(from, to, limit)| {
        let from = from.copy().expect("a descriptor is free");
        let to = to.copy().expect("a descriptor is free");
        thread::spawn(move || pass(from, to, fault, limit))
    });
    let count = |passing: thread::JoinHandle<usize>| passing.join().expect("it does not panic");
    let traffic = Traffic {
        from_client: count(from_client),
        from_server: count(from_server),
    };
    // If they are to be reset, then now.
    drop((client, server));
    // The receiver is gone if the test has failed.
    let _ = done.send(traffic);
}

/// How many bytes of this direction pass before both directions end.
fn cut(fault: Fault, is_from_client: bool) -> Option<usize> {
    match (fault, is_from_client) {
        (Fault::CutFromClient(bytes) | Fault::ResetFromClient(bytes), true)
        | (Fault::CutFromServer(bytes) | Fault::ResetFromServer(bytes), false) => Some(bytes),
        (
            Fault::SingleBytes
            | Fault::Delay(_)
            | Fault::CutFromClient(_)
            | Fault::CutFromServer(_)
            | Fault::ResetFromClient(_)
            | Fault::ResetFromServer(_),
            _,
        ) => None,
    }
}

fn resets(fault: Fault) -> bool {
    matches!(fault, Fault::ResetFromClient(_) | Fault::ResetFromServer(_))
}

/// Passes bytes on until one side ends, or up to the limit, which ends both; returns how many it passed.
fn pass<C: Connection>(mut from: C, mut to: C, fault: Fault, limit: Option<usize>) -> usize {
    let mut passed = 0;
    let mut buffer = [0; 4096];
    loop {
        let space = match fault {
            Fault::SingleBytes => 1,
            Fault::Delay(_)
            | Fault::CutFromClient(_)
            | Fault::CutFromServer(_)
            | Fault::ResetFromClient(_)
            | Fault::ResetFromServer(_) => buffer.len(),
        };
        let space = limit.map_or(space, |limit| space.min(limit - passed));
        if space == 0 && resets(fault) {
            from.reset_at_end();
            to.reset_at_end();
            // The other thread, which reads, ends, and the last copies of both are closed. Neither peer learns anything before that.
            from.end(Shutdown::Read);
            to.end(Shutdown::Read);
            return passed;
        }
        if space == 0 {
            // A connection that breaks, as when a cable is cut: neither side has said anything.
            from.end(Shutdown::Both);
            to.end(Shutdown::Both);
            return passed;
        }
        let read = match from.read(&mut buffer[..space]) {
            Ok(0) | Err(_) if resets(fault) && limit.is_none() => return passed,
            Ok(0) | Err(_) => {
                to.end(Shutdown::Write);
                return passed;
            }
            Ok(read) => read,
        };
        if let Fault::Delay(delay) = fault {
            thread::sleep(delay);
        }
        if to.write_all(&buffer[..read]).is_err() {
            from.end(Shutdown::Read);
            return passed;
        }
        passed += read;
    }
}
