//! What messages carry: named types and the types of payloads.

use super::{Bound, Lengths, LevelAttribute};
use super::{Docs, FileId, ProtocolId, Side, StateId, TypeId};
use crate::name::Name;
use crate::source::Span;
use std::collections::BTreeMap;

/// A named type.
#[derive(Debug)]
pub struct TypeDeclaration {
    /// Its name.
    pub name: Name,
    /// The file that declares it; for an undeclared type, the first that uses it.
    pub file: FileId,
    /// Its documentation.
    pub docs: Docs,
    /// `#[allow(...)]` and the like before the declaration.
    pub levels: Vec<LevelAttribute>,
    /// What it is.
    pub definition: Definition,
    /// Whether a file declares it; otherwise the host program supplies it.
    pub is_declared: bool,
    /// For an alias, the bounds in its type.
    pub lengths: Lengths,
    /// For an alias, where its type is written; otherwise its name.
    pub ty_span: Span,
}

impl TypeDeclaration {
    /// Where a type of the host program is found in a language, if its declaration says so.
    #[must_use]
    pub fn mapping(&self, language: &str) -> Option<&Mapping> {
        match &self.definition {
            Definition::Extern(mappings, _) => mappings.get(language),
            Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => None,
        }
    }

    /// Whether programs in a language supply the type under its own name.
    #[must_use]
    pub fn is_host(&self, language: &str) -> bool {
        matches!(self.definition, Definition::Extern(..)) && self.mapping(language).is_none()
    }

    /// The types that it consists of, in the order written, with the bounds in them and where they are written.
    #[must_use]
    pub fn parts(&self) -> Vec<(&Type, &Lengths, Span)> {
        match &self.definition {
            Definition::Alias(ty) => vec![(ty, &self.lengths, self.ty_span)],
            Definition::Struct(fields) => fields
                .iter()
                .map(|field| (&field.ty, &field.lengths, field.ty_span))
                .collect(),
            Definition::Enum(variants) => variants
                .iter()
                .flat_map(|variant| &variant.entries)
                .map(|entry| (&entry.ty, &entry.lengths, entry.ty_span))
                .collect(),
            Definition::Extern(..) => Vec::new(),
        }
    }
}

/// What a named type is.
#[derive(Debug)]
pub enum Definition {
    /// Another name for a type.
    Alias(Type),
    /// A record.
    Struct(Vec<Field>),
    /// A choice.
    Enum(Vec<Variant>),
    /// Supplied by the host program: where it is found, and which bounds it satisfies. Both are empty for a type that is used without a
    /// declaration.
    Extern(Box<Mappings>, Vec<Bound>),
}

impl Definition {
    /// What an alias stands for.
    #[must_use]
    pub fn alias(&self) -> Option<&Type> {
        match self {
            Definition::Alias(target) => Some(target),
            Definition::Struct(_) | Definition::Enum(_) | Definition::Extern(..) => None,
        }
    }

    /// The types that it consists of, in the order written.
    #[must_use]
    pub fn parts(&self) -> Vec<&Type> {
        match self {
            Definition::Alias(ty) => vec![ty],
            Definition::Struct(fields) => fields.iter().map(|field| &field.ty).collect(),
            Definition::Enum(variants) => {
                let entries = variants.iter().flat_map(|variant| &variant.entries);
                entries.map(|entry| &entry.ty).collect()
            }
            Definition::Extern(..) => Vec::new(),
        }
    }

    /// The declared types that are named in it, in the order written.
    #[must_use]
    pub fn named(&self) -> Vec<TypeId> {
        self.parts().into_iter().flat_map(Type::named).collect()
    }
}

/// A language that host programs are written in, and that mappings name.
#[derive(Debug)]
pub struct Language {
    /// The word for it in protocol files and options.
    pub word: &'static str,
    /// Its name.
    pub title: &'static str,
    /// Whether a mapping may say what has to be included, and how values are destroyed; otherwise it is only a path.
    pub takes_more: bool,
}

/// All of them, in the order in which they are listed to users.
pub const LANGUAGES: [Language; 3] = [
    Language {
        word: "rust",
        title: "Rust",
        takes_more: false,
    },
    Language {
        word: "c",
        title: "C",
        takes_more: true,
    },
    Language {
        word: "scala",
        title: "Scala",
        takes_more: false,
    },
];

impl Language {
    /// The language that a word names.
    #[must_use]
    pub fn named(word: &str) -> Option<&'static Language> {
        LANGUAGES.iter().find(|language| language.word == word)
    }
}

