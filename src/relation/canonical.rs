//! The canonical text of a protocol, which is the same for all protocols with the same behavior, whatever their names.
//!
//! The text describes the smallest machine with that behavior, one class of states or types per line, numbered in the order in
//! which a walk from the start first reaches them: message by message, the payload of a message before the state that follows it.
//! The side that sends first is the one that *says*, so a protocol and its dual have the same text. `docs/wire.md` has the grammar.

use super::View;
use super::quotient::{Order, Parts, Signature, classes};
use super::shape::{Node, Origin, Shapes};
use crate::protocol::Direction;
use crate::protocol::text::builtin_word;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// The canonical description of a protocol.
#[derive(Debug)]
pub struct Canonical {
    /// The text.
    pub text: String,
    /// What confines the protocol to one process, if anything: the first obstacle in the order of the text.
    pub obstacle: Option<Obstacle>,
    /// The first obstacle that is not a type parameter, so that every instance has it.
    pub lasting_obstacle: Option<Obstacle>,
}

/// A payload that cannot leave its process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The state whose message carries it.
    pub state: String,
    /// The message.
    pub message: String,
    /// What it is: `an endpoint`, or ``the external type `buffer` ``.
    pub what: String,
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Obstacle {
            state,
            message,
            what,
        } = self;
        write!(to, "message `{message}` of state `{state}` carries {what}")
    }
}

/// The canonical text of a protocol. If its start has parameters, the view supplies arguments for them.
#[must_use]
pub fn canonical(view: View<'_>) -> Canonical {
    let view = match view.description().states.first().and_then(|s| s.direction) {
        Some(Direction::Recv) if !view.is_turned => view.turned(),
        Some(Direction::Send) if view.is_turned => view.turned(),
        Some(_) | None => view,
    };
    let mut shapes = Shapes::new(view.program, view.program);
    let start = shapes.start(
        Origin::Left,
        view.protocol,
        view.arguments(),
        view.is_turned,
    );
    let classes = classes(&mut shapes, Order::Written, None);
    let mut text = Text {
        shapes,
        classes,
        numbers: HashMap::new(),
        nodes: Vec::new(),
        carried: HashSet::new(),
        obstacle: None,
        lasting_obstacle: None,
    };
    text.number(start);
    let mut lines = String::from("duologue 1\n");
    let mut at = 0;
    while let Some(node) = text.nodes.get(at).copied() {
        let line = text.line(node);
        writeln!(lines, "{at}: {line}").expect("writing to a string cannot fail");
        at += 1;
    }
    Canonical {
        text: lines,
        obstacle: text.obstacle,
        lasting_obstacle: text.lasting_obstacle,
    }
}

struct Text<'a> {
    shapes: Shapes<'a>,
    /// The class of each node.
    classes: Vec<u32>,
    /// The number of each class reached so far.
    numbers: HashMap<u32, usize>,
    /// For each number, a node of the class.
    nodes: Vec<Node>,
    /// Nodes already visited in payloads.
    carried: HashSet<Node>,
    obstacle: Option<Obstacle>,
    lasting_obstacle: Option<Obstacle>,
}

impl<'a> Text<'a> {
    fn number(&mut self, node: Node) -> usize {
        let class = self.classes[node.index() as usize];
        let next = self.nodes.len();
        let number = *self.numbers.entry(class).or_insert(next);
        if number == next {
            self.nodes.push(node);
        }
        number
    }

    /// The numbers of the next `count` parts, separated by commas.
    fn numbered(&mut self, parts: &mut impl Iterator<Item = Node>, count: usize) -> String {
        let parts: Vec<Node> = parts.take(count).collect();
        let numbers = parts.iter().map(|part| self.number(*part).to_string());
        numbers.collect::<Vec<_>>().join(", ")
    }

    fn line(&mut self, node: Node) -> String {
        let (look, parts) = self.shapes.look(node, Order::Written);
        let mut rest = parts.iter().map(|(_, _, part)| *part);
        match look {
            Signature::Over => "over".to_owned(),
            Signature::State(direction, messages) => self.state(node, direction, &messages, &parts),
            Signature::Builtin(builtin) => builtin_word(builtin).to_owned(),
            Signature::Parameter(index) => format!("parameter {index}"),
            Signature::Host(name) => format!("extern {name}"),
            Signature::List => format!("list {}", self.numbered(&mut rest, 1)),
            Signature::Option => format!("option {}", self.numbered(&mut rest, 1)),
            Signature::Tuple(count) => format!("tuple {}", self.numbered(&mut rest, count)),
            Signature::Struct(names) => {
                let field = |name: &&str| format!(" {name}: {}", self.numbered(&mut rest, 1));
                let fields: Vec<String> = names.iter().map(field).collect();
                format!("struct{}", fields.join(","))
            }
            Signature::Enum(variants) => {
                let variant = |(name, count): &(&str, usize)| match count {
                    0 => format!(" {name}"),
                    count => format!(" {name}({})", self.numbered(&mut rest, *count)),
                };
                let variants: Vec<String> = variants.iter().map(variant).collect();
                format!("enum{}", variants.join(","))
            }
            Signature::Nothing => "nothing".to_owned(),
        }
    }

    fn state(
        &mut self,
        node: Node,
        direction: Direction,
        messages: &[(&str, usize)],
        parts: &Parts<'a>,
    ) -> String {
        let mut line = match direction {
            Direction::Send => "says",
            Direction::Recv => "hears",
        }
        .to_owned();
        let mut parts = parts.iter().map(|(_, _, part)| *part);
        for (position, (name, count)) in messages.iter().enumerate() {
            let next = parts.next().expect("a message leads somewhere");
            let entries: Vec<Node> = parts.by_ref().take(*count).collect();
            entries
                .iter()
                .for_each(|entry| self.carry(*entry, node, name));
            line += if position == 0 { " " } else { ", " };
            line += name;
            if *count > 0 {
                let numbers = self.numbered(&mut entries.into_iter(), *count);
                write!(line, "({numbers})").expect("writing to a string cannot fail");
            }
            write!(line, " -> {}", self.number(next)).expect("writing to a string cannot fail");
        }
        line
    }

    /// Searches a payload for a part that confines it to its process.
    fn carry(&mut self, entry: Node, state: Node, message: &str) {
        let mut open = vec![entry];
        while let Some(part) = open.pop() {
            if !self.carried.insert(part) || self.lasting_obstacle.is_some() {
                continue;
            }
            let (look, parts) = self.shapes.look(part, Order::Written);
            let (what, is_lasting) = match look {
                Signature::Over | Signature::State(..) => ("an endpoint".to_owned(), true),
                Signature::Host(name) => (format!("the external type `{name}`"), true),
                Signature::Parameter(_) => ("a type parameter".to_owned(), false),
                Signature::Builtin(_)
                | Signature::List
                | Signature::Option
                | Signature::Tuple(_)
                | Signature::Struct(_)
                | Signature::Enum(_)
                | Signature::Nothing => {
                    open.extend(parts.iter().rev().map(|(_, _, part)| *part));
                    continue;
                }
            };
            let state = self.shapes.state(state).map_or("_", |s| s.name.text());
            let obstacle = Obstacle {
                state: state.to_owned(),
                message: message.to_owned(),
                what,
            };
            if is_lasting {
                self.lasting_obstacle = Some(obstacle.clone());
            }
            self.obstacle.get_or_insert(obstacle);
        }
    }
}
