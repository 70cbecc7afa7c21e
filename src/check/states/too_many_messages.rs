//! A message is identified by its position in its state, and a position is one byte.

use crate::check::Rule;
use crate::check::findings::{Findings, Subject};
use crate::diagnostic::Diagnostic;
use crate::protocol::limits::MESSAGES;

pub const RULE: Rule = Rule {
    name: "too-many-messages",
    summary: "a state has more than 256 messages",
    default: None,
    page: include_str!("../../../docs/rules/too-many-messages.md"),
    find: Some(find),
};

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
            Diagnostic::error(
                RULE.name,
                name.span,
                format!("state `{name}` has {many} messages; at most {MESSAGES} are allowed"),
            )
            .related(beyond.name.span, "the first one over the limit")
            .note("one byte identifies a message: its position among the messages of its state")
            .help("group messages: let one message lead to a second state that distinguishes them"),
        );
    }
}