/// Where the host's type or trait is found, by the word of the language. Where a language has none, its own rule for undeclared
/// names applies.
#[derive(Debug, Default)]
pub struct Mappings(BTreeMap<&'static str, Mapping>);

impl Mappings {
    /// Where it is found in a language.
    #[must_use]
    pub fn get(&self, word: &str) -> Option<&Mapping> {
        self.0.get(word)
    }

    /// Sets where it is found in a language.
    pub fn set(&mut self, language: &'static Language, mapping: Mapping) {
        self.0.insert(language.word, mapping);
    }

    /// Where it is found, language by language, in the order of [`LANGUAGES`].
    pub fn iter(&self) -> impl Iterator<Item = (&'static Language, &Mapping)> {
        let languages = LANGUAGES.iter();
        languages.filter_map(|language| Some((language, self.get(language.word)?)))
    }
}

/// One line of a mapping block.
#[derive(Debug)]
pub struct Mapping {
    /// The name in the target, copied as it is.
    pub name: String,
    /// What has to be included for it.
    pub from: Option<String>,
    /// The function that destroys a value.
    pub drop: Option<String>,
    /// The whole line.
    pub span: Span,
}

/// A bound declared with `extern bound`.
#[derive(Debug)]
pub struct BoundDeclaration {
    /// Its name.
    pub name: Name,
    /// The file that declares it.
    pub file: FileId,
    /// Its documentation.
    pub docs: Docs,
    /// `#[allow(...)]` and the like before the declaration.
    pub levels: Vec<LevelAttribute>,
    /// Where the host's trait is found.
    pub mappings: Mappings,
}

/// A field of a struct.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: Name,
    /// Its documentation.
    pub docs: Docs,
    /// Its type.
    pub ty: Type,
    /// The bounds in its type.
    pub lengths: Lengths,
    /// Where the type is written.
    pub ty_span: Span,
}

impl Entry {
    /// Whether there are entries and the protocol names each of them. Then Rust has a field of that name for each.
    #[must_use]
    pub fn are_named(entries: &[Entry]) -> bool {
        !entries.is_empty() && entries.iter().all(|entry| !entry.is_derived)
    }
}

/// A variant of an enum.
#[derive(Debug)]
pub struct Variant {
    /// Its name.
    pub name: Name,
    /// Its documentation.
    pub docs: Docs,
    /// Its values; empty for a bare name.
    pub entries: Vec<Entry>,
}

/// One value of a payload or a variant. Names are unique within their list.
#[derive(Debug)]
pub struct Entry {
    /// Its name, written or derived from the type.
    pub name: Name,
    /// Whether the name was derived.
    pub is_derived: bool,
    /// Its type.
    pub ty: Type,
    /// The bounds in its type.
    pub lengths: Lengths,
    /// Where the type is written.
    pub ty_span: Span,
}

/// A payload type. `~` is removed, aliases are kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// A built-in type without parts.
    Builtin(Builtin),
    /// `[T]`
    List(Box<Type>),
    /// `T?`
    Option(Box<Type>),
    /// `(A, B, ...)` with at least two parts.
    Tuple(Vec<Type>),
    /// A named type.
    Named(TypeId),
    /// The type parameter at this position of the state that the type appears in.
    Parameter(u32),
    /// An endpoint.
    Endpoint(Box<EndpointType>),
    /// Something that could not be resolved; an error has been reported. Never in a checked program.
    Error,
}

/// A built-in type without parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Builtin {
    Bool,
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F32,
    F64,
    Str,
    Bytes,
}

impl Builtin {
    /// Every word for a built-in type.
    pub const WORDS: [(&str, Builtin); 16] = [
        ("bool", Builtin::Bool),
        ("u8", Builtin::U8),
        ("u16", Builtin::U16),
        ("u32", Builtin::U32),
        ("u64", Builtin::U64),
        ("i8", Builtin::I8),
        ("i16", Builtin::I16),
        ("i32", Builtin::I32),
        ("i64", Builtin::I64),
        ("f32", Builtin::F32),
        ("f64", Builtin::F64),
        ("str", Builtin::Str),
        ("bytes", Builtin::Bytes),
        ("int", Builtin::I64),
        ("uint", Builtin::U64),
        ("float", Builtin::F64),
    ];

    /// The built-in type that a word names.
    #[must_use]
    pub fn named(word: &str) -> Option<Builtin> {
        let found = Builtin::WORDS.iter().find(|(known, _)| *known == word);
        found.map(|(_, builtin)| *builtin)
    }

    /// How many bytes its values take, if all take the same.
    #[must_use]
    pub fn width(self) -> Option<usize> {
        match self {
            Builtin::Bool | Builtin::U8 | Builtin::I8 => Some(1),
            Builtin::U16 | Builtin::I16 => Some(2),
            Builtin::U32 | Builtin::I32 | Builtin::F32 => Some(4),
            Builtin::U64 | Builtin::I64 | Builtin::F64 => Some(8),
            Builtin::Str | Builtin::Bytes => None,
        }
    }

