//! The names that generated Scala declares: all of them, or only those that could clash, for the rule that rejects clashes.

use super::names::object_scope::package;
use super::names::spelling::{
    case_field_name, entry_name, field_name, method_name, object_name, type_name, types_object,
    wire_object,
};
use super::names::whole::{robots_object, side_objects};
use crate::check::{self, Scope, Spelled, ours};
use crate::languages::{Names, Options, ScalaVersion};
use crate::name::Name;
use crate::protocol::{Definition, File, FileId, Program, Protocol};
use std::collections::{BTreeMap, BTreeSet};

/// Passes on what the packages declare. Inside an object no new clash can arise: the names of each name space differ in more than
/// case and `_`, an escape adds nothing else, and names that generated code itself declares there give way. Packages ignore case
/// because class files do on some systems.
pub fn spellings(
    program: &Program,
    options: &Options,
    wanted: Names,
    hand_over: &mut dyn FnMut(Scope),
) {
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
        hand_over(scope(format!("package `{package}`"), names));
    }
    if wanted == Names::All {
        for (index, file) in program.files.iter().enumerate() {
            let package = package(program, options, FileId::new(index)).join(".");
            inside(program, file, &package, options, hand_over);
        }
    }
}

/// Passes on what the objects of a file declare.
fn inside(
    program: &Program,
    file: &File,
    package: &str,
    options: &Options,
    hand_over: &mut dyn FnMut(Scope),
) {
    let is_remote = options.remote;
    let case_field = match options.scala.version {
        ScalaVersion::Cross => field_name,
        ScalaVersion::Three => case_field_name,
    };
    let mut declare = |place: &str, names: Vec<Spelled>| {
        hand_over(scope(format!("`{package}.{place}`"), names));
    };
    let protocols = file.protocols.iter().map(|id| program.protocol(*id));
    let protocols = protocols.map(|protocol| (&protocol.name, protocol, true));
    let instances = file.instances.iter().map(|id| program.instance(*id));
    let instances = instances.map(|it| (&it.name, program.protocol(it.protocol), false));
    for (name, protocol, has_classes) in protocols.chain(instances) {
        let object = object_name(name.text());
        of_protocol(&object, protocol, has_classes, &mut declare);
        if options.robots {
            declare(&object, vec![ours(robots_object(protocol))]);
        }
        if is_remote {
            of_remote(&object, protocol, &mut declare);
        }
    }
    let object = types_object(&file.stem);
    for id in &file.types {
        let declared = program.ty(*id);
        let name = type_name(declared.name.text());
        let own = spelled(name.clone(), &declared.name, "a type");
        declare(&object, vec![own]);
        if is_remote {
            let wire = wire_object(declared.name.text());
            declare(&format!("{object}.{wire}"), ["put", "get"].map(ours).into());
            declare(&object, vec![ours(&wire)]);
        }
        let path = format!("{object}.{name}");
        let moved = || vec![ours("$moved")];
        match &declared.definition {
            Definition::Struct(fields) => {
                let fields = fields.iter().map(|field| &field.name);
                let fields = fields.map(|name| spelled(field_name(name.text()), name, "a field"));
                declare(&path, fields.chain(moved()).collect());
            }
            Definition::Enum(variants) => {
                declare(&path, moved());
                if options.scala.version == ScalaVersion::Three {
                    declare(&path, vec![ours("$checked")]);
                }
                for variant in variants {
                    let name = type_name(variant.name.text());
                    let own = spelled(name.clone(), &variant.name, "a variant");
                    declare(&path, vec![own]);
                    let fields = variant.entries.iter().map(|entry| &entry.name);
                    let fields =
                        fields.map(|name| spelled(case_field(name.text()), name, "a field"));
                    declare(&format!("{path}.{name}"), fields.chain(moved()).collect());
                }
            }
            // What the object of an opaque type declares.
            Definition::Alias(_) => declare(&path, vec![ours("apply")]),
            Definition::Extern(..) => {}
        }
    }
}

/// Passes on what the object of a protocol or an instance declares, including classes unless it only has aliases.
fn of_protocol(
    object: &str,
    protocol: &Protocol,
    has_classes: bool,
    declare: &mut dyn FnMut(&str, Vec<Spelled>),
) {
    let sides = side_objects(protocol);
    let own = ["init", sides[0], sides[1]].map(ours);
    declare(object, own.into());
    for state in &protocol.states {
        let name = type_name(state.name.text());
        let own = || vec![spelled(name.clone(), &state.name, "a state")];
        declare(object, own());
        for message in &state.messages {
            let class = type_name(message.name.text());
            let path = format!("{object}.{name}");
            let own = spelled(class.clone(), &message.name, "a message");
            declare(&path, vec![own]);
            let fields = message.entries.iter().map(|entry| &entry.name);
            let fields = fields.map(|name| spelled(entry_name(name.text()), name, "an entry"));
            let next = std::iter::once(ours("next"));
            declare(&format!("{path}.{class}"), fields.chain(next).collect());
        }
        for side in sides {
            declare(&format!("{object}.{side}"), own());
            if has_classes {
                let path = format!("{object}.{side}.{name}");
                let methods = state.messages.iter().map(|message| &message.name);
                let methods =
                    methods.map(|name| spelled(method_name(name.text()), name, "a message"));
                let own = ["$state", "$messages", "open"].map(ours);
                let parts = (0..state.messages.len()).map(|group| ours(&format!("open${group}")));
                declare(&path, methods.chain(own).chain(parts).collect());
            }
        }
    }
}

/// Passes on what the object of a protocol or an instance declares for sessions with other processes. No name of a protocol
/// contains `$`, so none of it can clash.
fn of_remote(object: &str, protocol: &Protocol, declare: &mut dyn FnMut(&str, Vec<Spelled>)) {
    /// How many states an instance may have in addition, because they are reached with several arguments.
    const MORE: usize = 64;
    let roles = ["$First", "$protocol", "$isClient", "$open"];
    for side in side_objects(protocol) {
        declare(&format!("{object}.{side}"), roles.map(ours).into());
    }
    let longest = protocol.states.iter().map(|state| state.messages.len());
    let longest = longest.max();
    for position in 0..protocol.states.len() + MORE {
        let state = format!("$state{position}");
        let parts = (0..longest.unwrap_or(0))
            .flat_map(|index| [ours(&format!("put${index}")), ours(&format!("get${index}"))]);
        let path = format!("{object}.{state}");
        let own = ["put", "get", "limit", "within"].map(ours).into_iter();
        declare(&path, own.chain(parts).collect());
        declare(object, vec![ours(&state)]);
    }
    declare(&format!("{object}.$wire"), vec![ours("protocol")]);
    declare(object, vec![ours("$wire")]);
}

fn scope(place: String, names: Vec<Spelled>) -> Scope {
    Scope {
        ignores_case: true,
        ..Scope::new("Scala", place, names)
    }
}

fn spelled(spelling: String, name: &Name, what: &str) -> Spelled {
    check::spelled(spelling, Some(name.span), format!("{what}, from `{name}`"))
}
