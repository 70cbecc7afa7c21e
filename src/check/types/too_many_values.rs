//! The values of a message, variant or struct become the parameters of one function in every target.

use crate::check::findings::{Findings, Subject};
use crate::name::Name;
use crate::protocol::limits::VALUES;
use crate::protocol::{Definition, Entry, Program, Protocol};

rule! {
    "too-many-values", error,
    "a message, variant or struct has more than 100 values, or an enum is too large for Scala"
}

/// The maximum number of variants of an enum, and of values of all of them, in Scala. The class files of the Java virtual machine limit the
/// code of a method, which may have to know all variants, and the constants of a class.
const SCALA: [(usize, &str); 2] = [(3_000, "variants"), (30_000, "values")];

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    let program = subject.program;
    for declared in &program.types {
        match &declared.definition {
            Definition::Struct(fields) => {
                let beyond = fields.get(VALUES).map(|field| &field.name);
                look("struct", &declared.name, beyond, findings);
            }
            Definition::Enum(variants) => {
                for variant in variants {
                    entries("variant", &variant.name, &variant.entries, findings);
                }
            }
            Definition::Alias(_) | Definition::Extern(..) => {}
        }
    }
    for message in program.protocols.iter().flat_map(Protocol::messages) {
        entries("message", &message.name, &message.entries, findings);
    }
}

fn entries(what: &str, name: &Name, all: &[Entry], findings: &mut Findings) {
    look(
        what,
        name,
        all.get(VALUES).map(|entry| &entry.name),
        findings,
    );
}

/// Called if Scala code was requested.
pub fn find_in_scala(program: &Program, findings: &mut Findings) {
    for declared in &program.types {
        let Definition::Enum(variants) = &declared.definition else {
            continue;
        };
        let values = variants.iter().map(|variant| variant.entries.len()).sum();
        for ((most, what), found) in SCALA.into_iter().zip([variants.len(), values]) {
            if found > most {
                let (name, at) = (&declared.name, declared.name.span);
                let message = format!(
                    "the enum `{name}` has {found} {what}, and at most {most} can be compiled in Scala"
                );
                findings.error(
                    RULE.finding(at, message)
                        .note("the Java virtual machine limits the size of classes and methods")
                        .help("split it into several enums, and send one of those"),
                );
            }
        }
    }
}

fn look(what: &str, name: &Name, beyond: Option<&Name>, findings: &mut Findings) {
    if let Some(beyond) = beyond {
        findings.error(
            RULE.finding(name.span, format!("the {what} `{name}` has more than {VALUES} values"))
                .related(beyond.span, "the first one over the limit")
                .note("they become the parameters of one function, and every target limits the number of parameters")
                .help("group values that belong together into a struct, or send a list"),
        );
    }
}
