//! What is attacked: a server at an address, or the clients that connect to this side.

use crate::address::{Address, Lobby};
use crate::campaign::victim::{PAUSE, Victim};
use crate::campaign::way::Course;
use crate::socket::{Socket, reason};
use crate::talk::Value;
use duologue::fingerprint::Fingerprint;
use duologue::protocol::{Side, StateId};
use duologue::relation::View;
use duologue::robots::Plan;
use duologue_project::Failure;
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

/// How long nothing may listen at an address before the first session.
const GRACE: Duration = Duration::from_secs(1);

/// What a transcript says about a session with which the other side is known to go on.
#[derive(Default)]
pub struct Known {
    /// The payloads of a message of a state that this side sends, in the order in which they are sent.
    pub values: BTreeMap<(StateId, usize), Vec<Vec<Value>>>,
    /// The messages of both sides.
    pub course: Course,
}

/// What all sessions of an attack share.
pub struct Target<'c> {
    /// How the two sides get together.
    pub door: Door,
    /// The side that attacks.
    pub own: Side,
    /// How long the other side may take to react.
    pub patience: Duration,
    /// Whether errors of the programs that this side starts are shown.
    pub is_verbose: bool,
    /// The protocol.
    pub view: View<'c>,
    /// Its states and the ways between them.
    pub plan: &'c Plan<'c>,
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// What begins a session: the hello of a side that connects, and the answer of one that listens.
    pub greeting: Vec<u8>,
    /// What the user knows about a good session.
    pub known: Known,
}

/// How this side and the other one get together.
pub enum Door {
    /// This side connects.
    Connect(Address),
    /// The other side connects, each time from the program of this command if there is one.
    Listen(Lobby, Vec<String>),
}

/// A connection, and the program that has opened it if this side has started one.
pub type Opened = (Box<dyn Socket>, Option<Victim>);

impl<'c> Target<'c> {
    /// Whether this side waits for the other.
    pub fn listens(&self) -> bool {
        matches!(self.door, Door::Listen(..))
    }

    /// What is attacked, in words.
    pub fn what(&self) -> String {
        match &self.door {
            Door::Connect(address) => address.text.clone(),
            Door::Listen(lobby, _) => format!("a client at {}", lobby.text),
        }
    }

    /// Opens a connection, on which nothing is sent yet. The inner error says why there is none.
    pub fn open(&self) -> Result<Result<Opened, String>, Failure> {
        let deadline = Instant::now() + self.patience;
        match &self.door {
            Door::Connect(address) => Ok(match address.open(deadline) {
                Ok(socket) => Ok((socket, None)),
                Err(error) => Err(format!(
                    "cannot connect to {}: {}",
                    address.text,
                    reason(&error)
                )),
            }),
            Door::Listen(lobby, command) => {
                let mut victim = match command.split_first() {
                    Some((program, arguments)) => {
                        // Connections of programs before this one.
                        while let Ok(Some(_)) = lobby.accept(Instant::now() + PAUSE) {}
                        Some(Victim::start(
                            program,
                            arguments,
                            &lobby.text,
                            self.is_verbose,
                        )?)
                    }
                    None => None,
                };
                Ok(wait_for(lobby, victim.as_mut(), self.patience).map(|socket| (socket, victim)))
            }
        }
    }

    /// How long a server may be away. Before the first session, one that does not listen was probably not started.
    pub fn grace(&self, is_first: bool) -> Duration {
        match is_first {
            true => self.patience.min(GRACE),
            false => self.patience,
        }
    }
}

fn wait_for(
    lobby: &Lobby,
    mut victim: Option<&mut Victim>,
    patience: Duration,
) -> Result<Box<dyn Socket>, String> {
    let deadline = Instant::now() + patience;
    loop {
        // Before the connection is looked for: a program may connect and end at once.
        let ended = victim.as_mut().and_then(|victim| victim.ended());
        match lobby.accept(deadline) {
            Ok(Some(socket)) => return Ok(socket),
            Ok(None) => {}
            Err(error) => return Err(format!("a connection has failed: {}", reason(&error))),
        }
        if let Some(status) = ended {
            return Err(format!(
                "the program has ended before it connected: {status}"
            ));
        }
        if Instant::now() >= deadline {
            let seconds = patience.as_secs();
            return Err(format!("no client has connected for {seconds} s"));
        }
        thread::sleep(PAUSE);
    }
}
