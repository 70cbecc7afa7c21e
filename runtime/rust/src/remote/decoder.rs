//! Reading encoded payloads from a peer that is not trusted.

use std::error::Error;
use std::fmt;

use super::encoder::DEEPEST;
use crate::ring::driver::Why;

/// How many items a list may contain if they take no bytes.
const MOST_EMPTY: u64 = 65_535;

/// Bytes that no correct peer sends, or whose values take too much memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed(pub(crate) &'static str);

impl Malformed {
    /// An enum has no variant at this position.
    pub const VARIANT: Malformed = Malformed("an enum has no such variant");

    /// The only case in which the peer has done nothing wrong.
    const TOO_LARGE: Malformed = Malformed("the values take more memory than is allowed");

    /// Why a session in which such a payload arrives ends.
    #[must_use]
    pub fn why(self) -> Why {
        match self {
            Malformed::TOO_LARGE => Why::TooLarge,
            _ => Why::Broken,
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Malformed {}

/// Reads one payload. Nothing is allocated before it has been checked against the remaining bytes and the limit for
/// memory.
pub struct Decoder<'a> {
    bytes: &'a [u8],
    /// How much memory the values may still take, in bytes.
    memory: usize,
    /// How many lists enclose the value that is decoded next.
    depth: u32,
    /// Whether the payload may end before the bytes do.
    may_end_early: bool,
}

impl<'a> Decoder<'a> {
    /// Reads these bytes. The decoded values may allocate `memory` bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8], memory: usize) -> Decoder<'a> {
        Decoder {
            bytes,
            memory,
            depth: 0,
            may_end_early: false,
        }
    }

    /// Reads a payload at the beginning of these bytes. What comes after it is not read.
    #[must_use]
    pub(crate) fn at_beginning(bytes: &'a [u8], memory: usize) -> Decoder<'a> {
        Decoder {
            may_end_early: true,
            ..Decoder::new(bytes, memory)
        }
    }

    /// Fails if bytes are left over where none may be. Returns how many are.
    pub(crate) fn end(self) -> Result<usize, Malformed> {
        match self.bytes {
            left if self.may_end_early => Ok(left.len()),
            [] => Ok(0),
            [..] => Err(Malformed("bytes are left over")),
        }
    }

    /// Fails if bytes are left over.
    pub fn finish(self) -> Result<(), Malformed> {
        match self.bytes {
            [] => Ok(()),
            [..] => Err(Malformed("bytes are left over")),
        }
    }

    /// Takes this many bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        match self.bytes.split_at_checked(count) {
            Some((taken, rest)) => {
                self.bytes = rest;
                Ok(taken)
            }
            None => Err(Malformed("bytes are missing")),
        }
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        match self.bytes.split_first_chunk() {
            Some((taken, rest)) => {
                self.bytes = rest;
                Ok(*taken)
            }
            None => Err(Malformed("bytes are missing")),
        }
    }

    /// Takes a count: seven bits per byte, the low ones first, in as few bytes as possible.
    #[inline]
    pub fn count(&mut self) -> Result<u64, Malformed> {
        let mut count = 0;
        for shift in (0..70).step_by(7) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 127);
            if shift == 63 && bits > 1 {
                break;
            }
            count |= bits << shift;
            if byte < 128 {
                if byte == 0 && shift > 0 {
                    return Err(Malformed("a count is longer than necessary"));
                }
                return Ok(count);
            }
        }
        Err(Malformed("a count is too large"))
    }

    /// Takes the count of a list whose items take at least `least` bytes each, and `size` bytes of memory each once
    /// they are decoded. Accounts for the memory.
    #[inline]
    pub(crate) fn items(&mut self, least: usize, size: usize) -> Result<usize, Malformed> {
        let count = self.count()?;
        self.reserve(count, least, size)
    }

    /// The same for a list, a text or bytes of at most `most` items.
    #[inline]
    pub(crate) fn items_at_most(
        &mut self,
        most: u64,
        least: usize,
        size: usize,
    ) -> Result<usize, Malformed> {
        let count = self.count()?;
        if count > most {
            return Err(Malformed("a value is longer than its bound"));
        }
        self.reserve(count, least, size)
    }

    #[inline]
    fn reserve(&mut self, count: u64, least: usize, size: usize) -> Result<usize, Malformed> {
        if least == 0 && count > MOST_EMPTY {
            return Err(Malformed("a list has too many items that take no bytes"));
        }
        let available = u64::try_from(self.bytes.len()).unwrap_or(u64::MAX);
        let needed = count.checked_mul(least as u64);
        if needed.is_none_or(|needed| needed > available) {
            return Err(Malformed("a list has more items than bytes"));
        }
        let count = usize::try_from(count).map_err(|_| Malformed("a count is too large"))?;
        // An item that takes neither bytes nor memory counts as one byte, so that lists of lists of them have a limit too.
        let memory = count.checked_mul(size.max(usize::from(least == 0)));
        match memory.and_then(|memory| self.memory.checked_sub(memory)) {
            Some(memory) => self.memory = memory,
            None => return Err(Malformed::TOO_LARGE),
        }
        Ok(count)
    }

    /// Reads the values of a list, each with `get`. The caller has checked their number.
    #[inline]
    pub(crate) fn list<T>(
        &mut self,
        count: usize,
        mut get: impl FnMut(&mut Decoder<'a>) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let mut items = Vec::new();
        items
            .try_reserve_exact(count)
            .map_err(|_| Malformed::TOO_LARGE)?;
        for _ in 0..count {
            items.push(get(self)?);
        }
        Ok(items)
    }

    /// Decodes the items of a list.
    #[inline]
    pub(crate) fn nested<T>(
        &mut self,
        get: impl FnOnce(&mut Decoder<'a>) -> Result<T, Malformed>,
    ) -> Result<T, Malformed> {
        if self.depth == DEEPEST {
            return Err(Malformed("lists are nested too deeply"));
        }
        self.depth += 1;
        let value = get(self)?;
        self.depth -= 1;
        Ok(value)
    }
}
