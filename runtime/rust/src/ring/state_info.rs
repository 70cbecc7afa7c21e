//! What a side must know about its state where the state's type is not known.

use super::view::Ring;

/// A state, as its receiver sees it. There is at least one value for each state, so its address also shows that a state
/// is the same as the one before.
pub struct StateInfo {
    /// The state's name.
    pub(crate) name: &'static str,
    /// Destroys the message that is at this position, and with it the endpoint that follows.
    pub(crate) discard: fn(Ring),
}

impl StateInfo {
    /// The state of a side that has not received yet. It is replaced before it is read.
    pub(crate) const NONE: &'static StateInfo = &StateInfo {
        name: "",
        discard: |_| unreachable!("a side that has not received has no messages"),
    };
}
