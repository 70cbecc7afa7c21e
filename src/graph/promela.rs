//! A protocol as a model for SPIN, the model checker: two processes, the client and the server, and a channel in each direction.
//!
//! For every run, SPIN then proves:
//!
//! * no invalid end state: neither party waits forever, receives a message it does not expect, or is left with an unread message;
//! * the assertions: a side has read everything before it sends, so that messages travel in one direction at a time, and a
//!   channel never holds more messages than the protocol's capacity in its direction.
//!
//! The channels can hold one message more than the capacity, so that a violation is a failed assertion and not a process that
//! waits. Where the capacity is unbounded they can hold a few messages, and a sender waits if they are full.

use crate::graph::{Capacity, StateGraph};
use crate::protocol::{Protocol, Side};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The size of a channel for a run without bound.
const UNBOUNDED_ROOM: u32 = 3;

/// The model of a protocol.
#[must_use]
pub fn promela(protocol: &Protocol) -> String {
    let (to_server, to_client) = StateGraph::of(protocol).capacities();
    let messages = numbers(protocol);
    let name = &protocol.name;
    let mut text = format!(
        "/* The protocol {name}, for SPIN: spin -run {name}.pml\n \
         * Proves that no run ends in a state in which a party still waits, that a side has read everything before it sends, and\n \
         * that no more messages are in flight than the capacity allows: {to_server} to the server, {to_client} to the client. */\n\n"
    );
    for (message, number) in &messages {
        let _ = writeln!(text, "#define M_{message} {number}");
    }
    let _ = writeln!(
        text,
        "\nchan to_server = [{}] of {{ short }};",
        room(to_server)
    );
    let _ = writeln!(
        text,
        "chan to_client = [{}] of {{ short }};",
        room(to_client)
    );
    for side in Side::BOTH {
        process(&mut text, protocol, side, to_server, to_client);
    }
    text
}

/// A number for each message name.
fn numbers(protocol: &Protocol) -> BTreeMap<&str, usize> {
    let messages = protocol.messages();
    let mut numbers: BTreeMap<&str, usize> =
        messages.map(|message| (message.name.text(), 0)).collect();
    for (index, number) in numbers.values_mut().enumerate() {
        *number = index + 1;
    }
    numbers
}

fn room(capacity: Capacity) -> u32 {
    match capacity {
        Capacity::Bounded(most) => most.saturating_add(1).min(255),
        Capacity::Unbounded => UNBOUNDED_ROOM,
    }
}

fn process(
    text: &mut String,
    protocol: &Protocol,
    side: Side,
    to_server: Capacity,
    to_client: Capacity,
) {
    let (outbox, inbox, capacity) = match side {
        Side::Client => ("to_server", "to_client", to_server),
        Side::Server => ("to_client", "to_server", to_client),
    };
    let _ = writeln!(text, "\nactive proctype {}() {{", side.word());
    for (index, state) in protocol.states.iter().enumerate() {
        let _ = write!(text, "S{index}: /* {} */", state.name);
        let Some(is_active) = state.active_side().map(|active| active == side) else {
            text.push_str("\n    goto over;\n");
            continue;
        };
        if state.messages.is_empty() {
            // No message can ever be sent here: the process waits, and SPIN finds an invalid end state.
            text.push_str("\n    (false);\n");
            continue;
        }
        if is_active {
            let _ = write!(text, "\n    assert(empty({inbox}));");
        }
        text.push_str("\n    if\n");
        for message in &state.messages {
            let next = message.next.state();
            let next = next.map_or("over".to_owned(), |next| format!("S{}", next.index()));
            let name = &message.name;
            let act = match (is_active, capacity) {
                (false, _) => format!("{inbox}?M_{name}"),
                (true, Capacity::Unbounded) => format!("{outbox}!M_{name}"),
                (true, Capacity::Bounded(most)) => {
                    format!("{outbox}!M_{name}; assert(len({outbox}) <= {most})")
                }
            };
            let _ = writeln!(text, "    :: {act}; goto {next}");
        }
        text.push_str("    fi;\n");
    }
    let _ = writeln!(text, "over:\n    assert(empty({inbox}))\n}}");
}
