//! The methods that send a message, and their names.

use super::layout::Document;
use super::spelling::value_name;
use super::states::{States, words};
use crate::protocol::{Message, State};
use std::collections::BTreeSet;

/// What a sender does if no slot is free.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Way {
    /// Blocks its thread.
    Waits,
    /// Fails.
    Tries,
    /// Lets its task wait.
    Awaits,
}

/// A way to send a message: the prefix and suffix of the method's name.
pub(super) struct Form {
    pub(super) way: Way,
    start: &'static str,
    end: &'static str,
}

/// All ways to send a message.
pub(super) const FORMS: [Form; 3] = [
    Form {
        way: Way::Waits,
        start: "",
        end: "",
    },
    Form {
        way: Way::Awaits,
        start: "",
        end: "_async",
    },
    Form {
        way: Way::Tries,
        start: "try_",
        end: "",
    },
];

/// The ways to send a message through an endpoint that is not shared. `waits`: whether a send may have to wait. If not, tasks can all the
/// same write what stays right should the protocol change.
pub(super) fn forms(waits: bool) -> &'static [Form] {
    if waits { &FORMS } else { &FORMS[..2] }
}

/// For each message of a state, the names of the methods that send it, in the order of [`FORMS`].
pub(super) fn method_names(state: &State) -> Vec<[String; 3]> {
    let plain = state.messages.iter();
    let plain: Vec<String> = plain.map(|message| value_name(&message.name)).collect();
    let mut taken: BTreeSet<String> = plain.iter().cloned().collect();
    let of = |plain: &String| {
        FORMS.each_ref().map(|form| {
            if form.way == Way::Waits {
                return plain.clone();
            }
            let bare = plain.strip_prefix("r#").unwrap_or(plain);
            let bare = bare.trim_end_matches('_');
            // `_2` is snake case, but `try__2` is not.
            let after = if form.start.is_empty() {
                bare
            } else {
                bare.trim_start_matches('_')
            };
            let name = free(format!("{}{after}{}", form.start, form.end), &taken);
            taken.insert(name.clone());
            name
        })
    };
    plain.iter().map(of).collect()
}

/// The name, with as many `_` appended as it takes to make it unused.
pub(super) fn free(mut name: String, taken: &BTreeSet<String>) -> String {
    while taken.contains(&name) {
        name.push('_');
    }
    name
}

/// A method.
pub(super) struct MethodView {
    pub(super) docs: String,
    pub(super) signature: String,
    pub(super) body: String,
}

impl States<'_> {
    /// For a method that sends a message: the value it passes on, its parameters, of which `receiver` is the first, and the types
    /// of the message's entries.
    pub(super) fn values(
        self,
        receiver: &str,
        message: &Message,
        names: &[String],
    ) -> (Document, Vec<String>, Vec<Document>) {
        let types = self.entries(message, names, self.scope.inside(1));
        let values: Vec<String> = message
            .entries
            .iter()
            .map(|entry| value_name(&entry.name))
            .collect();
        let mut parameters = vec![receiver.to_owned()];
        let typed = values.iter().zip(&types);
        parameters.extend(typed.map(|(name, ty)| {
            let start = format!("{name}: ");
            let column = 12 + start.len();
            start + &ty.laid_out(12, column, 1)
        }));
        let sent = match values.as_slice() {
            [] => Document::word("()"),
            [only] => Document::word(only.as_str()),
            several => Document::call("", words(several)),
        };
        (sent, parameters, types)
    }
}
