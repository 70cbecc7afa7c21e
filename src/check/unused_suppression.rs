//! `#[allow(...)]` that silences nothing.

use super::Rule;
use super::findings::{Findings, Subject};
use super::levels::Location;
use super::target_clash;
use crate::diagnostic::{Diagnostic, Level};
use crate::protocol::LevelAttribute;

pub const RULE: Rule = Rule {
    name: "unused-suppression",
    summary: "an attribute allows a rule that is not broken there",
    default: Some(Level::Warn),
    page: include_str!("../../docs/rules/unused-suppression.md"),
    find: Some(find),
};

/// Runs as the last rule, after all others have reported their findings.
fn find(subject: &Subject<'_>, findings: &mut Findings) {
    if findings.lacks_text() || findings.has_any(&target_clash::TOO_BROKEN) {
        return;
    }
    for case in subject.cases() {
        let protocol = case.protocol;
        look(&protocol.levels, Location::protocol(protocol), findings);
        for state in &protocol.states {
            look(&state.levels, Location::state(protocol, state), findings);
            for message in &state.messages {
                look(
                    &message.levels,
                    Location::message(protocol, state, message),
                    findings,
                );
            }
        }
    }
}

fn look(attributes: &[LevelAttribute], location: Location<'_>, findings: &mut Findings) {
    for attribute in attributes {
        let name = &attribute.rule;
        let is_rule = name.text() == "all"
            || super::rule(name.text()).is_some_and(|rule| rule.default.is_some());
        let is_own = name.text() == RULE.name;
        if attribute.level != Level::Allow || !is_rule || is_own || findings.is_heeded(attribute) {
            continue;
        }
        findings.report(&RULE, location, || {
            let finding = Diagnostic::error(
                RULE.name,
                name.span,
                format!("`{name}` is allowed, but does not occur here"),
            );
            let help = if attribute.is_alone {
                "remove the attribute"
            } else {
                "remove it from the attribute"
            };
            match attribute.removal {
                Some(removal) => finding.fix(help, removal, "", true),
                None => finding.help(help),
            }
        });
    }
}
