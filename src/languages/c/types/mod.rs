//! How types are written in C, and what the runtime needs to know about them.

pub mod copies;
pub mod declarations;
pub mod header;
pub mod layouts;

use crate::languages::aliases::Aliases;
use crate::languages::c::ctype::{CType, Inline, stored};
use crate::languages::c::names::spelling;
use crate::languages::c::names::units::{
    UnitStateId, Units, canonical, declared_word, is_small_alias,
};
use crate::protocol::{
    Builtin, Definition, EndpointType, FileId, Lengths, Program, Type, TypeDeclaration, TypeId,
};
use std::collections::BTreeSet;

/// Types in C.
pub struct Types<'a> {
    pub program: &'a Program,
    pub units: &'a Units,
    prefix: &'a str,
    facts: Vec<Facts>,
    /// Which values with a bound are stored inline; `None` if none are.
    inline: Option<Inline>,
    aliases: Aliases,
    /// What each alias stands for that is the last of its chain.
    targets: Vec<Option<CType>>,
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
    /// A value holds text, enums or inline values, which have to be checked before they are sent.
    pub checks: bool,
    /// A value holds text, bytes or lists that are stored inline, so it may be large.
    pub has_inline: bool,
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
            has_inline: self.has_inline || other.has_inline,
        }
    }
}

