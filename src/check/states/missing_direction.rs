//! A state with messages must say which side sends them.

use crate::check::Rule;
use crate::check::findings::{Findings, Subject};
use crate::diagnostic::Diagnostic;
use crate::protocol::State;

pub const RULE: Rule = Rule {
    name: "missing-direction",
    summary: "a state has messages, but does not say which side sends them",
    default: None,
    page: include_str!("../../../docs/rules/missing-direction.md"),
    find: Some(find),
};

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    let protocols = subject.program.protocols.iter();
    let states = protocols.flat_map(|protocol| &protocol.states);
    // A word that is not a direction was reported when it was parsed.
    let lacking =
        |state: &&State| state.direction.is_none() && state.direction_span.range().is_empty();
    for state in states.filter(lacking) {
        let Some(first) = state.messages.first() else {
            continue;
        };
        let name = &state.name;
        let at = state.direction_span;
        findings.error(
            Diagnostic::error(
                RULE.name,
                name.span,
                format!("state `{name}` does not say which side sends its messages"),
            )
            .label("`:send` or `:recv` is missing")
            .related(first.name.span, "which side sends this?")
            .fix("if the client sends", at, ":send", false)
            .fix("if the client receives", at, ":recv", false),
        );
    }
}
