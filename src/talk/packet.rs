//! The messages of sessions over a message broker, and the names in their subjects, by `docs/wire.md`.

use super::codec::{read_count, write_count};

/// The version of this format.
const VERSION: u8 = 1;

/// What all addresses of processes begin with.
const PREFIX: &str = "duo.at.";

/// The length of an address without the beginning, and of the name of servers, at most.
const LONGEST_ADDRESS: usize = 256;
const LONGEST_NAME: usize = 128;

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketKind {
    /// Begins a session; the first message of the connecting side.
    Open,
    /// The first message of the accepting side.
    Accept,
    /// Bytes of the stream.
    Data,
    /// The end of the stream in this direction.
    End,
    /// Asks what has arrived.
    Ask,
    /// Says what has arrived.
    Answer,
    /// Something was lost: the session is over.
    Lost,
    /// There is no such session.
    Gone,
    /// The process is still there.
    Alive,
}

impl PacketKind {
    /// All kinds, in the order of their codes.
    pub const ALL: [PacketKind; 9] = [
        PacketKind::Open,
        PacketKind::Accept,
        PacketKind::Data,
        PacketKind::End,
        PacketKind::Ask,
        PacketKind::Answer,
        PacketKind::Lost,
        PacketKind::Gone,
        PacketKind::Alive,
    ];

    /// The word for it in `docs/wire.md`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            PacketKind::Open => "open",
            PacketKind::Accept => "accept",
            PacketKind::Data => "data",
            PacketKind::End => "end",
            PacketKind::Ask => "ask",
            PacketKind::Answer => "answer",
            PacketKind::Lost => "lost",
            PacketKind::Gone => "gone",
            PacketKind::Alive => "alive",
        }
    }

    /// Whether it has a number of its own. Others repeat the number of the last message that has.
    #[must_use]
    pub fn is_numbered(self) -> bool {
        self as u8 <= PacketKind::End as u8
    }

    fn has_counts(self) -> bool {
        self as u8 <= PacketKind::Answer as u8
    }

    fn has_window(self) -> bool {
        matches!(self, PacketKind::Open | PacketKind::Accept)
    }

    fn carries(self) -> bool {
        matches!(
            self,
            PacketKind::Open | PacketKind::Accept | PacketKind::Data | PacketKind::Alive
        )
    }
}

/// A message, taken apart. Parts that its kind does not have are 0 or empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// What it is for.
    pub kind: PacketKind,
    /// The number of the last numbered message of the sender, this one included.
    pub number: u64,
    /// The number of the last numbered message that has arrived at the sender.
    pub received: u64,
    /// The credit that the sender has used up by reading.
    pub read: u64,
    /// The credit that the sender gives.
    pub window: u64,
    /// Bytes of the stream.
    pub bytes: Vec<u8>,
}

impl Packet {
    /// A message without counts.
    #[must_use]
    pub fn plain(kind: PacketKind, bytes: &[u8]) -> Packet {
        Packet {
            kind,
            number: 0,
            received: 0,
            read: 0,
            window: 0,
            bytes: bytes.to_vec(),
        }
    }

    /// What travels.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![self.kind as u8];
        if self.kind.has_window() {
            out.push(VERSION);
        }
        if self.kind.has_counts() {
            for count in [self.number, self.received, self.read] {
                write_count(&mut out, count);
            }
        }
        if self.kind.has_window() {
            write_count(&mut out, self.window);
        }
        out.extend_from_slice(&self.bytes);
        out
    }

    /// Reads a message; `None` if no correct side of this version sends it.
    #[must_use]
    pub fn decode(message: &[u8]) -> Option<Packet> {
        let (code, mut rest) = message.split_first()?;
        let kind = *PacketKind::ALL.get(usize::from(*code))?;
        let mut packet = Packet::plain(kind, &[]);
        let count = |rest: &mut &[u8]| {
            let (count, length) = read_count(rest).ok()??;
            *rest = &rest[length..];
            Some(count)
        };
        if kind.has_window() {
            rest = rest.strip_prefix(&[VERSION])?;
        }
        if kind.has_counts() {
            packet.number = count(&mut rest)?;
            packet.received = count(&mut rest)?;
            packet.read = count(&mut rest)?;
        }
        if kind.has_window() {
            packet.window = count(&mut rest)?;
        }
        packet.bytes = rest.to_vec();
        (packet.bytes.is_empty() != kind.carries()).then_some(packet)
    }
}

/// Whether this is one or more tokens of a subject, separated by dots.
#[must_use]
pub fn is_dotted(text: &str) -> bool {
    let is_token = |token: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        !token.is_empty() && token.bytes().all(is_plain)
    };
    text.split('.').all(is_token)
}

/// What is wrong with the name of servers at a broker, as in `nats://host:port/NAME`.
#[must_use]
pub fn name_problem(name: &str) -> Option<&'static str> {
    if !is_dotted(name) || name.len() > LONGEST_NAME {
        Some("a name has at most 128 letters, digits, `-`, `_` and dots between them")
    } else if name == "at" || name.starts_with("at.") {
        Some("names that begin with `at` are for processes")
    } else {
        None
    }
}

/// The address of a side of a session, or of something else in a process.
#[must_use]
pub fn address(process: &str, token: &str) -> String {
    format!("{PREFIX}{process}.{token}")
}

/// The process of the address of a side of a session, whose token is random.
#[must_use]
pub fn process_of_side(address: &str) -> Option<&str> {
    let rest = address.strip_prefix(PREFIX)?;
    let (process, token) = rest.rsplit_once('.')?;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_random = token.len() == 32 && token.bytes().all(is_digit);
    (is_random && rest.len() <= LONGEST_ADDRESS && is_dotted(rest)).then_some(process)
}
