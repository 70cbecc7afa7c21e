//! How a session is printed and recorded.

use crate::game::input::Text;
use crate::talk::{Event, Talk, Value};
use clap::ValueEnum;
use duologue::diagnostic::counted;
use duologue::graph::diagram::message_text;
use duologue::protocol::Side;
use duologue::source::Sources;
use duologue_project::Failure;
use duologue_project::terminal::{CLIENT, NAME, QUIET, SERVER, Terminal, harmless, styled};
use serde_json::{Map, json};
use std::fs;
use std::path::Path;

/// How a session is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Style {
    /// A transcript
    Human,
    /// An event on each line
    Json,
}

/// Prints the events of a session, and what accompanies them.
pub struct Output<'a> {
    /// The name of the protocol or the instance.
    name: String,
    style: Style,
    record: Option<&'a Path>,
    terminal: &'a Terminal,
}

impl<'a> Output<'a> {
    /// Fails if the record cannot be written, before anything is played.
    pub fn new(
        name: &str,
        style: Style,
        record: Option<&'a Path>,
        terminal: &'a Terminal,
    ) -> Result<Output<'a>, Failure> {
        let output = Output {
            name: name.to_owned(),
            style,
            record,
            terminal,
        };
        output.write(&[])?;
        Ok(output)
    }

    /// Prints an event.
    ///
    /// # Errors
    /// It cannot be printed.
    pub fn event(&self, event: &Event) -> Result<(), Failure> {
        match self.style {
            Style::Human => {
                let side = match event {
                    Event::Message { from, .. } | Event::Left(from) => *from,
                };
                let line = event.to_string();
                let style = if side == Side::Client { CLIENT } else { SERVER };
                self.terminal.print(styled(style, harmless(&line)) + "\n")?;
            }
            Style::Json => self.terminal.print_exactly(&self.json(event))?,
        }
        Ok(())
    }

    /// What may be sent now, in a terminal.
    pub fn allowed(
        &self,
        talk: &Talk<'_>,
        sources: &Sources,
        is_wanted: bool,
    ) -> Result<(), Failure> {
        let (Some(state), true) = (talk.state(), is_wanted) else {
            return Ok(());
        };
        let side = talk.active().map_or("", Side::word);
        let messages = state.messages.iter();
        let messages: Vec<String> = messages
            .map(|message| message_text(message, sources))
            .collect();
        let state = styled(NAME, &state.name);
        let list = styled(QUIET, messages.join(", "));
        self.terminal.tell(format!("{side} in {state}: {list}\n"))?;
        Ok(())
    }

    /// Says how far the session was taken back.
    ///
    /// # Errors
    /// It cannot be printed.
    pub fn undone(&self, talk: &Talk<'_>) -> Result<(), Failure> {
        let messages = counted(talk.events().len(), "message");
        self.say(&format!("back to {messages}"))
    }

    /// Answers a command.
    pub fn say(&self, text: &str) -> Result<(), Failure> {
        self.terminal.insist(format!("{text}\n"))?;
        Ok(())
    }

    /// Reports something that no command asked for.
    pub fn tell(&self, text: &str) -> Result<(), Failure> {
        self.terminal.tell(format!("{text}\n"))?;
        Ok(())
    }

    /// Reports what is wrong with a line, from this byte on.
    pub fn wrong(&self, line: &Text, at: usize, words: &str) -> Failure {
        let before = line.text.get(..at).unwrap_or(&line.text).chars().count();
        let place = match line.place.as_str() {
            "" => String::new(),
            place => format!("{place}:{}: ", before + 1),
        };
        let shown = harmless(&line.text);
        let words = harmless(words);
        self.terminal.complain(&format!(
            "{place}{words}\n  {shown}\n  {}^",
            " ".repeat(before)
        ));
        Failure::Findings
    }

    /// Writes the session to the file for it, if there is one.
    pub fn write_record(&self, talk: &Talk<'_>) -> Result<(), Failure> {
        self.write(&talk.events().collect::<Vec<_>>())
    }

    /// Says how the session ended.
    pub fn end(&self, talk: &Talk<'_>, covered: usize) -> Result<(), Failure> {
        let events: Vec<&Event> = talk.events().collect();
        let left = events.iter().find_map(|event| match event {
            Event::Left(side) => Some(side.word()),
            Event::Message { .. } => None,
        });
        let messages = counted(events.len() - usize::from(left.is_some()), "message");
        let all = talk.protocol().messages().count();
        let end = match (left, talk.state()) {
            (Some(side), _) => format!("the {side} left early"),
            (None, Some(state)) => format!("unfinished in the state `{}`", state.name),
            (None, None) => "finished".to_owned(),
        };
        self.tell(&format!(
            "{}: {messages}, {end}, covered {covered}/{all} transitions",
            self.name
        ))
    }

    fn write(&self, events: &[&Event]) -> Result<(), Failure> {
        let Some(path) = self.record else {
            return Ok(());
        };
        let is_json = path.extension().is_some_and(|ending| ending == "jsonl");
        let lines = events.iter().map(|event| match is_json {
            true => self.json(event),
            false => format!("{event}\n"),
        });
        fs::write(path, lines.collect::<String>())
            .map_err(|error| environment!("cannot write {}: {error}", path.display()))
    }

    /// The line of a log for `trace`.
    fn json(&self, event: &Event) -> String {
        let line = match event {
            Event::Message {
                from, name, values, ..
            } => json!({
                "session": "talk",
                "protocol": self.name,
                "from": from.word(),
                "message": name,
                "values": values.iter().map(as_json).collect::<Vec<_>>(),
            }),
            Event::Left(side) => json!({
                "session": "talk",
                "protocol": self.name,
                "kind": "left",
                "from": side.word(),
            }),
        };
        format!("{line}\n")
    }
}

/// A value as JSON. What JSON does not have is a text, as in a transcript.
fn as_json(value: &Value) -> serde_json::Value {
    let all = |values: &[Value]| values.iter().map(as_json).collect::<Vec<_>>();
    match value {
        Value::Bool(value) => json!(value),
        Value::Unsigned(value) => json!(value),
        Value::Signed(value) => json!(value),
        Value::Real(number) if number.is_finite() => json!(number),
        Value::Text(text) => json!(text),
        Value::List(items) | Value::Tuple(items) => json!(all(items)),
        Value::Struct(fields) => {
            let fields = fields.iter();
            let members = fields.map(|(name, value)| (name.to_string(), as_json(value)));
            serde_json::Value::Object(members.collect::<Map<_, _>>())
        }
        Value::Option(Some(value)) => json!({ "some": as_json(value) }),
        Value::Variant(name, values) if !values.is_empty() => {
            let members = [(name.to_string(), json!(all(values)))];
            serde_json::Value::Object(members.into_iter().collect())
        }
        Value::Option(None)
        | Value::Variant(..)
        | Value::Real(_)
        | Value::Bytes(_)
        | Value::Opaque(_) => json!(value.to_string()),
    }
}
