//! `#[dual_of(other)]`: one protocol is the other, seen from the opposite side.

use crate::check::findings::{Findings, Subject};
use crate::diagnostic::Label;
use crate::protocol::{Message, Type};
use crate::relation::{Origin, View, not_dual};

rule! {
    "not-dual", error,
    "a protocol is not the dual of the one its attribute names"
}

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    if findings.has_any(&["expanding-recursion"]) {
        return;
    }
    if subject.cases().all(|case| case.protocol.dual_of.is_empty()) {
        return;
    }
    let is_comparable = comparable(subject);
    for case in subject.cases() {
        for (other, at) in &case.protocol.dual_of {
            if !is_comparable[case.id.index()] || !is_comparable[other.index()] {
                continue;
            }
            let view = |id| View::of(subject.program, id);
            if let Some(explanation) = not_dual(view(case.id), view(*other)) {
                let claim = Label::new(*at, "claimed here");
                let here = |span| span;
                findings.error(explanation.finding(
                    RULE.name,
                    Some(claim),
                    Origin::Left,
                    &here,
                    &here,
                ));
            }
        }
    }
}

/// For each protocol, whether everything is known that a comparison with it looks at: itself, the declared types that it mentions, the
/// protocols of the endpoints that it carries, and so on.
fn comparable(subject: &Subject<'_>) -> Vec<bool> {
    let program = subject.program;
    let protocols = program.protocols.len();
    let mut mentioned_by: Vec<Vec<usize>> = vec![Vec::new(); protocols + program.types.len()];
    let mut is_sound = vec![true; mentioned_by.len()];
    let mut mention = |by: usize, ty: &Type| {
        ty.walk(&mut |part| match part {
            Type::Named(id) => mentioned_by[protocols + id.index()].push(by),
            Type::Endpoint(endpoint) => mentioned_by[endpoint.protocol.index()].push(by),
            Type::Error => is_sound[by] = false,
            Type::Builtin(_)
            | Type::List(_)
            | Type::Option(_)
            | Type::Tuple(_)
            | Type::Parameter(_) => {}
        });
    };
    for (by, protocol) in program.protocols.iter().enumerate() {
        let types = protocol.messages().flat_map(Message::types);
        types.for_each(|ty| mention(by, ty));
    }
    for (index, ty) in program.types.iter().enumerate() {
        for part in ty.definition.parts() {
            mention(protocols + index, part);
        }
    }
    for (index, protocol) in program.protocols.iter().enumerate() {
        let mut states = protocol.states.iter();
        is_sound[index] &= protocol.is_known()
            && states.all(|state| state.direction.is_some() || state.messages.is_empty());
    }
    let mut unsound: Vec<usize> = (0..is_sound.len()).filter(|at| !is_sound[*at]).collect();
    while let Some(at) = unsound.pop() {
        for by in &mentioned_by[at] {
            if std::mem::replace(&mut is_sound[*by], false) {
                unsound.push(*by);
            }
        }
    }
    is_sound
}
