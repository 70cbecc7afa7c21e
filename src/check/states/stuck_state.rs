//! A state in which it is one side's turn to send, but which has no messages.

use crate::check::findings::{Findings, Subject};
use crate::check::levels::Location;
use crate::diagnostic::{Diagnostic, Edit};
use crate::protocol::{Direction, Known, StateId};
use crate::source::Span;

// A warning and not an error, as in the compiler of 2012, whose own tutorial began with such a state.
rule! {
    "stuck-state", Warn,
    "a state has a direction, but no messages: both sides wait forever"
}

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    for case in subject.cases_of(Known::Messages) {
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
        let few_entrances = case.few_entrances(3);
        for id in stuck {
            let state = case.protocol.state(id);
            let direction = state.direction.expect("a stuck state has a direction");
            findings.report(&RULE, Location::state(case.protocol, state), || {
                let name = &state.name;
                let message = format!("both sides wait forever in state `{name}`");
                let (speaks, waits) = (
                    direction.active_side().word(),
                    direction.active_side().dual().word(),
                );
                let mut finding = RULE
                    .finding(name.span, message)
                    .label(format!(
                        "it is the {speaks}'s turn to send, but the state has no messages"
                    ))
                    .note(format!(
                        "the {waits} waits for a message that the {speaks} cannot send"
                    ));
                if let Some(message) = entrances[id.index()] {
                    finding = finding.related(message.next_span, "this leads here");
                }
                repair(id, &few_entrances[id.index()], direction, finding)
            });
        }
    }
}

/// Suggests ending the session before the state, if few messages lead to it.
fn repair(
    id: StateId,
    entrances: &[Span],
    direction: Direction,
    finding: Diagnostic,
) -> Diagnostic {
    let speaks = direction.active_side().word();
    if entrances.is_empty() {
        let text = format!("add a message that the {speaks} can send");
        return finding.help(if id.index() == 0 {
            text
        } else {
            format!("{text}, or let the messages that lead here lead to `!`")
        });
    }
    let edits = entrances.iter().map(|span| Edit::new(*span, "!"));
    let words = "to end the session there, write `!` and remove the state";
    finding.fix_all(words, edits)
}
