//! The ways to where the other side is attacked.

use crate::talk::Event;
use duologue::robots::Plan;
use std::collections::VecDeque;

/// How many messages the way to a state has at most.
pub const LONGEST_WAY: usize = 200;

/// Where a way leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    Node(usize),
    End,
}

/// The first message of a shortest way from a node to a goal.
pub fn step(plan: &Plan<'_>, from: usize, goal: Goal) -> Option<usize> {
    let mut first: Vec<Option<usize>> = vec![None; plan.nodes.len()];
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        for (position, edge) in plan.nodes[at].edges.iter().enumerate() {
            if !edge.is_makeable {
                continue;
            }
            let begin = if at == from { position } else { first[at]? };
            let is_there = match (edge.next, goal) {
                (None, Goal::End) => true,
                (Some(next), Goal::Node(node)) => next == node,
                _ => false,
            };
            if is_there {
                return Some(begin);
            }
            if let Some(next) = edge.next
                && next != from
                && first[next].is_none()
            {
                first[next] = Some(begin);
                queue.push_back(next);
            }
        }
    }
    None
}

/// The first messages of a transcript: the node in which each is sent, its position there, and where it leads.
#[derive(Default)]
pub struct Course(Vec<(usize, usize, Option<usize>)>);

impl Course {
    /// The course of a session that went like this.
    #[must_use]
    pub fn of<'e>(plan: &Plan<'_>, events: impl Iterator<Item = &'e Event>) -> Course {
        let mut at = Some(0);
        let mut course = Vec::new();
        for event in events.take(LONGEST_WAY) {
            if let (Event::Message { position, .. }, Some(node)) = (event, at) {
                at = plan.nodes[node].edges[*position].next;
                course.push((node, *position, at));
            }
        }
        Course(course)
    }

    /// The position of the message with this number, if it is sent in this node and the messages from it on lead to the goal.
    pub fn step(&self, number: usize, from: usize, goal: Goal) -> Option<usize> {
        let (node, position, _) = self.0.get(number)?;
        let leads_there = self.0[number..].iter().any(|(_, _, next)| match goal {
            Goal::Node(node) => *next == Some(node),
            Goal::End => next.is_none(),
        });
        (*node == from && leads_there).then_some(*position)
    }

    /// Whether this is the message with this number, whatever its values are.
    pub fn is_at(&self, number: usize, event: &Event) -> bool {
        match (self.0.get(number), event) {
            (Some((_, own, _)), Event::Message { position, .. }) => own == position,
            _ => false,
        }
    }
}
