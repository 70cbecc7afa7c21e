//! The ways to where a server is attacked.

use duologue::robots::Plan;
use std::collections::VecDeque;

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
