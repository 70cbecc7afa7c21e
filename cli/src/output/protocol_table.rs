//! Checked protocols at a glance: their size, how many messages can be in flight, and which side sends which messages in which
//! state.

use crate::terminal::{CLIENT, GOOD, NAME, QUIET, SERVER, Terminal, styled};
use duologue::check::{CheckedProgram, CheckedProtocol};
use duologue::fingerprint::Fingerprint;
use duologue::graph::{Capacity, StateGraph};
use duologue::protocol::{Direction, Next, Protocol, Side, State, StateId};
use duologue::report::{counted, duration, size};
use duologue::wire::Sizes;
use std::fmt::Write;

/// States are shown if there are at most this many protocols, for those with at most this many states. More would be too long to
/// read.
const MAPPED: (usize, usize) = (3, 12);
/// At most this many messages of a state are shown.
const MESSAGES: usize = 6;

/// At most `shown` protocols of a program, with one or a few lines for each.
pub fn overview(checked: &CheckedProgram, shown: usize, terminal: &Terminal) -> String {
    let all: Vec<_> = checked.protocols().collect();
    let listed = &all[..all.len().min(shown)];
    let name = |protocol: &CheckedProtocol<'_>| protocol.protocol().name.text().len();
    let width = listed.iter().map(name).max().unwrap_or(0);
    let sizes = Sizes::of(checked.program());
    let mut text = String::new();
    for protocol in listed {
        text += &line(*protocol, width, terminal);
        if terminal.verbose {
            text += &loops(protocol.protocol());
        }
        if all.len() <= MAPPED.0 && protocol.protocol().states.len() <= MAPPED.1 {
            text += &map(*protocol, &sizes, terminal);
        }
    }
    if all.len() > listed.len() {
        let more = format!("  and {} more; -v shows all", all.len() - listed.len());
        let _ = writeln!(text, "{}", styled(QUIET, more));
    }
    text
}

fn line(protocol: CheckedProtocol<'_>, width: usize, terminal: &Terminal) -> String {
    let tick = if terminal.ascii { "+" } else { "\u{2713}" };
    let states = &protocol.protocol().states;
    let messages = protocol.protocol().messages().count();
    let (states, messages) = (counted(states.len(), "state"), counted(messages, "message"));
    let size = format!("{states}, {messages}");
    let capacity = |capacity| match capacity {
        Capacity::Bounded(messages) => messages.to_string(),
        Capacity::Unbounded => "unbounded".to_owned(),
    };
    let to_server = capacity(protocol.capacity_to_server());
    let to_client = capacity(protocol.capacity_to_client());
    let capacity = format!("capacity: {to_server} to the server, {to_client} to the client");
    format!(
        "  {} {}  {size:24} {}\n",
        styled(GOOD, tick),
        styled(
            NAME,
            format_args!("{:width$}", protocol.protocol().name.text())
        ),
        styled(QUIET, capacity),
    )
}

/// One line for each direction in which any number of messages can be in flight: why.
fn loops(protocol: &Protocol) -> String {
    let graph = StateGraph::of(protocol);
    let mut text = String::new();
    for direction in [Direction::Send, Direction::Recv] {
        let Some(steps) = graph.one_way_loop(direction) else {
            continue;
        };
        let name = |state: StateId| protocol.state(state).name.text();
        let first = name(steps[0].state);
        let (sent, rest) = steps.split_at(steps.len().min(MESSAGES));
        let mut way = String::new();
        for step in sent {
            let message = &protocol.state(step.state).messages[step.message];
            let _ = write!(way, "{} -{}-> ", name(step.state), message.name);
        }
        let more = if rest.is_empty() { "" } else { "... -> " };
        let receiver = direction.active_side().dual().word();
        let why = format!("unbounded to the {receiver}: {way}{more}{first} needs no answer");
        let _ = writeln!(text, "      {}", styled(QUIET, why));
    }
    text
}

/// One line for each older fingerprint that a side accepts, and one for each state: which side sends, within which time, and which messages.
fn map(protocol: CheckedProtocol<'_>, sizes: &Sizes, terminal: &Terminal) -> String {
    let states = &protocol.protocol().states;
    let width = states.iter().map(|state| state.name.text().len()).max();
    let width = width.unwrap_or(0);
    let mut text = String::new();
    for accepted in &protocol.protocol().accepts {
        let (side, older) = (accepted.side.word(), Fingerprint(accepted.fingerprint));
        let words = styled(QUIET, format_args!("{side}s also accept {older}"));
        let _ = writeln!(text, "      {words}");
    }
    for state in states {
        let (style, client, server) = match (state.active_side(), terminal.ascii) {
            (Some(Side::Client), false) => (CLIENT, "client \u{25b6}", ""),
            (Some(Side::Server), false) => (SERVER, "", "\u{25c0} server"),
            (Some(Side::Client), true) => (CLIENT, "client >", ""),
            (Some(Side::Server), true) => (SERVER, "", "< server"),
            (None, _) => (QUIET, "", "over"),
        };
        let speaker = styled(style, format_args!("{client}{server}"));
        let name = format!("{:width$}", state.name.text());
        let within = state.within.map(|limit| duration(limit.most));
        let within = within.map_or(String::new(), |time| format!("within {time}: "));
        let messages = messages(state, sizes);
        let _ = writeln!(text, "      {name}  {speaker}  {within}{messages}");
    }
    text
}

/// The messages of a state, with the limits of their payloads; `!` marks those that end the session.
fn messages(state: &State, sizes: &Sizes) -> String {
    let encodings = sizes.messages(state, &[]);
    let shown = encodings.zip(&state.messages).take(MESSAGES);
    let shown = shown.map(|(encoding, message)| {
        let name = message.name.text();
        let limit = encoding.limit.map(size);
        let limit = limit.map_or(String::new(), |size| format!(" (at most {size})"));
        match message.next {
            Next::End | Next::Error => format!("{name}!{limit}"),
            Next::State { .. } => format!("{name}{limit}"),
        }
    });
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if state.messages.len() > MESSAGES {
        let more = state.messages.len() - MESSAGES;
        let _ = write!(text, " and {more} more");
    }
    text
}
