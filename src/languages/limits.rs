//! What the documentation of generated code says about the limits of a protocol and about its instances: the same sentences in every
//! language.

use crate::diagnostic::{duration, size};
use crate::protocol::text::bounded_type_text;
use crate::protocol::{Docs, Instance, Message, Program, State};

/// The documentation of a state, with its time limit.
pub fn state_docs(state: &State) -> Docs {
    with(&state.docs, time_limit(state))
}

/// What is said about the time limit of a state, after other sentences about it.
pub fn time_limit(state: &State) -> Option<String> {
    state.within.map(|limit| {
        let time = duration(limit.most);
        let unit = time.find(|c: char| !c.is_ascii_digit());
        let (number, unit) = time.split_at(unit.unwrap_or(time.len()));
        format!("Over sockets, the session ends if no message arrives within {number} {unit}.")
    })
}

/// The documentation of a message of this state, with the limits of its payload.
pub fn message_docs(program: &Program, state: &State, message: &Message) -> Docs {
    let mut limits = Vec::new();
    if let Some(limit) = message.at_most.filter(|_| !message.entries.is_empty()) {
        limits.push(("the payload".to_owned(), size(limit.most)));
    }
    for entry in &message.entries {
        if !entry.lengths.is_none() {
            let ty = bounded_type_text(program, &state.parameters, &entry.ty, &entry.lengths);
            limits.push((format!("`{}`", entry.name), format!("`{ty}`")));
        }
    }
    let sentence = limits.split_first().map(|((what, most), more)| {
        let mut text = format!("Between processes, {what} is limited to {most}");
        for (at, (what, most)) in more.iter().enumerate() {
            text += if at + 1 == more.len() { " and " } else { ", " };
            text += &format!("{what} to {most}");
        }
        text + "."
    });
    with(&message.docs, sentence)
}

/// The documentation of an instance: its own, which protocol it is, of which this is the title, and that protocol's documentation.
pub fn instance_docs(program: &Program, instance: &Instance, title: &str) -> Docs {
    let sentence = format!("The protocol {title} with its type arguments.");
    let mut docs = with(&instance.docs, Some(sentence));
    let generic = &program.protocol(instance.protocol).docs;
    if !generic.is_empty() {
        docs.push("".into());
        docs.extend(generic.iter().cloned());
    }
    docs
}

fn with(docs: &Docs, sentence: Option<String>) -> Docs {
    let mut docs = docs.clone();
    if let Some(sentence) = sentence {
        if !docs.is_empty() {
            docs.push("".into());
        }
        docs.push(sentence.into());
    }
    docs
}
