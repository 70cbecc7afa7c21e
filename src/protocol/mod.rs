//! The resolved model: names have become ids, and no syntax is left. It does not describe how a protocol behaves.

mod known;
mod lengths;
pub mod limits;
mod shape;
pub mod text;
mod types;
mod uses;

pub use lengths::{Lengths, Limit};
pub use shape::{Part, Shape};
pub use types::{
    BoundDeclaration, Builtin, Definition, EndpointType, Entry, Field, LANGUAGES, Language,
    Mapping, Mappings, Type, TypeDeclaration, Variant,
};

pub use known::Known;
pub use uses::{Referent, Use, Uses};

use crate::name::Name;
use crate::source::{SourceId, Span};
use std::collections::VecDeque;

macro_rules! declare_ids {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// The id of the item at `index`.
            #[must_use]
            pub fn new(index: usize) -> $name {
                $name(u32::try_from(index).expect("fewer than 2^32 of a kind"))
            }

            /// The position in the list that owns the item.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

declare_ids! {
    /// A file, in [`Program::files`].
    FileId;
    /// A type, in [`Program::types`].
    TypeId;
    /// A declared bound, in [`Program::bounds`].
    BoundId;
    /// A protocol, in [`Program::protocols`].
    ProtocolId;
    /// An instance of a generic protocol, in [`Program::instances`].
    InstanceId;
    /// A state, in [`Protocol::states`].
    StateId;
}

/// Documentation: the lines as written, without `///` and one space. Empty where nothing was written.
pub type Docs = Vec<Box<str>>;

/// Everything that one run resolved.
#[derive(Debug, Default)]
pub struct Program {
    /// The files, those named on the command line first, in order; imported ones after them.
    pub files: Vec<File>,
    /// Types of all files, and the undeclared ones.
    pub types: Vec<TypeDeclaration>,
    /// Bounds declared with `extern bound`.
    pub bounds: Vec<BoundDeclaration>,
    /// Protocols of all files.
    pub protocols: Vec<Protocol>,
    /// Instances of all files.
    pub instances: Vec<Instance>,
    /// Every name in the texts of the files.
    pub uses: Uses,
}

impl Program {
    /// The files that were named as inputs, without those that only they import.
    pub fn inputs(&self) -> impl Iterator<Item = &File> + Clone {
        self.files.iter().filter(|file| file.is_input)
    }

    /// The file with this id.
    #[must_use]
    pub fn file(&self, id: FileId) -> &File {
        &self.files[id.index()]
    }

    /// The name of what a file declares, with its package: `shop.orders`.
    #[must_use]
    pub fn full_name(&self, file: FileId, name: &str) -> String {
        let package = self.file(file).package.iter().map(Name::text);
        package.chain([name]).collect::<Vec<_>>().join(".")
    }

    /// The type with this id.
    #[must_use]
    pub fn ty(&self, id: TypeId) -> &TypeDeclaration {
        &self.types[id.index()]
    }

    /// The bound with this id.
    #[must_use]
    pub fn bound(&self, id: BoundId) -> &BoundDeclaration {
        &self.bounds[id.index()]
    }

    /// The protocol with this id.
    #[must_use]
    pub fn protocol(&self, id: ProtocolId) -> &Protocol {
        &self.protocols[id.index()]
    }

    /// The instance with this id.
    #[must_use]
    pub fn instance(&self, id: InstanceId) -> &Instance {
        &self.instances[id.index()]
    }

    /// What an alias stands for, through all aliases, with the bounds that are written there. Other types are returned as they are.
    #[must_use]
    pub fn unaliased<'p>(&'p self, ty: &'p Type, lengths: &'p Lengths) -> (&'p Type, &'p Lengths) {
        let mut found = (ty, lengths);
        // The limit keeps an alias of itself, which is reported elsewhere, from looping forever.
        for _ in 0..=self.types.len() {
            let Some(target) = self.aliased(found.0) else {
                break;
            };
            found = target;
        }
        found
    }

    /// What an alias is declared as, with the bounds there, which may be another alias; `None` for other types.
    #[must_use]
    pub fn aliased(&self, ty: &Type) -> Option<(&Type, &Lengths)> {
        let Type::Named(id) = ty else { return None };
        let declared = self.ty(*id);
        Some((declared.definition.alias()?, &declared.lengths))
    }

    /// The declared types, each after those that `parts` gives for it, except where types contain each other. Depth first without recursion,
    /// because chains of types may be as long as a file.
    #[must_use]
    pub fn parts_first(&self, parts: &dyn Fn(TypeId) -> Vec<TypeId>) -> Vec<TypeId> {
        let count = self.types.len();
        let mut order = Vec::with_capacity(count);
        let mut is_seen = vec![false; count];
        for first in (0..count).map(TypeId::new) {
            let mut stack = vec![(first, false)];
            while let Some((id, are_parts_done)) = stack.pop() {
                if are_parts_done {
                    order.push(id);
                } else if !std::mem::replace(&mut is_seen[id.index()], true) {
                    stack.push((id, true));
                    stack.extend(parts(id).into_iter().map(|part| (part, false)));
                }
            }
        }
        order
    }

    /// What follows for each declared type from the same of its parts, also if types contain each other. `of` says what follows for a type,
    /// given what is known of all, and is asked again after that of a part has changed, until nothing changes.
    pub fn settle<T: Clone + PartialEq>(&self, first: T, of: impl Fn(&[T], TypeId) -> T) -> Vec<T> {
        let count = self.types.len();
        let mut users = vec![Vec::new(); count];
        for (user, declared) in self.types.iter().enumerate() {
            let parts = declared.definition.named().into_iter();
            parts.for_each(|part| users[part.index()].push(user));
        }
        let mut known = vec![first; count];
        let mut is_waiting = vec![true; count];
        let mut waiting: VecDeque<usize> = (0..count).collect();
        while let Some(at) = waiting.pop_front() {
            is_waiting[at] = false;
            let now = of(&known, TypeId::new(at));
            if known[at] != now {
                known[at] = now;
                for user in &users[at] {
                    if !std::mem::replace(&mut is_waiting[*user], true) {
                        waiting.push_back(*user);
                    }
                }
            }
        }
        known
    }
}

