//! `#[allow(...)]` and similar attributes with a name that is not the name of a rule.

use super::Rule;
use super::findings::{Findings, Subject};
use super::levels::Location;
use crate::diagnostic::{Diagnostic, Level};
use crate::protocol::LevelAttribute;

pub const RULE: Rule = Rule {
    name: "unknown-rule",
    summary: "an attribute sets the level of a rule that does not exist",
    default: Some(Level::Warn),
    page: include_str!("../../docs/rules/unknown-rule.md"),
    find: Some(find),
};

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    for protocol in &subject.program.protocols {
        look(&protocol.levels, Location::protocol(protocol), findings);
        for state in &protocol.states {
            look(&state.levels, Location::state(protocol, state), findings);
            for message in &state.messages {
                let location = Location::message(protocol, state, message);
                look(&message.levels, location, findings);
            }
        }
    }
}

fn look(attributes: &[LevelAttribute], location: Location<'_>, findings: &mut Findings) {
    for attribute in attributes {
        let name = &attribute.rule;
        match super::rule(name.text()) {
            Some(rule) if rule.default.is_none() => findings.error(
                Diagnostic::error(
                    "syntax",
                    name.span,
                    format!("`{name}` is an error, and errors have no level"),
                )
                .label("not a rule")
                .note("no code can be generated from a protocol with an error")
                .help("remove it; `duologue rules` lists the rules that have a level"),
            ),
            Some(_) => {}
            None if name.text() == "all" => {}
            None => findings.report(&RULE, location, || {
                let message = format!("there is no rule `{name}`");
                let finding = Diagnostic::error(RULE.name, name.span, message);
                let near = super::nearest_rule(name.text()).and_then(super::rule);
                match near
                    .filter(|rule| rule.default.is_some())
                    .map(|rule| rule.name)
                {
                    Some(near) => {
                        finding.fix(format!("did you mean `{near}`?"), name.span, near, false)
                    }
                    None => finding.help("`duologue rules` lists all rules"),
                }
            }),
        }
    }
}
