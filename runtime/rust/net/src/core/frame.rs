//! Frames, which follow hello and answer in both directions.

use duologue::transport::{Size, Why};

/// The kinds of control frames.
const ALIVE: u8 = 1;
const LEAVE: u8 = 3;
const DRAIN: u8 = 4;

/// Says that this side is still there.
pub(crate) const STILL_THERE: [u8; 2] = [0, ALIVE];

/// Says why this side ends the session, as the last frame.
pub(crate) fn leave(why: Why) -> [u8; 3] {
    let reason = match why {
        Why::Broken => 1,
        Why::Late => 2,
        Why::TooLarge => 3,
        Why::Left | Why::Lost | Why::Stopped => 0,
        _ => 0,
    };
    [0, LEAVE, reason]
}

/// The first frame in a sequence of bytes.
pub(crate) enum Frame {
    /// It is not complete.
    Incomplete,
    /// A message: its tag, and where its payload is.
    Message {
        tag: usize,
        payload: std::ops::Range<usize>,
    },
    /// A control frame of this many bytes that needs no answer.
    Ignored(usize),
    /// The peer ends the session.
    Leave(Why),
    /// No correct peer sends this.
    Broken,
}

/// A count at the beginning of a sequence of bytes: its value and its length.
enum Count {
    Incomplete,
    Broken,
    Is(u64, usize),
}

/// Reads a count of at most `longest` bytes.
fn count(bytes: &[u8], longest: usize) -> Count {
    let mut value = 0;
    for (at, byte) in bytes.iter().take(longest).enumerate() {
        value |= u64::from(byte & 127) << (7 * at);
        if *byte < 128 {
            return match (*byte, at) {
                (0, 1..) => Count::Broken,
                _ => Count::Is(value, at + 1),
            };
        }
    }
    if bytes.len() < longest {
        Count::Incomplete
    } else {
        Count::Broken
    }
}

/// What a side allows in the frames that it reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    /// The largest payload.
    pub(crate) largest: usize,
    /// Whether the peer may ask this side to end the session: it may if it is the accepting side.
    pub(crate) drain: bool,
}

/// Reads the first frame. `size` returns, for the tag of a message that may come next, the size of its payload and the
/// protocol's limit for it.
pub(crate) fn first(
    bytes: &[u8],
    allowed: Allowed,
    size: impl Fn(usize) -> Option<(Size, usize)>,
) -> Frame {
    let (tag, start) = match count(bytes, 2) {
        Count::Incomplete => return Frame::Incomplete,
        Count::Broken => return Frame::Broken,
        Count::Is(0, _) => return control(bytes, allowed.drain),
        Count::Is(number, length) => match usize::try_from(number - 1) {
            Ok(tag) => (tag, length),
            Err(_) => return Frame::Broken,
        },
    };
    let Some((size, limit)) = size(tag) else {
        return Frame::Broken;
    };
    let (length, start) = match size.fixed() {
        Some(fixed) => (fixed, start),
        None => match count(&bytes[start..], 5) {
            Count::Incomplete => return Frame::Incomplete,
            Count::Broken => return Frame::Broken,
            Count::Is(length, digits) => match usize::try_from(length) {
                Ok(length) => (length, start + digits),
                Err(_) => return Frame::Broken,
            },
        },
    };
    if length > allowed.largest.min(limit) || !size.admits(length) {
        return Frame::Broken;
    }
    let payload = start..start + length;
    if payload.end > bytes.len() {
        return Frame::Incomplete;
    }
    Frame::Message { tag, payload }
}

fn control(bytes: &[u8], drains: bool) -> Frame {
    match *bytes {
        [_] => Frame::Incomplete,
        [_, ALIVE, ..] => Frame::Ignored(2),
        [_, DRAIN, ..] if drains => Frame::Ignored(2),
        [_, LEAVE] => Frame::Incomplete,
        [_, LEAVE, reason, ..] => Frame::Leave(match reason {
            1 => Why::Broken,
            2 => Why::Late,
            3 => Why::TooLarge,
            _ => Why::Left,
        }),
        [..] => Frame::Broken,
    }
}
