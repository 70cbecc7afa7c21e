//! The names that generated Rust declares: all of them, or only those that could clash, for the rule that rejects clashes.

use super::names::fields::{self, NEXT};
use super::names::methods::{method_names, shared_name};
use super::names::spelling::{module_name, type_name, value_name};
use super::{ALWAYS_FIT, packages, state_names};
use crate::check::{self, Scope, Spelled, ours};
use crate::endpoint::{Endpoint, may_wait};
use crate::languages::{Names, Options};
use crate::name::Name;
use crate::protocol::{Definition, Entry, Program, Protocol, Side};
use std::collections::BTreeSet;

/// Passes on the names that will be declared, scope by scope.
///
/// Two names of one name space that differ in more than case and `_` also differ in their spelling, since an escape only
/// adds a `_`. The exception is a type whose name starts with a digit after `_`: it gets a letter. So the names that could
/// clash are those of types, and those of different name spaces that meet in one scope. Names that generated code itself
/// declares there have a different style from a protocol's names, or an escape keeps them apart.
pub fn spellings(
    program: &Program,
    options: &Options,
    wanted: Names,
    hand_over: &mut dyn FnMut(Scope),
) {
    let all = wanted == Names::All;
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
            if all {
                own_spellings(&module, hand_over);
                endpoint_spellings(&module, protocol, true, hand_over);
            }
        }
        for id in package.instances {
            let instance = program.instance(id);
            let module = format!("{inside}{}", module_name(&instance.name));
            if all {
                own_spellings(&module, hand_over);
                let protocol = program.protocol(instance.protocol);
                protocol_spellings(&module, protocol, hand_over);
                endpoint_spellings(&module, protocol, false, hand_over);
            }
        }
        for id in package.types {
            let declared = program.ty(id);
            let path = format!("{inside}{}", type_name(&declared.name));
            match &declared.definition {
                Definition::Enum(variants) => {
                    let names = variants.iter().map(|variant| &variant.name);
                    let names = names.map(|name| spelled(type_name(name), name, "variant"));
                    hand_over(scope(format!("enum `{path}`"), names.collect()));
                    for variant in variants.iter().filter(|_| all) {
                        let fields = fields::of_variant(&variant.entries);
                        let place = format!("variant `{path}::{}`", type_name(&variant.name));
                        hand_over(scope(place, field_spellings(fields, &variant.entries)));
                    }
                }
                Definition::Struct(fields) if all => {
                    let names = fields.iter().map(|field| &field.name);
                    let names = names.map(|name| spelled(value_name(name), name, "field"));
                    hand_over(scope(format!("struct `{path}`"), names.collect()));
                }
                Definition::Struct(_) | Definition::Alias(_) | Definition::Extern(..) => {}
            }
        }
    }
}

const ROOT: &str = "the module that includes the generated code";

/// The fields of a variant. A message has one more for its next endpoint.
fn field_spellings(fields: Option<Vec<String>>, entries: &[Entry]) -> Vec<Spelled> {
    let mut entries = entries.iter();
    let fields = fields
        .into_iter()
        .flatten()
        .map(|field| match entries.next() {
            Some(entry) => spelled(field, &entry.name, "entry"),
            None => ours(NEXT),
        });
    fields.collect()
}

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

/// The names that the module of any protocol or instance declares.
fn own_spellings(module: &str, hand_over: &mut dyn FnMut(Scope)) {
    let own = ["CAPACITY", "init", "client", "server", "state"].map(ours);
    hand_over(scope(format!("module `{module}`"), own.into()));
    let mut own = vec![ours("slot")];
    own.extend([Side::Client, Side::Server].map(|side| ours(&receiving_module(side))));
    hand_over(scope(format!("module `{module}::state`"), own));
}

/// The names that the modules inside a protocol's module declare, including methods unless the module only has aliases.
fn endpoint_spellings(
    module: &str,
    protocol: &Protocol,
    has_methods: bool,
    hand_over: &mut dyn FnMut(Scope),
) {
    let taken: BTreeSet<String> = state_names(&protocol.states);
    let states = || protocol.states.iter();
    let own = |inner: &str| {
        let names = states().map(|state| spelled(type_name(&state.name), &state.name, "state"));
        scope(format!("module `{module}::{inner}`"), names.collect())
    };
    hand_over(own("state"));
    for side in [Side::Client, Side::Server] {
        hand_over(own(&format!("state::{}", receiving_module(side))));
    }
    for state in states().filter(|_| has_methods) {
        for message in &state.messages {
            let fields = fields::of_message(&message.entries);
            let (state, variant) = (type_name(&state.name), type_name(&message.name));
            let place = format!("variant `{module}::{state}::{variant}`");
            hand_over(scope(place, field_spellings(fields, &message.entries)));
        }
    }
    let waits = may_wait(protocol, ALWAYS_FIT);
    for side in [Side::Client, Side::Server] {
        let mut endpoints = own(side.word());
        for (id, state) in protocol.state_ids().zip(states()) {
            let shared = shared_name(state, &taken);
            if has_methods {
                let place = |ty: &str| format!("methods of `{module}::{}::{ty}`", side.word());
                let mut plain = Vec::new();
                let mut many = Vec::new();
                for (message, methods) in state.messages.iter().zip(method_names(state)) {
                    let name = &message.name;
                    let of = |method: &String| spelled(method.clone(), name, "message");
                    let own = if waits[id.index()] { 3 } else { 2 };
                    plain.extend(methods.iter().take(own).map(of));
                    many.extend(methods.iter().map(of));
                }
                hand_over(scope(place(&type_name(&state.name)), plain));
                hand_over(scope(place(&shared), many));
            }
            if Endpoint::of(protocol, side).can_be_shared(id) {
                endpoints.names.push(spelled(shared, &state.name, "state"));
            }
        }
        hand_over(endpoints);
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

/// The module of the states in which a side receives.
fn receiving_module(side: Side) -> String {
    format!("{}_receives", side.word())
}

fn scope(place: String, names: Vec<Spelled>) -> Scope {
    Scope::new("Rust", place, names)
}

fn spelled(spelling: String, name: &Name, kind: &str) -> Spelled {
    check::spelled(spelling, Some(name.span), format!("{kind} `{name}`"))
}
