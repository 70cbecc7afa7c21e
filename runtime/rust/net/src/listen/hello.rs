//! Hello and answer, as `docs/wire.md` specifies them.

#[cfg(test)]
mod tests;

use duologue::transport::{Decoder, Encoder};

use crate::error::Verdict;
use crate::Fingerprint;

pub(crate) const MAGIC: [u8; 8] = *b"duologue";
/// The version of the format.
pub(crate) const VERSION: u8 = 1;
/// How many bytes a hello or an answer begins with; its length field counts those that follow.
pub(crate) const HEAD: usize = 12;
/// The smallest limit for payloads that a side may announce.
pub(crate) const SMALLEST_LIMIT: u32 = 1_024;

const RECEIVES_FIRST: u8 = 1;
const HAS_CONTEXT: u8 = 2;
const HAS_TOKEN: u8 = 4;
pub(crate) const MOST_ACCEPTED: usize = 16;
const LONGEST_NAME: usize = 255;

/// What the connecting side sends first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Hello {
    pub(crate) receives_first: bool,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) largest: u32,
    pub(crate) seconds: u16,
    pub(crate) name: String,
    pub(crate) accepts: Vec<Fingerprint>,
    pub(crate) context: Option<[u8; 25]>,
    pub(crate) token: Option<Vec<u8>>,
}

impl Hello {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut rest = offer(self.fingerprint, self.largest, self.seconds);
        rest.count(self.name.len() as u64);
        rest.put(self.name.as_bytes());
        rest.count(self.accepts.len() as u64);
        for accepted in &self.accepts {
            rest.put(&accepted.0);
        }
        let mut flags = if self.receives_first {
            RECEIVES_FIRST
        } else {
            0
        };
        if let Some(context) = &self.context {
            flags |= HAS_CONTEXT;
            rest.put(context);
        }
        if let Some(token) = &self.token {
            flags |= HAS_TOKEN;
            rest.count(token.len() as u64);
            rest.put(token);
        }
        head(flags, rest.bytes())
    }

    /// How many bytes follow a hello's head; or why it is refused, if the head already shows that.
    /// `Err(None)`: it is not a hello.
    pub(crate) fn length(head: &[u8; HEAD]) -> Result<usize, Option<Verdict>> {
        let [magic @ .., version, flags, low, high] = head;
        if magic != &MAGIC {
            return Err(None);
        }
        if *version != VERSION {
            return Err(Some(Verdict::UnknownVersion));
        }
        let length = usize::from(u16::from_le_bytes([*low, *high]));
        let most = if flags & HAS_TOKEN != 0 { 4_096 } else { 1_024 };
        let known = RECEIVES_FIRST | HAS_CONTEXT | HAS_TOKEN;
        if flags & !known != 0 || !(28..=most).contains(&length) {
            return Err(Some(Verdict::Malformed));
        }
        Ok(length)
    }

    /// Reads what follows the head, which has these flags.
    pub(crate) fn decode(flags: u8, rest: &[u8]) -> Option<Hello> {
        let mut from = Decoder::new(rest, rest.len());
        let (fingerprint, largest, seconds) = offered(&mut from)?;
        let name = bytes(&mut from).filter(|name| name.len() <= LONGEST_NAME)?;
        let name = String::from_utf8(name.to_owned()).ok()?;
        let count = from
            .count()
            .ok()
            .filter(|count| *count <= MOST_ACCEPTED as u64)?;
        let accepts = (0..count).map(|_| array(&mut from).map(Fingerprint));
        let accepts = accepts.collect::<Option<Vec<Fingerprint>>>()?;
        let context = match flags & HAS_CONTEXT {
            0 => None,
            _ => Some(array(&mut from)?),
        };
        let token = match flags & HAS_TOKEN {
            0 => None,
            _ => Some(bytes(&mut from)?.to_owned()),
        };
        from.finish().ok()?;
        Some(Hello {
            receives_first: flags & RECEIVES_FIRST != 0,
            fingerprint,
            largest,
            seconds,
            name,
            accepts,
            context,
            token,
        })
    }
}

