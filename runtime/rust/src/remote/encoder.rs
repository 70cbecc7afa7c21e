//! Where encoded payloads are collected until they are written.

/// How deeply lists may be nested, so that neither side recurses without a limit.
pub(crate) const DEEPEST: u32 = 256;

/// Collects encoded values. It keeps its memory, so that encoding allocates nothing once it has grown.
#[derive(Default)]
pub struct Encoder {
    bytes: Vec<u8>,
    /// How many frames were appended, modulo 2^64.
    frames: u64,
    /// How many lists enclose the value that is encoded next.
    depth: u32,
    /// Whether a list was nested too deeply to be sent, or a value is longer than its bound.
    is_refused: bool,
}

impl Encoder {
    /// An encoder without any bytes. Allocates nothing yet.
    #[must_use]
    pub fn new() -> Encoder {
        Encoder::default()
    }

    /// What was encoded since the last [`clear`](Encoder::clear).
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends these bytes as they are.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a count: seven bits per byte, the low ones first.
    #[inline]
    pub fn count(&mut self, mut count: u64) {
        while count >= 128 {
            self.bytes.push(count as u8 | 128);
            count >>= 7;
        }
        self.bytes.push(count as u8);
    }

    /// Appends the count of a value that may have at most `most` items. If it has more, the message is not sent.
    #[inline]
    pub(crate) fn count_at_most(&mut self, most: u64, count: usize) {
        let count = count as u64;
        self.is_refused |= count > most;
        self.count(count);
    }

    /// Forgets the bytes and keeps their memory, unless that is more than `keep` bytes.
    pub fn clear(&mut self, keep: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(keep);
    }

    /// How many bytes of memory it has.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Forgets the first `count` bytes. There are at least that many.
    pub fn forget(&mut self, count: usize) {
        drop(self.bytes.drain(..count));
    }

    /// How many frames were appended since this encoder was made.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Appends a frame, which `put` encodes, and whose payload takes as many bytes as `put` returns. Appends nothing and
    /// returns false if that is more than `largest`, or if the payload has lists that are nested too deeply or a value
    /// that is longer than its bound.
    #[inline]
    pub(crate) fn framed(
        &mut self,
        largest: usize,
        put: impl FnOnce(&mut Encoder) -> usize,
    ) -> bool {
        let start = self.bytes.len();
        let length = put(self);
        if length > largest || self.is_refused {
            self.bytes.truncate(start);
            self.is_refused = false;
            return false;
        }
        self.frames = self.frames.wrapping_add(1);
        true
    }

    /// Encodes the items of a list.
    #[inline]
    pub(crate) fn nested(&mut self, put: impl FnOnce(&mut Encoder)) {
        if self.depth == DEEPEST {
            self.is_refused = true;
            return;
        }
        self.depth += 1;
        put(self);
        self.depth -= 1;
    }

    /// Appends a value preceded by the number of its bytes, which is returned.
    pub(crate) fn counted(&mut self, put: impl FnOnce(&mut Encoder)) -> usize {
        let start = self.bytes.len();
        // Most values take less than 128 bytes, so their count takes one.
        self.bytes.push(0);
        put(self);
        let length = self.bytes.len() - start - 1;
        if length < 128 {
            self.bytes[start] = length as u8;
            return length;
        }
        let (mut count, mut digits) = ([0; 10], 0);
        let mut rest = length as u64;
        loop {
            let more = if rest >= 128 { 128 } else { 0 };
            count[digits] = rest as u8 & 127 | more;
            digits += 1;
            rest >>= 7;
            if more == 0 {
                break;
            }
        }
        let _one = self
            .bytes
            .splice(start..=start, count[..digits].iter().copied());
        length
    }
}
