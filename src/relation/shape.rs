//! Types and states of two programs as the nodes of one graph, in which equal behavior can be decided.
//!
//! A node is created when it is first reached. A type parameter never becomes a node of its own unless it belongs to the start:
//! where a state is reached with arguments, its parameters are replaced by these arguments. Nodes are united when they are assumed
//! to be equal. The assumption holds if everything else that must then be equal turns out to be equal. In this way, endpoints of
//! protocols that send each other are compared without unfolding them.

use crate::protocol::{
    Builtin, Definition, Direction, Entry, Message, Next, Program, ProtocolId, Side, State,
    StateId, Type, TypeId,
};
use std::collections::HashMap;

/// Which of the two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The first.
    Left,
    /// The second.
    Right,
}

/// A node of [`Shapes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node(u32);

impl Node {
    /// Its number, counted from 0.
    pub fn index(self) -> u32 {
        self.0
    }
}

/// A state that a session is in: of which protocol, seen from which side, with which arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StateInstance {
    pub origin: Origin,
    pub protocol: ProtocolId,
    pub state: StateId,
    /// Whether it is seen from the server's side.
    pub is_turned: bool,
    pub arguments: Box<[Node]>,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape<'a> {
    /// `!`
    Over,
    Builtin(Builtin),
    /// A parameter of the start.
    Parameter(u32),
    /// A type of the host program: only its name is known.
    Host(&'a str),
    List(Node),
    Option(Node),
    Tuple(Box<[Node]>),
    /// An alias, a struct or an enum.
    Declared(Origin, TypeId),
    State(StateInstance),
}

/// The graph.
pub struct Shapes<'a> {
    programs: [&'a Program; 2],
    shapes: Vec<Shape<'a>>,
    nodes: HashMap<Shape<'a>, Node>,
    /// For each node, one that it is united with, or itself.
    parents: Vec<u32>,
    /// The meanings of the aliases resolved so far.
    meanings: HashMap<Node, Node>,
    /// The aliases whose meaning was asked for, in order.
    aliases: Vec<Node>,
    /// Pairs of nodes that were united, in order.
    united: Vec<(Node, Node)>,
}

/// Pairs of messages with the same name in two states, by their positions.
pub type Matches = Vec<(usize, usize)>;

