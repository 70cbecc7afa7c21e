//! A type parameter that nothing uses.

use crate::check::findings::{Findings, Subject};
use crate::check::levels::Location;
use crate::protocol::{Message, State, Type};

rule! {
    "unused-type-parameter", Warn,
    "no message of a state uses one of its type parameters"
}

/// Terminal states are not reported: `Done<T>` has a parameter so that `-> Done<T>` can be written.
fn find(subject: &Subject<'_>, findings: &mut Findings) {
    for case in subject.cases() {
        for state in &case.protocol.states {
            if state.parameters.is_empty() || state.direction.is_none() {
                continue;
            }
            let used = used(state);
            let unused = state
                .parameters
                .iter()
                .zip(used)
                .filter(|(_, is_used)| !is_used);
            for (parameter, _) in unused {
                findings.report(&RULE, Location::state(case.protocol, state), || {
                    let name = &parameter.name;
                    let message = format!("state `{}` does not use its type parameter `{name}`", state.name);
                    RULE.finding(name.span, message)
                        .label("no payload and no next state mentions it")
                        .help("remove it here, and remove the argument wherever a message leads to this state")
                });
            }
        }
    }
}

fn used(state: &State) -> Vec<bool> {
    let mut used = vec![false; state.parameters.len()];
    let mut look = |ty: &Type| {
        ty.walk(&mut |part| {
            if let Type::Parameter(index) = part {
                used[*index as usize] = true;
            }
        });
    };
    let types = state.messages.iter().flat_map(Message::types);
    types.for_each(&mut look);
    used
}
