//! The other side of a session, at the end of a connection.

use crate::address::Address;
use crate::socket::{Socket, fingerprint, is_late, read, reason, write_all};
use crate::talk::{Arrival, Fault, Stream, Talk};
use duologue::protocol::Side;
use duologue::relation::View;
use duologue_project::Failure;
use std::io;
use std::time::{Duration, Instant};

/// The frames with which this side ends a session, by reason.
const LEFT: [u8; 3] = [0, 3, 0];
const BROKEN: [u8; 3] = [0, 3, 1];
const LATE: [u8; 3] = [0, 3, 2];

/// How long to wait at the end for the other side to read what was sent, and how much of what it sends is discarded meanwhile.
const LAST_LOOK: Duration = Duration::from_millis(200);
const LAST_BYTES: usize = 64 << 10;

/// The other side, which is in another process.
pub struct Peer {
    /// The side that it plays.
    pub side: Side,
    stream: Stream,
    socket: Box<dyn Socket>,
    /// How long it may take to answer.
    patience: Duration,
    is_over: bool,
}

impl Peer {
    /// Connects to a server, and begins a session in which the peer plays `side`.
    pub fn connect(
        (address, token): (&Address, Option<&str>),
        side: Side,
        patience: Duration,
        view: View<'_>,
        talk: &Talk<'_>,
    ) -> Result<Peer, Failure> {
        let fingerprint = fingerprint(view)?;
        let stream = Stream::new(talk);
        let hello = stream.hello(talk, fingerprint, side.dual(), token);
        let place = &address.text;
        let failed =
            |error: io::Error| environment!("cannot connect to {place}: {}", reason(&error));
        let deadline = Instant::now() + patience;
        let socket = address.open(deadline).map_err(failed)?;
        let mut peer = Peer {
            side,
            stream,
            socket,
            patience,
            is_over: false,
        };
        // A server that refuses may have closed the connection before the hello; its answer says why.
        let written = peer.write(&hello, deadline);
        loop {
            match peer.stream.answer() {
                Ok(true) => return Ok(peer),
                Ok(false) => {}
                Err(words) => {
                    bail_environment!("there is no session with {place}: {words}");
                }
            }
            match peer.read(deadline) {
                Ok(true) => {}
                Ok(false) => {
                    written.map_err(failed)?;
                    bail_environment!("{place} has closed the connection without an answer");
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Writes the last event of the session, which this side has caused. A message that cannot be sent is a fault of its line.
    pub fn publish(&mut self, talk: &Talk<'_>) -> Result<Result<(), Fault>, Failure> {
        let bytes = match self.stream.written(talk) {
            Ok(bytes) => bytes,
            Err(fault) => return Ok(Err(fault)),
        };
        self.is_over = bytes == LEFT || talk.active().is_none();
        match self.write(&bytes, Instant::now() + self.patience) {
            Ok(()) => Ok(Ok(())),
            // The peer may have left, and what it has sent says so.
            Err(_) if self.is_over => Ok(Ok(())),
            Err(error) => Err(lost(&error)),
        }
    }

    /// Waits for what the peer does.
    pub fn wait(&mut self, talk: &mut Talk<'_>) -> Result<Arrival, Failure> {
        let deadline = Instant::now() + self.patience;
        loop {
            match self.stream.arrival(talk) {
                Ok(Some(arrival)) => {
                    self.is_over = talk.active().is_none() || arrival != Arrival::Message;
                    return Ok(arrival);
                }
                Ok(None) => {}
                Err(words) => {
                    self.end(&BROKEN);
                    bail_environment!("the {} has broken the format: {words}", self.side.word());
                }
            }
            match self.read(deadline) {
                Ok(true) => {}
                Ok(false) => {
                    self.is_over = true;
                    bail_environment!("the connection ended before the session did");
                }
                Err(error) if is_late(&error) => {
                    self.end(&LATE);
                    let (side, seconds) = (self.side.word(), self.patience.as_secs());
                    bail_environment!(
                        "the {side} has sent nothing for {seconds} s; `--timeout` sets how long to wait"
                    );
                }
                Err(error) => {
                    self.is_over = true;
                    return Err(lost(&error));
                }
            }
        }
    }

    fn write(&mut self, bytes: &[u8], deadline: Instant) -> io::Result<()> {
        write_all(&mut *self.socket, bytes, deadline)
    }

    /// Reads what has arrived; `Ok(false)` at the end of the connection.
    fn read(&mut self, deadline: Instant) -> io::Result<bool> {
        let mut bytes = [0; 4096];
        let length = read(&mut *self.socket, &mut bytes, deadline)?;
        self.stream.push(&bytes[..length]);
        Ok(length > 0)
    }

    /// Ends the session, for this reason.
    fn end(&mut self, leave: &[u8]) {
        self.is_over = true;
        // The connection is closed in any case.
        let _ = self.write(leave, Instant::now() + LAST_LOOK);
    }
}

impl Drop for Peer {
    /// Notifies the peer that this side has left, if the session is not over. What has arrived is read first: some systems discard what was
    /// sent when a connection is closed with unread data.
    fn drop(&mut self) {
        if !self.is_over {
            self.end(&LEFT);
        }
        let (deadline, mut bytes, mut left) = (Instant::now() + LAST_LOOK, [0; 4096], LAST_BYTES);
        let mut goes_on = self.socket.end().is_ok();
        while goes_on && left > 0 {
            let rest = deadline.saturating_duration_since(Instant::now());
            goes_on = !rest.is_zero() && self.socket.set_timeout(rest).is_ok();
            match self.socket.read(&mut bytes) {
                Ok(length) if goes_on && length > 0 => left = left.saturating_sub(length),
                _ => goes_on = false,
            }
        }
    }
}

fn lost(error: &io::Error) -> Failure {
    environment!("the connection is lost: {}", reason(error))
}
