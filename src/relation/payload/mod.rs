//! Which part of a payload differs between two protocols, and where it is written in each of them.
//!
//! The types of both sides are visited in pairs, breadth first, so the part that is found is one of the outermost. As in the
//! comparison of two protocols, pairs that are assumed to be equal are united, so the search also ends for types that contain
//! themselves.

mod words;

use super::shape::{Node, Origin, Shape, Shapes, matches};
use crate::diagnostic::Label;
use crate::protocol::{
    Definition, Entry, Field, Message, Parameter, State, Type, TypeDeclaration, Variant,
};
use crate::source::Span;
use std::collections::HashSet;
use words::{turn_label, values};

/// The innermost part of a payload that two protocols do not share.
#[derive(Clone, Debug)]
pub struct Part {
    /// The path from the message, such as `item.price.amount`; empty if the value that differs has no name of its own.
    pub path: String,
    /// What the left protocol writes there.
    pub left: Label,
    /// What the right protocol writes there.
    pub right: Label,
}

/// What a state's type parameters are bound to: each argument is in terms of the parameters of the state before.
#[derive(Clone, Copy, Debug)]
pub struct Bindings<'a> {
    /// The state's own parameters.
    pub parameters: &'a [Parameter],
    /// The arguments for them; empty at a start that keeps its own parameters.
    pub arguments: &'a [Type],
    /// Where the arguments are written.
    pub span: Span,
}