/// One `.proto` file.
#[derive(Debug)]
pub struct File {
    /// Its text.
    pub source: SourceId,
    /// The path as generated code names it: relative to the import directory that contains it, otherwise the file name alone,
    /// so that it does not depend on the working directory. Always with `/`.
    pub path: String,
    /// The file name without its extension, with each character that may not be in an identifier replaced by `_`.
    pub stem: String,
    /// The package, from the outside in; empty without one.
    pub package: Vec<Name>,
    /// The documentation of the file (`//!`).
    pub docs: Docs,
    /// Types declared here.
    pub types: Vec<TypeId>,
    /// Bounds declared here.
    pub bounds: Vec<BoundId>,
    /// Protocols declared here.
    pub protocols: Vec<ProtocolId>,
    /// Instances declared here.
    pub instances: Vec<InstanceId>,
    /// Files it imports.
    pub imports: Vec<FileId>,
    /// For each of them, where the import is written.
    pub import_spans: Vec<Span>,
    /// Documentation comments that are not attached to anything.
    pub misplaced_docs: Vec<Span>,
    /// Whether it is an input; otherwise it is here because another file imports it.
    pub is_input: bool,
}

/// One of the two parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The party from whose side protocols are written.
    Client,
    /// The other one.
    Server,
}

impl Side {
    /// The client and the server.
    pub const BOTH: [Side; 2] = [Side::Client, Side::Server];

    /// The party that a word names.
    #[must_use]
    pub fn named(word: &str) -> Option<Side> {
        Side::BOTH.into_iter().find(|side| side.word() == word)
    }

    /// The other party.
    #[must_use]
    pub fn dual(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }

    /// `client` or `server`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
        }
    }
}

/// Which way messages travel in a state, from the client's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// The client sends.
    Send,
    /// The client receives.
    Recv,
}

impl Direction {
    /// The same from the server's side.
    #[must_use]
    pub fn dual(self) -> Direction {
        match self {
            Direction::Send => Direction::Recv,
            Direction::Recv => Direction::Send,
        }
    }

    /// The side that sends.
    #[must_use]
    pub fn active_side(self) -> Side {
        match self {
            Direction::Send => Side::Client,
            Direction::Recv => Side::Server,
        }
    }

    /// `send` or `recv`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Direction::Send => "send",
            Direction::Recv => "recv",
        }
    }
}

