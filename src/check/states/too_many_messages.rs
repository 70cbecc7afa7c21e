//! A message is identified by its position in its state, and a position is one byte.

use crate::check::findings::{Findings, Subject};
use crate::protocol::limits::MESSAGES;

rule! {
    "too-many-messages", error,
    "a state has more than 256 messages"
}

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    let states = subject
        .program
        .protocols
        .iter()
        .flat_map(|protocol| &protocol.states);
    for state in states {
        let Some(beyond) = state.messages.get(MESSAGES) else {
            continue;
        };
        let (name, many) = (&state.name, state.messages.len());
        findings.error(
            RULE.finding(
                name.span,
                format!("state `{name}` has {many} messages; at most {MESSAGES} are allowed"),
            )
            .related(beyond.name.span, "the first one over the limit")
            .note("one byte identifies a message: its position among the messages of its state")
            .help("group messages: let one message lead to a second state that distinguishes them"),
        );
    }
}
