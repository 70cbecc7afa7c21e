//! Names in a text: what they refer to, and where else they are written.

use super::Snapshot;
use duologue::protocol::{Referent, Use};
use duologue::source::Span;

/// The name at a position, which may be right after it.
#[must_use]
pub fn name_at(snapshot: &Snapshot, offset: usize) -> Option<&Use> {
    snapshot.program().uses.at(snapshot.source, offset)
}

/// Where the name at a position is declared: the name itself, and the span that leads there. For an import, the beginning of the file.
#[must_use]
pub fn definition(snapshot: &Snapshot, offset: usize) -> Option<(Span, Span)> {
    let found = name_at(snapshot, offset)?;
    if let Referent::Import(file) = found.referent {
        let source = snapshot.program().file(file?).source;
        return Some((found.span, Span::new(source, 0, 0)));
    }
    let declared = match found.is_declaration {
        true => found.span,
        false => snapshot.program().uses.declaration(found.referent)?,
    };
    Some((found.span, declared))
}

/// What a name is, for what can be done with it.
pub enum Kind {
    /// A name that a file declares.
    Declared,
    /// A type or bound of the language.
    BuiltIn,
    /// A part of a package.
    Package,
    /// The path of an import; whether the file was found.
    Import(bool),
    /// Nothing is known about it.
    Unknown,
    /// A word of the language.
    Word,
}

impl Kind {
    /// What a name that refers to this is.
    pub fn of(referent: Referent) -> Kind {
        match referent {
            Referent::Type(_)
            | Referent::Field(..)
            | Referent::Variant(..)
            | Referent::Value(..)
            | Referent::Bound(_)
            | Referent::Protocol(_)
            | Referent::Instance(_)
            | Referent::State(..)
            | Referent::Parameter(..)
            | Referent::Message(..)
            | Referent::Entry(..) => Kind::Declared,
            Referent::Builtin(_) | Referent::BuiltinBound(_) => Kind::BuiltIn,
            Referent::Package => Kind::Package,
            Referent::Import(file) => Kind::Import(file.is_some()),
            Referent::Unknown => Kind::Unknown,
            Referent::Language(_)
            | Referent::Side(_)
            | Referent::Acceptor(_)
            | Referent::Fingerprint
            | Referent::Direction(_)
            | Referent::Attribute
            | Referent::Rule
            | Referent::Unit => Kind::Word,
        }
    }
}

/// Whether all names that refer to the same are one name, which is worth listing.
fn is_listed(referent: Referent) -> bool {
    match Kind::of(referent) {
        Kind::Declared | Kind::BuiltIn => true,
        Kind::Import(is_found) => is_found,
        Kind::Package | Kind::Unknown | Kind::Word => false,
    }
}

/// All names in all texts of the compilation that refer to the same as the one at a position, in order.
pub fn references(snapshot: &Snapshot, offset: usize) -> Vec<Use> {
    let found = name_at(snapshot, offset).filter(|found| is_listed(found.referent));
    let uses = &snapshot.program().uses;
    found.map_or_else(Vec::new, |found| uses.of(found.referent).copied().collect())
}

/// Those in the text itself.
#[must_use]
pub fn highlights(snapshot: &Snapshot, offset: usize) -> Vec<Use> {
    let mut found = references(snapshot, offset);
    found.retain(|found| found.span.source == snapshot.source);
    found
}
