//! An import from which nothing is used.

use super::references::Uses;
use crate::check::Rule;
use crate::check::findings::{Findings, Subject};
use crate::check::levels::Location;
use crate::diagnostic::{Diagnostic, Level};
use crate::protocol::FileId;

pub const RULE: Rule = Rule {
    name: "unused-import",
    summary: "a file uses nothing from an import",
    default: Some(Level::Warn),
    page: include_str!("../../../docs/rules/unused-import.md"),
    find: Some(find),
};

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
                    Diagnostic::error(RULE.name, *span, "this import is not used")
                        .label("no type, bound or protocol from it is mentioned here")
                        .note("imports are not transitive: each file has to import everything that it uses")
                        .help("remove the import")
                });
            }
        }
    }
}
