//! Protocols as diagrams: which side sends in which state, and where each message leads.

use crate::graph::{StateGraph, Step};
use crate::protocol::{Entry, Message, Protocol, Side, State};
use crate::source::Sources;
use std::fmt::Write;

/// Which side sends in a state.
#[must_use]
pub fn turn(state: &State) -> String {
    match state.active_side() {
        Some(active) => format!("{} sends", active.word()),
        None => "over".to_owned(),
    }
}

/// A protocol in the DOT language of Graphviz.
#[must_use]
pub fn dot(protocol: &Protocol, sources: &Sources) -> String {
    let node = |state: Option<_>| match state.map(|id| protocol.state(id)) {
        None => "shape=doublecircle width=0.15 label=\"\"".to_owned(),
        Some(state) => {
            let color = match state.active_side() {
                Some(Side::Client) => "#dceeff",
                Some(Side::Server) => "#ffeeda",
                None => "#eeeeee",
            };
            let turn = turn(state);
            let bold = if std::ptr::eq(state, protocol.start()) {
                ",bold"
            } else {
                ""
            };
            let label = quoted_dot(&format!("{}\n{turn}", title(state)));
            format!("label={label} fillcolor=\"{color}\" style=\"filled,rounded{bold}\"")
        }
    };
    let edge = |step: Step| {
        let message = &protocol.state(step.state).messages[step.message];
        format!("label={}", quoted_dot(&message_text(message, sources)))
    };
    let content = StateGraph::of(protocol).dot(&node, &edge);
    let name = quoted_dot(protocol.name.text());
    let look = "    node [shape=box fontname=\"sans-serif\"]\n    edge [fontname=\"sans-serif\"]\n";
    format!("digraph {name} {{\n    label={name}\n{look}{content}}}\n")
}

/// A protocol as a Mermaid state diagram.
#[must_use]
pub fn mermaid(protocol: &Protocol, sources: &Sources) -> String {
    let mut text = String::from("stateDiagram-v2\n");
    for (index, state) in protocol.states.iter().enumerate() {
        let label = escaped_mermaid(&format!("{}, {}", title(state), turn(state)));
        let _ = writeln!(text, "    state \"{label}\" as s{index}");
    }
    text += "    [*] --> s0\n";
    for (index, state) in protocol.states.iter().enumerate() {
        for message in &state.messages {
            let to = message.next.state();
            let to = to.map_or("[*]".to_owned(), |to| format!("s{}", to.index()));
            let label = escaped_mermaid(&message_text(message, sources));
            let _ = writeln!(text, "    s{index} --> {to} : {label}");
        }
        if state.direction.is_none() {
            let _ = writeln!(text, "    s{index} --> [*]");
        }
    }
    text
}

/// The state's name with its type parameters.
#[must_use]
pub fn title(state: &State) -> String {
    let name = state.name.text();
    if state.parameters.is_empty() {
        return name.to_owned();
    }
    let parameters = state
        .parameters
        .iter()
        .map(|parameter| parameter.name.text());
    format!("{name}<{}>", parameters.collect::<Vec<_>>().join(", "))
}

/// The message with its payload as written in the source.
#[must_use]
pub fn message_text(message: &Message, sources: &Sources) -> String {
    let name = message.name.text();
    if message.entries.is_empty() {
        return name.to_owned();
    }
    let entries = message.entries.iter();
    let entries = entries.map(|entry| entry_text(entry, sources));
    format!("{name}({})", entries.collect::<Vec<_>>().join(", "))
}

/// An entry of a payload as written in the source.
#[must_use]
pub fn entry_text(entry: &Entry, sources: &Sources) -> String {
    let ty = sources.slice(entry.ty_span).split_whitespace();
    let ty = ty.collect::<Vec<_>>().join(" ");
    match entry.is_derived {
        true => ty,
        false => format!("{}: {ty}", entry.name),
    }
}

fn quoted_dot(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', "\\n"))
}

/// Mermaid reads `#58;` as the character with that number.
fn escaped_mermaid(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        if letter.is_alphanumeric() || " _(),.?[]".contains(letter) {
            escaped.push(letter);
        } else {
            let _ = write!(escaped, "#{};", u32::from(letter));
        }
    }
    escaped
}
