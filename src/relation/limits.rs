//! Whether a receiver accepts whatever the limits of a sender allow.
//!
//! Limits are checked where a message leaves and enters a process, and they are not part of the fingerprint. So two versions that
//! differ in nothing else begin a session, and it ends when a side sends what only its own limits allow. The types of both messages
//! are equal when their limits are compared. A sender may exceed
//!
//! * `at_most` of the receiver: with the largest payload that its own `at_most`, its bounds and its types allow;
//! * a bound of the receiver: with text, bytes or a list that is longer, and that its own bound allows. If the smallest message
//!   with such a value is larger than the sender's `at_most`, it is never sent. So the parts of a payload are visited in the order
//!   of the bytes that must surround them.

use super::payload::Part;
use super::shape::{Node, Origin, Shape, Shapes};
use crate::diagnostic::{Label, counted};
use crate::protocol::{
    Definition, Direction, Entry, Lengths, Limit, Message, Program, Protocol, State, Type, TypeId,
};
use crate::sizes::{Encoding, Sizes, of_count};
use crate::source::Span;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::rc::Rc;

/// No payload is larger, because its size has 32 bits.
const LARGEST: u64 = u32::MAX as u64;

/// What is known about the limits of two programs, which a comparison needs.
#[derive(Debug)]
pub struct Limits<'a> {
    programs: [&'a Program; 2],
    sizes: [Rc<Sizes>; 2],
    /// Pairs of declared types of the left and the right program in which the receiver accepts whatever the sender's bounds allow, with
    /// the receiver's program.
    accepted: HashSet<(TypeId, TypeId, Origin)>,
}

/// A part of a payload on both sides: its type, its bounds and where it is written.
#[derive(Clone)]
struct Pair<'a> {
    sides: [Side<'a>; 2],
    path: String,
    /// Whether the path has a name that was given and does not come from a type.
    is_named: bool,
}

#[derive(Clone)]
struct Side<'a> {
    ty: Type,
    lengths: &'a Lengths,
    span: Span,
}

impl<'a> Side<'a> {
    fn of(ty: &Type, lengths: &'a Lengths, span: Span) -> Side<'a> {
        Side {
            ty: ty.clone(),
            lengths,
            span,
        }
    }
}

/// The parts that are still to visit.
struct Search<'a> {
    pairs: Vec<Pair<'a>>,
    /// The fewest bytes that a message has besides one of its parts, and the index of that part.
    open: BinaryHeap<Reverse<(u64, usize)>>,
    visited: HashSet<(TypeId, TypeId, Origin)>,
    receiver: Origin,
}

