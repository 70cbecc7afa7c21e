//! A state that no session can reach.

use crate::check::findings::{Findings, Subject};
use crate::check::levels::Location;
use crate::check::wording::and;
use crate::protocol::{Known, StateId};

rule! {
    "unreachable-state", Warn,
    "no dialogue leads to a state"
}

/// Reports the states where unreachable parts begin: states reached only from there would become reachable together with them.
fn find(subject: &Subject<'_>, findings: &mut Findings) {
    for case in subject.cases_of(Known::Behavior) {
        let reachable = &case.shape.reachable;
        if reachable.iter().all(|reached| *reached) {
            continue;
        }
        let protocol = case.protocol;
        let mut is_begun = vec![false; protocol.states.len()];
        // Sources come in later groups than their targets.
        for group in case.shape.graph.components().into_iter().rev() {
            let mut unreached = group.into_iter().filter(|id| !reachable[id.index()]);
            let Some(first) = unreached.next() else {
                continue;
            };
            let first = unreached.fold(first, StateId::min);
            if is_begun[first.index()] {
                continue;
            }
            is_begun[first.index()] = true;
            let behind = case.behind(first, &mut |id| {
                !reachable[id.index()] && !std::mem::replace(&mut is_begun[id.index()], true)
            });
            let state = protocol.state(first);
            let start = protocol.start();
            findings.report(&RULE, Location::state(protocol, state), || {
                let name = &state.name;
                let message = format!("no dialogue leads to state `{name}`");
                let mut finding = RULE
                    .finding(name.span, message)
                    .label("never reached")
                    .related(start.name.span, "sessions start here");
                if !behind.is_empty() {
                    let names = behind.iter().map(|id| protocol.state(*id));
                    let names: Vec<String> =
                        names.map(|state| format!("`{}`", state.name)).collect();
                    let verb = if names.len() == 1 { "is" } else { "are" };
                    finding =
                        finding.note(format!("{} {verb} reached only from here", and(&names)));
                }
                finding.help(format!("let a message lead to `{name}`, or remove it"))
            });
        }
    }
}
