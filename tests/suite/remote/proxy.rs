//! A proxy between the two programs of a session, which does to their bytes what networks do.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
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
}

/// How many bytes went through the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    pub from_client: usize,
    pub from_server: usize,
}

/// A proxy for one connection.
pub struct Proxy {
    address: PathBuf,
    traffic: Receiver<Traffic>,
}

impl Proxy {
    /// Listens at `address` and passes the first connection on to `server`.
    pub fn start(address: PathBuf, server: &Path, fault: Fault) -> Proxy {
        let listener = UnixListener::bind(&address).expect("the folder can be written");
        let server = server.to_owned();
        let (done, traffic) = channel();
        thread::spawn(move || {
            let (client, _) = listener.accept().expect("the client connects");
            let server = UnixStream::connect(server).expect("the server listens");
            let [from_client, from_server] = [
                (&client, &server, cut(fault, true)),
                (&server, &client, cut(fault, false)),
            ]
            .map(|(from, to, limit)| {
                let from = from.try_clone().expect("a descriptor is free");
                let to = to.try_clone().expect("a descriptor is free");
                thread::spawn(move || pass(from, to, fault, limit))
            });
            let count =
                |passing: thread::JoinHandle<usize>| passing.join().expect("it does not panic");
            let traffic = Traffic {
                from_client: count(from_client),
                from_server: count(from_server),
            };
            // The receiver is gone if the test has failed.
            let _ = done.send(traffic);
        });
        Proxy { address, traffic }
    }

    /// Where the client connects.
    pub fn address(&self) -> &Path {
        &self.address
    }

    /// Waits until the connection has ended.
    pub fn traffic(self) -> Traffic {
        let limit = Duration::from_secs(60);
        let traffic = self.traffic.recv_timeout(limit);
        traffic.expect("both sides close the connection")
    }
}

/// How many bytes of this direction pass before both directions end.
fn cut(fault: Fault, is_from_client: bool) -> Option<usize> {
    match (fault, is_from_client) {
        (Fault::CutFromClient(bytes), true) | (Fault::CutFromServer(bytes), false) => Some(bytes),
        (
            Fault::SingleBytes
            | Fault::Delay(_)
            | Fault::CutFromClient(_)
            | Fault::CutFromServer(_),
            _,
        ) => None,
    }
}

/// Passes bytes on until one side ends, or up to the limit, which ends both; returns how many it passed.
fn pass(mut from: UnixStream, mut to: UnixStream, fault: Fault, limit: Option<usize>) -> usize {
    let mut passed = 0;
    let mut buffer = [0; 4096];
    loop {
        let space = match fault {
            Fault::SingleBytes => 1,
            Fault::Delay(_) | Fault::CutFromClient(_) | Fault::CutFromServer(_) => buffer.len(),
        };
        let space = limit.map_or(space, |limit| space.min(limit - passed));
        if space == 0 {
            // A connection that breaks, as when a cable is cut: neither side has said anything.
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
            return passed;
        }
        let read = match from.read(&mut buffer[..space]) {
            Ok(0) | Err(_) => {
                let _ = to.shutdown(Shutdown::Write);
                return passed;
            }
            Ok(read) => read,
        };
        if let Fault::Delay(delay) = fault {
            thread::sleep(delay);
        }
        if to.write_all(&buffer[..read]).is_err() {
            let _ = from.shutdown(Shutdown::Read);
            return passed;
        }
        passed += read;
    }
}
