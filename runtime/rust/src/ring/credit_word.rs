//! The credit word of a session: which segment of the ring the receiver has emptied last, and flags. What the sender
//! does with it is in `link::credit`.

use super::position::EPOCHS;
use super::word::{word, Awaitable};

/// The credit word. Both sides change it only by read-modify-writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Credit(u64);

word!(Credit);

/// The sender waits for space. A receiver that reports a segment or disconnects lowers the flag and wakes the sender.
impl Awaitable for Credit {}

/// The receiver consumes its last messages and will then be gone: the sender gets no more space.
const NO_MORE: u64 = 2;
/// The sender has disconnected while the ring was full. The receiver finds it when it reports the segment that the
/// sender would have entered next, and publishes there on behalf of the sender that the session is closed.
const ORPHANED: u64 = 4;

const NUMBER_SHIFT: u32 = 8;

/// How many segment numbers an epoch has: more than a lap has segments, and a power of two, so that the numbers
/// continue where epochs wrap around.
const NUMBERS: u64 = 8;
/// The bits of a segment number over all epochs.
const ALL_NUMBERS: u64 = EPOCHS as u64 * NUMBERS - 1;

/// A segment of the lap with this epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment(u64);

impl Segment {
    /// The segment with this number.
    pub(crate) fn of(epoch: u32, which: usize) -> Segment {
        Segment(u64::from(epoch) * NUMBERS + which as u64)
    }

    /// What is reported at the end of a lap, because the lap is empty then: a number that is larger than those of its
    /// segments.
    pub(crate) fn last_of(epoch: u32) -> Segment {
        Segment(u64::from(epoch) * NUMBERS + NUMBERS - 1)
    }
}

impl Credit {
    pub(crate) const NONE: Credit = Credit(0);

    /// Whether this reports the segment, or one that is less than a lap later.
    pub(crate) fn has_reported(self, segment: Segment) -> bool {
        (self.0 >> NUMBER_SHIFT).wrapping_sub(segment.0) & ALL_NUMBERS < NUMBERS
    }

    /// The credit word after this one in which the receiver reports a segment.
    pub(crate) fn reporting(self, segment: Segment) -> Credit {
        Credit(segment.0 << NUMBER_SHIFT | self.0 & NO_MORE)
    }

    pub(crate) fn is_leaving(self) -> bool {
        self.0 & NO_MORE != 0
    }

    /// The receiver is disconnecting. The caller wakes a sender that waited.
    pub(crate) fn leaving(self) -> Credit {
        Credit(self.not_awaited().0 | NO_MORE)
    }

    pub(crate) fn is_orphaned(self) -> bool {
        self.0 & ORPHANED != 0
    }

    /// The sender disconnects, and no longer waits.
    pub(crate) fn orphaned(self) -> Credit {
        Credit(self.not_awaited().0 | ORPHANED)
    }
}
