//! `duologue explain FILE#PROTOCOL/STATE`: everything about one state of a protocol.

use crate::args::named::{Named, find_state};
use crate::args::{Shape, Sources};
use crate::terminal::{CLIENT, GOOD, NAME, QUIET, SERVER, Terminal, WARNING, print_json};
use askama::Template;
use duologue::check::{CheckedProgram, CheckedProtocol};
use duologue::endpoint::{Endpoint, may_wait};
use duologue::graph::diagram::message_text;
use duologue::graph::{StateGraph, Step};
use duologue::languages::{Options, Target, public_names};
use duologue::protocol::{Message, Protocol, ProtocolId, Side, State, StateId, Type};
use duologue::source;
use duologue_project::Outcome;
use serde::Serialize;

/// What is known about a state. Within version 1, fields are only added.
#[derive(Serialize)]
struct Sheet {
    version: u32,
    file: String,
    line: usize,
    protocol: String,
    state: String,
    docs: String,
    /// The side that sends.
    active: Option<&'static str>,
    messages: Vec<MessageLine>,
    operations: Vec<Operations>,
    /// `null` if no session reaches the state.
    here: Option<Vec<StepLine>>,
    /// `null` if the session cannot end.
    out: Option<Vec<StepLine>>,
    capacity: Capacity,
    /// Whether a sender may find that no slot is free, because the run is not bounded.
    may_wait: bool,
    without: Without,
}

#[derive(Serialize)]
struct MessageLine {
    name: String,
    text: String,
    docs: String,
    /// `null` if the session ends.
    next: Option<String>,
}

/// What the two sides call in a language.
#[derive(Serialize)]
struct Operations {
    target: &'static str,
    client: SideOperations,
    server: SideOperations,
}

impl Operations {
    fn sides(&self) -> [(&'static str, &SideOperations); 2] {
        [("client", &self.client), ("server", &self.server)]
    }
}

#[derive(Serialize)]
struct SideOperations {
    activity: &'static str,
    /// The type of the endpoint; `null` if the target has several, one for each type argument.
    endpoint: Option<String>,
    /// The methods or functions.
    calls: Vec<String>,
}

#[derive(Serialize)]
struct StepLine {
    state: String,
    side: &'static str,
    message: String,
}

/// The most messages in flight; `null` if there is no bound.
#[derive(Serialize)]
struct Capacity {
    to_server: Option<u32>,
    to_client: Option<u32>,
}

/// What the rest of the program loses if the state is removed, with the messages that lead to it.
#[derive(Serialize)]
struct Without {
    /// Whether sessions start here, so that the protocol cannot do without it.
    is_start: bool,
    /// The messages that lead here from other states.
    messages: Vec<StepLine>,
    /// States that no session reaches any longer.
    unreachable: Vec<String>,
    /// States that are still reached, but have no messages any longer.
    stuck: Vec<String>,
    /// States that are still reached, and from which no session can end any longer.
    cannot_finish: Vec<String>,
    /// Messages and types that carry an endpoint in this state.
    carried_by: Vec<String>,
}

/// The same for people.
#[derive(Template)]
#[template(path = "explain/state.jinja")]
struct Text {
    sheet: Sheet,
    arrow: &'static str,
}

/// Prints what is known about a state of the protocol that is named.
pub fn run(
    named: &Named,
    state: &str,
    shape: Shape,
    sources: Sources,
    terminal: &Terminal,
) -> Outcome {
    let (checked, sources) = named.compile(sources, terminal)?;
    let found = named.find(&checked)?;
    let state = find_state(checked.program().protocol(found), state)?;
    let options = Options::default();
    let sheet = sheet(checked.protocol(found), state, &sources, &options);
    match shape {
        Shape::Human => {
            let arrow = if terminal.ascii { "->" } else { "\u{2192}" };
            terminal.print(Text { sheet, arrow })
        }
        Shape::Json => print_json(&sheet, terminal),
    }
}

fn sheet(
    checked: CheckedProtocol<'_>,
    id: StateId,
    sources: &source::Sources,
    options: &Options,
) -> Sheet {
    let (program, protocol) = (checked.program(), checked.protocol());
    let state = protocol.state(id);
    let graph = StateGraph::of(protocol);
    let line = |step: Step| {
        let state = protocol.state(step.state);
        StepLine {
            state: state.name.to_string(),
            side: state.active_side().map_or("", Side::word),
            message: message_text(&state.messages[step.message], sources),
        }
    };
    let lines = |steps: Vec<Step>| steps.into_iter().map(line).collect();
    let messages = state.messages.iter().map(|message| MessageLine {
        name: message.name.to_string(),
        text: message_text(message, sources),
        docs: message.docs.join("\n"),
        next: next(protocol, message).map(|state| state.name.to_string()),
    });
    let source = sources.get(state.name.span.source);
    Sheet {
        version: 1,
        file: source.name().to_owned(),
        line: source.position(state.name.span.start as usize).line,
        protocol: program.full_name(protocol.file, protocol.name.text()),
        state: state.name.to_string(),
        docs: state.docs.join("\n"),
        active: state.active_side().map(Side::word),
        messages: messages.collect(),
        operations: operations(checked, id, options),
        here: graph.shortest_dialogue(id).map(lines),
        out: graph.dialogue_out(id).map(lines),
        capacity: Capacity {
            to_server: checked.capacity_to_server().most(),
            to_client: checked.capacity_to_client().most(),
        },
        may_wait: may_wait(protocol, u32::MAX)[id.index()],
        without: without(checked, id, &graph, &line),
    }
}

/// The state that follows a message; `None` if the session ends.
fn next<'p>(protocol: &'p Protocol, message: &Message) -> Option<&'p State> {
    duologue::endpoint::next(protocol, &message.next)
}

