//! The names of generated Rust that could clash, for the rule that rejects clashes.

use super::names::spelling::{module_name, type_name};
use super::packages;
use crate::check::{self, Scope, Spelled};
use crate::languages::Options;
use crate::name::Name;
use crate::protocol::{Definition, Program, Protocol};
use std::collections::BTreeSet;

/// Passes on the names that could clash, scope by scope.
///
/// Two names of one name space that differ in more than case and `_` also differ in their spelling, since an escape only
/// adds a `_`. The exception is a type whose name starts with a digit after `_`: it gets a letter. So the names that could
/// clash are those of types, and those of different name spaces that meet in one scope. Names that generated code itself
/// declares there have a different style from a protocol's names, or an escape keeps them apart.
pub fn spellings(program: &Program, options: &Options, hand_over: &mut dyn FnMut(Scope)) {
    for (path, package) in packages(program) {
        let mut names = Vec::new();
        for id in &package.types {
            let declared = program.ty(*id);
            if !matches!(declared.definition, Definition::Extern(..)) {
                let name = &declared.name;
                names.push(spelled(type_name(name), name, "type"));
            }
        }
        for name in package.packages.values() {
            names.push(spelled(module_name(name), name, "package"));
        }
        for id in &package.protocols {
            let name = &program.protocol(*id).name;
            names.push(spelled(module_name(name), name, "protocol"));
        }
        for id in &package.instances {
            let name = &program.instance(*id).name;
            names.push(spelled(module_name(name), name, "protocol"));
        }
        if path.is_empty() && options.rust.host.is_none() {
            names.extend(host_names(program));
        }
        let inside: String = package
            .name
            .iter()
            .map(|name| module_name(name) + "::")
            .collect();
        let place = match inside.strip_suffix("::") {
            None => ROOT.to_owned(),
            Some(module) => format!("module `{module}`"),
        };
        hand_over(scope(place, names));
        for id in package.protocols {
            let protocol = program.protocol(id);
            let module = format!("{inside}{}", module_name(&protocol.name));
            protocol_spellings(&module, protocol, hand_over);
        }
        for id in package.types {
            let declared = program.ty(id);
            let path = format!("{inside}{}", type_name(&declared.name));
            if let Definition::Enum(variants) = &declared.definition {
                let names = variants.iter().map(|variant| &variant.name);
                let names = names.map(|name| spelled(type_name(name), name, "variant"));
                hand_over(scope(format!("enum `{path}`"), names.collect()));
            }
        }
    }
}

const ROOT: &str = "the module that includes the generated code";

fn protocol_spellings(module: &str, protocol: &Protocol, hand_over: &mut dyn FnMut(Scope)) {
    let names = protocol.states.iter().map(|state| &state.name);
    let names = names.map(|name| spelled(type_name(name), name, "state"));
    hand_over(scope(format!("module `{module}`"), names.collect()));
    for state in &protocol.states {
        let names = state.messages.iter().map(|message| &message.name);
        let names = names.map(|name| spelled(type_name(name), name, "message"));
        let place = format!("enum `{module}::{}`", type_name(&state.name));
        hand_over(scope(place, names.collect()));
    }
}

/// The types and traits that the module including the tree has to supply. Two with the same spelling count as one, because the
/// host supplies it once.
fn host_names(program: &Program) -> impl Iterator<Item = Spelled> {
    let types = program.types.iter().filter(|ty| ty.is_host(super::WORD));
    let bounds = program
        .bounds
        .iter()
        .filter(|bound| bound.mappings.get(super::WORD).is_none());
    let types = types.map(|ty| spelled(type_name(&ty.name), &ty.name, "external type"));
    let bounds = bounds.map(|bound| spelled(type_name(&bound.name), &bound.name, "external bound"));
    one_each(types).chain(one_each(bounds))
}

/// The first name of each spelling.
fn one_each(names: impl Iterator<Item = Spelled>) -> impl Iterator<Item = Spelled> {
    let mut seen = BTreeSet::new();
    names.filter(move |name| seen.insert(name.spelling.clone()))
}

fn scope(place: String, names: Vec<Spelled>) -> Scope {
    Scope::new("Rust", place, names)
}

fn spelled(spelling: String, name: &Name, kind: &str) -> Spelled {
    check::spelled(spelling, name.span, format!("{kind} `{name}`"))
}
