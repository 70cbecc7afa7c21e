//! A protocol, state, message or type without documentation.

use crate::check::findings::{Findings, Subject};
use crate::check::levels::Location;
use crate::name::Name;
use crate::protocol::Docs;

// Allowed by default, because names often say enough.
rule! {
    "missing-docs", Allow,
    "a protocol, state, message or type has no documentation"
}

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    let program = subject.program;
    for file in &program.files {
        for id in &file.types {
            let declared = program.ty(*id);
            let location = Location::declaration(&declared.levels);
            report("type", &declared.name, &declared.docs, location, findings);
        }
    }
    for case in subject.cases() {
        let protocol = case.protocol;
        report(
            "protocol",
            &protocol.name,
            &protocol.docs,
            Location::protocol(protocol),
            findings,
        );
        for state in &protocol.states {
            report(
                "state",
                &state.name,
                &state.docs,
                Location::state(protocol, state),
                findings,
            );
            for message in &state.messages {
                let location = Location::message(protocol, state, message);
                report("message", &message.name, &message.docs, location, findings);
            }
        }
    }
}

fn report(what: &str, name: &Name, docs: &Docs, location: Location<'_>, findings: &mut Findings) {
    if docs.is_empty() {
        findings.report(&RULE, location, || {
            RULE.finding(
                name.span,
                format!("the {what} `{name}` has no documentation"),
            )
            .help("add a comment before it: `/// ...`; it is copied into generated code")
        });
    }
}