/// How a part is reached from the enclosing part. Where both sides have a name for the part, the name on the left side comes first.
#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    /// A value of the message that the payload belongs to.
    Entry(&'a Entry, &'a Entry),
    /// A field.
    Field(&'a str),
    /// A value of a variant.
    Variant(&'a str, &'a str, &'a str),
    /// A value of a message that an endpoint sends or receives.
    Message(&'a str, &'a str, &'a str),
    /// The state of an endpoint after a message.
    Next,
    /// The meaning of an alias or a type parameter with this name, located where the name gets its meaning.
    Meaning(&'a str),
    /// An item of a list.
    Item,
    /// The value of an option.
    Value,
    /// A part of a tuple.
    Position(usize),
}

/// A part on one side.
#[derive(Clone, Copy, Debug)]
struct Here<'a> {
    node: Node,
    span: Span,
    /// The type as it is written, and the index of the bindings in force there; `None` where there are no type parameters.
    written: Option<(&'a Type, usize)>,
}

struct Pair<'a> {
    sides: [Here<'a>; 2],
    step: Step<'a>,
    within: Option<usize>,
}

struct Search<'a, 's> {
    shapes: &'s mut Shapes<'a>,
    bindings: &'s [[Bindings<'a>; 2]],
    pairs: Vec<Pair<'a>>,
    /// Pairs of aliases with the same name that have been followed, so that an alias of itself, which is reported elsewhere, does
    /// not make the search run forever.
    looked_into: HashSet<(Node, Node)>,
    /// The message as both sides name it.
    message: &'a str,
    /// Whether the part that was found is a value without a name of its own.
    is_nameless: bool,
}

const SIDES: [Origin; 2] = [Origin::Left, Origin::Right];

/// The first part that differs between the payloads of two messages of two states; `None` if the messages carry different numbers
/// of values. No nodes may be united yet.
pub fn part<'a>(
    shapes: &mut Shapes<'a>,
    (left, right): (Node, Node),
    (ours, theirs): (&'a Message, &'a Message),
    bindings: &[[Bindings<'a>; 2]],
) -> Option<Part> {
    if ours.entries.len() != theirs.entries.len() {
        return None;
    }
    let nodes = shapes.entries_of(left, &ours.entries);
    let others = shapes.entries_of(right, &theirs.entries);
    let mut search = Search {
        shapes,
        bindings,
        pairs: Vec::new(),
        looked_into: HashSet::new(),
        message: ours.name.text(),
        is_nameless: false,
    };
    let entries = ours.entries.iter().zip(&theirs.entries);
    for ((our, their), (node, other)) in entries.zip(nodes.into_iter().zip(others)) {
        let here = |node, entry: &'a Entry| Here {
            node,
            span: entry.ty_span,
            written: Some((&entry.ty, 0)),
        };
        let sides = [here(node, our), here(other, their)];
        search.push(None, sides, Step::Entry(our, their));
    }
    let mut at = 0;
    while at < search.pairs.len() {
        if let Some([left, right]) = search.compare(at) {
            let path = match search.is_nameless {
                true => String::new(),
                false => search.path(at, Origin::Left),
            };
            return Some(Part { path, left, right });
        }
        at += 1;
    }
    None
}

impl<'a> Search<'a, '_> {
    /// Adds the parts of a pair, or returns how the two themselves differ.
    fn compare(&mut self, at: usize) -> Option<[Label; 2]> {
        let [left, right] = self.pairs[at].sides;
        if self.look_up(at, left, right) || self.look_into(at, left, right) {
            return None;
        }
        let nodes = [
            self.shapes.meaning(left.node),
            self.shapes.meaning(right.node),
        ];
        if !self.shapes.unite(nodes[0], nodes[1]) {
            return None;
        }
        let shapes = nodes.map(|node| self.shapes.shape(node).clone());
        match shapes {
            [Shape::List(ours), Shape::List(theirs)] => {
                self.add(at, [(left, ours), (right, theirs)], Step::Item);
                None
            }
            [Shape::Option(ours), Shape::Option(theirs)] => {
                self.add(at, [(left, ours), (right, theirs)], Step::Value);
                None
            }
            [Shape::Tuple(ours), Shape::Tuple(theirs)] if ours.len() == theirs.len() => {
                for (position, (our, their)) in ours.iter().zip(&theirs).enumerate() {
                    let sides = [(left, *our), (right, *their)];
                    self.add(at, sides, Step::Position(position));
                }
                None
            }
            [Shape::Declared(_, our), Shape::Declared(_, their)] => {
                let program = |origin| self.shapes.program(origin);
                let ours = program(Origin::Left).ty(our);
                let theirs = program(Origin::Right).ty(their);
                match (&ours.definition, &theirs.definition) {
                    (Definition::Struct(our), Definition::Struct(their)) => {
                        self.compare_structs(at, [ours, theirs], [our, their])
                    }
                    (Definition::Enum(our), Definition::Enum(their)) => {
                        self.compare_enums(at, [ours, theirs], [our, their])
                    }
                    (
                        Definition::Alias(_)
                        | Definition::Struct(_)
                        | Definition::Enum(_)
                        | Definition::Extern(..),
                        _,
                    ) => Some(self.types_differ(at)),
                }
            }
            [Shape::Over | Shape::State(_), Shape::Over | Shape::State(_)] => {
                self.compare_states(at, nodes)
            }
            [
                Shape::Over
                | Shape::Builtin(_)
                | Shape::Parameter(_)
                | Shape::Host(_)
                | Shape::List(_)
                | Shape::Option(_)
                | Shape::Tuple(_)
                | Shape::Declared(..)
                | Shape::State(_),
                _,
            ] => Some(self.types_differ(at)),
        }
    }

    /// If both sides write a type parameter, continues where its arguments are written.
    fn look_up(&mut self, at: usize, left: Here<'a>, right: Here<'a>) -> bool {
        let argument = |here: Here<'a>, origin: Origin| {
            let (ty, number) = here.written?;
            let Type::Parameter(index) = ty else {
                return None;
            };
            let bindings = self.bindings.get(number)?[origin as usize];
            let name = bindings.parameters.get(*index as usize)?.name.text();
            let argument = bindings.arguments.get(*index as usize)?;
            let here = Here {
                span: bindings.span,
                written: Some((argument, number + 1)),
                ..here
            };
            Some((name, here))
        };
        let (ours, theirs) = (argument(left, Origin::Left), argument(right, Origin::Right));
        let (Some((name, ours)), Some((_, theirs))) = (ours, theirs) else {
            return false;
        };
        self.push(Some(at), [ours, theirs], Step::Meaning(name));
        true
    }

    /// If both sides write aliases with the same name, continues with what they are declared as.
    fn look_into(&mut self, at: usize, left: Here<'a>, right: Here<'a>) -> bool {
        let alias = |shapes: &mut Shapes<'a>, here: Here<'a>| {
            let Shape::Declared(origin, id) = *shapes.shape(here.node) else {
                return None;
            };
            let declared = shapes.program(origin).ty(id);
            let Definition::Alias(ty) = &declared.definition else {
                return None;
            };
            let here = Here {
                node: shapes.lower(origin, ty, &[]),
                span: declared.ty_span,
                written: None,
            };
            Some((declared.name.text(), here))
        };
        let (ours, theirs) = (alias(self.shapes, left), alias(self.shapes, right));
        let (Some((name, ours)), Some((other, theirs))) = (ours, theirs) else {
            return false;
        };
        if name != other || !self.looked_into.insert((left.node, right.node)) {
            return false;
        }
        self.push(Some(at), [ours, theirs], Step::Meaning(name));
        true
    }

    fn push(&mut self, within: Option<usize>, sides: [Here<'a>; 2], step: Step<'a>) {
        self.pairs.push(Pair {
            sides,
            step,
            within,
        });
    }

    /// Adds a part that is written inside the type at the same location.
    fn add(&mut self, at: usize, sides: [(Here<'a>, Node); 2], step: Step<'a>) {
        let sides = sides.map(|(here, node)| {
            let written = here.written.and_then(|(ty, number)| {
                let inside = match (ty, step) {
                    (Type::List(item), Step::Item) | (Type::Option(item), Step::Value) => item,
                    (Type::Tuple(items), Step::Position(position)) => items.get(position)?,
                    (
                        Type::Builtin(_)
                        | Type::List(_)
                        | Type::Option(_)
                        | Type::Tuple(_)
                        | Type::Named(_)
                        | Type::Parameter(_)
                        | Type::Endpoint(_)
                        | Type::Error,
                        _,
                    ) => return None,
                };
                Some((inside, number))
            });
            Here {
                node,
                written,
                ..here
            }
        });
        self.push(Some(at), sides, step);
    }

    /// Adds a part that has a location of its own.
    fn add_elsewhere(&mut self, at: usize, sides: [(Node, Span); 2], step: Step<'a>) {
        let sides = sides.map(|(node, span)| Here {
            node,
            span,
            written: None,
        });
        self.push(Some(at), sides, step);
    }

    fn compare_structs(
        &mut self,
        at: usize,
        declared: [&'a TypeDeclaration; 2],
        fields: [&'a [Field]; 2],
    ) -> Option<[Label; 2]> {
        let names = fields.map(|all| all.iter().map(|field| &field.name).collect());
        if let Some(labels) = self.names_differ(at, declared, &names, "field") {
            return Some(labels);
        }
        for (our, their) in fields[0].iter().zip(fields[1]) {
            let sides = [(Origin::Left, our), (Origin::Right, their)];
            let sides = sides
                .map(|(origin, field)| (self.shapes.lower(origin, &field.ty, &[]), field.ty_span));
            self.add_elsewhere(at, sides, Step::Field(our.name.text()));
        }
        None
    }

    fn compare_enums(
        &mut self,
        at: usize,
        declared: [&'a TypeDeclaration; 2],
        variants: [&'a [Variant]; 2],
    ) -> Option<[Label; 2]> {
        let names = variants.map(|all| all.iter().map(|variant| &variant.name).collect());
        if let Some(labels) = self.names_differ(at, declared, &names, "variant") {
            return Some(labels);
        }
        for (our, their) in variants[0].iter().zip(variants[1]) {
            let variant = our.name.text();
            if our.entries.len() != their.entries.len() {
                return Some([our, their].map(|own| values(&own.name, &own.entries)));
            }
            for (our, their) in our.entries.iter().zip(&their.entries) {
                let sides = [(Origin::Left, our), (Origin::Right, their)];
                let sides = sides.map(|(origin, entry)| {
                    (self.shapes.lower(origin, &entry.ty, &[]), entry.ty_span)
                });
                let step = Step::Variant(variant, our.name.text(), their.name.text());
                self.add_elsewhere(at, sides, step);
            }
        }
        None
    }

    /// Compares endpoints, and the states that follow: they are equal if their holders may do the same.
    fn compare_states(&mut self, at: usize, nodes: [Node; 2]) -> Option<[Label; 2]> {
        let pair = &self.pairs[at];
        let texts = pair.sides.map(|here| self.text(here.node));
        let is_type = !matches!(pair.step, Step::Next) && texts[0] != texts[1];
        let spans = pair.sides.map(|here| here.span);
        let turns = nodes.map(|node| self.shapes.stand(node).map(|(_, _, turn)| turn));
        let states = nodes.map(|node| self.shapes.state(node));
        let (ours, theirs) = match (states, turns) {
            (_, [None, None]) => return None,
            ([Some(ours), Some(theirs)], [Some(our), Some(their)]) if our == their => {
                (ours, theirs)
            }
            _ if is_type => return Some(self.types_differ(at)),
            _ => {
                let label = |side: usize| turn_label(states[side], spans[side]);
                return Some([label(0), label(1)]);
            }
        };
        let only = |ours: &'a State, theirs: &'a State| {
            let (_, lacking) = matches(ours, theirs);
            lacking.first().map(|at| &ours.messages[*at])
        };
        let lacking = [only(ours, theirs), only(theirs, ours)];
        if is_type && lacking.iter().any(Option::is_some) {
            return Some(self.types_differ(at));
        }
        let lacks = |state: &State, message: &Message| {
            Label::new(
                state.name.span,
                format!("there is no `{}` in state `{}`", message.name, state.name),
            )
        };
        let has = |message: &Message| {
            Label::new(
                message.name.span,
                format!("`{}` may be sent here", message.name),
            )
        };
        match lacking {
            [Some(message), _] => return Some([has(message), lacks(theirs, message)]),
            [None, Some(message)] => return Some([lacks(ours, message), has(message)]),
            [None, None] => {}
        }
        for (our, their) in matches(ours, theirs).0 {
            let messages = [(nodes[0], our), (nodes[1], their)];
            let messages = messages.map(|(node, at)| (node, at, self.shapes.message(node, at)));
            let counts = messages.map(|(_, _, message)| message.entries.len());
            if counts[0] != counts[1] {
                return Some(messages.map(|(_, _, own)| values(&own.name, &own.entries)));
            }
            let entries =
                messages.map(|(node, _, message)| self.shapes.entries_of(node, &message.entries));
            let name = messages[0].2.name.text();
            let [ours, theirs] = messages.map(|(_, _, message)| &message.entries);
            let [our_nodes, their_nodes] = entries;
            let nodes = our_nodes.into_iter().zip(their_nodes);
            for ((our, their), (node, other)) in ours.iter().zip(theirs).zip(nodes) {
                let sides = [(node, our.ty_span), (other, their.ty_span)];
                let step = Step::Message(name, our.name.text(), their.name.text());
                self.add_elsewhere(at, sides, step);
            }
            let next = messages
                .map(|(node, at, message)| (self.shapes.after(node, at), message.next_span));
            self.add_elsewhere(at, next, Step::Next);
        }
        None
    }
}
