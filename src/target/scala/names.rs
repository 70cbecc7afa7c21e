//! Every name that generated Scala declares where another one could get in its way.

use super::place::package;
use super::spelling::{object_name, type_name, types_object};
use crate::check::{Scope, Spelled};
use crate::name::Name;
use crate::protocol::{Definition, FileId, Program, TypeDeclaration};
use crate::target::Options;
use std::collections::{BTreeMap, BTreeSet};

/// Hands over what the packages declare. Inside an object no new clash can arise: each name space keeps its names apart without
/// case and `_`, and an escape adds nothing else. Packages ignore case because class files do, on some systems.
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
        for id in &file.protocols {
            let name = &program.protocol(*id).name;
            names.push(spelled(
                object_name(name.text()),
                name,
                "the object of a protocol",
            ));
        }
        for id in &file.instances {
            let name = &program.instance(*id).name;
            names.push(spelled(
                object_name(name.text()),
                name,
                "the object of an instance",
            ));
        }
        let mut declared = file.types.iter().map(|id| program.ty(*id));
        if let Some(first) = declared.find(|ty| !is_host(ty)) {
            let object = types_object(&file.stem);
            names.push(spelled(
                object,
                &first.name,
                "the object that holds this file's types",
            ));
        }
    }
    for ty in program.types.iter().filter(|ty| is_host(ty)) {
        let names = packages
            .entry(package(program, options, ty.file).join("."))
            .or_default();
        names.push(spelled(
            type_name(ty.name.text()),
            &ty.name,
            "a class that the program supplies",
        ));
    }
    for (package, names) in packages {
        let place = format!("package `{package}`");
        hand_over(Scope {
            target: "Scala",
            place,
            ignores_case: true,
            names,
        });
    }
}

/// Whether the host program declares the type in the package.
fn is_host(ty: &TypeDeclaration) -> bool {
    match &ty.definition {
        Definition::Undeclared => true,
        Definition::Extern(mappings, _) => mappings.scala.is_none(),
        Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => false,
    }
}

fn spelled(spelling: String, name: &Name, what: &str) -> Spelled {
    Spelled {
        spelling,
        origin: Some(name.span),
        what: format!("{what}, from `{name}`"),
    }
}
