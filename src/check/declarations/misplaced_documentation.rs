//! Documentation comments that are not attached to anything.

use crate::check::Rule;
use crate::check::findings::{Findings, Subject};
use crate::check::levels::Location;
use crate::diagnostic::{Diagnostic, Level};

pub const RULE: Rule = Rule {
    name: "misplaced-documentation",
    summary: "a documentation comment is not attached to anything",
    default: Some(Level::Warn),
    page: include_str!("../../../docs/rules/misplaced-documentation.md"),
    find: Some(find),
};

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    for file in &subject.program.files {
        for span in &file.misplaced_docs {
            findings.report(&RULE, Location::outside(), || {
                Diagnostic::error(RULE.name, *span, "this documentation is not attached to anything")
                    .label("it would not appear in generated code")
                    .note("`///` goes before a declaration, state, message, field or variant; `//!` at the top of a file")
                    .help("move it, or make it an ordinary comment: `//`")
            });
        }
    }
}
