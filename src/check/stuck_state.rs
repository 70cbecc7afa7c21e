//! A state in which one side has the word and nothing to say.

use super::Rule;
use super::findings::{Case, Findings, Subject};
use super::levels::Place;
use super::words::speaker;
use crate::diagnostic::{Diagnostic, Edit, Help, Level};
use crate::protocol::{Direction, StateId};

/// Warned of and not refused, as the compiler of 2012 did: its own tutorial began with such a state.
pub const RULE: Rule = Rule {
    name: "stuck-state",
    summary: "a state has a direction, but no messages: both sides wait for ever",
    default: Some(Level::Warn),
    page: include_str!("../../docs/rules/stuck-state.md"),
    find: Some(find),
};

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    for case in subject.cases() {
        let is_stuck = |id: &StateId| {
            let state = case.protocol.state(*id);
            state.direction.is_some() && state.messages.is_empty()
        };
        let stuck = case.reachable_states().map(|(id, _)| id);
        let stuck: Vec<StateId> = stuck.filter(is_stuck).collect();
        if stuck.is_empty() {
            continue;
        }
        let entrances = case.first_entrances();
        for id in stuck {
            let state = case.protocol.state(id);
            let direction = state.direction.expect("a stuck state has a direction");
            findings.report(&RULE, Place::state(case.protocol, state), || {
                let name = &state.name;
                let message = format!("both sides wait for ever in state `{name}`");
                let (speaks, waits) = (speaker(direction), speaker(direction.dual()));
                let mut finding = Diagnostic::error(RULE.name, name.span, message)
                    .label(format!(
                        "the {speaks} may speak here, but there is no message"
                    ))
                    .note(format!(
                        "the {waits} waits for a message that the {speaks} cannot send"
                    ));
                if let Some(message) = entrances[id.index()] {
                    finding = finding.related(message.next_span, "a session comes here");
                }
                repair(case, id, direction, finding)
            });
        }
    }
}

/// Ends the session before the state, where few messages lead to it.
fn repair(case: Case<'_>, id: StateId, direction: Direction, finding: Diagnostic) -> Diagnostic {
    let speaks = speaker(direction);
    let entrances = case.few_entrances(id, 3).unwrap_or_default();
    if entrances.is_empty() {
        let text = format!("add a message that the {speaks} can send");
        return finding.help(if id.index() == 0 {
            text
        } else {
            format!("{text}, or let the messages that lead here lead to `!`")
        });
    }
    let mut finding = finding;
    let edits = entrances.into_iter().map(|span| Edit {
        span,
        text: "!".to_owned(),
    });
    finding.helps.push(Help {
        text: "if the session is over there, say so with `!` and remove the state".to_owned(),
        edits: edits.collect(),
        is_safe: false,
    });
    finding
}
