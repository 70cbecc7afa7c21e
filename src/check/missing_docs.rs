//! A protocol, state, message or type without documentation.

use super::Rule;
use super::findings::{Findings, Subject};
use super::levels::Place;
use crate::diagnostic::{Diagnostic, Level};
use crate::name::Name;
use crate::protocol::Docs;

/// Allowed by default, because names often say enough.
pub const RULE: Rule = Rule {
    name: "missing-docs",
    summary: "a protocol, state, message or type has no documentation",
    default: Some(Level::Allow),
    page: include_str!("../../docs/rules/missing-docs.md"),
    find: Some(find),
};

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    let program = subject.program;
    for file in &program.files {
        for id in &file.types {
            let declared = program.ty(*id);
            report(
                "type",
                &declared.name,
                &declared.docs,
                Place::outside(),
                findings,
            );
        }
    }
    for case in subject.cases() {
        let protocol = case.protocol;
        report(
            "protocol",
            &protocol.name,
            &protocol.docs,
            Place::protocol(protocol),
            findings,
        );
        for state in &protocol.states {
            report(
                "state",
                &state.name,
                &state.docs,
                Place::state(protocol, state),
                findings,
            );
            for message in &state.messages {
                let place = Place::message(protocol, state, message);
                report("message", &message.name, &message.docs, place, findings);
            }
        }
    }
}

fn report(what: &str, name: &Name, docs: &Docs, place: Place<'_>, findings: &mut Findings) {
    if docs.is_empty() {
        findings.report(&RULE, place, || {
            Diagnostic::error(
                RULE.name,
                name.span,
                format!("the {what} `{name}` has no documentation"),
            )
            .help("add a comment before it: `/// ...`; it is copied into generated code")
        });
    }
}
