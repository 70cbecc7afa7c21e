//! What a hostile peer can send over a byte stream, by `docs/wire.md`: for the hello and for each state of a protocol, the bytes that are
//! wrong, each with what the other side must do about them.

mod answer;
mod frames;
mod greeting;
mod hello;
mod payload;
mod sample;

pub use answer::{answers, half_an_answer};
pub use frames::{after_the_end, in_their_turn, in_turn};
pub use hello::{half_a_hello, hellos};
pub use payload::Payloads;

use crate::talk::{Value, write_count};
use clap::ValueEnum;
use duologue::protocol::{Program, Side, StateId};
use duologue::robots::{Node, Plan};
use duologue::sizes::Sizes;
use serde::Serialize;
use std::collections::BTreeMap;

/// What is wrong about a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The first bytes of a connection: a hello, or the answer to one.
    Hello,
    /// The tag or the size of a message.
    Frame,
    /// A control frame.
    Control,
    /// The bytes of a payload.
    Payload,
    /// Something wrong while the other side has the turn.
    Turn,
    /// A connection that ends within a hello or a frame.
    Cut,
    /// Something after the last message of a session.
    End,
    /// Nothing where something must come.
    Silence,
    /// Something unusual that is allowed.
    Legal,
}

/// What the other side must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Close the connection without an answer.
    Dropped,
    /// Refuse the session with this verdict, and close the connection.
    Refused(u8),
    /// Begin a session.
    Begun,
    /// Begin a session, or close the connection without an answer.
    BegunOrDropped,
    /// End the session as broken: *leave* with reason 1, and the connection closes.
    Broken,
    /// End the session as late: *leave* with reason 2, and the connection closes.
    Late,
    /// Close the connection, for whatever reason.
    Closed,
    /// Send a message, or end the session.
    Answered,
    /// Take everything. The session has been left at the end, so the connection closes, but not because the format was broken.
    Taken,
}

impl Expected {
    /// Whether it is what a server does about a hello.
    pub fn is_of_greeting(self) -> bool {
        use Expected::{Begun, BegunOrDropped, Dropped, Refused};
        matches!(self, Dropped | Refused(_) | Begun | BegunOrDropped)
    }

    /// What should happen, in words.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Expected::Dropped => "to close the connection without an answer".to_owned(),
            Expected::Refused(verdict) => format!("to refuse the session with verdict {verdict}"),
            Expected::Begun => "to begin a session".to_owned(),
            Expected::BegunOrDropped => "to begin a session, or to close the connection".to_owned(),
            Expected::Broken => {
                "to leave with reason 1 (broken), and to close the connection".to_owned()
            }
            Expected::Late => {
                "to leave with reason 2 (late), and to close the connection".to_owned()
            }
            Expected::Closed => "to close the connection".to_owned(),
            Expected::Answered => "to send a message in time, or to end the session".to_owned(),
            Expected::Taken => "to accept it".to_owned(),
        }
    }
}

/// Something to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What is wrong about it.
    pub kind: Kind,
    /// What it is, in words.
    pub name: String,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether they are sent one at a time.
    pub is_slow: bool,
    /// Whether this side then ends what it sends.
    pub is_cut: bool,
    /// The position of the message that they begin with, if it is one that may be sent.
    pub message: Option<usize>,
    /// What the other side must do.
    pub expected: Expected,
}

impl Case {
    pub(crate) fn new(
        kind: Kind,
        name: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
        expected: Expected,
    ) -> Case {
        Case {
            kind,
            name: name.into(),
            bytes: bytes.into(),
            is_slow: false,
            is_cut: false,
            message: None,
            expected,
        }
    }

    /// Something that breaks the format.
    fn broken(kind: Kind, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Case {
        Case::new(kind, name, bytes, Expected::Broken)
    }

    /// The connection ends after these bytes.
    fn cut(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Case {
        Case {
            is_cut: true,
            ..Case::new(Kind::Cut, name, bytes, Expected::Closed)
        }
    }

    /// Messages that may be sent, after which the session is left.
    fn legal(name: impl Into<String>, bytes: &[u8], message: Option<usize>) -> Case {
        let bytes = [bytes, &LEAVE].concat();
        Case {
            message,
            ..Case::new(Kind::Legal, name, bytes, Expected::Taken)
        }
    }
}

/// A number as it is written before a payload, a text or a list.
fn count(number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_count(&mut bytes, number);
    bytes
}

/// Numbers that no reader accepts, of what `what` says.
fn malformed(what: &str) -> [(String, Vec<u8>); 2] {
    let long = [&[0xff; 9][..], &[2]].concat();
    [
        (format!("a {what} of 65 bits"), long),
        (format!("a {what} that does not end"), vec![0xff; 12]),
    ]
}

/// The frame with which a side leaves.
pub const LEAVE: [u8; 3] = [0, 3, 0];

/// What cases follow from.
#[derive(Debug)]
pub struct Model<'a> {
    /// The program.
    pub program: &'a Program,
    /// The sizes of its types.
    pub sizes: Sizes,
    /// The states of the protocol.
    pub plan: &'a Plan<'a>,
    /// The side that attacks.
    pub own: Side,
    /// The largest payload that the other side accepts.
    pub largest: u64,
    /// Values that messages are known to have, by state and position.
    pub values: &'a BTreeMap<(StateId, usize), Vec<Vec<Value>>>,
    /// What random changes follow from.
    pub seed: u64,
    /// Whether the other side connects: then this side may ask it to end the session.
    pub accepts: bool,
}

impl Model<'_> {
    /// All cases of a state, by whose turn it is.
    #[must_use]
    pub fn cases(&self, node: &Node) -> Vec<Case> {
        match node.sender == self.own {
            true => in_turn(self, node),
            false => in_their_turn(self),
        }
    }
}
