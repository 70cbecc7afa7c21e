//! The syntax tree: what the user wrote, with nothing resolved.

use crate::diagnostic::Level;
use crate::name::Name;
use crate::protocol::{Accepted, Direction, Docs, LevelAttribute, Limit, Referent};
use crate::source::Span;
use std::collections::HashSet;
use std::fmt;

/// A file.
#[derive(Debug, Default)]
pub struct File {
    /// The documentation of the file.
    pub docs: Docs,
    /// The package's parts; empty without a package.
    pub package: Vec<Name>,
    /// The imports.
    pub imports: Vec<Import>,
    /// The items, in order; those that did not parse are missing.
    pub items: Vec<Item>,
    /// The states whose protocol has no name, because its head did not parse.
    pub orphans: Vec<State>,
    /// Documentation that belongs to nothing.
    pub misplaced_docs: Vec<Span>,
    /// All words of the pieces that did not parse. A name that is declared nowhere but occurs here may have been declared in one
    /// of them, so it is not reported as missing.
    pub broken_words: HashSet<Box<str>>,
    /// The words that mean the same everywhere: directions, attributes with their rules, and units.
    pub words: Vec<(Span, Referent)>,
    /// Whether anything may have been declared here, because the text or one of its imports could not be read.
    pub is_opaque: bool,
}

/// `import "path";`
#[derive(Debug)]
pub struct Import {
    /// The path between the quotes.
    pub path: String,
    /// The string with its quotes.
    pub span: Span,
}

/// A declaration with its documentation.
#[derive(Debug)]
pub struct Item {
    /// Its documentation.
    pub docs: Docs,
    /// `#[allow(...)]` and the like.
    pub levels: Vec<LevelAttribute>,
    /// Its name.
    pub name: Name,
    /// What is declared.
    pub kind: ItemKind,
}

/// What an item declares.
#[derive(Debug)]
pub enum ItemKind {
    /// `type name = ...;`
    Alias(Type),
    /// `struct name { ... }`
    Struct(Vec<Field>),
    /// `enum name { ... }`
    Enum(Vec<Variant>),
    /// `extern type name ...`
    ExternType(Vec<Name>, Vec<Mapping>),
    /// `extern bound name ...`
    ExternBound(Vec<Mapping>),
    /// `proto! name = protocol<...>;`
    Instance(Instance),
    /// `proto! name { ... }`
    Protocol(Protocol),
}

/// An instance of a generic protocol.
#[derive(Debug)]
pub struct Instance {
    /// `#[accepts(...)]`
    pub accepts: Vec<Accepted>,
    /// The generic protocol.
    pub protocol: Name,
    /// Its arguments.
    pub arguments: Vec<Type>,
    /// From the keyword to the name.
    pub head: Span,
}

/// A protocol.
#[derive(Debug)]
pub struct Protocol {
    /// The arguments of `#[dual_of(...)]`.
    pub dual_of: Vec<Name>,
    /// `#[accepts(...)]`
    pub accepts: Vec<Accepted>,
    /// `#[at_most(...)]`
    pub at_most: Option<Limit>,
    /// Its states; those that did not parse are missing.
    pub states: Vec<State>,
    /// Whether a part of it did not parse.
    pub is_broken: bool,
    /// From the keyword to the name.
    pub head: Span,
    /// The whole declaration, with its documentation and attributes.
    pub span: Span,
}

/// `#[name(arguments)]`
#[derive(Debug)]
pub struct Attribute {
    /// The name.
    pub name: Name,
    /// The arguments that are names.
    pub arguments: Vec<Name>,
    /// The arguments that are quantities.
    pub quantities: Vec<Quantity>,
    /// From `#` to `]`.
    pub span: Span,
}

/// A whole number with its unit.
#[derive(Debug)]
pub struct Quantity {
    /// The number; `None` if it does not fit into 64 bits.
    pub number: Option<u64>,
    /// The unit, if written.
    pub unit: Option<Name>,
    /// The number with its unit.
    pub span: Span,
}

impl Attribute {
    /// The level that the attribute sets, if it sets one.
    #[must_use]
    pub fn level(&self) -> Option<Level> {
        Level::named(self.name.text())
    }
}

