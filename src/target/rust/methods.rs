//! The methods that send a message.

use super::layout::Piece;
use super::spelling::value_name;
use super::states::{States, words};
use crate::protocol::Message;

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
    ) -> (Piece, Vec<String>, Vec<Piece>) {
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
            [] => Piece::word("()"),
            [only] => Piece::word(only.as_str()),
            several => Piece::call("", words(several)),
        };
        (sent, parameters, types)
    }
}
