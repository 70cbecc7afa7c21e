//! What is done at a message broker in an attack.

use crate::talk::{Counts, OVERHEAD, Packet, PacketKind};
use std::fmt::{self, Display, Formatter};

/// A frame that has no effect.
pub(super) const SIGN_OF_LIFE: [u8; 2] = [0, 1];

/// A number of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// As much more as this than the right one.
    More(u64),
    /// As much less, but not below 0.
    Less(u64),
    /// This number.
    Exactly(u64),
}

/// The right number.
pub(super) const RIGHT: Number = Number::More(0);

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// The other side of the session.
    Session,
    /// The other process, but a session that does not exist.
    Stranger,
    /// The other process, with this token.
    Token(&'static str),
    /// The servers of the protocol.
    Servers,
}

/// What a message names as the address of this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Nothing.
    None,
    /// The address of this side.
    Own,
    /// This subject, which is not such an address.
    Text(&'static str),
}

/// What a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// These bytes.
    Raw(Vec<u8>),
    /// A message of this kind, with these numbers.
    Packet {
        /// Its kind.
        kind: PacketKind,
        /// The number of the last numbered message, this one included.
        number: Number,
        /// What has arrived.
        received: Number,
        /// What was read.
        read: Number,
        /// The credit that this side gives.
        window: u64,
        /// Bytes of the stream.
        bytes: Vec<u8>,
    },
    /// Data that costs more than the other side has given, and as much as the broker delivers at most.
    Beyond(u64),
}

/// Something that is done at a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Publish a message.
    Publish {
        /// Where to.
        to: To,
        /// What it names as the address of this side.
        reply: Reply,
        /// Headers of the broker, which sessions do not use.
        headers: &'static str,
        /// What it is.
        body: Body,
    },
    /// End the direction of this side.
    End,
    /// Publish nothing, not even that the process is there, until the other process must have noticed.
    Mute,
}

impl Act {
    pub(super) fn new(to: To, reply: Reply, body: Body) -> Act {
        Act::Publish {
            to,
            reply,
            headers: "",
            body,
        }
    }
}

impl Body {
    /// A message for the session whose numbers are right.
    pub(super) fn right(kind: PacketKind, bytes: &[u8]) -> Body {
        Body::with(kind, RIGHT, RIGHT, RIGHT, bytes)
    }

    pub(super) fn with(
        kind: PacketKind,
        number: Number,
        received: Number,
        read: Number,
        bytes: &[u8],
    ) -> Body {
        Body::Packet {
            kind,
            number,
            received,
            read,
            window: 16 << 10,
            bytes: bytes.to_vec(),
        }
    }

    /// The bytes of the message in a session that is as far as this. `right`: the message with the right numbers. `longest`: what the broker
    /// delivers at most.
    #[must_use]
    pub fn bytes(
        &self,
        counts: Counts,
        right: impl Fn(PacketKind) -> Packet,
        longest: usize,
    ) -> Vec<u8> {
        match self {
            Body::Raw(bytes) => bytes.clone(),
            Body::Packet {
                kind,
                number,
                received,
                read,
                window,
                bytes,
            } => {
                let right = right(*kind);
                let of = |number: &Number, right: u64| match *number {
                    Number::More(by) => right.saturating_add(by),
                    Number::Less(by) => right.saturating_sub(by),
                    Number::Exactly(exactly) => exactly,
                };
                let packet = Packet {
                    number: of(number, right.number),
                    received: of(received, right.received),
                    read: of(read, right.read),
                    window: *window,
                    bytes: bytes.clone(),
                    ..right
                };
                packet.encode()
            }
            Body::Beyond(least) => {
                // However much of it the other side has read, this is more than it gives at once.
                let size = (counts.window + 1).saturating_sub(OVERHEAD).max(*least);
                let size = usize::try_from(size).unwrap_or(longest).min(longest);
                let mut packet = right(PacketKind::Data);
                packet.bytes = SIGN_OF_LIFE.into_iter().cycle().take(size).collect();
                packet.encode()
            }
        }
    }
}

impl Display for Number {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Number::More(0) => out.write_str("right"),
            Number::More(by) => write!(out, "right + {by}"),
            Number::Less(by) => write!(out, "right - {by}"),
            Number::Exactly(exactly) => write!(out, "{exactly}"),
        }
    }
}

impl Display for Act {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (to, reply, body) = match self {
            Act::Publish {
                to, reply, body, ..
            } => (to, reply, body),
            Act::End => return out.write_str("the end"),
            Act::Mute => return out.write_str("nothing for five heartbeats"),
        };
        match body {
            Body::Raw(bytes) => write!(out, "{} bytes", bytes.len())?,
            Body::Packet {
                kind,
                number,
                received,
                read,
                window,
                bytes,
            } => {
                write!(out, "{}", kind.word())?;
                if !matches!(
                    kind,
                    PacketKind::Lost | PacketKind::Gone | PacketKind::Alive
                ) {
                    write!(out, " (number {number}, received {received}, read {read})")?;
                }
                if *kind == PacketKind::Open {
                    write!(out, ", window {window}")?;
                }
                if !bytes.is_empty() {
                    write!(out, ", {} bytes of the stream", bytes.len())?;
                }
            }
            Body::Beyond(_) => out.write_str("data beyond the credit")?,
        }
        match to {
            To::Session => out.write_str(", to the session")?,
            To::Stranger => out.write_str(", to a session that does not exist")?,
            To::Token(token) => {
                write!(out, ", to {} of the process", &token[..token.len().min(32)])?
            }
            To::Servers => out.write_str(", to the servers")?,
        }
        match reply {
            Reply::None => Ok(()),
            Reply::Own => out.write_str(", with a reply address"),
            Reply::Text(text) => write!(
                out,
                ", with the reply address {}",
                &text[..text.len().min(64)]
            ),
        }
    }
}
