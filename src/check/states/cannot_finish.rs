//! States from which a session cannot reach an end, in a protocol that has one.

use super::never_ends::has_terminal;
use crate::check::findings::{Case, Findings, Subject};
use crate::check::levels::Location;
use crate::check::wording::and;
use crate::protocol::{Known, Message, StateId};

rule! {
    "cannot-finish", Warn,
    "no terminal can be reached from a state, in a protocol that has one"
}

/// Reports each trap once: the state through which it is entered, and the message after which there is no way back.
fn find(subject: &Subject<'_>, findings: &mut Findings) {
    for case in subject.cases_of(Known::Behavior) {
        let protocol = case.protocol;
        if !has_terminal(protocol) {
            continue;
        }
        // A stuck state has its own rule, so a state that can reach one is not reported here.
        let finishes = case
            .shape
            .graph
            .leads_to(|id| protocol.state(id).messages.is_empty());
        let is_trapped = |id: StateId| case.shape.reachable[id.index()] && !finishes[id.index()];
        let trapped: Vec<StateId> = protocol.state_ids().filter(|id| is_trapped(*id)).collect();
        if trapped.is_empty() {
            continue;
        }
        let doors = doors(case, &finishes);
        let mut is_told = vec![false; protocol.states.len()];
        let entered = trapped
            .iter()
            .filter(|id| doors[id.index()].is_some() || id.index() == 0);
        for id in entered {
            if is_told[id.index()] {
                continue;
            }
            is_told[id.index()] = true;
            let trap = case.behind(*id, &mut |id| {
                !std::mem::replace(&mut is_told[id.index()], true)
            });
            tell(case, *id, &trap, doors[id.index()], findings);
        }
    }
}

/// For each state that cannot finish, the first message that leads to it from a state that can.
fn doors<'a>(case: Case<'a>, finishes: &[bool]) -> Vec<Option<&'a Message>> {
    let mut doors = vec![None; finishes.len()];
    for (id, state) in case.reachable_states() {
        for message in &state.messages {
            if let Some(to) = message.next.state()
                && finishes[id.index()]
                && !finishes[to.index()]
                && doors[to.index()].is_none()
            {
                doors[to.index()] = Some(message);
            }
        }
    }
    doors
}

fn tell(
    case: Case<'_>,
    id: StateId,
    others: &[StateId],
    door: Option<&Message>,
    findings: &mut Findings,
) {
    let state = case.protocol.state(id);
    findings.report(&RULE, Location::state(case.protocol, state), || {
        let name = &state.name;
        let message = format!("a session cannot finish once it is in state `{name}`");
        let mut finding = RULE
            .finding(name.span, message)
            .label("no dialogue leads from here to the end of the session");
        if let Some(door) = door {
            finding = finding.related(door.next_span, "after this there is no way back");
        }
        if !others.is_empty() {
            let names = others.iter().map(|id| case.protocol.state(*id));
            let names: Vec<String> = names.map(|state| format!("`{}`", state.name)).collect();
            finding = finding.note(format!("the same holds for {}", and(&names)));
        }
        finding.help("add a message such as `quit -> !`, or one that leads back")
    });
}
