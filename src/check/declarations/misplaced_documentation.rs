//! Documentation comments that are not attached to anything.

use crate::check::findings::{Findings, Subject};
use crate::check::levels::Location;

rule! {
    "misplaced-documentation", Warn,
    "a documentation comment is not attached to anything"
}

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    for file in &subject.program.files {
        for span in &file.misplaced_docs {
            findings.report(&RULE, Location::outside(), || {
                RULE.finding(*span, "this documentation is not attached to anything")
                    .label("it would not appear in generated code")
                    .note("`///` goes before a declaration, state, message, field or variant; `//!` at the top of a file")
                    .help("move it, or make it an ordinary comment: `//`")
            });
        }
    }
}
