//! Two protocols walked side by side, breadth first.

use super::limits::Limits;
use super::payload::{self, Bindings, Part};
use super::quotient::{Order, classes};
use super::shape::{Matches, Node, Origin, Shapes, matches as match_messages};
use super::waits;
use super::{DialogueStep, Disagreement, Mismatch, Position, View};
use crate::protocol::{Direction, Message, Side, State};
use std::collections::HashSet;

/// What must hold at every pair of states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Both sides may do the same.
    Equal,
    /// The left client can talk to the server of the right protocol.
    Fit,
    /// The same, and messages have the same positions in their states on both sides.
    FitInPlace,
}

/// Two states that a session has reached, and the messages and the earlier pair that led there.
struct Pair {
    left: Node,
    right: Node,
    came_by: Option<(usize, usize, usize)>,
    /// The number of messages that led there.
    depth: usize,
}

/// The messages, left and right, that a mismatch is about.
fn messages<'a>(clash: &Mismatch<'a>) -> [Option<&'a Message>; 2] {
    match *clash {
        Mismatch::Left(message) => [Some(message), None],
        Mismatch::Right(message) => [None, Some(message)],
        Mismatch::Payload(ours, theirs)
        | Mismatch::Limit(ours, theirs)
        | Mismatch::Place(ours, theirs) => [Some(ours), Some(theirs)],
        Mismatch::Turn(..) | Mismatch::Wait(..) => [None, None],
    }
}

/// A walk in progress.
pub struct Walk<'a> {
    views: [View<'a>; 2],
    shapes: Shapes<'a>,
    demand: Demand,
    pairs: Vec<Pair>,
    met: HashSet<(u32, u32)>,
    /// The class of each node, once computing it was worthwhile; until then each node is a class of its own.
    classes: Option<Vec<u32>>,
    /// The limits of both programs, if they are compared too.
    limits: Option<Limits<'a>>,
}