    /// What other languages, or C's headers, call built-in types, in lower case: the words for each type.
    const FOREIGN: [(&str, &str); 12] = [
        ("str", "string text"),
        ("bool", "boolean"),
        ("u8", "byte uint8 uint8_t"),
        ("u16", "uint16 uint16_t"),
        ("u32", "uint32 uint32_t"),
        ("u64", "uint64 uint64_t usize"),
        ("i8", "int8 int8_t"),
        ("i16", "int16 int16_t short"),
        ("i32", "int32 int32_t"),
        ("i64", "int64 int64_t isize long integer"),
        ("f32", "float32"),
        ("f64", "float64 double"),
    ];

    /// Each word of another language for a built-in type, with the word of this one.
    pub fn foreign_words() -> impl Iterator<Item = (&'static str, &'static str)> {
        let all = Builtin::FOREIGN.iter();
        all.flat_map(|(own, words)| words.split(' ').map(|word| (word, *own)))
    }

    /// The word for the built-in type that other languages, or C's headers, call `name`.
    #[must_use]
    pub fn of_another_language(name: &str) -> Option<&'static str> {
        let name = name.to_ascii_lowercase();
        let found = Builtin::foreign_words().find(|(known, _)| *known == name);
        found.map(|(_, own)| own)
    }
}

/// One side of a protocol in one of its states, as a payload type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointType {
    /// The protocol.
    pub protocol: ProtocolId,
    /// The side that holds the endpoint.
    pub side: Side,
    /// The state it is in.
    pub state: StateId,
    /// Arguments for the state's type parameters.
    pub arguments: Vec<Type>,
}

impl Type {
    /// The type in which the outermost parts are replaced for which `by` returns another type.
    #[must_use]
    pub fn replaced(&self, by: &dyn Fn(&Type) -> Option<Type>) -> Type {
        let all = |types: &[Type]| types.iter().map(|ty| ty.replaced(by)).collect();
        by(self).unwrap_or_else(|| match self {
            Type::Builtin(_) | Type::Named(_) | Type::Parameter(_) | Type::Error => self.clone(),
            Type::List(item) => Type::List(Box::new(item.replaced(by))),
            Type::Option(item) => Type::Option(Box::new(item.replaced(by))),
            Type::Tuple(items) => Type::Tuple(all(items)),
            Type::Endpoint(endpoint) => Type::Endpoint(Box::new(EndpointType {
                arguments: all(&endpoint.arguments),
                ..**endpoint
            })),
        })
    }

    /// The type with each parameter replaced by the argument at its position.
    #[must_use]
    pub fn substitute(&self, arguments: &[Type]) -> Type {
        self.replaced(&|part| {
            let Type::Parameter(index) = part else {
                return None;
            };
            Some(arguments[*index as usize].clone())
        })
    }

    /// Whether it is, or has as a part, something that could not be resolved.
    #[must_use]
    pub fn has_error(&self) -> bool {
        self.any(&|part| *part == Type::Error)
    }

    /// Whether something holds for it or for a type written inside it.
    #[must_use]
    pub fn any(&self, holds: &dyn Fn(&Type) -> bool) -> bool {
        let mut found = false;
        self.walk(&mut |part| found = found || holds(part));
        found
    }

    /// The number of types written in this type, which is one of them.
    #[must_use]
    pub fn count(&self) -> usize {
        let mut count = 0;
        self.walk(&mut |_| count += 1);
        count
    }

    /// The declared types that are named in this type, in the order written.
    #[must_use]
    pub fn named(&self) -> Vec<TypeId> {
        let mut named = Vec::new();
        self.walk(&mut |part| {
            if let Type::Named(id) = part {
                named.push(*id);
            }
        });
        named
    }

    /// The endpoint types in this type, in the order written.
    #[must_use]
    pub fn endpoints(&self) -> Vec<&EndpointType> {
        let mut endpoints = Vec::new();
        self.walk(&mut |part| {
            if let Type::Endpoint(endpoint) = part {
                endpoints.push(&**endpoint);
            }
        });
        endpoints
    }

    /// Calls `visit` for this type and every type written inside it, without following declarations.
    pub fn walk<'t>(&'t self, visit: &mut impl FnMut(&'t Type)) {
        visit(self);
        match self {
            Type::Builtin(_) | Type::Named(_) | Type::Parameter(_) | Type::Error => {}
            Type::List(item) | Type::Option(item) => item.walk(visit),
            Type::Tuple(items) => items.iter().for_each(|item| item.walk(visit)),
            Type::Endpoint(endpoint) => endpoint.arguments.iter().for_each(|item| item.walk(visit)),
        }
    }
}
