//! Protocols as pictures in SVG, drawn without other programs: states with what is sent in them, and arrows with messages.
//!
//! The time that a layout takes grows faster than the graph, so there is a largest graph. Of a larger one, the surroundings of a
//! state can be drawn.

mod layers;
mod layout;
mod simplex;
mod svg;

use duologue::graph::Step;
use duologue::graph::diagram::{message_text, title, turn};
use duologue::protocol::{Message, Protocol, Side, StateId};
use duologue::source::Sources;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

pub use layout::{Area, Layout};
pub use svg::{Links, inline, svg};

/// The most states of a picture.
pub const MOST_STATES: usize = 60;
/// The most arrows of a picture. Messages between the same two states share one.
pub const MOST_ARROWS: usize = 180;
/// How many states the surroundings of a state have at most.
const NEAR: usize = 16;
/// The most characters of a line of text.
const LONGEST: usize = 56;
/// The most messages of an arrow that are shown.
const MESSAGES: usize = 12;

/// Why a protocol is not drawn as a whole: how many states and arrows it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// The states.
    pub states: usize,
    /// The arrows.
    pub arrows: usize,
}

/// The most arrows to an end. If there are more, each has an end of its own.
const ONE_END: usize = 3;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooLarge { states, arrows } = self;
        write!(
            f,
            "{states} states and {arrows} arrows are too many for a picture, which has at most {MOST_STATES} and {MOST_ARROWS}"
        )
    }
}

/// What is drawn.
#[derive(Debug)]
pub struct Picture {
    /// The name of the protocol.
    pub name: String,
    /// What it shows, in a sentence.
    pub summary: String,
    /// The boxes. Arrows refer to their positions.
    pub nodes: Vec<Node>,
    /// The arrows.
    pub arrows: Vec<Arrow>,
}

/// A box.
#[derive(Debug)]
pub enum Node {
    /// Where sessions start.
    Start,
    /// Where sessions end.
    End,
    /// A state.
    State {
        /// Which one.
        id: StateId,
        /// Its name, with type parameters.
        name: String,
        /// Which side sends.
        turn: String,
        /// The side that sends; `None` in a terminal state.
        active: Option<Side>,
        /// Whether all its arrows are drawn.
        is_whole: bool,
    },
}

/// An arrow.
#[derive(Debug)]
pub struct Arrow {
    /// The box it starts at.
    pub from: usize,
    /// The box it leads to.
    pub to: usize,
    /// The side that sends its messages.
    pub active: Option<Side>,
    /// A line for each message.
    pub lines: Vec<String>,
    /// For each of these lines the message, but for a last one that counts messages.
    pub steps: Vec<Step>,
    /// For each of these messages whether it is marked as missing.
    pub missing: Vec<bool>,
}

impl Picture {
    /// Marks the messages that something lacks, for example that no test has sent.
    pub fn mark_missing(&mut self, is_missing: impl Fn(Step) -> bool) {
        for arrow in &mut self.arrows {
            arrow.missing = arrow.steps.iter().map(|step| is_missing(*step)).collect();
        }
    }
}

/// The whole protocol.
///
/// # Errors
/// It is too large.
pub fn whole(protocol: &Protocol, sources: &Sources) -> Result<Picture, TooLarge> {
    let all: Vec<StateId> = protocol.state_ids().collect();
    let groups = groups(protocol);
    let (states, arrows) = (all.len(), groups.len());
    if states > MOST_STATES || arrows > MOST_ARROWS {
        return Err(TooLarge { states, arrows });
    }
    let summary = format!(
        "The states of the protocol {} and its messages",
        protocol.name
    );
    Ok(picture(protocol, sources, &groups, &all, summary))
}

/// A state with the states nearest to it, whichever way messages lead.
#[must_use]
pub fn surroundings(protocol: &Protocol, sources: &Sources, center: StateId) -> Picture {
    let mut near: Vec<Vec<StateId>> = vec![Vec::new(); protocol.states.len()];
    let groups = groups(protocol);
    for (from, to) in groups.keys() {
        if let Some(to) = to {
            near[from.index()].push(*to);
            near[to.index()].push(*from);
        }
    }
    let mut found = vec![center];
    let mut is_found = vec![false; protocol.states.len()];
    is_found[center.index()] = true;
    let mut queue = VecDeque::from([center]);
    while let Some(state) = queue.pop_front() {
        for next in &near[state.index()] {
            if found.len() < NEAR && !std::mem::replace(&mut is_found[next.index()], true) {
                found.push(*next);
                queue.push_back(*next);
            }
        }
    }
    found.sort_unstable();
    let (state, name) = (&protocol.state(center).name, &protocol.name);
    let summary = format!("The state {state} of the protocol {name}, and the states nearest to it");
    picture(protocol, sources, &groups, &found, summary)
}

