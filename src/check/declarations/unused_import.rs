//! An import from which nothing is used.

use super::references::Uses;
use crate::check::findings::{Findings, Subject};
use crate::check::levels::Location;
use crate::protocol::FileId;

rule! {
    "unused-import", Warn,
    "a file uses nothing from an import"
}

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    let program = subject.program;
    let imports_nothing = program.files.iter().all(|file| file.imports.is_empty());
    if imports_nothing || findings.is_incomplete() {
        return;
    }
    let uses = Uses::of(program);
    for (index, file) in program.files.iter().enumerate() {
        let imports = file.imports.iter().zip(&file.import_spans);
        for (import, span) in imports {
            if !uses.of_file(FileId::new(index), *import) {
                findings.report(&RULE, Location::outside(), || {
                    RULE.finding(*span, "this import is not used")
                        .label("no type, bound or protocol from it is mentioned here")
                        .note("imports are not transitive: each file has to import everything that it uses")
                        .help("remove the import")
                });
            }
        }
    }
}
