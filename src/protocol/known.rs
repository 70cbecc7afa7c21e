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
        let has_type_error = |message: &Message| {
            let arguments = match &message.next {
                Next::End | Next::Error => &[][..],
                Next::State { arguments, .. } => arguments.as_slice(),
            };
            let mut entries = message.entries.iter();
            entries.any(|entry| entry.ty.has_error()) || arguments.iter().any(Type::has_error)
        };
        if self.is_broken || self.states.is_empty() {
            return None;
        }
        let messages = || self.states.iter().flat_map(|state| &state.messages);
        Some(
            if messages().any(|message| matches!(message.next, Next::Error)) {
                Known::Messages
            } else if messages().any(has_type_error) {
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