/// A state with the messages that lead to it, which are given, and those that leave it.
#[must_use]
pub fn beside(
    protocol: &Protocol,
    sources: &Sources,
    center: StateId,
    leading: &[(StateId, usize)],
) -> Picture {
    let mut groups = Groups::new();
    let out = (0..protocol.state(center).messages.len()).map(|position| (center, position));
    let into = leading.iter().copied().filter(|(from, _)| *from != center);
    for (from, position) in out.chain(into) {
        let message = &protocol.state(from).messages[position];
        let group = groups.entry((from, message.next.state())).or_default();
        group.push((position, message));
    }
    let mut states = vec![center];
    for (from, to) in groups.keys() {
        for state in [Some(*from), *to].into_iter().flatten() {
            if states.len() < NEAR && !states.contains(&state) {
                states.push(state);
            }
        }
    }
    let (state, name) = (&protocol.state(center).name, &protocol.name);
    let summary =
        format!("The state {state} of the protocol {name}, with the messages to it and from it");
    let mut picture = picture(protocol, sources, &groups, &states, summary);
    for node in &mut picture.nodes {
        if let Node::State { id, is_whole, .. } = node {
            *is_whole &= *id == center;
        }
    }
    picture
}

/// Messages with their positions, by the states between which they lead.
type Groups<'p> = BTreeMap<(StateId, Option<StateId>), Vec<(usize, &'p Message)>>;

/// The messages between each two states, or from a state to the end, in the order written.
fn groups(protocol: &Protocol) -> Groups<'_> {
    let mut groups = Groups::new();
    for id in protocol.state_ids() {
        for (position, message) in protocol.state(id).messages.iter().enumerate() {
            let group = groups.entry((id, message.next.state())).or_default();
            group.push((position, message));
        }
    }
    groups
}

fn picture(
    protocol: &Protocol,
    sources: &Sources,
    groups: &Groups<'_>,
    states: &[StateId],
    summary: String,
) -> Picture {
    let mut place = vec![None; protocol.states.len()];
    for (index, id) in states.iter().enumerate() {
        place[id.index()] = Some(index);
    }
    let mut is_whole = vec![true; protocol.states.len()];
    for (from, to) in groups.keys() {
        let Some(to) = to else { continue };
        let is_drawn = place[from.index()].is_some() && place[to.index()].is_some();
        is_whole[from.index()] &= is_drawn;
        is_whole[to.index()] &= is_drawn;
    }
    let nodes = states.iter().map(|id| {
        let state = protocol.state(*id);
        Node::State {
            id: *id,
            name: short(&title(state)),
            turn: turn(state),
            active: state.active_side(),
            is_whole: is_whole[id.index()],
        }
    });
    let mut nodes: Vec<Node> = nodes.collect();
    let mut arrows = Vec::new();
    let is_ending =
        |(from, to): &&(StateId, Option<StateId>)| to.is_none() && place[from.index()].is_some();
    let has_one_end = groups.keys().filter(is_ending).count() <= ONE_END;
    let mut end = None;
    for ((from, to), messages) in groups {
        let Some(from_place) = place[from.index()] else {
            continue;
        };
        let to = match to {
            Some(to) => place[to.index()],
            None => {
                end = end.filter(|_| has_one_end).or(Some(nodes.len()));
                if end == Some(nodes.len()) {
                    nodes.push(Node::End);
                }
                end
            }
        };
        let shown = messages.iter().take(MESSAGES);
        let mut lines: Vec<String> = shown
            .map(|(_, message)| short(&message_text(message, sources)))
            .collect();
        let steps = messages.iter().take(MESSAGES).map(|(position, _)| Step {
            state: *from,
            message: *position,
        });
        if messages.len() > MESSAGES {
            lines.push(format!("and {} more", messages.len() - MESSAGES));
        }
        if let Some(to) = to {
            arrows.push(Arrow {
                from: from_place,
                to,
                active: protocol.state(*from).active_side(),
                lines,
                steps: steps.collect(),
                missing: Vec::new(),
            });
        }
    }
    if let Some(first) = place[0] {
        nodes.push(Node::Start);
        arrows.push(Arrow {
            from: nodes.len() - 1,
            to: first,
            active: None,
            lines: Vec::new(),
            steps: Vec::new(),
            missing: Vec::new(),
        });
    }
    Picture {
        name: protocol.name.to_string(),
        summary,
        nodes,
        arrows,
    }
}

/// A line of text that is not too long.
fn short(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let start: String = text.chars().take(LONGEST - 1).collect();
    start + "\u{2026}"
}
