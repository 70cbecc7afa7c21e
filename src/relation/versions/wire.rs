//! Two versions between processes, where a message travels as its position in its state.

use crate::protocol::Message;
use crate::relation::{Disagreement, Position, View, difference, misfit, tag_mismatch};

/// Why neither side may accept the other version's fingerprint; `None` if one may.
#[must_use]
pub fn refusal(old: View<'_>, new: View<'_>) -> Option<String> {
    let mixtures = [(old, new), (new, old)];
    let displaced = mixtures.map(|(client, server)| tag_mismatch(client, server));
    if displaced.iter().any(Option::is_none) {
        return None;
    }
    if difference(old, new.turned()).is_none() {
        return Some("client and server have swapped roles".to_owned());
    }
    // If the two versions understand each other by names, the reason is the message whose positions differ.
    let by_name = mixtures.map(|(client, server)| misfit(client, server).is_none());
    let [old_client, new_client] = displaced;
    Some(match (by_name, old_client, new_client) {
        ([true, _], Some(found), _) => positions(&found, true),
        ([false, true], _, Some(found)) => positions(&found, false),
        ([false, false], ..) | (_, None, _) | (_, _, None) => {
            "neither version understands the other".to_owned()
        }
    })
}

/// The positions, in each version, of the message that the two versions disagree about.
fn positions(found: &Disagreement<'_>, is_left_old: bool) -> String {
    let (Some(said), Position::State(left), Position::State(right)) =
        (found.dialogue.last(), found.left, found.right)
    else {
        return "positions of messages differ".to_owned();
    };
    let name = said.message.name.text();
    let at = |messages: &[Message]| {
        let found = messages.iter().position(|own| own.name.text() == name);
        found.map_or_else(String::new, |at| at.to_string())
    };
    let (old, new) = match is_left_old {
        true => (left, right),
        false => (right, left),
    };
    format!(
        "message `{name}` has position {} in state `{}` of the old version and {} in `{}` of the new one",
        at(&old.messages),
        old.name,
        at(&new.messages),
        new.name
    )
}
