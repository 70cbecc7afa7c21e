//! What was read from a connection but has not been delivered yet, and how long the peer has been silent.

use std::time::{Duration, Instant};

use duologue::transport::Why;

use super::frame::{self, Allowed, Frame};

/// A run is written when this much has been collected, and nothing is read while this much waits.
pub(crate) const COLLECTED: usize = 64 << 10;

/// How much is read at once, at first; and the buffer that a session keeps after it was shrunk.
pub(crate) const FIRST_BUFFER: usize = 1 << 10;
/// How much is read at once after a read has filled the first buffer; and the largest buffer that an idle session keeps.
pub(crate) const SMALL_BUFFER: usize = 4 << 10;

/// What was read but has not been delivered yet: `space[start..end]`.
pub(crate) struct Input {
    space: Vec<u8>,
    start: usize,
    end: usize,
    /// Whether the last read has filled the buffer.
    was_filled: bool,
    /// Why no more bytes will arrive.
    ended: Option<Why>,
    /// How long the peer may be silent.
    patience: Option<Duration>,
    /// When the peer's silence began: the time of the first read that found nothing since data last arrived.
    quiet_since: Option<Instant>,
}

impl Input {
    /// Nothing was read yet.
    pub(crate) fn new(patience: Option<Duration>) -> Input {
        Input {
            start: 0,
            end: 0,
            space: Vec::new(),
            was_filled: false,
            ended: None,
            patience,
            quiet_since: None,
        }
    }

    /// Whether the buffer is larger than an idle session needs.
    pub(crate) fn is_large(&self) -> bool {
        self.space.capacity() > SMALL_BUFFER
    }

    /// What was read.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.space[self.start..self.end]
    }

    /// The first bytes have been taken.
    pub(crate) fn take(&mut self, count: usize) {
        self.start += count;
    }

    /// Why no more bytes will arrive, if that is so.
    pub(crate) fn ended(&self) -> Option<Why> {
        self.ended
    }

    /// No more bytes will arrive.
    pub(crate) fn end(&mut self, why: Why) {
        self.ended = Some(why);
    }

    /// Whether the last read has filled the space that it had.
    pub(crate) fn was_filled(&self) -> bool {
        self.was_filled
    }

    /// Returns the memory of a buffer that is empty.
    pub(crate) fn shrink(&mut self) {
        if self.start == self.end && self.is_large() {
            (self.start, self.end) = (0, 0);
            self.was_filled = false;
            self.space.truncate(FIRST_BUFFER);
            self.space.shrink_to(FIRST_BUFFER);
        }
    }

    /// Where the next bytes are to be read.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.space.truncate(COLLECTED);
            self.space.shrink_to(COLLECTED);
        }
        // What is left of the last read is nearly always the beginning of one frame. Moving it costs less than a read
        // into the rest of the buffer, and at most as much as what was delivered since the last move.
        let is_full = self.end == self.space.len();
        if self.start > 0 && (is_full || self.end - self.start <= self.start) {
            self.space.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.space.len() {
            let size = (2 * self.space.len()).max(FIRST_BUFFER);
            self.space.resize(size, 0);
        } else if self.was_filled && self.space.len() < COLLECTED {
            // More arrives at once than one read takes.
            let is_small = self.space.len() < SMALL_BUFFER;
            let size = if is_small { SMALL_BUFFER } else { COLLECTED };
            self.space.resize(size, 0);
        }
        &mut self.space[self.end..]
    }

    /// This many bytes were read: none if the connection has ended.
    pub(crate) fn received(&mut self, count: usize) {
        if count == 0 {
            return self.end(Why::Lost);
        }
        self.end += count;
        self.was_filled = self.end == self.space.len();
        self.quiet_since = None;
    }

    /// Whether the peer's silence is limited.
    pub(crate) fn limits_silence(&self) -> bool {
        self.patience.is_some()
    }

    /// Until when a read that begins now waits.
    pub(crate) fn until(&self, now: Instant) -> Option<Instant> {
        let end = |patience| self.quiet_since.unwrap_or(now) + patience;
        self.patience.map(end)
    }

    /// A read that began at this time has found nothing until now. Returns whether the peer has been silent for too long: that
    /// counts as the end. The read would have found anything that arrived before it began, even if its thread is late.
    pub(crate) fn is_silent(&mut self, began: Instant, now: Instant) -> bool {
        let Some(patience) = self.patience else {
            return false;
        };
        let since = *self.quiet_since.get_or_insert(began);
        let is_silent = now.saturating_duration_since(since) >= patience;
        if is_silent {
            self.end(Why::Lost);
        }
        is_silent
    }

    /// Why the peer ended the session, if what was read says so.
    pub(crate) fn said(&self, allowed: Allowed) -> Option<Why> {
        let mut bytes = self.bytes();
        loop {
            match frame::first(bytes, allowed, |_| None) {
                Frame::Ignored(length) => bytes = &bytes[length..],
                Frame::Leave(why) => return Some(why),
                Frame::Incomplete | Frame::Message { .. } | Frame::Broken => return None,
            }
        }
    }
}
