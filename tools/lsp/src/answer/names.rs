//! Names in a text: what they refer to, and where else they are written.

use super::Snapshot;
use duologue::protocol::{Definition, Program, Protocol, ProtocolId, Referent, StateId, Type, Use};
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

/// Where the types are declared of what the name at a position has; of a payload, those of all its values.
#[must_use]
pub fn type_definitions(snapshot: &Snapshot, offset: usize) -> Vec<Span> {
    let program = snapshot.program();
    let found = name_at(snapshot, offset).map(|found| types(program, found.referent));
    let mut declared = Vec::new();
    for ty in found.unwrap_or_default() {
        ty.walk(&mut |part| {
            declared.extend(match part {
                Type::Named(id) => Some(Referent::Type(*id)),
                Type::Endpoint(endpoint) => {
                    Some(Referent::State(endpoint.protocol, endpoint.state))
                }
                _ => None,
            });
        });
    }
    let places = declared.into_iter();
    places
        .filter_map(|referent| program.uses.declaration(referent))
        .collect()
}

/// The types that something has, as they are written.
fn types(program: &Program, of: Referent) -> Vec<&Type> {
    let message = |protocol: ProtocolId, state: StateId, at: u32| {
        let entries = &program.protocol(protocol).state(state).messages[at as usize].entries;
        entries.iter().map(|entry| &entry.ty).collect::<Vec<_>>()
    };
    match of {
        Referent::Message(protocol, state, at) => message(protocol, state, at),
        Referent::Entry(protocol, state, at, entry) => {
            vec![message(protocol, state, at)[entry as usize]]
        }
        Referent::Field(ty, _) | Referent::Variant(ty, _) | Referent::Value(ty, ..) => {
            parts(&program.ty(ty).definition, of)
        }
        Referent::Type(ty) => match &program.ty(ty).definition {
            Definition::Alias(ty) => vec![ty],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn parts(definition: &Definition, of: Referent) -> Vec<&Type> {
    match (definition, of) {
        (Definition::Struct(fields), Referent::Field(_, at)) => vec![&fields[at as usize].ty],
        (Definition::Enum(variants), Referent::Variant(_, at)) => {
            let entries = &variants[at as usize].entries;
            entries.iter().map(|entry| &entry.ty).collect()
        }
        (Definition::Enum(variants), Referent::Value(_, variant, at)) => {
            vec![&variants[variant as usize].entries[at as usize].ty]
        }
        _ => Vec::new(),
    }
}

/// The state at a position: that of its name, or of a protocol its start.
#[must_use]
pub fn state_at(snapshot: &Snapshot, offset: usize) -> Option<(ProtocolId, StateId)> {
    let program = snapshot.program();
    let start = |protocol: ProtocolId| {
        let has_start = !program.protocol(protocol).states.is_empty();
        has_start.then_some((protocol, StateId::new(0)))
    };
    match name_at(snapshot, offset)?.referent {
        Referent::State(protocol, state) => Some((protocol, state)),
        Referent::Protocol(protocol) => start(protocol),
        Referent::Instance(instance) => start(program.instance(instance).protocol),
        _ => None,
    }
}

/// The messages of a protocol that lead from one state to another, as the states and where the messages are.
pub fn transitions(protocol: &Protocol) -> impl Iterator<Item = (StateId, StateId, Span)> {
    let messages = protocol.state_ids().flat_map(|from| {
        let messages = protocol.state(from).messages.iter();
        messages.map(move |message| (from, message))
    });
    messages.filter_map(|(from, message)| Some((from, message.next.state()?, message.name.span)))
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
