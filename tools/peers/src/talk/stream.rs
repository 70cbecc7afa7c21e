//! The connecting side of a byte stream, by `docs/wire.md`: what it writes, and what it makes of the bytes that it reads.

use super::codec::{Decoder, Encoder, read_count, write_count};
use super::session::{Event, Talk};
use super::value::Fault;
use duologue::fingerprint::Fingerprint;
use duologue::protocol::{Lengths, Side};
use duologue::sizes::Sizes;

/// The largest payload that is accepted, in bytes.
const LARGEST: u32 = 1 << 20;

/// How many bytes of messages are kept of a session.
const KEPT: u64 = 256 << 20;

/// The smallest limit for payloads that a side may have.
const SMALLEST_LIMIT: u32 = 1_024;

/// How many bytes an answer has at most.
const ANSWER: usize = 38;

/// The flag of a hello that a token follows.
const TOKEN: u8 = 4;

/// A session with a peer at the other end of a byte stream.
#[derive(Debug)]
pub struct Stream {
    sizes: Sizes,
    /// What has arrived and was not used yet.
    input: Vec<u8>,
    /// The largest payload that the peer accepts.
    largest: u64,
    /// How many bytes of messages have arrived, each counted with what it takes when it is kept.
    kept: u64,
}

/// What a hello says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// The protocol of the side that connects.
    pub fingerprint: Fingerprint,
    /// Whether that side receives first.
    pub receives_first: bool,
}

/// A control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The peer is still there.
    Alive,
    /// The peer asks this side to end the session soon.
    Drain,
    /// The peer has ended the session, for this reason.
    Leave(u8),
}

/// What a peer has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It has sent a message, which is the last event of the session.
    Message,
    /// It has ended the session. The text says why if it has not just left.
    Left(Option<&'static str>),
}

impl Stream {
    /// A stream that has carried nothing.
    #[must_use]
    pub fn new(talk: &Talk<'_>) -> Stream {
        Stream {
            sizes: Sizes::of(talk.program()),
            input: Vec::new(),
            largest: 0,
            kept: 0,
        }
    }

    /// The hello of a side that plays `side` of the protocol with this fingerprint. A token has at most 2,048 bytes.
    #[must_use]
    pub fn hello(
        &self,
        talk: &Talk<'_>,
        fingerprint: Fingerprint,
        side: Side,
        token: Option<&str>,
    ) -> Vec<u8> {
        let receives_first = talk.active() == Some(side.dual());
        let name = talk
            .program()
            .full_name(talk.protocol().file, talk.protocol().name.text());
        // The name is for logs only, and a long one would not fit.
        let name = if name.len() > 255 { "" } else { &name };
        let mut rest = fingerprint.0.to_vec();
        rest.extend_from_slice(&LARGEST.to_le_bytes());
        rest.extend_from_slice(&[0; 6]);
        write_count(&mut rest, name.len() as u64);
        rest.extend_from_slice(name.as_bytes());
        rest.push(0);
        if let Some(token) = token {
            write_count(&mut rest, token.len() as u64);
            rest.extend_from_slice(token.as_bytes());
        }
        let mut hello = b"duologue\x01".to_vec();
        hello.push(u8::from(receives_first) | if token.is_some() { TOKEN } else { 0 });
        hello.extend_from_slice(&(rest.len() as u16).to_le_bytes());
        hello.extend(rest);
        hello
    }

