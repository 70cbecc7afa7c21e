//! `#[dual_of(other)]`: one protocol is the other, seen from the opposite side.

use super::Rule;
use super::findings::{Findings, Subject};
use crate::diagnostic::Label;
use crate::protocol::ProtocolId;
use crate::relation::{Origin, View, not_dual};

pub const RULE: Rule = Rule {
    name: "not-dual",
    summary: "a protocol is not the dual of the one its attribute names",
    default: None,
    page: include_str!("../../docs/rules/not-dual.md"),
    find: Some(find),
};

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    if findings.has_any(&["expanding-recursion"]) {
        return;
    }
    let is_sound = |id: ProtocolId| {
        let mut states = subject.program.protocol(id).states.iter();
        subject.shapes[id.index()].is_some()
            && states.all(|state| state.direction.is_some() || state.messages.is_empty())
    };
    for case in subject.cases() {
        for (other, at) in &case.protocol.dual_of {
            if !is_sound(case.id) || !is_sound(*other) {
                continue;
            }
            let view = |id| View::of(subject.program, id);
            if let Some(explanation) = not_dual(view(case.id), view(*other)) {
                let claim = Label {
                    span: *at,
                    text: "claimed here".to_owned(),
                };
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
