//! States with equivalent behavior.

use crate::check::findings::{Case, Findings, Subject};
use crate::check::levels::Location;
use crate::protocol::{Bound, Direction, Lengths, Message, Next, StateId, Type};
use crate::relation::partition::{Edge, coarsest};
use std::collections::{BTreeMap, HashMap};

// Allowed by default, because two names for one behavior often help a reader to follow the dialogue.
rule! {
    "equivalent-states", Allow,
    "two states are behaviorally equivalent"
}

/// Reports every state except the first in each group of equivalent states.
fn find(subject: &Subject<'_>, findings: &mut Findings) {
    for case in subject.cases() {
        if !findings.is_asked_for(&RULE, case.protocol) {
            continue;
        }
        let classes = classes(case);
        let mut groups: BTreeMap<u32, Vec<StateId>> = BTreeMap::new();
        for (id, state) in case.reachable_states() {
            if state.direction.is_some() && !state.messages.is_empty() {
                groups.entry(classes[id.index()]).or_default().push(id);
            }
        }
        let mut later: Vec<(StateId, StateId)> = Vec::new();
        for group in groups.values() {
            later.extend(group[1..].iter().map(|state| (*state, group[0])));
        }
        later.sort_unstable();
        for (id, first) in later {
            let protocol = case.protocol;
            let (state, first) = (protocol.state(id), protocol.state(first));
            findings.report(&RULE, Location::state(protocol, state), || {
                let message = format!("state `{}` is equivalent to state `{}`", state.name, first.name);
                RULE.finding(state.name.span, message)
                    .label(format!("the same dialogues are possible from here as from `{}`", first.name))
                    .related(first.name.span, "the equivalent state")
                    .help(format!("let messages lead to `{}` instead and remove this state, unless both names help the reader", first.name))
            });
        }
    }
}

/// What can be observed of a state itself: its direction, its `within`, the bounds of its type parameters, and its messages without
/// what follows them.
type Observable<'a> = (
    Option<Direction>,
    Option<u64>,
    Vec<&'a [Bound]>,
    Vec<(&'a str, Vec<&'a Type>, Option<&'a [Type]>, Vec<u64>)>,
);

/// The limits of a message and of the parts of its payload, in order; a missing one counts as 0.
fn limits(message: &Message) -> Vec<u64> {
    fn add(lengths: &Lengths, found: &mut Vec<u64>) {
        found.push(lengths.most.map_or(0, |limit| limit.most));
        found.push(lengths.parts.len() as u64);
        lengths.parts.iter().for_each(|part| add(part, found));
    }
    let mut found = Vec::new();
    if let Some(limit) = message.at_most {
        found.push(limit.most);
    }
    for (at, entry) in (0..).zip(&message.entries) {
        if !entry.lengths.is_none() {
            found.push(at);
            add(&entry.lengths, &mut found);
        }
    }
    found
}

/// The class of each state. Names of messages, payload types, limits and type arguments count; names of states and entries do not.
fn classes(case: Case<'_>) -> Vec<u32> {
    let protocol = case.protocol;
    let mut observed: HashMap<Observable<'_>, u32> = HashMap::new();
    let mut labels: HashMap<&str, u32> = HashMap::new();
    let mut colours = Vec::with_capacity(protocol.states.len());
    let mut edges = Vec::new();
    for (from, state) in (0u32..).zip(&protocol.states) {
        let mut messages = Vec::with_capacity(state.messages.len());
        for message in &state.messages {
            let entries = message.entries.iter().map(|entry| &entry.ty).collect();
            let name = message.name.text();
            let arguments = match &message.next {
                Next::End | Next::Error => None,
                Next::State { state, arguments } => {
                    let next = u32::try_from(labels.len()).expect("fewer names than messages");
                    let label = *labels.entry(name).or_insert(next);
                    let to = u32::try_from(state.index()).expect("fewer than 2^32 states");
                    edges.push(Edge { from, to, label });
                    Some(&arguments[..])
                }
            };
            messages.push((name, entries, arguments, limits(message)));
        }
        messages.sort_unstable();
        let bounds = state
            .parameters
            .iter()
            .map(|parameter| &parameter.bounds[..])
            .collect();
        let next = u32::try_from(observed.len()).expect("fewer observables than states");
        let within = state.within.map(|limit| limit.most);
        let look = (state.direction, within, bounds, messages);
        colours.push(*observed.entry(look).or_insert(next));
    }
    coarsest(&colours, &edges)
}
