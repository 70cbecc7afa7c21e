//! `#[allow(...)]` that silences nothing.

use super::Rule;
use super::findings::{Findings, Subject};
use super::levels::each_attribute;
use super::target_clash;
use crate::diagnostic::{Diagnostic, Level};

pub const RULE: Rule = Rule {
    name: "unused-suppression",
    summary: "an attribute allows a rule that is not broken there",
    default: Some(Level::Warn),
    page: include_str!("../../docs/rules/unused-suppression.md"),
    find: Some(find),
};

/// Runs as the last rule, after all others have reported their findings.
fn find(subject: &Subject<'_>, findings: &mut Findings) {
    if findings.is_incomplete() || findings.has_any(&target_clash::TOO_BROKEN) {
        return;
    }
    each_attribute(subject.program, &mut |attribute, location| {
        let name = &attribute.rule;
        let is_rule = name.text() == "all"
            || super::rule(name.text()).is_some_and(|rule| rule.default.is_some());
        let is_own = name.text() == RULE.name;
        if attribute.level != Level::Allow || !is_rule || is_own || findings.is_heeded(attribute) {
            return;
        }
        findings.report(&RULE, location, || {
            let text = format!("`{name}` is allowed, but does not occur here");
            let finding = Diagnostic::error(RULE.name, name.span, text);
            let help = match attribute.is_alone {
                true => "remove the attribute",
                false => "remove it from the attribute",
            };
            match attribute.removal {
                Some(removal) => finding.fix(help, removal, "", true),
                None => finding.help(help),
            }
        });
    });
}
