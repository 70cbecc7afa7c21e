//! Robots as the templates of all languages see them: the states of a plan and the types of its payloads, with their names in the
//! language.

use crate::name::Name;
use crate::protocol::{
    Builtin, EndpointType, Entry, Lengths, Message, Next, Part, Program, Shape, Side, Type, TypeId,
    Variant,
};
use crate::relation::View;
use crate::robots::{Absent, Edge, Makeable, Node, Plan};
use std::collections::{BTreeMap, VecDeque};

/// No robot makes a longer value, so larger bounds need not be known.
const MOST: u64 = 1 << 20;

/// How a language names what its robots use.
pub trait Names {
    /// A state with its type arguments, a type, and how code reaches a part of a value.
    type State;
    type Type;
    type Part;
    /// What begins a session, of which an endpoint is a value.
    type Session;

    /// The name of a state, a message or a variant.
    fn word(&self, name: &Name) -> Word;
    /// A type without aliases.
    fn ty(&self, ty: &Type, lengths: &Lengths) -> Self::Type;
    /// How the names of the hooks for a type of the program end.
    fn hook(&self, id: TypeId) -> String;
    fn state(&self, node: &Node) -> Self::State;
    fn part(&self, of: &Of, at: usize, part: &Part) -> Self::Part;
    fn session(&self, endpoint: &EndpointType) -> Self::Session;
}

/// A name as it is written, as that of a type and of a value, and as the end of a longer one.
#[derive(Default)]
pub struct Word {
    pub text: String,
    pub ty: String,
    pub value: String,
    pub end: String,
}

/// What has parts.
pub enum Of<'a> {
    Message(&'a Node, &'a Message),
    Variant(&'a Type, &'a Variant),
    /// A value of a type that is no enum.
    Value(&'a Type, &'a Lengths),
}

/// The robots of a protocol or an instance.
pub struct Robots<N: Names> {
    pub name: String,
    pub fingerprint: String,
    pub nodes: Vec<NodeView<N>>,
    /// The types of all payloads and of their parts, each once for all values with the same bounds.
    pub types: Vec<TypeView<N>>,
    /// Whether robots of the client, and of the server, make values of the program's types.
    pub makes: [bool; 2],
}

/// A state with type arguments.
pub struct NodeView<N: Names> {
    pub plan: Node,
    pub word: Word,
    pub names: N::State,
    /// Its number among the nodes of its state, if there are several.
    pub number: Option<usize>,
    /// How many edges the nodes before it have.
    pub first: usize,
    pub edges: Vec<EdgeView<N>>,
}

/// A message of a node.
pub struct EdgeView<N: Names> {
    pub plan: Edge,
    pub word: Word,
    /// Whether the protocol says that the session ends.
    pub ends: bool,
    pub parts: Vec<PartView<N>>,
    /// Whether the protocol names each entry.
    pub is_named: bool,
}

/// An entry of a message or of a variant, an item, or a field.
pub struct PartView<N: Names> {
    /// As it is written; empty for an item.
    pub text: String,
    pub names: N::Part,
    /// The position of its type.
    pub ty: usize,
}

/// How values of a type are made and shown.
pub struct TypeView<N: Names> {
    pub kind: Kind<N>,
    pub name: N::Type,
    /// Whether robots can make values of it, and whether those of the client and of the server do.
    pub is_makeable: bool,
    pub is_made: [bool; 2],
    /// How long a text, a byte string or a list may be.
    pub most: Option<u64>,
    pub parts: Vec<PartView<N>>,
    pub variants: Vec<VariantView<N>>,
}

pub enum Kind<N: Names> {
    Builtin(Builtin),
    List,
    Option,
    Tuple,
    Struct,
    /// The variant with the smallest values, and how many variants can be made.
    Enum(usize, usize),
    /// How it is written, and how a value is made.
    Endpoint(String, Side, N::Session),
    /// A type of the program: how it is written, and how the names of its hooks end.
    Host(String, String),
}

pub struct VariantView<N: Names> {
    pub word: Word,
    /// If it can be made, its number among those that can.
    pub number: Option<usize>,
    pub parts: Vec<PartView<N>>,
}

impl<N: Names> Robots<N> {
    /// The robots of a protocol or an instance.
    ///
    /// # Errors
    ///
    /// Why there are none.
    pub fn of(view: View<'_>, makeable: &Makeable, names: &N) -> Result<Robots<N>, Absent> {
        let plan = Plan::of(view, makeable)?;
        let mut types = Types {
            program: view.program,
            makeable,
            names,
            positions: BTreeMap::new(),
            waiting: VecDeque::new(),
            hooks: Vec::new(),
        };
        let states: Vec<_> = plan.nodes.iter().map(|node| node.state).collect();
        let mut count = 0;
        let nodes = plan.nodes.into_iter().enumerate().map(|(at, node)| {
            let state = plan.protocol.state(node.state);
            let edges = state.messages.iter().zip(&node.edges);
            let edges = edges.map(|(message, edge)| EdgeView {
                plan: *edge,
                word: names.word(&message.name),
                ends: message.next == Next::End,
                parts: types.parts(
                    &Of::Message(&node, message),
                    message.entries.iter().map(Part::from),
                    &node.arguments,
                ),
                is_named: Entry::are_named(&message.entries),
            });
            let edges: Vec<_> = edges.collect();
            count += edges.len();
            let same = |states: &[_]| states.iter().filter(|state| **state == node.state).count();
            NodeView {
                word: names.word(&state.name),
                number: (same(&states) > 1).then(|| same(&states[..=at])),
                names: names.state(&node),
                plan: node,
                first: count - edges.len(),
                edges,
            }
        });
        let mut robots = Robots {
            nodes: nodes.collect(),
            name: plan.name,
            fingerprint: plan.fingerprint,
            types: Vec::new(),
            makes: [false; 2],
        };
        while let Some((ty, lengths)) = types.waiting.pop_front() {
            robots.types.push(types.view(&ty, &lengths));
        }
        robots.find_made(Side::Client);
        robots.find_made(Side::Server);
        Ok(robots)
    }