/// A state.
#[derive(Debug)]
pub struct State {
    /// Its documentation.
    pub docs: Docs,
    /// `#[allow(...)]` and the like.
    pub levels: Vec<LevelAttribute>,
    /// Its name.
    pub name: Name,
    /// Its direction, if it has one.
    pub direction: Option<Direction>,
    /// Where the direction is, with its colon; without one, the position after the name.
    pub direction_span: Span,
    /// Its type parameters.
    pub parameters: Vec<Parameter>,
    /// Whether it has type parameters is not known, because a part of it did not parse.
    pub may_lack_parameters: bool,
    /// `#[at_most(...)]`
    pub at_most: Option<Limit>,
    /// `#[within(...)]`, in milliseconds.
    pub within: Option<Limit>,
    /// Its messages.
    pub messages: Vec<Message>,
    /// The whole state.
    pub span: Span,
}

/// A type parameter.
#[derive(Debug)]
pub struct Parameter {
    /// Its name.
    pub name: Name,
    /// Its bounds.
    pub bounds: Vec<Name>,
}

/// A message with the state that follows it.
#[derive(Debug)]
pub struct Message {
    /// Its documentation.
    pub docs: Docs,
    /// `#[allow(...)]` and the like.
    pub levels: Vec<LevelAttribute>,
    /// Its name.
    pub name: Name,
    /// `#[at_most(...)]`
    pub at_most: Option<Limit>,
    /// What it carries.
    pub entries: Vec<Entry>,
    /// The next state with its arguments; `None` for `!`.
    pub next: Option<(Name, Vec<Type>)>,
    /// Where the next state or `!` is written.
    pub next_span: Span,
}

/// A value of a payload or a variant.
#[derive(Debug)]
pub struct Entry {
    /// Its name, if written.
    pub name: Option<Name>,
    /// Its type.
    pub ty: Type,
}

/// A field of a struct.
#[derive(Debug)]
pub struct Field {
    /// Its documentation.
    pub docs: Docs,
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: Type,
}

/// A variant of an enum.
#[derive(Debug)]
pub struct Variant {
    /// Its documentation.
    pub docs: Docs,
    /// Its name.
    pub name: Name,
    /// Its values.
    pub entries: Vec<Entry>,
}

/// `target = "name" from "file" drop "function";`
#[derive(Debug)]
pub struct Mapping {
    /// The target.
    pub target: Name,
    /// The name in the target.
    pub name: String,
    /// The file to include.
    pub from: Option<String>,
    /// The function that destroys a value.
    pub drop: Option<String>,
    /// The whole line.
    pub span: Span,
}

/// A type.
#[derive(Debug)]
pub struct Type {
    /// What it is.
    pub kind: TypeKind,
    /// Its bound: the number in `str<255>` and `[T; 1000]`.
    pub most: Option<Limit>,
    /// Where it is.
    pub span: Span,
}

/// What a type is. `~` and parentheses around a single type are left out.
#[derive(Debug)]
pub enum TypeKind {
    /// `[T]`
    List(Box<Type>),
    /// `T?`
    Option(Box<Type>),
    /// `(A, B)`
    Tuple(Vec<Type>),
    /// `name`, or `a::b::c<T>`
    Path(Vec<Name>, Vec<Type>),
    /// What did not parse.
    Error,
}

impl fmt::Display for Type {
    /// The type as it would be written. Recurses as deeply as types nest, which the scanner bounds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, types: &[Type]| -> fmt::Result {
            for (index, ty) in types.iter().enumerate() {
                let comma = if index > 0 { ", " } else { "" };
                write!(f, "{comma}{ty}")?;
            }
            Ok(())
        };
        match &self.kind {
            TypeKind::List(item) => match self.most {
                Some(limit) => write!(f, "[{item}; {}]", limit.most),
                None => write!(f, "[{item}]"),
            },
            TypeKind::Option(value) => write!(f, "{value}?"),
            TypeKind::Tuple(parts) => {
                f.write_str("(")?;
                list(f, parts)?;
                f.write_str(")")
            }
            TypeKind::Path(names, arguments) => {
                for (index, name) in names.iter().enumerate() {
                    let colons = if index > 0 { "::" } else { "" };
                    write!(f, "{colons}{name}")?;
                }
                if let Some(limit) = self.most {
                    write!(f, "<{}>", limit.most)?;
                }
                if !arguments.is_empty() {
                    f.write_str("<")?;
                    list(f, arguments)?;
                    f.write_str(">")?;
                }
                Ok(())
            }
            TypeKind::Error => f.write_str("..."),
        }
    }
}