/// What the accepting side sends when the session begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    pub(crate) verdict: u8,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) largest: u32,
    pub(crate) seconds: u16,
}

impl Answer {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let rest = offer(self.fingerprint, self.largest, self.seconds);
        head(self.verdict, rest.bytes())
    }

    /// Reads what follows the head, which has this verdict.
    pub(crate) fn decode(verdict: u8, rest: &[u8]) -> Option<Answer> {
        let mut from = Decoder::new(rest, 0);
        let (fingerprint, largest, seconds) = offered(&mut from)?;
        from.finish().ok()?;
        Some(Answer {
            verdict,
            fingerprint,
            largest,
            seconds,
        })
    }
}

/// An answer, whatever its verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answered {
    Begins(Answer),
    Refuses {
        verdict: Verdict,
        /// The number of milliseconds after which another attempt makes sense; 0 if that is not
        /// known.
        wait: u32,
    },
}

impl Answered {
    /// How many bytes follow an answer's head; `None` if it is not an answer that this version knows.
    pub(crate) fn length(head: &[u8; HEAD]) -> Option<usize> {
        let [magic @ .., version, verdict, low, high] = head;
        let length = usize::from(u16::from_le_bytes([*low, *high]));
        let is_begun = *verdict < 16;
        let expected = if is_begun { 26 } else { 4 };
        // A refusal says the same in every version.
        let is_known = *version >= VERSION || !is_begun;
        (magic == &MAGIC && length == expected && is_known).then_some(length)
    }

    /// Reads what follows this head.
    pub(crate) fn decode(head: &[u8; HEAD], rest: &[u8]) -> Option<Answered> {
        let verdict = head[9];
        if verdict < 16 {
            return Answer::decode(verdict, rest).map(Answered::Begins);
        }
        Some(Answered::Refuses {
            verdict: Verdict::of(verdict),
            wait: u32::from_le_bytes(rest.try_into().ok()?),
        })
    }
}

/// The answer that refuses a session.
pub(crate) fn refusal(verdict: Verdict, wait: u32) -> Vec<u8> {
    head(verdict.code(), &wait.to_le_bytes())
}

fn head(kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut all = Vec::with_capacity(HEAD + rest.len());
    all.extend_from_slice(&MAGIC);
    all.push(VERSION);
    all.push(kind);
    let length = u16::try_from(rest.len()).unwrap_or(u16::MAX);
    all.extend_from_slice(&length.to_le_bytes());
    all.extend_from_slice(rest);
    all
}

fn array<const N: usize>(from: &mut Decoder<'_>) -> Option<[u8; N]> {
    from.take(N).ok()?.try_into().ok()
}

/// What both sides begin with: a side's fingerprint, the largest payload that it accepts, and its heartbeat.
fn offer(fingerprint: Fingerprint, largest: u32, seconds: u16) -> Encoder {
    let mut rest = Encoder::new();
    rest.put(&fingerprint.0);
    rest.put(&largest.to_le_bytes());
    rest.put(&[0; 4]);
    rest.put(&seconds.to_le_bytes());
    rest
}

/// Reads that.
fn offered(from: &mut Decoder<'_>) -> Option<(Fingerprint, u32, u16)> {
    let fingerprint = array(from).map(Fingerprint)?;
    let largest = u32::from_le_bytes(array(from)?);
    let zero: [u8; 4] = array(from)?;
    let seconds = u16::from_le_bytes(array(from)?);
    (largest >= SMALLEST_LIMIT && zero == [0; 4]).then_some((fingerprint, largest, seconds))
}

fn bytes<'a>(from: &mut Decoder<'a>) -> Option<&'a [u8]> {
    let count = usize::try_from(from.count().ok()?).ok()?;
    from.take(count).ok()
}
