//! `#[allow(...)]` that silences nothing.

use crate::check::findings::{Findings, Subject};
use crate::check::levels::{Location, attributes_in, attributes_outside};
use crate::check::names::target_clash;
use crate::diagnostic::Level;
use crate::protocol::LevelAttribute;

rule! {
    "unused-suppression", Warn,
    "an attribute allows a rule that is not broken there"
}

/// Runs as the last rule, after all others have reported their findings.
fn find(subject: &Subject<'_>, findings: &mut Findings) {
    if findings.lacks_text() || findings.has_any(&target_clash::TOO_BROKEN) {
        return;
    }
    let is_incomplete = findings.is_incomplete();
    let mut look = |attribute: &LevelAttribute, location: Location<'_>| {
        let name = &attribute.rule;
        let is_rule = name.text() == "all"
            || crate::check::rule(name.text()).is_some_and(|rule| rule.default.is_some());
        let is_own = name.text() == RULE.name;
        if attribute.level != Level::Allow || !is_rule || is_own || findings.is_heeded(attribute) {
            return;
        }
        findings.report(&RULE, location, || {
            let text = format!("`{name}` is allowed, but does not occur here");
            let finding = RULE.finding(name.span, text);
            let help = match attribute.is_alone {
                true => "remove the attribute",
                false => "remove it from the attribute",
            };
            match attribute.removal {
                Some(removal) => finding.fix(help, removal, "").safe(true),
                None => finding.help(help),
            }
        });
    };
    // What a type, bound or instance is used for is not known where another name is not.
    if !is_incomplete {
        attributes_outside(subject.program, &mut look);
    }
    for case in subject.cases() {
        attributes_in(case.protocol, &mut look);
    }
}
