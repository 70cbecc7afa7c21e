//! How much of a protocol is known, if there are errors.

use super::{Message, Next, Protocol, Type};

/// How much is known of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Known {
    /// Its states and messages, but not where each message leads.
    Messages,
    /// Where each message leads as well, but not each type.
    Behavior,
    /// Everything.
    All,
}

impl Protocol {
    /// How much of it is known, if it has states and no part of it is missing.
    #[must_use]
    pub fn known(&self) -> Option<Known> {
        if self.is_broken || self.states.is_empty() {
            return None;
        }
        let mut types = self.messages().flat_map(Message::types);
        Some(
            if self.messages().any(|message| message.next == Next::Error) {
                Known::Messages
            } else if types.any(Type::has_error) {
                Known::Behavior
            } else {
                Known::All
            },
        )
    }

    /// Whether everything about it is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.known() == Some(Known::All)
    }
}
