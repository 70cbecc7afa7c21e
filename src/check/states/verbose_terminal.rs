//! `done { }` where `!` would do.

use crate::check::findings::{Case, Findings, Subject};
use crate::check::levels::Location;
use crate::diagnostic::Edit;
use crate::protocol::{Message, Program, Protocol, ProtocolId, StateId, Type};
use crate::source::Span;
use std::collections::{HashMap, HashSet};

rule! {
    "verbose-terminal", Warn,
    "a state without a direction or messages is used where `!` would do"
}

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    let mut named = None;
    for case in subject.cases() {
        let is_verbose = |id: &StateId| {
            let state = case.protocol.state(*id);
            id.index() > 0 && state.direction.is_none() && state.messages.is_empty()
        };
        let terminals = case.reachable_states().map(|(id, _)| id).filter(is_verbose);
        let terminals: HashSet<StateId> = terminals.collect();
        if terminals.is_empty() {
            continue;
        }
        let named = named.get_or_insert_with(|| endpoint_states(subject.program));
        let mut entrances = entrances(case, &terminals);
        let mut terminals: Vec<StateId> = terminals.into_iter().collect();
        terminals.sort();
        for id in terminals {
            if !named.contains(&(case.id, id)) {
                let leading = entrances.remove(&id).unwrap_or_default();
                report(case, id, &leading, findings);
            }
        }
    }
}

/// For each of these states, the locations at which messages lead to it.
fn entrances(case: Case<'_>, to: &HashSet<StateId>) -> HashMap<StateId, Vec<Span>> {
    let mut found: HashMap<StateId, Vec<Span>> = HashMap::new();
    for message in case.protocol.messages() {
        if let Some(state) = message.next.state()
            && to.contains(&state)
        {
            found.entry(state).or_default().push(message.next_span);
        }
    }
    found
}

fn report(case: Case<'_>, id: StateId, leading: &[Span], findings: &mut Findings) {
    let state = case.protocol.state(id);
    findings.report(&RULE, Location::state(case.protocol, state), || {
        let name = &state.name;
        let message = format!("state `{name}` can be written as `!`");
        let mut finding = RULE
            .finding(name.span, message)
            .label("the session ends here");
        if let Some(first) = leading.first() {
            finding = finding.related(*first, "`!` can be written here");
        }
        let over = leading.iter().map(|span| Edit::new(*span, "!"));
        let removal = Edit::new(state.span, "");
        // What precedes the state would be left over.
        let is_bare = state.docs.is_empty() && state.levels.is_empty();
        let edits = over.chain([removal]).filter(|_| is_bare);
        let words = format!("write `!` instead of `{name}`, and remove the state");
        finding.fix_all(words, edits).safe(is_bare)
    });
}

/// The states that endpoint types name anywhere: they are needed even if they are terminals.
fn endpoint_states(program: &Program) -> HashSet<(ProtocolId, StateId)> {
    let mut named = HashSet::new();
    let mut look = |ty: &Type| {
        let endpoints = ty.endpoints().into_iter();
        named.extend(endpoints.map(|endpoint| (endpoint.protocol, endpoint.state)));
    };
    let parts = program.types.iter().flat_map(|ty| ty.definition.parts());
    parts.for_each(&mut look);
    for instance in &program.instances {
        instance.arguments.iter().for_each(&mut look);
    }
    let messages = program.protocols.iter().flat_map(Protocol::messages);
    messages.flat_map(Message::types).for_each(&mut look);
    named
}
