//! What was read from a connection but has not been delivered yet.

use std::time::{Duration, Instant};

use duologue::transport::Why;

use crate::frame::{self, Allowed, Frame};
use crate::session::COLLECTED;
use crate::stream::{is_early, past, Stream};

/// How much is read at once, at first; and the buffer that a session keeps after it was shrunk.
pub(crate) const FIRST_BUFFER: usize = 1 << 10;
/// How much is read at once after a read has filled the first buffer; and the largest buffer that an idle session keeps.
pub(crate) const SMALL_BUFFER: usize = 4 << 10;
/// How much is read and discarded, at most, before a connection is closed.
const READ_OFF: usize = 1 << 20;

/// What was read but has not been delivered yet: `bytes[start..end]`.
pub(crate) struct Input {
    pub(crate) bytes: Vec<u8>,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Whether the last read has filled the buffer.
    was_filled: bool,
    /// Why no more bytes will arrive.
    pub(crate) ended: Option<Why>,
    /// How long the peer may be silent.
    patience: Option<Duration>,
    /// When the peer's silence began: the time of the first read that found nothing since data last arrived.
    quiet_since: Option<Instant>,
}

impl Input {
    /// What was already read when the session began.
    pub(crate) fn of(early: Vec<u8>, patience: Option<Duration>) -> Input {
        Input {
            start: 0,
            end: early.len(),
            bytes: early,
            was_filled: false,
            ended: None,
            patience,
            quiet_since: None,
        }
    }

    /// Whether the buffer is larger than an idle session needs.
    pub(crate) fn is_large(&self) -> bool {
        self.bytes.capacity() > SMALL_BUFFER
    }

    /// Whether the last read, which has found something, has taken everything that the descriptor had.
    pub(crate) fn has_drained(&self, stream: &dyn Stream) -> bool {
        stream.is_plain() && !self.was_filled
    }

    /// Returns the memory of a buffer that is empty.
    pub(crate) fn shrink(&mut self) {
        if self.start == self.end && self.is_large() {
            (self.start, self.end) = (0, 0);
            self.was_filled = false;
            self.bytes.truncate(FIRST_BUFFER);
            self.bytes.shrink_to(FIRST_BUFFER);
        }
    }

    /// Reads once. Returns whether data or the end of the connection arrived. If the peer has been silent for too
    /// long, that counts as the end.
    pub(crate) fn read(&mut self, stream: &dyn Stream, deadline: Option<Instant>) -> bool {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.bytes.truncate(COLLECTED);
            self.bytes.shrink_to(COLLECTED);
        }
        // What is left of the last read is nearly always the beginning of one frame. Moving it costs less than a read
        // into the rest of the buffer, and at most as much as what was delivered since the last move.
        let is_full = self.end == self.bytes.len();
        if self.start > 0 && (is_full || self.end - self.start <= self.start) {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.bytes.len() {
            let size = (2 * self.bytes.len()).max(FIRST_BUFFER);
            self.bytes.resize(size, 0);
        } else if self.was_filled && self.bytes.len() < COLLECTED {
            // More arrives at once than one read takes.
            let is_small = self.bytes.len() < SMALL_BUFFER;
            let size = if is_small { SMALL_BUFFER } else { COLLECTED };
            self.bytes.resize(size, 0);
        }
        let (began, until) = self.limit(deadline);
        match stream.read(&mut self.bytes[self.end..], until) {
            Ok(0) => self.ended = Some(Why::Lost),
            Ok(count) => {
                self.end += count;
                self.was_filled = self.end == self.bytes.len();
                self.quiet_since = None;
            }
            Err(error) if is_early(&error) => {
                let Some((patience, began)) = self.patience.zip(began) else {
                    return false;
                };
                // This read would have found anything that arrived before it began, even if this thread is late.
                if self.quiet_since.get_or_insert(began).elapsed() < patience {
                    return false;
                }
                self.ended = Some(Why::Lost);
            }
            Err(_) => self.ended = Some(Why::Lost),
        }
        true
    }

    /// The time now, if the peer's silence is limited, and the deadline of a read.
    fn limit(&self, deadline: Option<Instant>) -> (Option<Instant>, Option<Instant>) {
        let Some(patience) = self.patience else {
            return (None, deadline);
        };
        let now = Instant::now();
        let end = self.quiet_since.unwrap_or(now) + patience;
        let until = deadline.map_or(end, |deadline| deadline.min(end));
        (Some(now), Some(until))
    }

    /// Why the peer ended the session, if what was read says so.
    pub(crate) fn said(&self, allowed: Allowed) -> Option<Why> {
        let mut bytes = &self.bytes[self.start..self.end];
        loop {
            match frame::first(bytes, allowed, |_| None) {
                Frame::Ignored(length) => bytes = &bytes[length..],
                Frame::Leave(why) => return Some(why),
                Frame::Incomplete | Frame::Message { .. } | Frame::Broken => return None,
            }
        }
    }

    /// Reads and discards what has arrived: if a connection with unread data is closed, some systems also discard
    /// what was written before.
    pub(crate) fn read_off(&mut self, stream: &dyn Stream) {
        let mut bytes = [0; 4 << 10];
        let mut count = 0;
        while self.ended.is_none() && count < READ_OFF {
            match stream.read(&mut bytes, Some(past())) {
                Ok(read) if read > 0 => count += read,
                Ok(_) | Err(_) => self.ended = Some(Why::Left),
            }
        }
    }
}