impl<'a> Search<'a> {
    fn add(&mut self, around: u64, sides: [Side<'a>; 2], path: String, is_named: bool) {
        self.open.push(Reverse((around, self.pairs.len())));
        self.pairs.push(Pair {
            sides,
            path,
            is_named,
        });
    }
}

/// Whether there is a limit anywhere in a program.
pub fn has_limits(program: &Program, sizes: &Sizes) -> bool {
    let mut messages = program.protocols.iter().flat_map(Protocol::messages);
    sizes.has_bounds() || messages.any(is_limited)
}

fn is_limited(message: &Message) -> bool {
    let mut entries = message.entries.iter();
    message.at_most.is_some() || entries.any(|entry| !entry.lengths.is_none())
}

impl<'a> Limits<'a> {
    /// The limits of the left and the right program.
    pub fn of(programs: [&'a Program; 2], sizes: [Rc<Sizes>; 2]) -> Limits<'a> {
        Limits {
            programs,
            sizes,
            accepted: HashSet::new(),
        }
    }

    /// How a message of one side may exceed the limits of the other: what each has, in the innermost part in which they differ. Each
    /// message is given by its state and its position.
    pub fn excess(
        &mut self,
        shapes: &Shapes<'a>,
        left: (Node, usize),
        right: (Node, usize),
        turn: Direction,
    ) -> Option<Part> {
        let messages = [left, right].map(|(node, at)| shapes.message(node, at));
        if messages.iter().all(|message| message.entries.is_empty()) {
            return None;
        }
        let (sender, receiver) = match turn {
            Direction::Send => (Origin::Left, Origin::Right),
            Direction::Recv => (Origin::Right, Origin::Left),
        };
        let [ours, theirs] = [(Origin::Left, left), (Origin::Right, right)]
            .map(|(origin, (node, at))| self.encoding(shapes, origin, node, at));
        let encoding = [&ours, &theirs][sender as usize].0;
        let largest = encoding.limit.or(encoding.size.most);
        let receives = messages[receiver as usize].at_most.map(|limit| limit.most);
        if receives.is_some_and(|most| largest.unwrap_or(LARGEST).min(LARGEST) > most) {
            let [left, right] = [0, 1].map(|side| {
                let largest = (side == sender as usize).then_some(largest).flatten();
                whole(messages[side], largest)
            });
            let path = String::new();
            return Some(Part { path, left, right });
        }
        let sends = messages[sender as usize].at_most.map(|limit| limit.most);
        let most = sends.unwrap_or(LARGEST).min(LARGEST);
        let entries = [&messages[0].entries[..], &messages[1].entries[..]];
        self.parts(
            entries,
            [ours.1, theirs.1],
            encoding.size.least,
            most,
            receiver,
        )
    }

    /// How a message is encoded, and the types of its entries, with the arguments of its state.
    fn encoding(
        &self,
        shapes: &Shapes<'a>,
        origin: Origin,
        node: Node,
        at: usize,
    ) -> (Encoding, Vec<Type>) {
        let (instance, state, _) = shapes.stand(node).expect("only states have messages");
        let arguments = instance.arguments.iter();
        let arguments: Vec<Type> = arguments.map(|node| written(shapes, *node)).collect();
        let mut encodings = self.sizes[origin as usize].messages(state, &arguments);
        let encoding = encodings.nth(at).expect("a state has at most 256 messages");
        let entries = state.messages[at].entries.iter();
        let types = entries.map(|entry| entry.ty.substitute(&arguments));
        (encoding, types.collect())
    }

    /// The part with the fewest bytes around it that may be longer than the receiver's bound, in a payload of at most this size.
    fn parts(
        &mut self,
        entries: [&'a [Entry]; 2],
        types: [Vec<Type>; 2],
        least: u64,
        most: u64,
        receiver: Origin,
    ) -> Option<Part> {
        let mut search = Search {
            pairs: Vec::new(),
            open: BinaryHeap::new(),
            visited: HashSet::new(),
            receiver,
        };
        let [our_types, their_types] = types;
        let entries = entries[0].iter().zip(entries[1]);
        for ((our, their), (ty, other)) in entries.zip(our_types.into_iter().zip(their_types)) {
            let around = least.saturating_sub(self.least(&ty));
            let sides = [(our, &ty), (their, &other)]
                .map(|(entry, ty)| Side::of(ty, &entry.lengths, entry.ty_span));
            let path = our.name.text().to_owned();
            search.add(around, sides, path, !our.is_derived);
        }
        let mut is_longer = false;
        while let Some(Reverse((around, at))) = search.open.pop() {
            let pair = search.pairs[at].clone();
            let pair = self.unaliased(pair);
            if let Some(smallest) = self.longer(&pair, around, receiver) {
                is_longer = true;
                if smallest <= most {
                    return Some(part(&pair));
                }
            }
            self.visit(&pair, around, &mut search);
        }
        if !is_longer {
            self.accepted.extend(search.visited);
        }
        None
    }

    /// The size of the smallest message in which a value is longer than the receiver's bound, if the sender's allows that.
    fn longer(&self, pair: &Pair<'_>, around: u64, receiver: Origin) -> Option<u64> {
        let bounds = [0, 1].map(|side| pair.sides[side].lengths.most.map(|limit| limit.most));
        let [ours, theirs] = bounds;
        let (sends, receives) = match receiver {
            Origin::Left => (theirs, ours?),
            Origin::Right => (ours, theirs?),
        };
        if sends.is_some_and(|most| most <= receives) {
            return None;
        }
        let unit = if let Type::List(item) = &pair.sides[0].ty {
            self.least(item)
        } else {
            1
        };
        let count = receives.saturating_add(1);
        let content = count.saturating_mul(unit);
        Some(
            around
                .saturating_add(of_count(count))
                .saturating_add(content),
        )
    }

    /// Adds the parts of a pair.
    fn visit(&self, pair: &Pair<'a>, around: u64, search: &mut Search<'a>) {
        let [left, right] = &pair.sides;
        let inside = |items: [&Type; 2], at: usize| {
            [(left, items[0]), (right, items[1])]
                .map(|(side, ty)| Side::of(ty, side.lengths.part(at), side.span))
        };
        match (&left.ty, &right.ty) {
            // A list with an item begins with a count, and an option with a value with 1.
            (Type::List(ours), Type::List(theirs)) | (Type::Option(ours), Type::Option(theirs)) => {
                let around = around.saturating_add(1);
                let is_list = matches!(left.ty, Type::List(_));
                let path = pair.path.clone() + if is_list { "[]" } else { "" };
                search.add(around, inside([ours, theirs], 0), path, pair.is_named);
            }
            (Type::Tuple(ours), Type::Tuple(theirs)) => {
                let whole = around.saturating_add(self.least(&left.ty));
                for (at, (our, their)) in ours.iter().zip(theirs).enumerate() {
                    let around = whole.saturating_sub(self.least(our));
                    let path = format!("{}.{at}", pair.path);
                    search.add(around, inside([our, their], at), path, pair.is_named);
                }
            }
            (Type::Named(ours), Type::Named(theirs)) => {
                let both = (*ours, *theirs, search.receiver);
                if !self.accepted.contains(&both) && search.visited.insert(both) {
                    self.visit_declared(pair, (*ours, *theirs), around, search);
                }
            }
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
            ) => {}
        }
    }

    fn visit_declared(
        &self,
        pair: &Pair<'a>,
        (ours, theirs): (TypeId, TypeId),
        around: u64,
        search: &mut Search<'a>,
    ) {
        let [left, right] = self.programs;
        let definitions = (&left.ty(ours).definition, &right.ty(theirs).definition);
        match definitions {
            (Definition::Struct(ours), Definition::Struct(theirs)) => {
                let whole = around.saturating_add(self.least(&pair.sides[0].ty));
                for (our, their) in ours.iter().zip(theirs) {
                    let sides = [our, their];
                    let sides = sides.map(|it| Side::of(&it.ty, &it.lengths, it.ty_span));
                    let around = whole.saturating_sub(self.least(&our.ty));
                    search.add(around, sides, format!("{}.{}", pair.path, our.name), true);
                }
            }
            (Definition::Enum(ours), Definition::Enum(theirs)) => {
                for (position, (our, their)) in ours.iter().zip(theirs).enumerate() {
                    let entries = our.entries.iter().map(|entry| self.least(&entry.ty));
                    let entries = entries.fold(0, u64::saturating_add);
                    let whole = entries.saturating_add(of_count(position as u64));
                    let whole = whole.saturating_add(around);
                    for (entry, other) in our.entries.iter().zip(&their.entries) {
                        let sides = [entry, other];
                        let sides = sides.map(|it| Side::of(&it.ty, &it.lengths, it.ty_span));
                        let around = whole.saturating_sub(self.least(&entry.ty));
                        let path = format!("{}.{}.{}", pair.path, our.name, entry.name);
                        search.add(around, sides, path, true);
                    }
                }
            }
            (
                Definition::Alias(_)
                | Definition::Struct(_)
                | Definition::Enum(_)
                | Definition::Extern(..),
                _,
            ) => {}
        }
    }

    /// The same pair with what its aliases are declared as.
    fn unaliased(&self, pair: Pair<'a>) -> Pair<'a> {
        let mut pair = pair;
        for (side, program) in pair.sides.iter_mut().zip(self.programs) {
            for _ in 0..=program.types.len() {
                let (Type::Named(id), Some((ty, lengths))) = (&side.ty, program.aliased(&side.ty))
                else {
                    break;
                };
                *side = Side::of(ty, lengths, program.ty(*id).ty_span);
            }
        }
        pair
    }

    /// The fewest bytes of a value of a type of the left program. Equal types of the right one take as many.
    fn least(&self, ty: &Type) -> u64 {
        self.sizes[0].of_type(ty).least
    }

    /// The limits of a state as a text: states with the same text have the same limits. If a message has values of declared types with
    /// bounds, no other state has its text.
    pub fn signature(&self, shapes: &Shapes<'a>, node: Node) -> String {
        let Some((instance, state, _)) = shapes.stand(node) else {
            return String::new();
        };
        let sizes = &self.sizes[instance.origin as usize];
        if sizes.has_bounds() && has_declared(state) {
            return format!("{node:?}");
        }
        let within = state.within.map(|limit| format!("{}ms", limit.most));
        let mut limits: Vec<String> = state
            .messages
            .iter()
            .filter(|message| is_limited(message))
            .map(|message| {
                let bounds = message.entries.iter().map(|entry| bounds(&entry.lengths));
                let bounds: Vec<String> = bounds.collect();
                let at_most = message.at_most.map(|limit| limit.most);
                format!("{} {at_most:?} {}", message.name, bounds.join(","))
            })
            .collect();
        limits.extend(within);
        limits.sort_unstable();
        limits.join(";")
    }
}

/// Whether a message of a state has values of declared types, or may have them as type arguments.
fn has_declared(state: &State) -> bool {
    let is_declared = |part: &Type| matches!(part, Type::Named(_) | Type::Parameter(_));
    let mut entries = state.messages.iter().flat_map(|message| &message.entries);
    entries.any(|entry| entry.ty.any(&is_declared))
}

fn bounds(lengths: &Lengths) -> String {
    let most = lengths.most.map(|limit| limit.most);
    let parts: Vec<String> = lengths.parts.iter().map(bounds).collect();
    format!("{most:?}({})", parts.join(","))
}

/// The type that a node was made from. What has no encoding becomes a parameter, whose size is unknown.
fn written(shapes: &Shapes<'_>, node: Node) -> Type {
    match shapes.shape(node) {
        Shape::Builtin(builtin) => Type::Builtin(*builtin),
        Shape::Parameter(index) => Type::Parameter(*index),
        Shape::List(item) => Type::List(Box::new(written(shapes, *item))),
        Shape::Option(item) => Type::Option(Box::new(written(shapes, *item))),
        Shape::Tuple(items) => {
            let items = items.iter().map(|item| written(shapes, *item));
            Type::Tuple(items.collect())
        }
        Shape::Declared(_, id) => Type::Named(*id),
        Shape::Over | Shape::Host(_) | Shape::State(_) => Type::Parameter(u32::MAX),
    }
}

fn part(pair: &Pair<'_>) -> Part {
    let path = match pair.is_named {
        true => &pair.path,
        false => "",
    };
    let [left, right] = [0, 1].map(|side| {
        let Side { ty, lengths, span } = &pair.sides[side];
        let is_list = matches!(ty, Type::List(_));
        let unit = if is_list { "item" } else { "byte" };
        bound(path, lengths.most, unit, *span)
    });
    Part {
        path: path.to_owned(),
        left,
        right,
    }
}

fn bound(path: &str, most: Option<Limit>, unit: &str, span: Span) -> Label {
    let what = match path {
        "" => String::new(),
        path => format!("`{path}` has "),
    };
    match most {
        Some(limit) => Label::new(
            limit.span,
            format!("{what}at most {} here", counted(limit.most, unit)),
        ),
        None => Label::new(span, format!("{what}no bound here")),
    }
}

/// The limit of a whole message; `largest` is what its types and bounds allow if it has none of its own.
fn whole(message: &Message, largest: Option<u64>) -> Label {
    let most = message
        .at_most
        .filter(|limit| largest.is_none_or(|it| limit.most <= it));
    let (span, text) = match (most, largest) {
        (Some(limit), _) => {
            let most = counted(limit.most, "byte");
            (
                limit.span,
                format!("`{}` has at most {most} here", message.name),
            )
        }
        (None, Some(largest)) => {
            let most = counted(largest, "byte");
            (
                message.name.span,
                format!("`{}` may have {most} here", message.name),
            )
        }
        (None, None) => (
            message.name.span,
            format!("`{}` has no limit here", message.name),
        ),
    };
    Label::new(span, text)
}
