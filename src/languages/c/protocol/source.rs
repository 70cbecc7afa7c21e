//! The tables of a source file: what payloads consist of, and where each message leads.

use crate::endpoint::Edge;
use crate::graph::Capacity;
use crate::languages::c::names::Own;
use crate::languages::c::spelling;
use crate::languages::c::spelling::render;
use crate::languages::c::types::Facts;
use crate::languages::c::types::ctype::CType;
use crate::languages::c::types::layouts::{Layouts, composite};
use crate::languages::c::units::UnitKind;
use crate::languages::c::view::UnitView;
use crate::protocol::Message;
use askama::Template;
use std::fmt::Write;

#[derive(Template)]
#[template(path = "c/protocol.c.jinja")]
pub struct SourceView {
    pub source: String,
    pub header: String,
}

#[derive(Template)]
#[template(path = "c/foot.c.jinja")]
pub struct SourceFootView;

impl UnitView<'_> {
    /// The text of the source: tables.
    pub fn source(&self) -> String {
        let mut layouts = Layouts::new(self.types, Some(self.id));
        let mut rows = String::new();
        let mut states = String::new();
        for index in 0..self.unit.states.len() {
            let state = self.state(index);
            for (position, message) in state.messages.iter().enumerate() {
                self.message_row(index, position, message, &mut layouts, &mut rows);
            }
            self.state_row(index, &mut states);
        }
        let mut text =
            String::with_capacity(1_000 + layouts.text.len() + rows.len() + states.len());
        let view = SourceView {
            source: self.types.program.file(self.unit.file).path.clone(),
            header: self.unit.file_name.clone(),
        };
        render(&view, &mut text);
        text.push_str("\n\n");
        if !layouts.text.is_empty() {
            text.push_str(&layouts.text);
            text.push('\n');
        }
        let mut line = |line: String| text.push_str(&line);
        if !rows.is_empty() {
            line(format!(
                "const duo_message {}[] = {{\n{rows}}};\n\n",
                self.unit.ours(Own::Messages)
            ));
        }
        line(format!(
            "const duo_state {}[] = {{\n{states}}};\n\n",
            self.unit.ours(Own::States)
        ));
        let unbounded = self.capacity == Capacity::Unbounded;
        let capacity = self.capacity_name();
        let payload = self.payload_size();
        let ring = self
            .ring
            .map_or("DUO_RING".to_owned(), |bytes| bytes.to_string());
        let parts = [
            capacity,
            unbounded.to_string(),
            payload,
            self.most_messages().to_string(),
            self.unit.ours(Own::States),
            if unbounded { ring } else { "0".to_owned() },
            match self.unit.kind {
                UnitKind::Mentioned => "NULL".to_owned(),
                UnitKind::Protocol | UnitKind::Instance(_) => self.shape_table(),
            },
        ];
        let name = self.unit.ours(Own::Protocol);
        let start = format!("const duo_protocol {name} = {{");
        line(spelling::wrapped(&start, &parts, "};\n"));
        render(&SourceFootView, &mut text);
        text.push('\n');
        text
    }

    /// The states that sessions of this unit can be in.
    pub fn own_states(&self) -> impl Iterator<Item = usize> {
        let is_own = |index: &usize| self.unit.kind == UnitKind::Mentioned || self.begun[*index];
        (0..self.unit.states.len()).filter(is_own)
    }

    /// The largest number of messages in such a state.
    pub fn most_messages(&self) -> usize {
        let messages = self
            .own_states()
            .map(|index| self.state(index).messages.len());
        messages.max().unwrap_or_default()
    }

    /// A type as large as the largest payload in the ring.
    pub fn payload_union(&self) -> String {
        let mut inline = String::new();
        for index in self.own_states() {
            for (position, message) in self.state(index).messages.iter().enumerate() {
                self.inline_payload(index, position, message, &mut inline);
            }
        }
        format!(
            "\n\nunion {} {{\n    void *block;\n    uint64_t number;\n{inline}}};\n",
            self.unit.ours(Own::Payload)
        )
    }

    fn payload_size(&self) -> String {
        format!("sizeof(union {})", self.unit.ours(Own::Payload))
    }

    /// A pointer to the memory layout of sessions.
    pub fn shape_table(&self) -> String {
        format!("&{}_shape", self.unit.ours(Own::Shape))
    }

    /// The memory layout of sessions.
    pub fn shape(&self) -> String {
        let unbounded = self.capacity == Capacity::Unbounded;
        let mut parts = vec![
            self.unit.ours(Own::Shape),
            self.capacity_name(),
            unbounded.to_string(),
            self.payload_size(),
            self.most_messages().to_string(),
        ];
        let ring = self.ring.filter(|_| unbounded);
        parts.extend(ring.map(|bytes| bytes.to_string()));
        let name = ring.map_or("DUO_SHAPE", |_| "DUO_SHAPE_OF");
        format!("\n{};", spelling::head(name, &parts))
    }

    fn message_row(
        &self,
        index: usize,
        position: usize,
        message: &Message,
        layouts: &mut Layouts,
        rows: &mut String,
    ) {
        let name = self.received(index);
        let member = spelling::member(message.name.text());
        let mut fields = Vec::new();
        let mut facts = Facts::default();
        for entry in &message.entries {
            let ty = self.entry_type(index, entry);
            if let Some(layout) = layouts.of(&ty) {
                let own = self.types.facts(&ty);
                facts = facts.or(own);
                let entry = spelling::entry(entry.name.text());
                fields.push((
                    layout,
                    format!("DUO_ENTRY({name}, {member}, {entry})"),
                    "0".to_owned(),
                ));
            }
        }
        let layout = if fields.is_empty() {
            "NULL".to_owned()
        } else {
            let number = self.starts[index] + position;
            let [layout, own] =
                ["said_layout", "said_fields"].map(|table| self.unit.said(table, number));
            layouts.fields(&own, &fields);
            let table = composite("DUO_STRUCT", facts, own);
            layouts.define("static ", &layout, &table);
            format!("&{layout}")
        };
        let next = self.next(index, message);
        let size = self.size(index, message);
        let edge = self.edge_name(index, message);
        let next = next.map_or_else(|| "NULL".to_owned(), |next| self.table(next));
        let named = format!(
            "{position} DUO_NAMED_IN({}, \"{}\")",
            self.table(index),
            message.name.text()
        );
        let parts = [layout, size, next, edge.to_owned(), named];
        rows.push_str(&spelling::wrapped("    {", &parts, "},\n"));
    }

    /// The size of the entries of a message, as an expression.
    pub fn size(&self, index: usize, message: &Message) -> String {
        let (name, member) = (self.received(index), spelling::member(message.name.text()));
        match (message.entries.is_empty(), self.next(index, message)) {
            (true, _) => "0".to_owned(),
            (false, Some(_)) => format!("DUO_BEFORE_NEXT({name}, {member})"),
            (false, None) => format!("DUO_ALL_OF({name}, {member})"),
        }
    }

    /// Whether a state has messages that keep the direction.
    pub fn stays(&self, index: usize) -> bool {
        let mut messages = self.state(index).messages.iter();
        messages.any(|message| self.edge(index, message) == Edge::Stay)
    }

    /// Which side is active after a message, as the runtime's constant.
    pub fn edge_name(&self, index: usize, message: &Message) -> &'static str {
        match self.edge(index, message) {
            Edge::End => "DUO_END",
            Edge::Stay => "DUO_STAY",
            Edge::Turn => "DUO_TURN",
        }
    }

    fn state_row(&self, index: usize, rows: &mut String) {
        let state = self.state(index);
        let name = self.received(index);
        let mut row = match state.active_side() {
            None => ["NULL", "0", "DUO_CLIENT", "false", "0"].map(str::to_owned),
            Some(active) => {
                let messages = if state.messages.is_empty() {
                    "NULL".to_owned()
                } else {
                    format!("&{}[{}]", self.unit.ours(Own::Messages), self.starts[index])
                };
                [
                    messages,
                    format!("offsetof({name}, as)"),
                    spelling::role(active).to_owned(),
                    self.stays(index).to_string(),
                    format!("DUO_TAG_SIZE({name})"),
                ]
            }
        };
        row[4] += &format!(" DUO_NAMED(\"{}.{}\")", self.name(), state.name.text());
        rows.push_str(&spelling::wrapped("    {", &row, "},\n"));
    }

    /// Adds a member as large as the entries of a message that is sent without a block; small messages need none.
    fn inline_payload(
        &self,
        index: usize,
        position: usize,
        message: &Message,
        members: &mut String,
    ) {
        let types: Vec<CType> = message
            .entries
            .iter()
            .map(|entry| self.entry_type(index, entry))
            .collect();
        let is_small = matches!(types.as_slice(), [] | [CType::Builtin(_)]);
        if is_small || types.iter().any(|ty| self.types.facts(ty).spreads) {
            return;
        }
        let arguments = format!(
            "({}, {})",
            self.received(index),
            spelling::member(message.name.text())
        );
        let size = match self.next(index, message) {
            Some(_) => format!("DUO_BEFORE_NEXT{arguments}"),
            None => format!("DUO_ALL_OF{arguments}"),
        };
        writeln!(
            members,
            "    char m{}[{size}];",
            self.starts[index] + position
        )
        .expect("string writes cannot fail");
    }
}
