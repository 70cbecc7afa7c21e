//! The parameters of a session, as generated code specifies them.

use std::mem::{align_of, needs_drop, size_of};

use super::{most, Layout};

/// How many messages can be in flight at once: the longest run of messages in one direction.
///
/// One ring serves both directions because a state has one direction: a side sends only after it has read everything
/// that the other side sent, so messages are in flight in only one direction at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Capacity {
    /// No run is longer than this many messages, so a send never waits.
    Bounded(usize),
    /// A run may go on forever, so a send waits when the peer is a whole lap of the ring behind. The session begins with
    /// 1 KiB, or the space for two messages if that is more, which is enough as long as messages alternate or the
    /// receiver waits for them. Then it gets a ring of 64 KiB, or the space for 8 messages if that is more: about 7,000
    /// messages of 8 bytes, or 1,000 of 56 bytes. A lap goes through all of it if the receiver falls behind, and
    /// through 4 KiB as long as the receiver is never 2 KiB behind. Memory that no lap has reached is not touched. On
    /// 32-bit systems the ring takes 8 KiB.
    Unbounded,
}

/// The size and alignment of the slot that a ring has for each payload, and how many messages a state can have.
///
/// ```
/// # use duologue_runtime::generated::Slot;
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
    /// A slot of size 0, for messages without a payload, and up to 256 messages in a state.
    pub const fn new() -> Slot {
        Slot {
            size: 0,
            align: 1,
            messages: 256,
            drops: false,
        }
    }

    /// No state has more than this many messages. If there are at most 16, more messages fit into a cache line.
    pub const fn messages(self, messages: usize) -> Slot {
        Slot { messages, ..self }
    }

    /// Makes the slot large enough for a payload of this type. This matters even for a payload of size 0: if it has a
    /// destructor, messages must be destroyed and cannot be forgotten.
    pub const fn fit<P>(self) -> Slot {
        Slot {
            size: most(self.size, size_of::<P>()),
            align: most(self.align, align_of::<P>()),
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
    /// The length of the longest run; more than any ring can hold if there is none.
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

/// The parameters of a session: see [`State::SESSION`](crate::generated::State::SESSION).
#[derive(Clone, Copy, Debug)]
pub struct Session(Option<(Slot, Capacity, bool)>);

impl Session {
    /// They depend on how the state was reached, so they have to be looked up in the session.
    pub const UNKNOWN: Session = Session(None);

    /// A session with this slot and this capacity. `is_first`: whether the side that sends in this state is the one
    /// that sent the first message.
    pub const fn of(slot: Slot, capacity: Capacity, is_first: bool) -> Session {
        Session(Some((slot, capacity, is_first)))
    }

    /// Whether `self` may be the session of a state that follows a state with `this`. `turns`: whether the direction
    /// turns between them.
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
