//! What was read from a connection and not delivered yet.

use std::time::Instant;

use duologue::transport::Why;

use crate::frame::{self, Frame};
use crate::session::COLLECTED;
use crate::stream::{is_early, Stream};

/// How much is read at once, at first.
const FIRST_READ: usize = 4 << 10;
/// How much is read off, at most, before a connection is closed.
const READ_OFF: usize = 1 << 20;

/// What was read and not delivered yet: `bytes[start..end]`.
pub(crate) struct Input {
    pub(crate) bytes: Vec<u8>,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Why nothing more will come.
    pub(crate) ended: Option<Why>,
}

impl Input {
    /// What was already read when the session began.
    pub(crate) fn of(early: Vec<u8>) -> Input {
        Input {
            start: 0,
            end: early.len(),
            bytes: early,
            ended: None,
        }
    }

    /// Reads once. Returns whether anything came, or the end.
    pub(crate) fn read(&mut self, stream: &dyn Stream, deadline: Option<Instant>) -> bool {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.bytes.truncate(COLLECTED);
            self.bytes.shrink_to(COLLECTED);
        }
        if self.end == self.bytes.len() {
            if self.start > 0 {
                self.bytes.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            } else {
                let size = (2 * self.bytes.len()).max(FIRST_READ);
                self.bytes.resize(size, 0);
            }
        }
        match stream.read(&mut self.bytes[self.end..], deadline) {
            Ok(0) => self.ended = Some(Why::Lost),
            Ok(count) => self.end += count,
            Err(error) if is_early(&error) => return false,
            Err(_) => self.ended = Some(Why::Lost),
        }
        true
    }

    /// Why the peer left, if it said so in what was read.
    pub(crate) fn said(&self) -> Option<Why> {
        let mut bytes = &self.bytes[self.start..self.end];
        loop {
            match frame::first(bytes, 0, |_| None) {
                Frame::Ignored(length) => bytes = &bytes[length..],
                Frame::Leave(why) => return Some(why),
                Frame::Incomplete | Frame::Message { .. } | Frame::Broken => return None,
            }
        }
    }

    /// Reads off what has arrived, because some systems discard what was written if a connection with unread data is
    /// closed.
    pub(crate) fn read_off(&mut self, stream: &dyn Stream) {
        let mut bytes = [0; 4 << 10];
        let mut count = 0;
        while self.ended.is_none() && count < READ_OFF {
            match stream.read(&mut bytes, Some(Instant::now())) {
                Ok(read) if read > 0 => count += read,
                Ok(_) | Err(_) => self.ended = Some(Why::Left),
            }
        }
    }
}