impl<'a> Shapes<'a> {
    pub fn new(left: &'a Program, right: &'a Program) -> Shapes<'a> {
        Shapes {
            programs: [left, right],
            shapes: Vec::new(),
            nodes: HashMap::new(),
            parents: Vec::new(),
            meanings: HashMap::new(),
            aliases: Vec::new(),
            united: Vec::new(),
        }
    }

    /// The start of a protocol with these arguments, or with its own parameters.
    pub fn start(
        &mut self,
        origin: Origin,
        protocol: ProtocolId,
        arguments: Option<&'a [Type]>,
        is_turned: bool,
    ) -> Node {
        let own = self.program(origin).protocol(protocol).start();
        let arguments: Vec<Node> = match arguments {
            Some(types) => types.iter().map(|ty| self.lower(origin, ty, &[])).collect(),
            None => {
                let own = 0..u32::try_from(own.parameters.len()).unwrap_or(u32::MAX);
                own.map(|index| self.node(Shape::Parameter(index)))
                    .collect()
            }
        };
        self.node(Shape::State(StateInstance {
            origin,
            protocol,
            state: StateId::new(0),
            is_turned,
            arguments: arguments.into(),
        }))
    }

    pub fn program(&self, origin: Origin) -> &'a Program {
        match origin {
            Origin::Left => self.programs[0],
            Origin::Right => self.programs[1],
        }
    }

    fn node(&mut self, shape: Shape<'a>) -> Node {
        if let Some(node) = self.nodes.get(&shape) {
            return *node;
        }
        let fresh = u32::try_from(self.shapes.len()).expect("fewer than 2^32 states and types");
        self.shapes.push(shape.clone());
        self.parents.push(fresh);
        self.nodes.insert(shape, Node(fresh));
        Node(fresh)
    }

    /// The node of a written type, with its parameters replaced by `arguments`. Recurses as deeply as the type is written, which the
    /// syntax limits.
    pub fn lower(&mut self, origin: Origin, ty: &'a Type, arguments: &[Node]) -> Node {
        let shape = match ty {
            Type::Builtin(builtin) => Shape::Builtin(*builtin),
            // Equal to itself only: nothing is said about what has been reported.
            Type::Error => Shape::Parameter(u32::MAX),
            Type::Parameter(index) => match arguments.get(*index as usize) {
                Some(argument) => return *argument,
                None => Shape::Parameter(*index),
            },
            Type::List(item) => Shape::List(self.lower(origin, item, arguments)),
            Type::Option(item) => Shape::Option(self.lower(origin, item, arguments)),
            Type::Tuple(items) => Shape::Tuple(self.lower_all(origin, items, arguments)),
            Type::Named(id) => {
                let declaration = self.program(origin).ty(*id);
                match &declaration.definition {
                    Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => {
                        Shape::Declared(origin, *id)
                    }
                    Definition::Extern(..) => Shape::Host(declaration.name.text()),
                }
            }
            Type::Endpoint(endpoint) => Shape::State(StateInstance {
                origin,
                protocol: endpoint.protocol,
                state: endpoint.state,
                is_turned: endpoint.side == Side::Server,
                arguments: self.lower_all(origin, &endpoint.arguments, arguments),
            }),
        };
        self.node(shape)
    }

    fn lower_all(&mut self, origin: Origin, types: &'a [Type], arguments: &[Node]) -> Box<[Node]> {
        let nodes = types.iter().map(|ty| self.lower(origin, ty, arguments));
        nodes.collect()
    }

    /// The type that an alias leads to in the end; for any other node, the node itself.
    pub fn meaning(&mut self, node: Node) -> Node {
        if let Some(known) = self.meanings.get(&node) {
            return *known;
        }
        let mut at = node;
        let mut chain = Vec::new();
        // The limit keeps an alias of itself, which is reported elsewhere, from looping forever.
        for _ in 0..=self.shapes.len() + self.programs[0].types.len() + self.programs[1].types.len()
        {
            let Shape::Declared(origin, id) = self.shapes[at.0 as usize] else {
                break;
            };
            let Definition::Alias(ty) = &self.program(origin).ty(id).definition else {
                break;
            };
            chain.push(at);
            at = self.lower(origin, ty, &[]);
            if let Some(known) = self.meanings.get(&at) {
                at = *known;
                break;
            }
        }
        if at != node {
            self.aliases.push(node);
        }
        // All aliases in the chain have the same meaning, so each step of a long chain is taken only once.
        self.meanings
            .extend(chain.into_iter().map(|node| (node, at)));
        at
    }

    /// The state that a node represents, if it represents one and the session is not over there.
    pub fn stand(&self, node: Node) -> Option<(&StateInstance, &'a State, Direction)> {
        let Shape::State(stand) = &self.shapes[node.0 as usize] else {
            return None;
        };
        let state = self.state(node)?;
        let direction = state.direction?;
        let seen = if stand.is_turned {
            direction.dual()
        } else {
            direction
        };
        Some((stand, state, seen))
    }

    /// The declaration of the state that a node represents; `None` for `!`, and for a state of a protocol that is broken.
    pub fn state(&self, node: Node) -> Option<&'a State> {
        let Shape::State(stand) = &self.shapes[node.0 as usize] else {
            return None;
        };
        let protocol = self.program(stand.origin).protocol(stand.protocol);
        protocol.states.get(stand.state.index())
    }

    /// The message at a position of a state.
    pub fn message(&self, node: Node, position: usize) -> &'a Message {
        let state = self.state(node).expect("only states have messages");
        &state.messages[position]
    }

    /// The node that a message leads to.
    pub fn after(&mut self, node: Node, position: usize) -> Node {
        let Shape::State(stand) = &self.shapes[node.0 as usize] else {
            unreachable!("only states have messages")
        };
        let stand = stand.clone();
        let next = match &self.message(node, position).next {
            Next::End | Next::Error => Shape::Over,
            Next::State { state, arguments } => Shape::State(StateInstance {
                state: *state,
                arguments: self.lower_all(stand.origin, arguments, &stand.arguments),
                ..stand
            }),
        };
        self.node(next)
    }

    /// What a node is.
    pub fn shape(&self, node: Node) -> &Shape<'a> {
        &self.shapes[node.0 as usize]
    }

    /// The number of nodes so far.
    pub fn count(&self) -> usize {
        self.shapes.len()
    }

    /// The node with this number.
    pub fn nth(&self, index: usize) -> Option<Node> {
        let number = u32::try_from(index).ok()?;
        (index < self.shapes.len()).then_some(Node(number))
    }

    /// Unites two nodes. Returns whether they were separate before.
    pub fn unite(&mut self, one: Node, other: Node) -> bool {
        let pair = (one, other);
        let (one, other) = (self.root(one), self.root(other));
        self.parents[one as usize] = other;
        if one != other {
            self.united.push(pair);
        }
        one != other
    }

    /// All pairs that were united, in order. If everything turned out to be equal, they are equal.
    pub fn united(&self) -> &[(Node, Node)] {
        &self.united
    }

    /// The aliases whose meaning was asked for, in order.
    pub fn aliases(&self) -> &[Node] {
        &self.aliases
    }

    /// Separates all nodes again, so that other comparisons can be made.
    pub fn forget_unions(&mut self) {
        self.parents = (0..).take(self.shapes.len()).collect();
    }

    fn root(&mut self, node: Node) -> u32 {
        let mut at = node.0;
        while self.parents[at as usize] != at {
            let above = self.parents[at as usize];
            self.parents[at as usize] = self.parents[above as usize];
            at = above;
        }
        at
    }

    /// Whether two messages carry the same. After a `false`, no further comparison may be made, because the assumptions made before
    /// it remain in force.
    pub fn carry_the_same(&mut self, left: (Node, usize), right: (Node, usize)) -> bool {
        let mut open = Vec::new();
        self.match_payloads(left, right, &mut open) && self.are_equal(open)
    }

    fn match_payloads(
        &mut self,
        (left, left_at): (Node, usize),
        (right, right_at): (Node, usize),
        open: &mut Vec<(Node, Node)>,
    ) -> bool {
        let (ours, theirs) = (
            &self.message(left, left_at).entries,
            &self.message(right, right_at).entries,
        );
        if ours.is_empty() && theirs.is_empty() {
            return true;
        }
        let ours = self.entries_of(left, ours);
        let theirs = self.entries_of(right, theirs);
        open.extend(ours.iter().copied().zip(theirs.iter().copied()));
        ours.len() == theirs.len()
    }

    /// The nodes of what a message of a state carries.
    pub fn entries_of(&mut self, node: Node, entries: &'a [Entry]) -> Vec<Node> {
        let Shape::State(stand) = &self.shapes[node.0 as usize] else {
            unreachable!("only states have messages")
        };
        let (origin, arguments) = (stand.origin, stand.arguments.clone());
        let types = entries.iter().map(|entry| &entry.ty);
        types.map(|ty| self.lower(origin, ty, &arguments)).collect()
    }

    /// Whether all these pairs are equal. Pairs that are left to compare are kept in a list, and nodes that are already united are
    /// not compared again.
    pub fn are_equal(&mut self, mut open: Vec<(Node, Node)>) -> bool {
        while let Some((left, right)) = open.pop() {
            let (left, right) = (self.meaning(left), self.meaning(right));
            if !self.unite(left, right) {
                continue;
            }
            let shapes = (
                self.shapes[left.0 as usize].clone(),
                self.shapes[right.0 as usize].clone(),
            );
            let is_equal = match shapes {
                (Shape::List(ours), Shape::List(theirs))
                | (Shape::Option(ours), Shape::Option(theirs)) => {
                    open.push((ours, theirs));
                    true
                }
                (Shape::Tuple(ours), Shape::Tuple(theirs)) => {
                    open.extend(ours.iter().copied().zip(theirs.iter().copied()));
                    ours.len() == theirs.len()
                }
                (Shape::Declared(origin, ours), Shape::Declared(other, theirs)) => {
                    self.match_declared((origin, ours), (other, theirs), &mut open)
                }
                (Shape::Over | Shape::State(_), Shape::Over | Shape::State(_)) => {
                    self.match_states(left, right, &mut open)
                }
                // Each built-in type, parameter and type of the host is a single node, so these two differ.
                (
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
                ) => false,
            };
            if !is_equal {
                return false;
            }
        }
        true
    }

    fn match_declared(
        &mut self,
        left: (Origin, TypeId),
        right: (Origin, TypeId),
        open: &mut Vec<(Node, Node)>,
    ) -> bool {
        let definition = |(origin, id): (Origin, TypeId)| &self.program(origin).ty(id).definition;
        match (definition(left), definition(right)) {
            (Definition::Struct(ours), Definition::Struct(theirs)) => {
                ours.len() == theirs.len()
                    && ours.iter().zip(theirs).all(|(our, their)| {
                        let (our_type, their_type) = (
                            self.lower(left.0, &our.ty, &[]),
                            self.lower(right.0, &their.ty, &[]),
                        );
                        open.push((our_type, their_type));
                        our.name.text() == their.name.text()
                    })
            }
            (Definition::Enum(ours), Definition::Enum(theirs)) => {
                ours.len() == theirs.len()
                    && ours.iter().zip(theirs).all(|(our, their)| {
                        for (our, their) in our.entries.iter().zip(&their.entries) {
                            let (our, their) = (
                                self.lower(left.0, &our.ty, &[]),
                                self.lower(right.0, &their.ty, &[]),
                            );
                            open.push((our, their));
                        }
                        our.name.text() == their.name.text()
                            && our.entries.len() == their.entries.len()
                    })
            }
            (
                Definition::Alias(_)
                | Definition::Struct(_)
                | Definition::Enum(_)
                | Definition::Extern(..),
                _,
            ) => false,
        }
    }

    /// Endpoints are equal if their holders may do the same.
    fn match_states(&mut self, left: Node, right: Node, open: &mut Vec<(Node, Node)>) -> bool {
        let (ours, theirs) = match (self.stand(left), self.stand(right)) {
            (None, None) => return true,
            (Some((_, ours, our)), Some((_, theirs, their))) if our == their => (ours, theirs),
            (Some(_), _) | (None, Some(_)) => return false,
        };
        if ours.messages.len() != theirs.messages.len() {
            return false;
        }
        let (matches, lacking) = matches(ours, theirs);
        if !lacking.is_empty() {
            return false;
        };
        matches.into_iter().all(|(our, their)| {
            let is_equal = self.match_payloads((left, our), (right, their), open);
            let next = (self.after(left, our), self.after(right, their));
            open.push(next);
            is_equal
        })
    }
}

/// The messages of `ours`, each with the message of `theirs` that has its name, and those that have none.
pub fn matches(ours: &State, theirs: &State) -> (Matches, Vec<usize>) {
    const FEW: usize = 8;
    let few = theirs.messages.len() <= FEW;
    let named = theirs.messages.iter().enumerate();
    let positions: HashMap<&str, usize> = if few {
        HashMap::new()
    } else {
        named
            .map(|(position, message)| (message.name.text(), position))
            .collect()
    };
    let find = |name: &str| {
        if few {
            let mut theirs = theirs.messages.iter();
            theirs.position(|message| message.name.text() == name)
        } else {
            positions.get(name).copied()
        }
    };
    let mut lacking = Vec::new();
    let mut found = Matches::new();
    for (our, message) in ours.messages.iter().enumerate() {
        match find(message.name.text()) {
            Some(their) => found.push((our, their)),
            None => lacking.push(our),
        }
    }
    (found, lacking)
}
