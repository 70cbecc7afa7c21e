//! Every name in the texts with what it refers to: what an editor needs to find a declaration, to list references, and to rename.

use super::{
    Bound, BoundId, Builtin, Direction, FileId, InstanceId, ProtocolId, Side, StateId, TypeId,
};
use crate::source::{SourceId, Span};

/// What a name refers to. Parts of a declaration are numbered in the order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Referent {
    /// A part of the package's name.
    Package,
    /// The file that an import, whose path this is, leads to; `None` if there is none.
    Import(Option<FileId>),
    /// A type that is built in.
    Builtin(Builtin),
    /// A type by name, declared or not.
    Type(TypeId),
    /// A field of a struct.
    Field(TypeId, u32),
    /// A variant of an enum.
    Variant(TypeId, u32),
    /// A named value of a variant.
    Value(TypeId, u32, u32),
    /// A bound that is built in.
    BuiltinBound(Bound),
    /// A bound that is declared.
    Bound(BoundId),
    /// The word for a language, in a mapping.
    Language(&'static str),
    /// A protocol.
    Protocol(ProtocolId),
    /// An instance of a generic protocol.
    Instance(InstanceId),
    /// A state.
    State(ProtocolId, StateId),
    /// A type parameter of a state.
    Parameter(ProtocolId, StateId, u32),
    /// A message of a state.
    Message(ProtocolId, StateId, u32),
    /// A named value of a payload.
    Entry(ProtocolId, StateId, u32, u32),
    /// `client` or `server`, in the type of an endpoint.
    Side(Side),
    /// `client` or `server`, in `#[accepts(...)]`.
    Acceptor(Side),
    /// The digits of a fingerprint, in `#[accepts(...)]`.
    Fingerprint,
    /// `send` or `recv`.
    Direction(Direction),
    /// The name of an attribute.
    Attribute,
    /// A rule, in an attribute that sets its level.
    Rule,
    /// A unit of sizes or durations.
    Unit,
    /// Nothing: an error has been reported here or where it would be declared.
    Unknown,
}

/// A name in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Where it is written.
    pub span: Span,
    /// What it refers to.
    pub referent: Referent,
    /// Whether it is declared here.
    pub is_declaration: bool,
}

/// All names of a program.
#[derive(Debug, Default)]
pub struct Uses {
    /// In the order of the texts, and none twice.
    all: Vec<Use>,
}

impl Uses {
    /// The table of these names.
    #[must_use]
    pub fn new(mut all: Vec<Use>) -> Uses {
        all.sort_by_key(|found| found.span);
        all.dedup_by_key(|found| found.span);
        Uses { all }
    }

    /// All names in the order of the texts.
    pub fn iter(&self) -> impl Iterator<Item = &Use> {
        self.all.iter()
    }

    /// All names in one text.
    pub fn in_source(&self, source: SourceId) -> impl Iterator<Item = &Use> {
        let start = self.all.partition_point(|found| found.span.source < source);
        let all = self.all[start..].iter();
        all.take_while(move |found| found.span.source == source)
    }

    /// The name at a position, which may be right after it.
    #[must_use]
    pub fn at(&self, source: SourceId, position: usize) -> Option<&Use> {
        let position = u32::try_from(position).ok()?;
        let is_before = |found: &Use| (found.span.source, found.span.start) <= (source, position);
        let after = self.all.partition_point(is_before);
        let found = self.all[..after].last()?;
        (found.span.source == source && position <= found.span.end).then_some(found)
    }

    /// The first name in a range that refers to something.
    #[must_use]
    pub fn first_in(&self, range: Span, referent: Referent) -> Option<Span> {
        let is_before =
            |found: &Use| (found.span.source, found.span.start) < (range.source, range.start);
        let start = self.all.partition_point(is_before);
        let is_inside =
            |found: &&Use| found.span.source == range.source && found.span.end <= range.end;
        let mut inside = self.all[start..].iter().take_while(is_inside);
        let found = inside.find(|found| found.referent == referent)?;
        Some(found.span)
    }

    /// All names that refer to the same, including the one in its declaration.
    pub fn of(&self, referent: Referent) -> impl Iterator<Item = &Use> {
        let same = move |found: &&Use| found.referent == referent;
        self.all.iter().filter(same)
    }

    /// Where something is declared; `None` for what is built in, undeclared or unknown.
    #[must_use]
    pub fn declaration(&self, referent: Referent) -> Option<Span> {
        let found = self.of(referent).find(|found| found.is_declaration);
        found.map(|found| found.span)
    }
}
