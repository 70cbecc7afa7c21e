//! The names of generated Scala that could clash, for the rule that rejects clashes.

use super::names::object_scope::package;
use super::names::spelling::{object_name, type_name, types_object};
use crate::check::{self, Scope, Spelled};
use crate::languages::Options;
use crate::name::Name;
use crate::protocol::{FileId, Program};
use std::collections::{BTreeMap, BTreeSet};

/// Passes on what the packages declare. Inside an object no new clash can arise: the names of each name space differ in more than
/// case and `_`, an escape adds nothing else, and names that generated code itself declares there give way. Packages ignore case
/// because class files do on some systems.
pub fn spellings(program: &Program, options: &Options, hand_over: &mut dyn FnMut(Scope)) {
    let mut packages: BTreeMap<String, Vec<Spelled>> = BTreeMap::new();
    let mut nested = BTreeSet::new();
    for (index, file) in program.files.iter().enumerate() {
        let segments = package(program, options, FileId::new(index));
        for (depth, segment) in file.package.iter().enumerate() {
            if nested.insert(segments[..=depth].to_vec()) {
                let outer = packages.entry(segments[..depth].join(".")).or_default();
                outer.push(spelled(segments[depth].clone(), segment, "a package"));
            }
        }
        let names = packages.entry(segments.join(".")).or_default();
        let mut object = |name: &Name, what| {
            names.push(spelled(object_name(name.text()), name, what));
        };
        for id in &file.protocols {
            object(&program.protocol(*id).name, "the object of a protocol");
        }
        for id in &file.instances {
            object(&program.instance(*id).name, "the object of an instance");
        }
        let mut declared = file.types.iter().map(|id| program.ty(*id));
        if let Some(first) = declared.find(|ty| !ty.is_host(super::WORD)) {
            let object = types_object(&file.stem);
            names.push(spelled(
                object,
                &first.name,
                "the object that holds this file's types",
            ));
        }
    }
    let hosts = program.types.iter().filter(|ty| ty.is_host(super::WORD));
    let mut seen = BTreeSet::new();
    for ty in hosts {
        let package = package(program, options, ty.file).join(".");
        let name = type_name(ty.name.text());
        // Two with the same spelling count as one, because the program supplies it once.
        if seen.insert((package.clone(), name.clone())) {
            let name = spelled(name, &ty.name, "a class that the program supplies");
            packages.entry(package).or_default().push(name);
        }
    }
    for (package, names) in packages {
        let place = format!("package `{package}`");
        hand_over(Scope {
            ignores_case: true,
            ..Scope::new("Scala", place, names)
        });
    }
}

fn spelled(spelling: String, name: &Name, what: &str) -> Spelled {
    check::spelled(spelling, name.span, format!("{what}, from `{name}`"))
}
