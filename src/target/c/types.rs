//! How types are written in C, and what the runtime needs to know about them.

use super::names::{self, OfType};
use super::spelling;
use super::units::{UnitStateId, Units, canonical, declared_word};
use crate::protocol::{
    Builtin, Definition, EndpointType, FileId, Mapping, Program, Type, TypeDeclaration, TypeId,
};
use crate::target::aliases::Aliases;
use std::collections::BTreeSet;

/// Types in C.
pub struct Types<'a> {
    pub program: &'a Program,
    pub units: &'a Units,
    prefix: &'a str,
    facts: Vec<Facts>,
    aliases: Aliases,
    /// The names of host types, which parameters would hide.
    hosts: BTreeSet<String>,
    /// The types of each file, each after those it holds by value.
    pub order: Vec<Vec<TypeId>>,
}

/// What the runtime needs to know about a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Parts of a value are stored outside of it.
    pub spreads: bool,
    /// A value holds endpoints, or host values with a destructor.
    pub moves: bool,
    /// A value holds text or enums, which have to be checked before they are sent.
    pub checks: bool,
}

impl Facts {
    /// Whether a value consists only of its own bytes.
    pub fn is_plain(self) -> bool {
        !self.spreads && !self.moves
    }

    /// Whether the runtime need not know what a value consists of.
    pub fn is_any_bytes(self) -> bool {
        self.is_plain() && !self.checks
    }

    /// The facts about a value that consists of two parts.
    pub fn or(self, other: Facts) -> Facts {
        Facts {
            spreads: self.spreads || other.spreads,
            moves: self.moves || other.moves,
            checks: self.checks || other.checks,
        }
    }
}

