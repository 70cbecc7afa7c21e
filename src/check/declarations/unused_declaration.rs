//! A type or bound that nothing uses.

use super::references::Uses;
use crate::check::findings::{Findings, Subject};
use crate::check::levels::Location;
use crate::check::names::clashing_names;
use crate::check::types::undeclared_type::COMPARED;
use crate::name::{Name, nearest};
use crate::protocol::{LevelAttribute, Program};

rule! {
    "unused-declaration", Warn,
    "a declared type or bound is never used"
}

/// A file without protocols declares types and bounds for other files, so nothing in it is reported.
fn find(subject: &Subject<'_>, findings: &mut Findings) {
    let program = subject.program;
    // A name that is hidden by another one is used where that one was found.
    if findings.is_incomplete() || findings.has_any(&[clashing_names::RULE.name]) {
        return;
    }
    let mut uses = Uses::of(program);
    meant(program, &mut uses);
    for file in program.inputs() {
        if file.protocols.is_empty() && file.instances.is_empty() {
            continue;
        }
        for id in file.types.iter().filter(|id| !uses.used_types.contains(id)) {
            let declared = program.ty(*id);
            report("type", &declared.name, &declared.levels, findings);
        }
        for id in file
            .bounds
            .iter()
            .filter(|id| !uses.used_bounds.contains(id))
        {
            let declared = program.bound(*id);
            report("bound", &declared.name, &declared.levels, findings);
        }
    }
}

/// A type whose name is misspelled where it is used is not unused. Only the first misspelled names, as many as get a suggestion,
/// are compared with all declared ones: the time must not grow with the product of both numbers.
fn meant(program: &Program, uses: &mut Uses) {
    let misspelled = program.types.iter();
    let misspelled = misspelled.filter(|ty| !ty.is_declared);
    for used in misspelled.take(COMPARED) {
        let own = &program.file(used.file).types;
        let names = own.iter().map(|id| program.ty(*id).name.text());
        let near = nearest(used.name.text(), names);
        let meant = own
            .iter()
            .filter(|id| near == Some(program.ty(**id).name.text()));
        uses.used_types.extend(meant);
    }
}

fn report(what: &str, name: &Name, levels: &[LevelAttribute], findings: &mut Findings) {
    findings.report(&RULE, Location::declaration(levels), || {
        RULE.finding(name.span, format!("the {what} `{name}` is never used"))
            .label("declared here, but not mentioned anywhere")
            .help("remove it, or move it to a file that others import")
    });
}
