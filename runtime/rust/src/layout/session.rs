//! What a session is begun with, in the words of generated code.

use std::mem::{align_of, needs_drop, size_of};

use super::Layout;

/// How many messages can be in flight at once: the longest run of messages in one direction.
///
/// One ring serves both directions because a state has one direction: a side speaks only after it has read all that
/// the other said, so messages are in flight in one direction at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Capacity {
    /// No run is longer than this, so a send never waits.
    Bounded(usize),
    /// A run may go on for ever, so a send waits when the peer is a whole lap of the ring behind. The session takes 64 KiB, or
    /// room for 8 messages if that is more: about 7,000 messages of 8 bytes, 1,000 of 56. A lap goes through all of it if
    /// the receiver falls behind, through 8 KiB as long as it is never 4 KiB behind, and through 1 if messages come one by
    /// one; what laps have not come to is not touched. On 32-bit systems it takes 8 KiB.
    Unbounded,
}

/// The size and alignment of the room that a ring has for each payload, and how many messages a state can have.
///
/// ```
/// # use duologue_runtime::Slot;
/// const ROOM: Slot = Slot::new().messages(3).fit::<u64>().fit::<(String, u8)>();
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    pub(super) size: usize,
    pub(super) align: usize,
    pub(super) messages: usize,
    /// Whether some payload has a destructor.
    pub(super) drops: bool,
}

impl Slot {
    /// No room: for messages without payload, up to 256 in a state.
    pub const fn new() -> Slot {
        Slot {
            size: 0,
            align: 1,
            messages: 256,
            drops: false,
        }
    }

    /// No state has more than this many messages. Up to 16, more messages share a cache line.
    pub const fn messages(self, messages: usize) -> Slot {
        Slot { messages, ..self }
    }

    /// At least enough room for a payload of this type, which counts even if it needs none: if it has a destructor, messages
    /// must be destroyed and cannot be forgotten.
    pub const fn fit<P>(self) -> Slot {
        let (size, align) = (size_of::<P>(), align_of::<P>());
        Slot {
            size: if size > self.size { size } else { self.size },
            align: if align > self.align {
                align
            } else {
                self.align
            },
            messages: self.messages,
            drops: self.drops || needs_drop::<P>(),
        }
    }
}

impl Slot {
    const fn is(self, other: Slot) -> bool {
        self.size == other.size
            && self.align == other.align
            && self.messages == other.messages
            && self.drops == other.drops
    }
}

impl Capacity {
    /// More than any ring has room for if there is no longest run.
    const fn longest(self) -> usize {
        match self {
            Capacity::Bounded(longest) => longest,
            Capacity::Unbounded => usize::MAX,
        }
    }
}

impl Default for Slot {
    fn default() -> Slot {
        Slot::new()
    }
}

/// What a session is begun with: see [`State::SESSION`](crate::State::SESSION).
#[derive(Clone, Copy, Debug)]
pub struct Session(Option<(Slot, Capacity, bool)>);

impl Session {
    /// That depends on how the state was reached, so that it has to be looked up in the session.
    pub const UNKNOWN: Session = Session(None);

    /// With this slot and this capacity; and in this state sends, or does not, the side that sent the first message.
    pub const fn of(slot: Slot, capacity: Capacity, is_first: bool) -> Session {
        Session(Some((slot, capacity, is_first)))
    }

    /// Whether it may be that of a state that follows one with `this`, where the direction turns or not.
    pub(crate) const fn follows(self, this: Session, turns: bool) -> bool {
        match (self.0, this.0) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some((next, capacity, is_first)), Some((slot, same, was_first))) => {
                next.is(slot)
                    && capacity.longest() == same.longest()
                    && is_first == (was_first != turns)
            }
        }
    }

    pub(crate) const fn layout(self) -> Option<Layout> {
        match self.0 {
            Some((slot, capacity, is_first)) => {
                let layout = Layout::of(slot, capacity);
                let sender = if is_first { 0 } else { 1 };
                Some(Layout { sender, ..layout })
            }
            None => None,
        }
    }
}
