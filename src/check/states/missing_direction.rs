//! A state with messages must say which side sends them.

use crate::check::findings::{Findings, Subject};
use crate::protocol::State;

rule! {
    "missing-direction", error,
    "a state has messages, but does not say which side sends them"
}

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
            RULE.finding(
                name.span,
                format!("state `{name}` does not say which side sends its messages"),
            )
            .label("`:send` or `:recv` is missing")
            .related(first.name.span, "which side sends this?")
            .fix("if the client sends", at, ":send")
            .fix("if the client receives", at, ":recv"),
        );
    }
}