/// A protocol between a client and a server. The first state is the start.
#[derive(Debug)]
pub struct Protocol {
    /// Its name.
    pub name: Name,
    /// The file that declares it.
    pub file: FileId,
    /// Its documentation.
    pub docs: Docs,
    /// Its states, in the order written. Not empty in a checked protocol.
    pub states: Vec<State>,
    /// `#[allow(...)]` and the like before the protocol.
    pub levels: Vec<LevelAttribute>,
    /// `#[dual_of(...)]`: the protocols it must be the dual of, with the span of the attribute's argument.
    pub dual_of: Vec<(ProtocolId, Span)>,
    /// `#[accepts(...)]`: the fingerprints of older versions that a side accepts, in the order written.
    pub accepts: Vec<Accepted>,
    /// Whether states or parts of states could not be parsed and are missing, or two states or two type parameters of a state have
    /// one name. Never in a checked program.
    pub is_broken: bool,
    /// From the keyword to the name, after the documentation and attributes.
    pub head: Span,
    /// The whole declaration, with its documentation and attributes.
    pub span: Span,
}

impl Protocol {
    /// The state with this id.
    #[must_use]
    pub fn state(&self, id: StateId) -> &State {
        &self.states[id.index()]
    }

    /// The ids of all states, the start first.
    pub fn state_ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = StateId> + ExactSizeIterator + use<> {
        (0..self.states.len()).map(StateId::new)
    }

    /// The messages of all states, in the order written.
    pub fn messages(&self) -> impl Iterator<Item = &Message> + Clone {
        self.states.iter().flat_map(|state| &state.messages)
    }

    /// The start state.
    #[must_use]
    pub fn start(&self) -> &State {
        &self.states[0]
    }

    /// Whether the start state has type parameters, so that targets without generics need an instance.
    #[must_use]
    pub fn is_generic(&self) -> bool {
        !self.start().parameters.is_empty()
    }

    /// Whether a state has messages and all of them lead back to the state itself, with its type parameters unchanged. Then the
    /// endpoint after a message is the same as before it, and many senders can share it.
    #[must_use]
    pub fn always_returns(&self, id: StateId) -> bool {
        let state = self.state(id);
        let mut messages = state.messages.iter();
        state.direction.is_some()
            && !state.messages.is_empty()
            && messages.all(|message| message.returns_to(id))
    }
}

/// `#[accepts(server, 5587fde1ea262a7f6f78ddc9dc6d1f83)]` before a protocol or an instance: between processes, one side also talks to
/// peers with this older fingerprint.
#[derive(Clone, Copy, Debug)]
pub struct Accepted {
    /// The side of this version that accepts it.
    pub side: Side,
    /// The older fingerprint.
    pub fingerprint: [u8; 16],
    /// The attribute, from `#` to `]`.
    pub span: Span,
}

/// `#[allow(rule)]`, `#[warn(rule)]` or `#[deny(rule)]` before a declaration, state or message.
#[derive(Clone, Debug)]
pub struct LevelAttribute {
    /// The rule's name as written.
    pub rule: Name,
    /// The level it sets.
    pub level: crate::diagnostic::Level,
    /// Whether the attribute names this rule only.
    pub is_alone: bool,
    /// What has to be removed so that the rule is not named: the attribute with the whitespace after it, or the rule with a
    /// comma. `None` if a comment would be removed with it.
    pub removal: Option<crate::source::Span>,
}

/// A point where it is known whose turn it is and which messages may be sent.
#[derive(Debug)]
pub struct State {
    /// Its name.
    pub name: Name,
    /// Its documentation.
    pub docs: Docs,
    /// Which side sends, from the client's side; `None` for a terminal state such as `Done { }`.
    pub direction: Option<Direction>,
    /// Where the direction is written, or would be.
    pub direction_span: Span,
    /// Its type parameters.
    pub parameters: Vec<Parameter>,
    /// How long the side that receives waits in the state between processes, in milliseconds: `#[within(...)]`.
    pub within: Option<Limit>,
    /// The messages that may be sent, in the order written. Empty in a terminal state.
    pub messages: Vec<Message>,
    /// `#[allow(...)]` and the like before the state.
    pub levels: Vec<LevelAttribute>,
    /// The whole declaration.
    pub span: Span,
}

impl State {
    /// The side that sends; `None` in a terminal state.
    #[must_use]
    pub fn active_side(&self) -> Option<Side> {
        self.direction.map(Direction::active_side)
    }

    /// Its own type parameters, as arguments.
    #[must_use]
    pub fn own_arguments(&self) -> Vec<Type> {
        let parameters = (0..).map(Type::Parameter);
        parameters.take(self.parameters.len()).collect()
    }
}

/// A type parameter of a state.
#[derive(Debug)]
pub struct Parameter {
    /// Its name.
    pub name: Name,
    /// The bounds that an argument must satisfy.
    pub bounds: Vec<Bound>,
}

