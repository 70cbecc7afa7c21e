//! The names that will be declared, for the rule that keeps them apart.

use super::packages;
use super::spelling::{module_name, type_name};
use crate::check::{Scope, Spelled};
use crate::name::Name;
use crate::protocol::{Definition, Program, Protocol};
use crate::target::Options;

/// Hands over every name that will be declared, scope by scope.
///
/// Where two names of one name space are told apart by more than case and `_`, so are their spellings, since an
/// escape only adds a `_`; except that a type whose name starts with a digit behind `_` gets a letter. So the scopes
/// handed over are those of types, and those in which things of different name spaces meet.
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
        if path.is_empty() && options.rust_host.is_none() {
            names.extend(host_names(program));
        }
        let inside: String = package
            .name
            .iter()
            .map(|name| module_name(name) + "::")
            .collect();
        let place = match inside.strip_suffix("::") {
            None => "the module that includes the generated code".to_owned(),
            Some(module) => format!("module `{module}`"),
        };
        hand_over(scope(place, names));
        for id in package.protocols {
            protocol_spellings(&inside, program.protocol(id), hand_over);
        }
        for id in package.types {
            if let Definition::Enum(variants) = &program.ty(id).definition {
                let names = variants.iter().map(|variant| &variant.name);
                let names = names.map(|name| spelled(type_name(name), name, "variant"));
                hand_over(scope(
                    format!("enum `{inside}{}`", type_name(&program.ty(id).name)),
                    names.collect(),
                ));
            }
        }
    }
}

fn protocol_spellings(inside: &str, protocol: &Protocol, hand_over: &mut dyn FnMut(Scope)) {
    let module = format!("{inside}{}", module_name(&protocol.name));
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

/// The types and traits that the module which includes the tree has to supply.
fn host_names(program: &Program) -> impl Iterator<Item = Spelled> {
    let types = program.types.iter().filter(|ty| match &ty.definition {
        Definition::Extern(mappings, _) => mappings.rust.is_none(),
        Definition::Undeclared => true,
        Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => false,
    });
    let bounds = program
        .bounds
        .iter()
        .filter(|bound| bound.mappings.rust.is_none());
    let types = types.map(|ty| spelled(type_name(&ty.name), &ty.name, "external type"));
    types.chain(bounds.map(|bound| spelled(type_name(&bound.name), &bound.name, "external bound")))
}

fn scope(place: String, names: Vec<Spelled>) -> Scope {
    Scope {
        target: "Rust",
        place,
        ignores_case: false,
        names,
    }
}

fn spelled(spelling: String, name: &Name, kind: &str) -> Spelled {
    Spelled {
        spelling,
        origin: Some(name.span),
        what: format!("{kind} `{name}`"),
    }
}
