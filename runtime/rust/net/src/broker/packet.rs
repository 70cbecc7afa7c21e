//! What the messages between two processes contain, as `docs/wire.md` specifies it.

use duologue::transport::{Decoder, Encoder};

/// The version of this format.
const VERSION: u8 = 1;

/// What a message is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
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
    /// Something was lost, or the side is gone: the session is over.
    Lost,
    /// There is no such session.
    Gone,
    /// The process is still there.
    Alive,
}

const KINDS: [Kind; 9] = [
    Kind::Open,
    Kind::Accept,
    Kind::Data,
    Kind::End,
    Kind::Ask,
    Kind::Answer,
    Kind::Lost,
    Kind::Gone,
    Kind::Alive,
];

impl Kind {
    fn has_counts(self) -> bool {
        (self as u8) <= Kind::Answer as u8
    }

    fn has_window(self) -> bool {
        matches!(self, Kind::Open | Kind::Accept)
    }

    /// Whether the message has a number of its own. Others repeat the number of the last one that has.
    pub(super) fn is_numbered(self) -> bool {
        (self as u8) <= Kind::End as u8
    }
}

/// A message, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Packet<'a> {
    pub(super) kind: Kind,
    /// How many numbered messages the sender has sent, including this one.
    pub(super) number: u64,
    /// How many numbered messages have arrived at the sender.
    pub(super) received: u64,
    /// How much credit the sender has used up by reading.
    pub(super) read: u64,
    /// How much credit the sender gives.
    pub(super) window: u64,
    pub(super) bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A message without counts.
    pub(super) fn plain(kind: Kind, bytes: &'a [u8]) -> Packet<'a> {
        Packet {
            kind,
            number: 0,
            received: 0,
            read: 0,
            window: 0,
            bytes,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::new();
        out.put(&[self.kind as u8]);
        if self.kind.has_window() {
            out.put(&[VERSION]);
        }
        if self.kind.has_counts() {
            out.count(self.number);
            out.count(self.received);
            out.count(self.read);
        }
        if self.kind.has_window() {
            out.count(self.window);
        }
        out.put(self.bytes);
        out.bytes().to_vec()
    }

    /// `None` if no correct peer of this version sends it.
    pub(super) fn decode(message: &'a [u8]) -> Option<Packet<'a>> {
        let (code, mut rest) = message.split_first()?;
        let kind = *KINDS.get(usize::from(*code))?;
        let mut packet = Packet::plain(kind, &[]);
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
        packet.bytes = rest;
        let carries = matches!(kind, Kind::Open | Kind::Accept | Kind::Data | Kind::Alive);
        (packet.bytes.is_empty() != carries).then_some(packet)
    }
}

/// Takes a count.
fn count(from: &mut &[u8]) -> Option<u64> {
    let last = from.iter().position(|byte| *byte < 128)?;
    let (digits, rest) = from.split_at_checked(last + 1)?;
    *from = rest;
    Decoder::new(digits, 0).count().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_decoded_is_what_was_encoded() {
        for kind in KINDS {
            let carries = matches!(kind, Kind::Open | Kind::Accept | Kind::Data | Kind::Alive);
            let counts = |value| if kind.has_counts() { value } else { 0 };
            let packet = Packet {
                kind,
                number: counts(u64::MAX),
                received: counts(300),
                read: counts(7),
                window: if kind.has_window() { 16_384 } else { 0 },
                bytes: if carries { b"abc" } else { b"" },
            };
            let bytes = packet.encode();
            assert_eq!(Packet::decode(&bytes), Some(packet), "{kind:?}");
            // Whatever is cut off, it is rejected or has fewer bytes of the stream.
            for length in 0..bytes.len() {
                if let Some(cut) = Packet::decode(&bytes[..length]) {
                    assert!(cut.bytes.len() < 3 && carries, "{kind:?} {length}");
                }
            }
        }
        assert_eq!(Packet::decode(&[9]), None);
        assert_eq!(Packet::decode(&[0, 2, 1, 0, 0, 64, 1]), None);
    }
}