impl<'a> Types<'a> {
    /// The types of a program.
    pub fn of(program: &'a Program, units: &'a Units, prefix: &'a str) -> Types<'a> {
        let mut types = Types {
            program,
            units,
            prefix,
            facts: vec![Facts::default(); program.types.len()],
            aliases: Aliases::of(program),
            hosts: BTreeSet::new(),
            order: vec![Vec::new(); program.files.len()],
        };
        types.facts = types.all_facts();
        for id in by_value_order(program) {
            types.order[program.ty(id).file.index()].push(id);
        }
        let declared = program.types.iter();
        let hosts = declared.filter(|declared| is_host(declared));
        types.hosts = hosts
            .map(|declared| spelling::host(declared.name.text()))
            .collect();
        types
    }

    /// The C type of a value.
    pub fn name(&self, ty: &Type, by: Option<usize>) -> String {
        match ty {
            Type::Builtin(builtin) => builtin_name(*builtin).to_owned(),
            Type::Named(id) => self.declared_name(*id),
            Type::List(_) | Type::Option(_) | Type::Tuple(_) => {
                format!("duo_{}_t", self.words(ty, by))
            }
            Type::Endpoint(_) | Type::Parameter(_) => format!("{}_t", self.words(ty, by)),
        }
    }

    /// The C type of a declared or undeclared type.
    pub fn declared_name(&self, id: TypeId) -> String {
        let declared = self.program.ty(id);
        match &declared.definition {
            Definition::Undeclared => host_name(declared),
            Definition::Extern(mappings, _) if mappings.get(super::WORD).is_none() => {
                host_name(declared)
            }
            Definition::Extern(..)
            | Definition::Alias(_)
            | Definition::Struct(_)
            | Definition::Enum(_) => self.of_type(id, OfType::Type),
        }
    }

    /// A name that a declared type declares.
    pub fn of_type(&self, id: TypeId, what: OfType) -> String {
        let word = self.declared_word(id);
        match what {
            OfType::Type => format!("{word}_t"),
            OfType::Tag => format!("{word}_tag_t"),
            OfType::Take => format!("{word}_take"),
            OfType::Variant(name) => spelling::variant(&word, name),
            OfType::Layout => names::of("layout", &word),
            OfType::Fields => names::of("fields", &word),
            OfType::Drop => names::of("drop", &word),
        }
    }

    /// What the names of a declared type start with.
    pub fn declared_word(&self, id: TypeId) -> String {
        declared_word(self.program, self.prefix, self.program.ty(id))
    }

    /// A type as part of a longer name.
    pub fn words(&self, ty: &Type, by: Option<usize>) -> String {
        self.units
            .words(self.program, &canonical(self.program, ty), by)
    }

    /// The name of a parameter for an entry.
    pub fn parameter(&self, name: &str) -> String {
        let name = spelling::parameter(name);
        if self.hosts.contains(&name) {
            name + "_"
        } else {
            name
        }
    }

    /// What an alias stands for, through all aliases; other types are returned as they are. A cycle of aliases is a separate
    /// error; here it only matters that this terminates.
    pub fn underlying<'b>(&'b self, ty: &'b Type) -> &'b Type {
        self.aliases.underlying(self.program, ty)
    }

    /// Whether the type is a C struct, so that it can be named before it is defined.
    pub fn is_struct(&self, ty: &Type) -> bool {
        match ty {
            Type::List(_) | Type::Option(_) | Type::Tuple(_) => true,
            Type::Named(id) => match &self.program.ty(*id).definition {
                Definition::Struct(_) => true,
                Definition::Enum(variants) => !is_bare(variants),
                Definition::Alias(_) | Definition::Extern(..) | Definition::Undeclared => false,
            },
            Type::Builtin(_) | Type::Parameter(_) | Type::Endpoint(_) => false,
        }
    }

    /// What the runtime needs to know about a type.
    pub fn facts(&self, ty: &Type) -> Facts {
        match ty {
            Type::Builtin(Builtin::Str) => Facts {
                spreads: true,
                moves: false,
                checks: true,
            },
            Type::Builtin(Builtin::Bytes) => Facts {
                spreads: true,
                ..Facts::default()
            },
            Type::Builtin(_) | Type::Parameter(_) => Facts::default(),
            Type::List(item) => Facts {
                spreads: true,
                ..self.facts(item)
            },
            Type::Option(item) => self.facts(item),
            Type::Tuple(items) => items
                .iter()
                .fold(Facts::default(), |all, item| all.or(self.facts(item))),
            Type::Named(id) => self.facts[id.index()],
            Type::Endpoint(endpoint) => Facts {
                moves: !self.is_over(endpoint),
                ..Facts::default()
            },
        }
    }

    /// The unit and position of the state of an endpoint type, whatever aliases its arguments use.
    pub fn unit_state(&self, endpoint: &EndpointType, by: Option<usize>) -> Option<UnitStateId> {
        let arguments = endpoint.arguments.iter();
        let plain = EndpointType {
            arguments: arguments.map(|ty| canonical(self.program, ty)).collect(),
            ..*endpoint
        };
        self.units.find(&plain, by)
    }

    /// Whether the session is over for an endpoint of this type.
    pub fn is_over(&self, endpoint: &EndpointType) -> bool {
        let protocol = self.program.protocol(endpoint.protocol);
        protocol.state(endpoint.state).active_side().is_none()
    }

    /// The destructor in the C line of an external type, if it has one.
    pub fn drop_of(&self, id: TypeId) -> Option<&'a str> {
        c_mapping(self.program.ty(id))?.drop.as_deref()
    }

    /// The header that declares a file's types, without the extension.
    pub fn header_of(&self, file: FileId) -> String {
        types_file(self.program, file)
    }

    /// The name by which headers of units identify the file that they are generated for.
    pub fn owner_of(&self, file: FileId) -> String {
        let header = self.header_of(file);
        let own = header.strip_suffix("_types").map(str::to_owned);
        own.unwrap_or(header)
    }

    /// The facts of declared types, which follow from those of the types they consist of, even if there are cycles. Each type
    /// first gets the facts that it has by itself, and these are then passed on to the types that use it.
    fn all_facts(&self) -> Vec<Facts> {
        let count = self.program.types.len();
        let mut facts = vec![Facts::default(); count];
        let mut users: Vec<Vec<(usize, bool)>> = vec![Vec::new(); count];
        for (user, declared) in self.program.types.iter().enumerate() {
            if c_mapping(declared).is_some_and(|mapping| mapping.drop.is_some()) {
                facts[user] = Facts {
                    spreads: true,
                    moves: true,
                    checks: false,
                };
            }
            facts[user].checks |= matches!(declared.definition, Definition::Enum(_));
            for part in declared.definition.parts() {
                // Declared types count as plain here; their facts are passed on along `users`.
                facts[user] = facts[user].or(self.facts(part));
                walk_by_value(part, false, &mut |id, in_list| {
                    users[id.index()].push((user, in_list))
                });
            }
        }
        let mut work: Vec<usize> = (0..count).filter(|id| !facts[*id].is_any_bytes()).collect();
        while let Some(used) = work.pop() {
            for (user, in_list) in &users[used] {
                let mut gained = facts[used];
                gained.spreads &= !in_list;
                let all = facts[*user].or(gained);
                if all != facts[*user] {
                    facts[*user] = all;
                    work.push(*user);
                }
            }
        }
        facts
    }
}