/// What a type argument must be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bound {
    /// May move to another thread; every payload satisfies it.
    Send,
    /// Copied by copying its bytes.
    Copy,
    /// Can be duplicated.
    Clone,
    /// Has an equivalence.
    Eq,
    /// Has a total order.
    Ord,
    /// Can be hashed.
    Hash,
    /// Can be shown to a programmer.
    Debug,
    /// Declared by the user with `extern bound`.
    Extern(BoundId),
}

impl Bound {
    /// The names of the built-in bounds.
    pub const BUILTINS: [(&str, Bound); 7] = [
        ("send", Bound::Send),
        ("copy", Bound::Copy),
        ("clone", Bound::Clone),
        ("eq", Bound::Eq),
        ("ord", Bound::Ord),
        ("hash", Bound::Hash),
        ("debug", Bound::Debug),
    ];

    /// The built-in bound with this name.
    #[must_use]
    pub fn named(word: &str) -> Option<Bound> {
        let found = Bound::BUILTINS.iter().find(|(known, _)| *known == word);
        found.map(|(_, bound)| *bound)
    }
}

/// A message together with the state that follows it.
#[derive(Debug)]
pub struct Message {
    /// Its name.
    pub name: Name,
    /// Its documentation.
    pub docs: Docs,
    /// What it carries.
    pub entries: Vec<Entry>,
    /// The largest payload in bytes: `#[at_most(...)]` of the message, or else of its state, or else of its protocol.
    pub at_most: Option<Limit>,
    /// What follows.
    pub next: Next,
    /// Where the next state is written: the identifier with its arguments, or `!`.
    pub next_span: Span,
    /// `#[allow(...)]` and the like before the message.
    pub levels: Vec<LevelAttribute>,
}

impl Message {
    /// The types that are written in it: those of its values, and the arguments of the state that follows.
    pub fn types(&self) -> impl Iterator<Item = &Type> {
        let values = self.entries.iter().map(|entry| &entry.ty);
        values.chain(self.next.arguments())
    }

    /// Whether it leads to this state with the state's own type parameters, if it is a message of that state.
    #[must_use]
    pub fn returns_to(&self, id: StateId) -> bool {
        let Next::State { state, arguments } = &self.next else {
            return false;
        };
        let same = |(at, ty): (usize, &Type)| matches!(ty, Type::Parameter(index) if *index as usize == at);
        *state == id && arguments.iter().enumerate().all(same)
    }
}

/// What follows a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// `!`: the session is over.
    End,
    /// Something that could not be resolved; an error has been reported. Never in a checked program.
    Error,
    /// Another state.
    State {
        /// Which one.
        state: StateId,
        /// Arguments for its type parameters, in terms of the parameters of the state the message belongs to.
        arguments: Vec<Type>,
    },
}

impl Next {
    /// The state that follows; `None` if the session is over.
    #[must_use]
    pub fn state(&self) -> Option<StateId> {
        match self {
            Next::End | Next::Error => None,
            Next::State { state, .. } => Some(*state),
        }
    }

    /// The same with its arguments, after a state that has these arguments itself.
    #[must_use]
    pub fn with(&self, own: &[Type]) -> Option<(StateId, Vec<Type>)> {
        let arguments = self.arguments().iter().map(|ty| ty.substitute(own));
        Some((self.state()?, arguments.collect()))
    }

    /// The arguments for the type parameters of the state that follows.
    #[must_use]
    pub fn arguments(&self) -> &[Type] {
        match self {
            Next::End | Next::Error => &[],
            Next::State { arguments, .. } => arguments,
        }
    }
}

/// `proto! numbers = stream<u64>;`: a name for a generic protocol with given arguments.
#[derive(Debug)]
pub struct Instance {
    /// Its name.
    pub name: Name,
    /// The file that declares it.
    pub file: FileId,
    /// Its documentation.
    pub docs: Docs,
    /// The generic protocol.
    pub protocol: ProtocolId,
    /// Arguments for the start state's parameters; they contain no parameters themselves.
    pub arguments: Vec<Type>,
    /// `#[allow(...)]` and the like before the instance.
    pub levels: Vec<LevelAttribute>,
    /// `#[accepts(...)]`: the fingerprints of older versions that a side accepts, in the order written.
    pub accepts: Vec<Accepted>,
    /// From the keyword to the name, after the documentation and attributes.
    pub head: Span,
    /// Where the protocol with its arguments is written.
    pub span: Span,
}
