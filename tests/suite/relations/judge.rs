//! The verdicts on one protocol (what is reachable, what can finish, what is stuck, how many messages can be in flight), checked
//! against an exploration of client, server and two queues, and against SPIN.

use super::machine::{Machine, Message, State, Turn};
use super::oracle::{Fault, explore};
use super::{compiled, program};
use crate::support::choices::Choices;
use crate::support::program::Scratch;
use crate::support::repository;
use crate::support::spin::spin;
use duologue::check::CheckedProgram;
use duologue::compile::{Input, Request, compile};
use duologue::diagnostic::Level;
use duologue::files::{Disk, protocol_files};
use duologue::graph::promela::promela;
use duologue::graph::{Capacity, StateGraph};
use duologue::protocol::{Direction, Next, Protocol, ProtocolId};
use std::collections::HashSet;

/// The protocol as plain data, without payloads, which verdicts on graphs ignore.
fn plain(protocol: &Protocol) -> Machine {
    let states = protocol.states.iter().map(|state| {
        let messages = state.messages.iter().map(|message| Message {
            name: message.name.text().to_owned().leak(),
            payload: "",
            next: match &message.next {
                Next::Error => unreachable!("it is sound"),
                Next::End => None,
                Next::State { state, .. } => Some(state.index()),
            },
        });
        State {
            turn: match state.direction {
                Some(Direction::Send) => Turn::Client,
                Some(Direction::Recv) => Turn::Server,
                None => Turn::Nobody,
            },
            messages: messages.collect(),
        }
    });
    Machine(states.collect())
}

/// The states that are reachable from this one, itself included; `None` is the end.
fn runs_from(machine: &Machine, from: usize) -> HashSet<Option<usize>> {
    let mut seen = HashSet::from([Some(from)]);
    let mut open = vec![from];
    while let Some(state) = open.pop() {
        for message in &machine.0[state].messages {
            if seen.insert(message.next) {
                open.extend(message.next);
            }
        }
    }
    seen
}

/// Capacities above this are not distinguished from unbounded ones.
const BOUND: usize = 6;

fn judge(protocol: &Protocol, what: &str) {
    let machine = plain(protocol);
    let graph = StateGraph::of(protocol);
    let reachable = graph.reachable();
    let finishing = graph.can_finish();
    let from_start = runs_from(&machine, 0);
    for state in 0..machine.0.len() {
        let runs = runs_from(&machine, state);
        let is_over = |state: &Option<usize>| match state {
            None => true,
            Some(state) => machine.0[*state].turn == Turn::Nobody,
        };
        let name = &protocol.states[state].name;
        assert_eq!(
            reachable[state],
            from_start.contains(&Some(state)),
            "{what}: {name}"
        );
        assert_eq!(finishing[state], runs.iter().any(is_over), "{what}: {name}");
    }
    let (faults, most) = explore(&machine, &machine, BOUND);
    // A client and a server of the same protocol never fail, unless a reachable state has a turn but no messages.
    let is_stuck = |(state, reached): (&State, &bool)| {
        *reached && state.turn != Turn::Nobody && state.messages.is_empty()
    };
    let stuck = machine.0.iter().zip(&reachable).any(is_stuck);
    let expected = if stuck {
        HashSet::from([Fault::Silent])
    } else {
        HashSet::new()
    };
    assert_eq!(faults, expected, "{what}");
    let (to_server, to_client) = graph.capacities();
    for (capacity, most) in [(to_server, most[0]), (to_client, most[1])] {
        match capacity {
            Capacity::Unbounded => assert_eq!(most, BOUND, "{what}"),
            Capacity::Bounded(capacity) => {
                let capacity = usize::try_from(capacity).expect("it fits");
                assert_eq!(capacity.min(BOUND), most, "{what}");
            }
        }
    }
}

fn published() -> CheckedProgram {
    let files = protocol_files(&repository().join("protocols")).expect("they can be read");
    assert!(files.protocols.len() > 10, "{files:?}");
    let mut request = Request::default();
    request.inputs = files.protocols.into_iter().map(Input::Path).collect();
    request.levels = vec![("all".to_owned(), Level::Allow)];
    let compilation = compile(&request, &Disk).expect("they can be read");
    compilation.checked.expect("they are sound")
}

#[test]
fn verdicts_on_published_protocols() {
    for protocol in &published().program().protocols {
        judge(protocol, protocol.name.text());
    }
}

#[test]
fn verdicts_on_random_protocols() {
    let mut chance = Choices::new(9);
    let mut seen = HashSet::new();
    for number in 0..700 {
        let machine = Machine::any(&mut chance, 5);
        let text = machine.text("p", "s");
        let compilation = compiled(&text);
        let protocol = program(&compilation).protocol(ProtocolId::new(0));
        judge(protocol, &format!("protocol {number}:\n{text}"));
        seen.insert(StateGraph::of(protocol).capacities());
    }
    assert!(seen.len() > 10, "{seen:?}");
}

/// Runs SPIN once over every protocol in `protocols/`, and over wrong ones, in which it must
/// find the mistake.
#[test]
#[ignore = "with spin"]
fn spin_verifies_the_models() {
    let checked = published();
    let scratch = Scratch::new("promela");
    for protocol in &checked.program().protocols {
        let model = promela(protocol);
        assert!(model.contains("active proctype client()"), "{model}");
        let said = spin(&scratch, protocol.name.text(), &model);
        assert!(
            said.contains("errors: 0"),
            "{}:\n{said}\n{model}",
            protocol.name
        );
    }
    let wrong = [
        (
            "stuck",
            "proto! p { s:send { a -> t } t:recv { } }",
            "",
            "invalid end state",
        ),
        (
            "full",
            "proto! p { s:send { a -> t } t:send { b -> u } u:recv { c -> ! } }",
            "<= 2",
            "assertion violated",
        ),
        (
            "crossing",
            "proto! p { s:send { a -> t } t:recv { c -> ! } }",
            "to_server?M_a; goto S1",
            "assertion violated",
        ),
    ];
    for (name, text, broken, found) in wrong {
        let compilation = compiled(text);
        let model = promela(super::program(&compilation).protocol(ProtocolId::new(0)));
        let model = match name {
            "full" => model.replace(broken, "<= 1"),
            // The server sends at once, without reading the client's message.
            "crossing" => model.replace(broken, "true; goto S1"),
            _ => model,
        };
        let said = spin(&scratch, name, &model);
        assert!(said.contains(found), "{name}:\n{said}\n{model}");
    }
}