fn operations(checked: CheckedProtocol<'_>, id: StateId, options: &Options) -> Vec<Operations> {
    let of_target = |target: Target| {
        let names = public_names(checked.program(), target, options);
        let names = names.state(checked.id(), id);
        let side = |side| {
            let activity = Endpoint::of(checked.protocol(), side).activity(id);
            let calls = names.map_or_else(Vec::new, |names| names.calls(activity));
            SideOperations {
                activity: duologue_reports::model::activity(activity),
                endpoint: names.map(|names| names.endpoint(side).to_owned()),
                calls: calls.into_iter().map(str::to_owned).collect(),
            }
        };
        Operations {
            target: target.name(),
            client: side(Side::Client),
            server: side(Side::Server),
        }
    };
    Target::ALL.into_iter().map(of_target).collect()
}

fn without(
    checked: CheckedProtocol<'_>,
    id: StateId,
    graph: &StateGraph,
    line: &dyn Fn(Step) -> StepLine,
) -> Without {
    let protocol = checked.protocol();
    let leads_here = |message: &Message| message.next.state() == Some(id);
    let others = || protocol.state_ids().filter(|other| *other != id);
    let steps = others().flat_map(|state| {
        let messages = protocol.state(state).messages.iter().enumerate();
        let messages = messages.filter(|(_, message)| leads_here(message));
        messages.map(move |(message, _)| Step { state, message })
    });
    let rest = graph.without(id);
    let is_start = id.index() == 0;
    let (was_reached, could_finish) = (graph.reachable(), graph.can_finish());
    let (is_reached, can_finish) = (rest.reachable(), rest.can_finish());
    let names = |is_meant: &dyn Fn(usize) -> bool| {
        let meant = others().filter(|other| !is_start && is_meant(other.index()));
        meant
            .map(|other| protocol.state(other).name.to_string())
            .collect::<Vec<_>>()
    };
    let is_stuck = |index: usize| {
        let messages = &protocol.states[index].messages;
        is_reached[index] && !messages.is_empty() && messages.iter().all(leads_here)
    };
    Without {
        is_start,
        messages: steps.map(line).collect(),
        unreachable: names(&|index| was_reached[index] && !is_reached[index]),
        stuck: names(&is_stuck),
        cannot_finish: names(&|index| {
            let was_sound = could_finish[index] && !can_finish[index];
            is_reached[index] && was_sound && !is_stuck(index)
        }),
        carried_by: carriers(checked.checked(), checked.id(), id),
    }
}

/// The messages and types of the program that carry an endpoint in a state.
fn carriers(checked: &CheckedProgram, protocol: ProtocolId, state: StateId) -> Vec<String> {
    let program = checked.program();
    let carries = |ty: &Type| {
        let mut endpoints = ty.endpoints().into_iter();
        endpoints.any(|endpoint| endpoint.protocol == protocol && endpoint.state == state)
    };
    let mut found = Vec::new();
    for of in &program.protocols {
        for state in &of.states {
            for message in &state.messages {
                if message.entries.iter().any(|entry| carries(&entry.ty)) {
                    let (message, state) = (&message.name, &state.name);
                    found.push(format!(
                        "message `{message}` of state `{state}` of `{}`",
                        of.name
                    ));
                }
            }
        }
    }
    for ty in &program.types {
        if ty.definition.parts().into_iter().any(carries) {
            found.push(format!("type `{}`", ty.name));
        }
    }
    found
}