    /// Notes bytes that have arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    /// Reads the hello of a side that connects; `Ok(None)` if it is not complete.
    ///
    /// # Errors
    /// Why it is none.
    pub fn greeting(&mut self) -> Result<Option<Greeting>, &'static str> {
        let known = self.input.len().min(8);
        if self.input[..known] != b"duologue"[..known] {
            return Err("it does not speak this format");
        }
        let Some(head) = self.input.get(8..12) else {
            return Ok(None);
        };
        let (version, flags) = (head[0], head[1]);
        let length = usize::from(u16::from_le_bytes([head[2], head[3]]));
        if version != 1 || !(28..=4_096).contains(&length) {
            return Err("it has sent a malformed hello");
        }
        let Some(rest) = self.input.get(12..12 + length) else {
            return Ok(None);
        };
        let mut fingerprint = Fingerprint([0; 16]);
        fingerprint.0.copy_from_slice(&rest[..16]);
        self.largest = u32::from_le_bytes([rest[16], rest[17], rest[18], rest[19]]).into();
        self.input.drain(..12 + length);
        Ok(Some(Greeting {
            fingerprint,
            receives_first: flags & 1 != 0,
        }))
    }

    /// The answer with which a session begins, of a side with this fingerprint.
    #[must_use]
    pub fn begun(fingerprint: Fingerprint) -> Vec<u8> {
        let mut answer = b"duologue\x01\x00\x1a\x00".to_vec();
        answer.extend(fingerprint.0);
        answer.extend(LARGEST.to_le_bytes());
        answer.extend([0; 6]);
        answer
    }

    /// Reads the answer to the hello; `Ok(false)` if it is not complete.
    ///
    /// # Errors
    /// Why there is no session.
    pub fn answer(&mut self) -> Result<bool, String> {
        let known = self.input.len().min(8);
        if self.input[..known] != b"duologue"[..known] {
            return Err("the other side does not speak this format".to_owned());
        }
        if self.input.len() < 12 {
            return Ok(false);
        }
        let (verdict, length) = (
            self.input[9],
            u16::from_le_bytes([self.input[10], self.input[11]]),
        );
        let expected = if verdict < 16 { ANSWER - 12 } else { 4 };
        if usize::from(length) != expected {
            return Err("the other side has sent a malformed answer".to_owned());
        }
        if self.input.len() < 12 + expected {
            return Ok(false);
        }
        let number = |at: usize| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&self.input[at..at + 4]);
            u32::from_le_bytes(bytes)
        };
        match verdict {
            0 | 1 if number(28) < SMALLEST_LIMIT || number(32) != 0 => {
                Err("the other side has sent a malformed answer".to_owned())
            }
            0 | 1 => {
                self.largest = number(28).into();
                self.input.drain(..ANSWER);
                Ok(true)
            }
            16 => Err(
                "the other side does not serve this protocol, or another version of it".to_owned(),
            ),
            17 => Err("the other side does not know this version of the format".to_owned()),
            18 => Err("the other side is full".to_owned() + &later(number(12))),
            19 => Err("the other side does not admit this one".to_owned()),
            20 => Err(
                "the other side is draining, and takes no further session".to_owned()
                    + &later(number(12)),
            ),
            22 => Err("the other side plays the same side of the protocol".to_owned()),
            other => Err(format!(
                "the other side has refused the session, with verdict {other}"
            )),
        }
    }

    /// The bytes of the last event of a session, which this side has sent.
    ///
    /// # Errors
    /// Why the event cannot be sent.
    pub fn written(&self, talk: &Talk<'_>) -> Result<Vec<u8>, Fault> {
        let refuse = |words: &str| Err(Fault::new(0, words));
        let Some((before, event)) = talk.last() else {
            return refuse("nothing has been sent");
        };
        let Event::Message {
            position, values, ..
        } = event
        else {
            // Leave, with the reason that this side has left.
            return Ok(vec![0, 3, 0]);
        };
        let types = before.types(talk.protocol(), *position);
        let mut payload = Encoder::new(talk.program());
        for (ty, value) in types.iter().zip(values) {
            if let Err(words) = payload.value(ty, Lengths::NONE, value, "") {
                return refuse(words);
            }
        }
        let payload = payload.bytes;
        if payload.len() as u64 > self.largest {
            return Err(Fault::new(
                0,
                format!(
                    "the payload has {} bytes, and the other side accepts {}",
                    payload.len(),
                    self.largest
                ),
            ));
        }
        let mut frame = Vec::new();
        write_count(&mut frame, *position as u64 + 1);
        if self.fixed(&types).is_none() {
            write_count(&mut frame, payload.len() as u64);
        }
        frame.extend(payload);
        Ok(frame)
    }

    /// The size of all payloads with these types, if it is the same for all.
    fn fixed(&self, types: &[duologue::protocol::Type]) -> Option<u64> {
        let mut sizes = types.iter().map(|ty| self.sizes.of_type(ty).fixed());
        sizes.try_fold(0_u64, |sum, size| sum.checked_add(size?))
    }

    /// Reads the next message from what has arrived; `Ok(None)` if it is not complete.
    ///
    /// # Errors
    /// How the peer has broken the format.
    pub fn arrival(&mut self, talk: &mut Talk<'_>) -> Result<Option<Arrival>, &'static str> {
        loop {
            let Some((tag, at)) = read_count(&self.input)? else {
                return Ok(None);
            };
            if tag > 0 {
                return self.message(talk, tag - 1, at);
            }
            let left = match self.control()? {
                Some(Control::Alive | Control::Drain) => continue,
                Some(Control::Leave(reason)) => reason,
                None => return Ok(None),
            };
            return Ok(Some(Arrival::Left(match left {
                1 => Some("it says that this side broke the format"),
                2 => Some("it says that this side was late"),
                3 => Some("its next message was larger than this side accepts"),
                _ => None,
            })));
        }
    }

    /// The next control frame of what has arrived; `Ok(None)` if it is not complete, or a message is next.
    ///
    /// # Errors
    /// How the peer has broken the format.
    pub fn control(&mut self) -> Result<Option<Control>, &'static str> {
        let (frame, length) = match self.input[..] {
            [0, 1, ..] => (Control::Alive, 2),
            [0, 3, reason, ..] => (Control::Leave(reason), 3),
            [0, 4, ..] => (Control::Drain, 2),
            [0] | [0, 3] | [] => return Ok(None),
            [0, ..] => return Err("it has sent an unknown control frame"),
            [_, ..] => return Ok(None),
        };
        self.input.drain(..length);
        Ok(Some(frame))
    }

    /// What has arrived and was not used yet.
    #[must_use]
    pub fn unused(&self) -> &[u8] {
        &self.input
    }

    /// The largest payload that the peer accepts, in bytes; 0 before it has answered.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.largest
    }

    fn message(
        &mut self,
        talk: &mut Talk<'_>,
        tag: u64,
        mut at: usize,
    ) -> Result<Option<Arrival>, &'static str> {
        let position = usize::try_from(tag).unwrap_or(usize::MAX);
        if position >= talk.allowed().len() {
            return Err("it has sent a message that its state does not have");
        }
        let types = talk.types(position);
        let size = match self.fixed(&types) {
            Some(size) => size,
            None => match read_count(&self.input[at..])? {
                None => return Ok(None),
                Some((size, length)) => {
                    at += length;
                    size
                }
            },
        };
        if size > LARGEST.into() {
            return Err("it has sent a message that is larger than this side accepts");
        }
        let end = at + usize::try_from(size).unwrap_or(usize::MAX);
        let Some(payload) = self.input.get(at..end) else {
            return Ok(None);
        };
        let mut decoder = Decoder::new(talk.program(), &self.sizes, payload);
        let entries = &talk.allowed()[position].entries;
        let values = types.iter().zip(entries);
        let values = values.map(|(ty, entry)| decoder.value(ty, &entry.lengths));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        if !decoder.bytes.is_empty() {
            return Err("it has sent a payload with bytes left over");
        }
        self.kept += end as u64 + 256;
        if self.kept > KEPT {
            return Err("it has sent more than this side keeps of a session");
        }
        talk.take(position, values);
        self.input.drain(..end);
        Ok(Some(Arrival::Message))
    }
}

/// When another attempt makes sense.
fn later(milliseconds: u32) -> String {
    match milliseconds {
        0 => String::new(),
        known => format!("; try again in {known} ms"),
    }
}
