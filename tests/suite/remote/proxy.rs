//! A proxy between the two programs of a session, which does to their bytes what networks do.

use rustix::net::sockopt::set_socket_linger;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// Longer than anything takes that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// What happens to the bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// They arrive one at a time.
    SingleBytes,
    /// They arrive in pieces of at most this size.
    Pieces(usize),
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
    /// After that many bytes from the client, its bytes are lost. Both connections stay open.
    StopFromClient(usize),
    /// After that many bytes from the server, its bytes are lost. Both connections stay open.
    StopFromServer(usize),
    /// After that many bytes from the client, the others wait for [`Proxy::release`].
    HoldFromClient(usize),
}

impl Fault {
    /// The side that does not get everything.
    pub fn deprived(self) -> Option<&'static str> {
        match self {
            Fault::CutFromClient(_) | Fault::ResetFromClient(_) | Fault::StopFromClient(_) => {
                Some("server")
            }
            Fault::CutFromServer(_) | Fault::ResetFromServer(_) | Fault::StopFromServer(_) => {
                Some("client")
            }
            Fault::SingleBytes | Fault::Pieces(_) | Fault::Delay(_) | Fault::HoldFromClient(_) => {
                None
            }
        }
    }
}

/// What happens to a direction after the bytes that pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Cut,
    Reset,
    Stop,
    Hold,
}

/// How many bytes went through the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    pub from_client: usize,
    pub from_server: usize,
}

/// A proxy for one connection.
pub struct Proxy {
    traffic: Receiver<Traffic>,
    held: Receiver<()>,
    release: Sender<()>,
}

/// Where a direction is held: it reports that, and waits.
struct Gate {
    held: Sender<()>,
    release: Receiver<()>,
}

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
        Proxy::of(listener, server.to_owned(), fault)
    }

    /// Listens at a free port, which is returned, and passes the first connection on to the port `server`.
    pub fn before(server: &str, fault: Fault) -> (Proxy, String) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let own = listener.local_addr().expect("it listens").to_string();
        (Proxy::of(listener, server.to_owned(), fault), own)
    }

    fn of(listener: TcpListener, server: String, fault: Fault) -> Proxy {
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
        let (report, held) = channel();
        let (release, released) = channel();
        let gate = Gate {
            held: report,
            release: released,
        };
        thread::spawn(move || pass_both(connect(), fault, gate, &done));
        Proxy {
            traffic,
            held,
            release,
        }
    }

    /// Waits until the client's bytes are held.
    pub fn held(&self) {
        let held = self.held.recv_timeout(PATIENCE);
        held.expect("the client sends that much");
    }

    /// Passes on what was held, and what follows.
    pub fn release(&self) {
        self.release.send(()).expect("the proxy waits for it");
    }

    /// Waits until the connection has ended.
    pub fn traffic(self) -> Traffic {
        let traffic = self.traffic.recv_timeout(PATIENCE);
        traffic.expect("both sides close the connection")
    }
}

fn pass_both<C: Connection>(
    (client, server): (C, C),
    fault: Fault,
    gate: Gate,
    done: &Sender<Traffic>,
) {
    let [from_client, from_server] = [
        (&client, &server, limit(fault, true), Some(gate)),
        (&server, &client, limit(fault, false), None),
    ]
    .map(|(from, to, limit, gate)| {
        let from = from.copy().expect("a descriptor is free");
        let to = to.copy().expect("a descriptor is free");
        thread::spawn(move || pass(from, to, fault, limit, gate.as_ref()))
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

/// How many bytes of this direction pass, and what happens then.
fn limit(fault: Fault, is_from_client: bool) -> Option<(usize, Limit)> {
    match (fault, is_from_client) {
        (Fault::CutFromClient(bytes), true) | (Fault::CutFromServer(bytes), false) => {
            Some((bytes, Limit::Cut))
        }
        (Fault::ResetFromClient(bytes), true) | (Fault::ResetFromServer(bytes), false) => {
            Some((bytes, Limit::Reset))
        }
        (Fault::StopFromClient(bytes), true) | (Fault::StopFromServer(bytes), false) => {
            Some((bytes, Limit::Stop))
        }
        (Fault::HoldFromClient(bytes), true) => Some((bytes, Limit::Hold)),
        (
            Fault::SingleBytes
            | Fault::Pieces(_)
            | Fault::Delay(_)
            | Fault::CutFromClient(_)
            | Fault::CutFromServer(_)
            | Fault::ResetFromClient(_)
            | Fault::ResetFromServer(_)
            | Fault::StopFromClient(_)
            | Fault::StopFromServer(_)
            | Fault::HoldFromClient(_),
            _,
        ) => None,
    }
}

fn resets(fault: Fault) -> bool {
    matches!(fault, Fault::ResetFromClient(_) | Fault::ResetFromServer(_))
}

/// How much is read at once.
fn piece(fault: Fault) -> usize {
    if let Fault::Pieces(size) = fault {
        return size;
    }
    if fault == Fault::SingleBytes { 1 } else { 4096 }
}

/// Passes bytes on until one side ends, and does at the limit what is to happen there; returns how many bytes it passed.
fn pass<C: Connection>(
    mut from: C,
    mut to: C,
    fault: Fault,
    mut limit: Option<(usize, Limit)>,
    gate: Option<&Gate>,
) -> usize {
    let mut passed = 0;
    let mut buffer = vec![0; piece(fault)];
    loop {
        if let Some((bytes, what)) = limit
            && bytes == passed
        {
            match what {
                Limit::Cut => {
                    // A connection that breaks, as when a cable is cut: neither side has said anything.
                    from.end(Shutdown::Both);
                    to.end(Shutdown::Both);
                    return passed;
                }
                Limit::Reset => {
                    from.reset_at_end();
                    to.reset_at_end();
                    // The other thread, which reads, ends, and the last copies of both are closed. Neither peer learns anything
                    // before that.
                    from.end(Shutdown::Read);
                    to.end(Shutdown::Read);
                    return passed;
                }
                Limit::Stop => {
                    // Until the sender closes the connection. The receiver does not learn that, either.
                    while from.read(&mut buffer).is_ok_and(|read| read > 0) {}
                    return passed;
                }
                Limit::Hold => {
                    let gate = gate.expect("only the client's bytes are held");
                    // The test is gone if it has failed.
                    let _ = gate.held.send(());
                    let _ = gate.release.recv();
                    limit = None;
                }
            }
        }
        let space = buffer.len();
        let space = limit.map_or(space, |(bytes, _)| space.min(bytes - passed));
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
