//! What the tests of sessions in shared memory share.

mod after;

pub use after::after;

use crate::wire::payloads::{All, server};
use duologue::{TryRecvError, Why};
use duologue_shm::{Attach, Open, Region};
use std::thread;

/// Both endpoints of a session in a new region, with this many bytes for long messages. Each side has a mapping of its own.
pub fn pair_in<S: Open, C: Open>(space: usize) -> (S, C) {
    let region = Region::with_space(space).expect("there is memory");
    pair_of(&region, &Attach::new(), &Attach::new())
}

/// Both endpoints of a session in this region, each with its options.
pub fn pair_of<S: Open, C: Open>(region: &Region, server: &Attach, client: &Attach) -> (S, C) {
    thread::scope(|scope| {
        let client = scope.spawn(|| client.attach(region).expect("its side is free"));
        let server = server.attach(region).expect("its side is free");
        (server, client.join().expect("it does not panic"))
    })
}

/// Both endpoints of a session in a new region.
pub fn pair<S: Open, C: Open>() -> (S, C) {
    pair_in(4096)
}

/// A side that reads, and what has become of its session.
#[derive(Debug)]
pub struct Reader {
    /// Its endpoint, as long as the session goes on.
    pub server: Option<server::All>,
    /// How many messages it has received.
    pub taken: usize,
    /// Why the session was closed.
    pub why: Option<Why>,
}

impl Reader {
    /// A side that has read nothing.
    pub fn new(server: server::All) -> Reader {
        Reader {
            server: Some(server),
            taken: 0,
            why: None,
        }
    }

    /// Reads one message that is there, or if `waits`, that comes.
    pub fn read(&mut self, waits: bool) -> Option<All> {
        let server = self.server.take()?;
        let received = match waits {
            true => server.recv().map_err(TryRecvError::Closed),
            false => server.try_recv(),
        };
        match received {
            Ok(message) => {
                self.taken += 1;
                Some(message)
            }
            Err(TryRecvError::Empty(server)) => {
                self.server = Some(server);
                None
            }
            Err(TryRecvError::Closed(closed)) => {
                self.why = Some(closed.why());
                None
            }
        }
    }

    /// Reads up to this many messages that are there.
    pub fn read_some(&mut self, most: usize) {
        for _ in 0..most {
            match self.read(false) {
                Some(message) => self.server = after(message),
                None => return,
            }
        }
    }

    /// Reads until the session is over.
    pub fn read_to_the_end(&mut self) {
        while let Some(message) = self.read(true) {
            self.server = after(message);
        }
    }
}
