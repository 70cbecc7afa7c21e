//! Facts about a whole program that are computed once, however many files are generated for it.

use super::spelling::{Spell, case_field_name, field_name, is_common_type, type_name};
use crate::languages::aliases::Aliases;
use crate::languages::{Options, ScalaVersion, holders};
use crate::protocol::{Definition, Program, Protocol, ProtocolId, Side, Type, TypeId};
use std::collections::HashSet;

/// A program with the facts that the Scala target needs about its types.
pub struct Whole<'a> {
    pub program: &'a Program,
    pub options: &'a Options,
    /// The types that the host program supplies under their own names.
    hosts: HashSet<String>,
    /// Those among them that hide a type which is in scope everywhere.
    pub hiding: Vec<String>,
    /// The types whose values can hold endpoints, as far as the protocol files show.
    carriers: Vec<bool>,
    /// The types whose values have no encoding: they hold endpoints, or values that only the program knows.
    opaque: Vec<bool>,
    aliases: Aliases,
    /// For each protocol, the names of its objects with the client's and the server's endpoints.
    sides: Vec<[&'static str; 2]>,
}

impl<'a> Whole<'a> {
    pub fn of(program: &'a Program, options: &'a Options) -> Whole<'a> {
        let hosts = program.types.iter();
        let hosts = hosts.filter(|ty| ty.is_host(super::super::WORD));
        let names: Vec<String> = hosts.map(|ty| type_name(ty.name.text())).collect();
        let hiding = names.iter().filter(|name| is_common_type(name));
        Whole {
            program,
            options,
            hiding: hiding.cloned().collect(),
            hosts: names.into_iter().collect(),
            carriers: holders(program, false),
            opaque: holders(program, true),
            aliases: Aliases::of(program),
            sides: program.protocols.iter().map(side_objects).collect(),
        }
    }

    /// The objects that hold the client's and the server's endpoints of a protocol, and of its instances.
    pub fn side_objects(&self, protocol: ProtocolId) -> [&'static str; 2] {
        self.sides[protocol.index()]
    }

    pub fn side_object(&self, protocol: ProtocolId, side: Side) -> &'static str {
        self.side_objects(protocol)[usize::from(side == Side::Server)]
    }

    /// How the values of variants are spelled.
    pub fn variant_field(&self) -> Spell {
        if self.is_for_three() {
            case_field_name
        } else {
            field_name
        }
    }

    /// Whether the host program supplies a type of this name.
    pub fn is_host(&self, name: &str) -> bool {
        self.hosts.contains(name)
    }

    /// Whether values of a type can hold endpoints, as far as the protocol files show.
    pub fn holds_endpoints(&self, ty: &Type) -> bool {
        ty.any(&|part| is_endpoint(part) || self.is_carrier(part))
    }

    /// Whether values of a type have an encoding.
    pub fn is_encoded(&self, ty: &Type) -> bool {
        let is_opaque = |part: &Type| {
            is_endpoint(part) || matches!(part, Type::Named(id) if self.opaque[id.index()])
        };
        !ty.any(&is_opaque)
    }

    /// What an alias stands for; other types stand for themselves.
    pub fn underlying<'t>(&'t self, ty: &'t Type) -> &'t Type {
        self.aliases.underlying(self.program, ty)
    }

    /// Whether the code is for Scala 3 alone.
    pub fn is_for_three(&self) -> bool {
        self.options.scala.version == ScalaVersion::Three
    }

    /// Whether a type is another name of a built-in type, and in the generated code a type of its own.
    pub fn is_distinct(&self, ty: &Type) -> bool {
        let is_alias =
            |id: &TypeId| matches!(self.program.ty(*id).definition, Definition::Alias(_));
        self.is_for_three()
            && matches!(ty, Type::Named(id) if is_alias(id))
            && matches!(self.underlying(ty), Type::Builtin(_))
    }

    fn is_carrier(&self, ty: &Type) -> bool {
        matches!(ty, Type::Named(id) if self.carriers[id.index()])
    }
}

/// The objects with the endpoints of each side. A state named `Client` or `Server` has an object too, and class file names ignore
/// case on some systems: then the side's object gets another name.
pub fn side_objects(protocol: &Protocol) -> [&'static str; 2] {
    [
        ("Client", ["client", "client_"]),
        ("Server", ["server", "server_"]),
    ]
    .map(|(name, words)| {
        let mut states = protocol.states.iter();
        let is_taken = states.any(|state| type_name(state.name.text()) == name);
        words[usize::from(is_taken)]
    })
}

/// The object with the robots of a protocol, and of its instances. A state named `Robots` has an object too: see [`side_objects`].
pub fn robots_object(protocol: &Protocol) -> &'static str {
    let mut states = protocol.states.iter();
    let is_taken = states.any(|state| type_name(state.name.text()) == "Robots");
    if is_taken { "robots_" } else { "robots" }
}

fn is_endpoint(ty: &Type) -> bool {
    matches!(ty, Type::Endpoint(_) | Type::Parameter(_))
}