    /// Marks the types in messages that a side sends.
    fn find_made(&mut self, side: Side) {
        let sent = self.nodes.iter().filter(|node| node.plan.sender == side);
        let sent = sent.flat_map(|node| &node.edges);
        let sent = sent.filter(|edge| edge.plan.is_makeable);
        let mut waiting: Vec<usize> = sent.flat_map(|edge| positions(&edge.parts)).collect();
        while let Some(at) = waiting.pop() {
            let (ty, index) = (&mut self.types[at], usize::from(side == Side::Server));
            if ty.is_makeable && !std::mem::replace(&mut ty.is_made[index], true) {
                self.makes[index] |= matches!(ty.kind, Kind::Host(..));
                let variants = ty.variants.iter();
                waiting.extend(variants.flat_map(|variant| positions(&variant.parts)));
                waiting.extend(positions(&ty.parts));
            }
        }
    }
}

fn positions<N: Names>(parts: &[PartView<N>]) -> impl Iterator<Item = usize> {
    parts.iter().map(|part| part.ty)
}

/// The types that were met.
struct Types<'a, N: Names> {
    program: &'a Program,
    makeable: &'a Makeable,
    names: &'a N,
    /// With the text of the bounds.
    positions: BTreeMap<(Type, String), usize>,
    /// Those that have no view yet.
    waiting: VecDeque<(Type, Lengths)>,
    hooks: Vec<String>,
}

impl<N: Names> Types<'_, N> {
    /// The views of parts in which type parameters have these arguments.
    fn parts<'p>(
        &mut self,
        of: &Of,
        parts: impl IntoIterator<Item = Part<'p>>,
        arguments: &[Type],
    ) -> Vec<PartView<N>> {
        let parts = parts.into_iter().enumerate().map(|(at, part)| {
            let ty = &part.ty.substitute(arguments);
            PartView {
                text: part.name.map_or(String::new(), Name::to_string),
                names: self.names.part(of, at, &Part { ty, ..part }),
                ty: self.position(ty, part.lengths),
            }
        });
        parts.collect()
    }

    fn position(&mut self, ty: &Type, lengths: &Lengths) -> usize {
        let (ty, lengths) = self.program.unaliased(ty, lengths);
        let (next, key) = (self.positions.len(), (ty.clone(), format!("{lengths:?}")));
        *self.positions.entry(key).or_insert_with(|| {
            self.waiting.push_back((ty.clone(), lengths.clone()));
            next
        })
    }

    fn view(&mut self, ty: &Type, lengths: &Lengths) -> TypeView<N> {
        let mut variants = Vec::new();
        let (kind, parts) = match self.program.shape(ty, lengths).0 {
            Shape::Builtin(builtin) => (Kind::Builtin(builtin), Vec::new()),
            Shape::List(item) => (Kind::List, vec![item]),
            Shape::Option(item) => (Kind::Option, vec![item]),
            Shape::Tuple(items) => (Kind::Tuple, items),
            Shape::Struct(fields) => (Kind::Struct, fields.iter().map(Part::from).collect()),
            Shape::Enum(all) => {
                let mut count = 0;
                for variant in all {
                    let is_makeable = self.makeable.has(variant);
                    let (of, parts) = (
                        Of::Variant(ty, variant),
                        variant.entries.iter().map(Part::from),
                    );
                    variants.push(VariantView {
                        word: self.names.word(&variant.name),
                        number: is_makeable.then_some(count),
                        parts: self.parts(&of, parts, &[]),
                    });
                    count += usize::from(is_makeable);
                }
                let shallow = self.makeable.shallow(all).unwrap_or(0);
                (Kind::Enum(shallow, count), Vec::new())
            }
            Shape::Endpoint(endpoint) => {
                let protocol = self.program.protocol(endpoint.protocol);
                let (side, state) = (endpoint.side, protocol.state(endpoint.state));
                let text = format!("{}.{}.{}", protocol.name, side.word(), state.name);
                let session = self.names.session(endpoint);
                (Kind::Endpoint(text, side, session), Vec::new())
            }
            Shape::Host(id) => {
                let hook = self.names.hook(id);
                let count = self.hooks.iter().filter(|other| **other == hook).count();
                self.hooks.push(hook.clone());
                let hook = match count {
                    0 => hook,
                    count => format!("{hook}__{}", count + 1),
                };
                let text = self.program.ty(id).name.to_string();
                (Kind::Host(text, hook), Vec::new())
            }
            Shape::Unknown => unreachable!("a checked program has arguments"),
        };
        let most = lengths.most.map(|limit| limit.most);
        TypeView {
            kind,
            name: self.names.ty(ty, lengths),
            is_makeable: self.makeable.is(ty),
            is_made: [false; 2],
            most: most.filter(|most| *most <= MOST),
            parts: self.parts(&Of::Value(ty, lengths), parts, &[]),
            variants,
        }
    }
}