impl<'a> Types<'a> {
    /// The types of a program. With `inline_bounds`, values with a bound are stored inline.
    pub fn of(
        program: &'a Program,
        units: &'a Units,
        prefix: &'a str,
        inline_bounds: bool,
    ) -> Types<'a> {
        let mut types = Types {
            program,
            units,
            prefix,
            facts: Vec::new(),
            inline: inline_bounds.then(|| Inline::of(program)),
            aliases: Aliases::of(program),
            targets: Vec::new(),
            hosts: BTreeSet::new(),
            order: vec![Vec::new(); program.files.len()],
        };
        let ids = (0..program.types.len()).map(TypeId::new);
        types.targets = ids.map(|id| types.target(id)).collect();
        types.facts = program.settle(Facts::default(), |known, id| types.of_declared(known, id));
        for id in types.by_value_order() {
            types.order[program.ty(id).file.index()].push(id);
        }
        let declared = program.types.iter();
        let hosts = declared.filter(|declared| declared.is_host(super::WORD));
        types.hosts = hosts
            .map(|declared| spelling::host(declared.name.text()))
            .collect();
        types
    }

    /// What an alias stands for, if it is the last of its chain.
    fn target(&self, id: TypeId) -> Option<CType> {
        let declared = self.program.ty(id);
        let last = declared.definition.alias();
        let last = last.filter(|_| self.aliases.last(id) == id);
        last.map(|ty| self.stored(ty, &declared.lengths))
    }

    /// How values of a type with these bounds are stored.
    pub fn stored(&self, ty: &Type, lengths: &Lengths) -> CType {
        stored(ty, lengths, self.inline.as_ref())
    }

    /// Whether values with a bound are stored inline.
    pub fn has_inline_bounds(&self) -> bool {
        self.inline.is_some()
    }

    /// What a declared type consists of, in the order written.
    pub fn parts(&self, id: TypeId) -> Vec<CType> {
        let parts = self.program.ty(id).parts().into_iter();
        parts
            .map(|(ty, lengths, _)| self.stored(ty, lengths))
            .collect()
    }

    /// The C type of a value.
    pub fn name(&self, ty: &CType, by: Option<usize>) -> String {
        match ty {
            CType::Builtin(builtin) => builtin_name(*builtin).to_owned(),
            CType::Named(id) => self.declared_name(*id),
            CType::Inline(..)
            | CType::List(_)
            | CType::Array(..)
            | CType::Option(_)
            | CType::Tuple(_) => {
                format!("duo_{}_t", self.words(ty, by))
            }
            CType::Endpoint(_) | CType::Parameter(_) => format!("{}_t", self.words(ty, by)),
        }
    }

    /// The C type of a declared or undeclared type.
    pub fn declared_name(&self, id: TypeId) -> String {
        let declared = self.program.ty(id);
        match declared.is_host(super::WORD) {
            true => host_name(declared),
            false => self.declared_word(id) + "_t",
        }
    }

    /// The constant of a variant of a declared enum.
    pub fn variant(&self, id: TypeId, name: &str) -> String {
        spelling::variant(&self.declared_word(id), name)
    }

    /// What the names of a declared type start with.
    pub fn declared_word(&self, id: TypeId) -> String {
        declared_word(self.program, self.prefix, self.program.ty(id))
    }

    /// A type as part of a longer name.
    pub fn words(&self, ty: &CType, by: Option<usize>) -> String {
        self.units.words(self.program, &self.canonical(ty), by)
    }

    /// The type with every alias replaced by what it stands for, unless that is a very large type.
    pub fn canonical(&self, ty: &CType) -> CType {
        let inner = |item: &CType| Box::new(self.canonical(item));
        match ty {
            CType::Builtin(_) | CType::Inline(..) | CType::Parameter(_) => ty.clone(),
            CType::List(item) => CType::List(inner(item)),
            CType::Array(item, most) => CType::Array(inner(item), *most),
            CType::Option(item) => CType::Option(inner(item)),
            CType::Tuple(items) => {
                CType::Tuple(items.iter().map(|item| self.canonical(item)).collect())
            }
            CType::Named(id) if is_small_alias(self.program, *id) => {
                self.canonical(self.underlying(ty))
            }
            CType::Named(_) => ty.clone(),
            CType::Endpoint(endpoint) => {
                let arguments = endpoint.arguments.iter();
                let arguments = arguments.map(|ty| canonical(self.program, ty)).collect();
                CType::Endpoint(Box::new(EndpointType {
                    arguments,
                    ..**endpoint
                }))
            }
        }
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
    pub fn underlying<'b>(&'b self, ty: &'b CType) -> &'b CType {
        let CType::Named(id) = ty else { return ty };
        let target = &self.targets[self.aliases.last(*id).index()];
        target.as_ref().unwrap_or(ty)
    }

    /// Whether the type is a C struct, so that it can be named before it is defined.
    pub fn is_struct(&self, ty: &CType) -> bool {
        match ty {
            CType::Inline(..)
            | CType::List(_)
            | CType::Array(..)
            | CType::Option(_)
            | CType::Tuple(_) => true,
            CType::Named(id) => match &self.program.ty(*id).definition {
                Definition::Struct(_) => true,
                Definition::Enum(variants) => !is_bare(variants),
                Definition::Alias(_) | Definition::Extern(..) => false,
            },
            CType::Builtin(_) | CType::Parameter(_) | CType::Endpoint(_) => false,
        }
    }

    /// What the runtime needs to know about a type.
    pub fn facts(&self, ty: &CType) -> Facts {
        self.facts_by(&self.facts, ty)
    }

    /// The facts about a declared type, as far as they follow from those that are known of the types it consists of.
    fn of_declared(&self, known: &[Facts], id: TypeId) -> Facts {
        let is_dropped = self.drop_of(id).is_some();
        let own = Facts {
            spreads: is_dropped,
            moves: is_dropped,
            checks: matches!(self.program.ty(id).definition, Definition::Enum(_)),
            has_inline: false,
        };
        let parts = self.parts(id).into_iter();
        parts.fold(own, |all, part| all.or(self.facts_by(known, &part)))
    }

    fn facts_by(&self, known: &[Facts], ty: &CType) -> Facts {
        match ty {
            CType::Builtin(Builtin::Str) => Facts {
                spreads: true,
                checks: true,
                ..Facts::default()
            },
            CType::Builtin(Builtin::Bytes) => Facts {
                spreads: true,
                ..Facts::default()
            },
            CType::Builtin(_) | CType::Parameter(_) => Facts::default(),
            CType::Inline(..) => Facts {
                checks: true,
                has_inline: true,
                ..Facts::default()
            },
            CType::List(item) => Facts {
                spreads: true,
                has_inline: false,
                ..self.facts_by(known, item)
            },
            CType::Array(item, _) => Facts {
                checks: true,
                has_inline: true,
                ..self.facts_by(known, item)
            },
            CType::Option(item) => self.facts_by(known, item),
            CType::Tuple(items) => {
                let all = items.iter().map(|item| self.facts_by(known, item));
                all.fold(Facts::default(), Facts::or)
            }
            CType::Named(id) => known[id.index()],
            CType::Endpoint(endpoint) => Facts {
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
        self.program.ty(id).mapping(super::WORD)?.drop.as_deref()
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

    /// The declared types, each after those that its values hold. A cycle by value is a separate error.
    fn by_value_order(&self) -> Vec<TypeId> {
        self.program.parts_first(&|id| {
            let parts = self.parts(id).into_iter();
            parts.flat_map(|part| held(&part)).collect()
        })
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

/// The declared types of which a value is inside one of this type.
fn held(ty: &CType) -> Vec<TypeId> {
    match ty {
        CType::Named(id) => vec![*id],
        CType::Option(item) | CType::Array(item, _) => held(item),
        CType::Tuple(items) => items.iter().flat_map(held).collect(),
        CType::Builtin(_)
        | CType::Inline(..)
        | CType::List(_)
        | CType::Parameter(_)
        | CType::Endpoint(_) => Vec::new(),
    }
}