/// The C line of an external type.
pub fn c_mapping(declared: &TypeDeclaration) -> Option<&Mapping> {
    match &declared.definition {
        Definition::Extern(mappings, _) => mappings.get(super::WORD),
        Definition::Alias(_)
        | Definition::Struct(_)
        | Definition::Enum(_)
        | Definition::Undeclared => None,
    }
}

/// Whether no variant has values, so that it is an enum in C too.
pub fn is_bare(variants: &[crate::protocol::Variant]) -> bool {
    variants.iter().all(|variant| variant.entries.is_empty())
}

/// The header that declares a file's types, without the extension.
pub fn types_file(program: &Program, file: FileId) -> String {
    let file = program.file(file);
    let mut name = String::new();
    for segment in &file.package {
        name.push_str(&spelling::word(segment.text()));
        name.push('_');
    }
    name.push_str(&spelling::word(&file.stem));
    let says_so = name == "types" || name.ends_with("_types");
    if says_so { name } else { name + "_types" }
}

/// Whether only the host program declares the type.
pub fn is_host(declared: &TypeDeclaration) -> bool {
    match &declared.definition {
        Definition::Undeclared => true,
        Definition::Extern(mappings, _) => mappings.get(super::WORD).is_none(),
        Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => false,
    }
}

/// A host type has a second name in generated code, because entries often have the name of their type, which C++ rejects.
fn host_name(declared: &TypeDeclaration) -> String {
    format!("duo_host_{}", spelling::host(declared.name.text()))
}

/// The header in which the host program declares the types that a file leaves to it.
pub fn host_file(program: &Program, file: FileId) -> String {
    format!("{}_host", program.file(file).stem)
}

fn builtin_name(builtin: Builtin) -> &'static str {
    match builtin {
        Builtin::Bool => "bool",
        Builtin::U8 => "uint8_t",
        Builtin::U16 => "uint16_t",
        Builtin::U32 => "uint32_t",
        Builtin::U64 => "uint64_t",
        Builtin::I8 => "int8_t",
        Builtin::I16 => "int16_t",
        Builtin::I32 => "int32_t",
        Builtin::I64 => "int64_t",
        Builtin::F32 => "float",
        Builtin::F64 => "double",
        Builtin::Str => "duo_str",
        Builtin::Bytes => "duo_bytes",
    }
}

/// Calls `visit` for each declared type inside a type, with whether it is in a list.
fn walk_by_value(ty: &Type, in_list: bool, visit: &mut impl FnMut(TypeId, bool)) {
    match ty {
        Type::Named(id) => visit(*id, in_list),
        Type::List(item) => walk_by_value(item, true, visit),
        Type::Option(item) => walk_by_value(item, in_list, visit),
        Type::Tuple(items) => items
            .iter()
            .for_each(|item| walk_by_value(item, in_list, visit)),
        Type::Builtin(_) | Type::Parameter(_) | Type::Endpoint(_) => {}
    }
}

/// Depth-first without recursion: types may be nested as deeply as a file is long. A cycle by value is a separate error.
fn by_value_order(program: &Program) -> Vec<TypeId> {
    let mut order = Vec::new();
    let mut is_seen = vec![false; program.types.len()];
    for first in 0..program.types.len() {
        let mut stack = vec![(TypeId::new(first), false)];
        while let Some((id, is_done)) = stack.pop() {
            if is_done {
                order.push(id);
                continue;
            }
            if std::mem::replace(&mut is_seen[id.index()], true) {
                continue;
            }
            stack.push((id, true));
            for part in program.ty(id).definition.parts() {
                walk_by_value(part, false, &mut |used, in_list| {
                    if !in_list && !is_seen[used.index()] {
                        stack.push((used, false));
                    }
                });
            }
        }
    }
    order
}
