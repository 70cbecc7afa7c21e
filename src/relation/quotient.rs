//! States and types that no dialogue can distinguish.
//!
//! Whether a client and a server fit is decided for pairs of states, and two loops whose lengths are coprime meet in as many
//! pairs as the product of their lengths. Usually their states behave alike, so there is one class on each side, and one pair.

use super::limits::Limits;
use super::partition::{Edge, coarsest};
use super::shape::{Node, Origin, Shape, Shapes};
use crate::protocol::{Builtin, Definition, Direction, TypeId};
use std::collections::HashMap;

/// Whether the order of a state's messages matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// It does not.
    Free,
    /// It does, as between processes, where a message travels as its position.
    Written,
}

/// What can be observed of a node itself: nodes with different signatures differ, whatever they lead to.
#[derive(Debug, PartialEq, Eq, Hash)]
pub enum Signature<'a> {
    Over,
    /// Whose turn it is, and the messages with the numbers of their entries.
    State(Direction, Vec<(&'a str, usize)>),
    Builtin(Builtin),
    Parameter(u32),
    Host(&'a str),
    List,
    Option,
    Tuple(usize),
    /// The names of the fields, in order.
    Struct(Vec<&'a str>),
    /// The variants, in order, with the numbers of their entries.
    Enum(Vec<(&'a str, usize)>),
    /// An alias of itself, which is reported elsewhere.
    Nothing,
}

/// What a node leads to: for each part, the name and the position by which it is reached, and its node.
pub type Parts<'a> = Vec<(&'a str, usize, Node)>;

/// The class of each node, including nodes that are first reached here: nodes of one class behave alike, whichever of the two
/// programs they belong to. Nodes created later would have no class, but there are none, because everything reachable is visited.
///
/// Messages of a state are distinguished by their names and, depending on `order`, also by their positions.
///
/// With `limits`, states of one class also have the same limits.
pub fn classes<'a>(shapes: &mut Shapes<'a>, order: Order, limits: Option<&Limits<'a>>) -> Vec<u32> {
    let mut looks: HashMap<(Signature<'_>, String), u32> = HashMap::new();
    let mut labels: HashMap<(&str, usize), u32> = HashMap::new();
    let mut colors = Vec::new();
    let mut edges = Vec::new();
    let mut at = 0;
    while let Some(node) = shapes.nth(at) {
        let (look, parts) = shapes.look(node, order);
        let number = |count: usize| u32::try_from(count).expect("fewer than 2^32 kinds of nodes");
        let next = number(looks.len());
        let limits = limits.map(|limits| limits.signature(shapes, node));
        let look = (look, limits.unwrap_or_default());
        colors.push(*looks.entry(look).or_insert(next));
        for (name, position, part) in parts {
            let next = number(labels.len());
            let label = *labels.entry((name, position)).or_insert(next);
            edges.push(Edge {
                from: number(at),
                to: part.index(),
                label,
            });
        }
        at += 1;
    }
    coarsest(&colors, &edges)
}

impl<'a> Shapes<'a> {
    /// The signature of a node, and what the node leads to. An alias is replaced by its meaning.
    pub fn look(&mut self, node: Node, order: Order) -> (Signature<'a>, Parts<'a>) {
        let node = self.meaning(node);
        match self.shape(node).clone() {
            Shape::Over => (Signature::Over, Vec::new()),
            Shape::Builtin(builtin) => (Signature::Builtin(builtin), Vec::new()),
            Shape::Parameter(index) => (Signature::Parameter(index), Vec::new()),
            Shape::Host(name) => (Signature::Host(name), Vec::new()),
            Shape::List(item) => (Signature::List, vec![("", 0, item)]),
            Shape::Option(item) => (Signature::Option, vec![("", 0, item)]),
            Shape::Tuple(items) => {
                let parts = items.iter().enumerate();
                let parts = parts.map(|(position, item)| ("", position, *item));
                (Signature::Tuple(items.len()), parts.collect())
            }
            Shape::Declared(origin, id) => self.look_of_declared(origin, id),
            Shape::State(_) => self.look_of_state(node, order),
        }
    }

    fn look_of_declared(&mut self, origin: Origin, id: TypeId) -> (Signature<'a>, Parts<'a>) {
        match &self.program(origin).ty(id).definition {
            Definition::Struct(fields) => {
                let names = fields.iter().map(|field| field.name.text()).collect();
                let types = fields.iter().enumerate();
                let parts = types.map(|(at, field)| ("", at, self.lower(origin, &field.ty, &[])));
                (Signature::Struct(names), parts.collect())
            }
            Definition::Enum(variants) => {
                let names = variants.iter();
                let names = names.map(|variant| (variant.name.text(), variant.entries.len()));
                let entries = variants.iter().flat_map(|variant| &variant.entries);
                let types = entries.enumerate();
                let parts = types.map(|(at, entry)| ("", at, self.lower(origin, &entry.ty, &[])));
                (Signature::Enum(names.collect()), parts.collect())
            }
            Definition::Alias(_) | Definition::Extern(..) => (Signature::Nothing, Vec::new()),
        }
    }

    fn look_of_state(&mut self, node: Node, order: Order) -> (Signature<'a>, Parts<'a>) {
        let Some((_, state, turn)) = self.stand(node) else {
            return (Signature::Over, Vec::new());
        };
        let messages = state.messages.iter();
        let messages = messages.map(|message| (message.name.text(), message.entries.len()));
        let mut messages: Vec<(&str, usize)> = messages.collect();
        match order {
            Order::Free => messages.sort_unstable(),
            Order::Written => {}
        }
        let mut parts = Vec::new();
        for (position, message) in state.messages.iter().enumerate() {
            let name = message.name.text();
            parts.push((name, 0, self.after(node, position)));
            let entries = self.entries_of(node, &message.entries);
            parts.extend((1..).zip(entries).map(|(at, entry)| (name, at, entry)));
        }
        (Signature::State(turn, messages), parts)
    }
}