impl<'a> Walk<'a> {
    pub fn new(left: View<'a>, right: View<'a>, demand: Demand) -> Walk<'a> {
        let views = [left, right];
        let mut shapes = Shapes::new(left.program, right.program);
        let mut start = |origin, view: View<'a>| {
            shapes.start(origin, view.protocol, view.arguments(), view.is_turned)
        };
        let (left, right) = (start(Origin::Left, left), start(Origin::Right, right));
        let mut walk = Walk {
            views,
            shapes,
            demand,
            pairs: Vec::new(),
            met: HashSet::new(),
            classes: None,
            limits: None,
        };
        walk.meet(left, right, None);
        walk
    }

    /// Compares limits too, if there are any: a receiver has to accept whatever the sender's limits allow.
    pub fn with_limits(mut self, limits: Option<Limits<'a>>) -> Walk<'a> {
        self.limits = limits;
        self
    }

    /// Walks up to the first disagreement, which has the shortest dialogue.
    pub fn run(&mut self) -> Option<Disagreement<'a>> {
        self.all(1).pop()
    }

    /// Walks on after disagreements, with the messages on which both sides agree, and returns at most `most` of them. Those with
    /// the shortest dialogues come first, and a message is in one of them only.
    ///
    /// Whether two states fit depends only on how they behave. So once there are many pairs, one pair for each pair of classes
    /// is enough: the first one met, which is reached by the fewest messages.
    ///
    /// The same holds where equality unites states: a pair is skipped only if it is made equal by a chain of pairs that were met
    /// before it, and so after no more messages, and one of these pairs disagrees wherever the skipped pair does.
    pub fn all(&mut self, most: usize) -> Vec<Disagreement<'a>> {
        let mut found: Vec<(usize, Mismatch<'a>)> = Vec::new();
        let mut named = HashSet::new();
        let mut at = 0;
        while at < self.pairs.len() {
            let last = found.last().map(|(last, _)| self.pairs[*last].depth);
            if found.len() >= most && last < Some(self.pairs[at].depth) {
                break;
            }
            let (left, right) = (self.pairs[at].left, self.pairs[at].right);
            let (matches, clashes) = self.compare(left, right);
            let new = clashes.into_iter().filter(|clash| match messages(clash) {
                [None, None] => true,
                messages => {
                    let addresses = messages.map(|one| one.map(std::ptr::from_ref));
                    named.insert((std::mem::discriminant(clash), addresses))
                }
            });
            found.extend(new.map(|clash| (at, clash)));
            for (our, their) in matches {
                let ours = self.shapes.after(left, our);
                let theirs = self.shapes.after(right, their);
                self.meet(ours, theirs, Some((at, our, their)));
            }
            self.unite_classes();
            at += 1;
        }
        // A mismatch in a message takes one more message to show than one in whose turn it is or in how long it lasts.
        found.sort_by_key(|(at, clash)| {
            (
                self.pairs[*at].depth,
                messages(clash).iter().any(Option::is_some),
            )
        });
        found.truncate(most);
        let found = found.into_iter();
        found
            .map(|(at, clash)| self.disagreement(at, clash))
            .collect()
    }

    /// The states and types that were reached.
    pub fn into_shapes(self) -> Shapes<'a> {
        self.shapes
    }

    /// Determines which states behave alike, once there are more pairs than states and types. That never happens where most
    /// states of one side meet one state of the other. Later pairs are met by class; pairs met before count for their classes.
    fn unite_classes(&mut self) {
        let is_worth_it = || self.pairs.len() > self.shapes.count();
        if self.demand == Demand::Equal || self.classes.is_some() || !is_worth_it() {
            return;
        }
        let order = match self.demand {
            Demand::FitInPlace => Order::Written,
            Demand::Equal | Demand::Fit => Order::Free,
        };
        let classes = classes(&mut self.shapes, order, self.limits.as_ref());
        let class = |node: Node| classes[node.index() as usize];
        let pairs = self.pairs.iter();
        self.met = pairs
            .map(|pair| (class(pair.left), class(pair.right)))
            .collect();
        self.classes = Some(classes);
    }

    fn meet(&mut self, left: Node, right: Node, came_by: Option<(usize, usize, usize)>) {
        let is_new = match self.demand {
            Demand::Equal => self.shapes.unite(left, right),
            Demand::Fit | Demand::FitInPlace => {
                let class = |node: Node| match &self.classes {
                    Some(classes) => classes[node.index() as usize],
                    None => node.index(),
                };
                let pair = (class(left), class(right));
                // States that behave alike fit.
                let is_alike = self.classes.is_some() && pair.0 == pair.1;
                !is_alike && self.met.insert(pair)
            }
        };
        if is_new {
            let depth = came_by.map_or(0, |(before, ..)| self.pairs[before].depth + 1);
            self.pairs.push(Pair {
                left,
                right,
                came_by,
                depth,
            });
        }
    }

    /// The messages that both may exchange in a pair of states, and what they disagree about there.
    fn compare(&mut self, left: Node, right: Node) -> (Matches, Vec<Mismatch<'a>>) {
        let (matches, mut clashes) = self.face(left, right);
        let displaced = matches.iter().find(|(our, their)| our != their);
        if let Some((our, their)) = displaced.filter(|_| self.demand == Demand::FitInPlace) {
            clashes.push(Mismatch::Place(
                self.shapes.message(left, *our),
                self.shapes.message(right, *their),
            ));
        }
        let turn = self.shapes.stand(left).map(|(.., turn)| turn);
        for (our, their) in &matches {
            let ours = self.shapes.message(left, *our);
            let theirs = self.shapes.message(right, *their);
            if !self.shapes.carry_the_same((left, *our), (right, *their)) {
                clashes.push(Mismatch::Payload(ours, theirs));
            } else if let (Some(limits), Some(turn)) = (&mut self.limits, turn) {
                let excess = limits.excess(&self.shapes, (left, *our), (right, *their), turn);
                clashes.extend(excess.map(|_| Mismatch::Limit(ours, theirs)));
            }
        }
        (matches, clashes)
    }

    /// The same without comparing the positions and payloads of messages.
    fn face(&self, left: Node, right: Node) -> (Matches, Vec<Mismatch<'a>>) {
        let stand = |node: Node| {
            self.shapes
                .stand(node)
                .map(|(_, state, turn)| (state, turn))
        };
        match (stand(left), stand(right)) {
            (None, None) => (Matches::new(), Vec::new()),
            (Some((ours, our)), Some((theirs, their))) if our == their => {
                let limits = self.limits.as_ref();
                let shorter = limits.and_then(|_| waits::shorter(&self.shapes, left, right, our));
                let wait = shorter.map(|(left, right)| Mismatch::Wait(our, left, right));
                let (matches, clashes) = self.common(ours, theirs, our);
                (matches, wait.into_iter().chain(clashes).collect())
            }
            (ours, theirs) => {
                let turn = |stand: Option<(&State, Direction)>| stand.map(|(_, turn)| turn);
                (
                    Matches::new(),
                    vec![Mismatch::Turn(turn(ours), turn(theirs))],
                )
            }
        }
    }

    fn common(
        &self,
        ours: &'a State,
        theirs: &'a State,
        turn: Direction,
    ) -> (Matches, Vec<Mismatch<'a>>) {
        let is_equality = self.demand == Demand::Equal;
        let (matches, lacking) = match_messages(ours, theirs);
        let mut clashes: Vec<Mismatch<'a>> = Vec::new();
        if is_equality || turn == Direction::Send {
            let lacking = lacking.into_iter().map(|our| &ours.messages[our]);
            clashes.extend(lacking.map(Mismatch::Left));
        }
        if (is_equality || turn == Direction::Recv) && matches.len() < theirs.messages.len() {
            let (_, lacking) = match_messages(theirs, ours);
            let lacking = lacking.into_iter().map(|their| &theirs.messages[their]);
            clashes.extend(lacking.map(Mismatch::Right));
        }
        (matches, clashes)
    }

    fn disagreement(&mut self, at: usize, clash: Mismatch<'a>) -> Disagreement<'a> {
        let part = match clash {
            Mismatch::Payload(ours, theirs) => self.part(at, ours, theirs),
            Mismatch::Limit(ours, theirs) => self.excess(at, ours, theirs),
            Mismatch::Turn(..)
            | Mismatch::Left(_)
            | Mismatch::Right(_)
            | Mismatch::Wait(..)
            | Mismatch::Place(..) => None,
        };
        let pair = &self.pairs[at];
        let speaker = |node: Node| match self.shapes.stand(node) {
            Some((_, _, direction)) => direction.active_side(),
            None => Side::Client,
        };
        let mut dialogue = Vec::new();
        let last = match messages(&clash) {
            [Some(message), _] => Some((message, Origin::Left)),
            [None, Some(message)] => Some((message, Origin::Right)),
            [None, None] => None,
        };
        if let Some((message, origin)) = last {
            dialogue.push(DialogueStep {
                speaker: speaker(pair.left),
                message,
                origin,
            });
        }
        let mut before = pair.came_by;
        while let Some((index, our, _)) = before {
            let pair = &self.pairs[index];
            dialogue.push(DialogueStep {
                speaker: speaker(pair.left),
                message: self.shapes.message(pair.left, our),
                origin: Origin::Left,
            });
            before = pair.came_by;
        }
        dialogue.reverse();
        let place = |node: Node, origin: Origin| {
            let state = self.shapes.state(node);
            let led_by = pair.came_by.map(|(index, our, their)| {
                let before = &self.pairs[index];
                match origin {
                    Origin::Left => self.shapes.message(before.left, our),
                    Origin::Right => self.shapes.message(before.right, their),
                }
            });
            match (state, led_by) {
                (Some(state), _) => Position::State(state),
                (None, Some(message)) => Position::End(message),
                (None, None) => unreachable!("a protocol starts with a state"),
            }
        };
        Disagreement {
            left: place(pair.left, Origin::Left),
            right: place(pair.right, Origin::Right),
            clash,
            part,
            dialogue,
        }
    }

    /// Which part of the payloads of two messages differs.
    fn part(&mut self, at: usize, ours: &'a Message, theirs: &'a Message) -> Option<Part> {
        let bindings = self.bindings(at);
        let pair = &self.pairs[at];
        let sides = (pair.left, pair.right);
        self.shapes.forget_unions();
        payload::part(&mut self.shapes, sides, (ours, theirs), &bindings)
    }

    /// How the limits of two messages differ.
    fn excess(&mut self, at: usize, ours: &'a Message, theirs: &'a Message) -> Option<Part> {
        let (left, right) = (self.pairs[at].left, self.pairs[at].right);
        let (_, _, turn) = self.shapes.stand(left)?;
        let position = |node: Node, message: &Message| {
            let messages = &self.shapes.state(node)?.messages;
            messages.iter().position(|own| std::ptr::eq(own, message))
        };
        let left = (left, position(left, ours)?);
        let right = (right, position(right, theirs)?);
        let limits = self.limits.as_mut()?;
        limits.excess(&self.shapes, left, right, turn)
    }

    /// What the type parameters of both states of a pair are bound to, then those of the pair before it, and so on to the start.
    fn bindings(&self, at: usize) -> Vec<[Bindings<'a>; 2]> {
        let mut found = Vec::new();
        let mut at = Some(at);
        while let Some(index) = at {
            let pair = &self.pairs[index];
            let parameters = |node: Node| match self.shapes.state(node) {
                Some(state) => &state.parameters[..],
                None => &[],
            };
            let parameters = [parameters(pair.left), parameters(pair.right)];
            let arguments = match pair.came_by {
                Some((before, our, their)) => {
                    let before = &self.pairs[before];
                    [(before.left, our), (before.right, their)].map(|(node, message)| {
                        let message = self.shapes.message(node, message);
                        (message.next.arguments(), message.next_span)
                    })
                }
                None => self.views.map(|view| match view.instance {
                    Some(instance) => (&instance.arguments[..], instance.span),
                    None => (&[][..], view.name().span),
                }),
            };
            let sides = [0, 1].map(|side| Bindings {
                parameters: parameters[side],
                arguments: arguments[side].0,
                span: arguments[side].1,
            });
            found.push(sides);
            at = pair.came_by.map(|(before, ..)| before);
        }
        found
    }
}
