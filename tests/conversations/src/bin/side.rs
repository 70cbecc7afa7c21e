//! A server of `payloads` in shared memory, for tests whose other side is killed. Over the Unix socket that is its standard input it
//! receives regions and commands, of one byte each:
//!
//! - a region: attaches, and answers `a`.
//! - `r`: reads until the session is over. `s`: the same in a port set, and `f` as a task. `w`: writes nothing and reads nothing, until
//!   it is killed.
//! - `q`: drops its endpoint, and expects the next region.
//!
//! It answers a command that reads with one byte for how the session is, and four for the number of messages that it has received
//! in it: `o` if it is over, or the first letter of why it was closed in lower case, except `d` if it was lost.
//!
//! With the argument `client` it is a client that sends the numbers below 100, answers `a`, and does nothing until it is killed.
#![forbid(unsafe_code)]

use conversations::regions::{Reader, after};
use conversations::wire::payloads::{client, server};
use duologue::{PortSet, Why};
use duologue_shm::{Attach, Error, Region};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

/// Reads as something that waits for several sessions does.
fn read_in_a_set(reader: &mut Reader) {
    let mut set = PortSet::new();
    if let Some(server) = reader.server.take() {
        set.insert(server, ());
    }
    while let Some(((), received)) = set.recv() {
        match received {
            Ok(message) => {
                reader.taken += 1;
                if let Some(server) = after(message) {
                    set.insert(server, ());
                }
            }
            Err(closed) => reader.why = Some(closed.why()),
        }
    }
}

/// Reads as a task does.
fn read_as_a_task(reader: &mut Reader) {
    while let Some(server) = reader.server.take() {
        match conversations::block_on(server.recv_async()) {
            Ok(message) => {
                reader.taken += 1;
                reader.server = after(message);
            }
            Err(closed) => reader.why = Some(closed.why()),
        }
    }
}

fn answer(reader: &Reader) -> [u8; 5] {
    let how = match reader.why {
        None => b'o',
        Some(Why::Left) => b'l',
        Some(Why::Lost) => b'd',
        Some(_) => b'?',
    };
    let [a, b, c, d] = u32::try_from(reader.taken)
        .unwrap_or(u32::MAX)
        .to_le_bytes();
    [how, a, b, c, d]
}

fn serve(mut socket: &UnixStream, server: server::All) -> io::Result<()> {
    let mut reader = Reader::new(server);
    loop {
        let mut command = [0];
        socket.read_exact(&mut command)?;
        match command[0] {
            b'r' => reader.read_to_the_end(),
            b's' => read_in_a_set(&mut reader),
            b'f' => read_as_a_task(&mut reader),
            b'w' => wait(),
            _ => return Ok(()),
        }
        socket.write_all(&answer(&reader))?;
    }
}

/// Waits until this process is killed.
fn wait() -> ! {
    loop {
        thread::park();
    }
}

/// A client that sends a few numbers.
fn send(mut socket: &UnixStream, mut client: client::All) -> io::Result<()> {
    for n in 0..100 {
        client = client.u64(n).map_err(io::Error::other)?;
    }
    duologue::Endpoint::flush(&mut client);
    socket.write_all(b"a")?;
    wait()
}

fn main() -> io::Result<()> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let options = Attach::new()
        .max_payload(1 << 16)
        .timeout(Duration::from_secs(30));
    loop {
        let region = match Region::receive(&socket, None) {
            Ok(region) => region,
            Err(Error::SocketClosed) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        };
        if std::env::args().any(|argument| argument == "client") {
            return send(&socket, options.attach(&region).map_err(io::Error::other)?);
        }
        let server = options.attach(&region).map_err(io::Error::other)?;
        (&socket).write_all(b"a")?;
        serve(&socket, server)?;
    }
}
