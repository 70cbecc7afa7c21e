//! What a protocol needs between processes, regardless of the transport: how its payloads are encoded, and its
//! fingerprint.

use crate::fingerprint::Fingerprint;
use crate::languages::c::names::{Header, OfUnit, Own};
use crate::languages::c::protocol::source::{SourceFootView, SourceView};
use crate::languages::c::spelling;
use crate::languages::c::spelling::render;
use crate::languages::c::units::UnitKind;
use crate::languages::c::view::{FootView, UnitView};
use crate::protocol::Side;
use crate::relation::{Obstacle, View};
use crate::wire::{Plan, Sizes, accepted};
use askama::Template;
use std::collections::BTreeSet;
use tables::Wires;

mod begin;
mod tables;

#[derive(Template)]
#[template(path = "c/wire.h.jinja")]
struct HeadView {
    source: String,
    guard: String,
    owner: String,
    header: String,
    prefix: String,
    fingerprint_name: String,
    wire: String,
    fingerprint: String,
}

/// What is needed to use a protocol between processes.
pub struct Wire {
    fingerprint: Fingerprint,
    first: Side,
    /// The older fingerprints that the client accepts, and those that the server does.
    accepts: [Vec<Fingerprint>; 2],
}

/// The header and source of the wire format of a protocol.
pub struct WireView<'a> {
    view: &'a UnitView<'a>,
    wire: Wire,
}

impl Wire {
    /// What the protocol needs between processes: `None` if no session of this unit has messages, or the obstacle if it cannot be
    /// used between processes.
    pub fn of(view: &UnitView<'_>) -> Result<Option<Wire>, Obstacle> {
        let program = view.types.program;
        let whole = match view.unit.kind {
            UnitKind::Mentioned => return Ok(None),
            UnitKind::Protocol => View::of(program, view.unit.protocol),
            UnitKind::Instance(id) => View::instance(program, program.instance(id)),
        };
        let plan = Plan::of(whole)?;
        let parts = plan.fingerprint.zip(plan.first);
        Ok(parts.map(|(fingerprint, first)| Wire {
            fingerprint,
            first,
            accepts: [Side::Client, Side::Server].map(|side| accepted(whole, side)),
        }))
    }
}

impl<'a> WireView<'a> {
    pub fn of(view: &'a UnitView<'a>, wire: Wire) -> WireView<'a> {
        WireView { view, wire }
    }

    /// The text of the header.
    pub fn header(&self) -> String {
        let unit = self.view.unit;
        let bytes = self.wire.fingerprint.0.map(hexadecimal);
        let head = HeadView {
            source: spelling::harmless(&self.view.types.program.file(unit.file).path),
            guard: unit.guard(Header::Wire),
            owner: self.view.owner(),
            header: unit.file(Header::Own),
            prefix: unit.prefix.clone(),
            fingerprint_name: unit.own(OfUnit::Fingerprint),
            wire: unit.ours(Own::Wire),
            fingerprint: format!(
                "{{{{{}, \\\n      {}}}}}",
                bytes[..8].join(", "),
                bytes[8..].join(", ")
            ),
        };
        let mut text = String::new();
        render(&head, &mut text);
        FootView::write(BTreeSet::new(), &mut text);
        text
    }

    /// The table of the older fingerprints that the client accepts, followed by those that the server does; it is not generated if
    /// there are none.
    fn accepts(&self) -> String {
        let all = self.wire.accepts.iter().flatten();
        let rows = all.map(|older| spelling::wrapped("    {{", &older.0.map(hexadecimal), "}},\n"));
        let rows = rows.collect::<String>();
        if rows.is_empty() {
            return rows;
        }
        let name = self.view.unit.ours(Own::Accepts);
        format!("static const duo_fingerprint {name}[] = {{\n{rows}}};\n\n")
    }

    /// For each role, where its fingerprints are in that table, and how many there are.
    fn accepted(&self) -> [String; 2] {
        let name = self.view.unit.ours(Own::Accepts);
        let [client, server] = self.wire.accepts.each_ref().map(Vec::len);
        let at = |count, before| match (count, before) {
            (0, _) => "NULL".to_owned(),
            (_, 0) => name.clone(),
            (_, before) => format!("{name} + {before}"),
        };
        [
            format!("{{{}, {}}}", at(client, 0), at(server, client)),
            format!("{{{client}, {server}}}"),
        ]
    }

    /// A table of texts; it is not generated if there are none.
    fn texts(&self, what: Own, texts: &[String]) -> String {
        if texts.is_empty() {
            return String::new();
        }
        let name = self.view.unit.ours(what);
        let start = format!("static const char *const {name}[] = {{");
        spelling::wrapped(&start, texts, "};\n\n")
    }

    /// The text of the source: tables, with the names of states and messages if sessions over byte streams use them.
    pub fn source(&self, sizes: &Sizes, has_names: bool) -> String {
        let view = self.view;
        let ours = |what| view.unit.ours(what);
        let mut wires = Wires::of(view, sizes);
        let mut messages = String::new();
        let mut counts = Vec::new();
        let mut within = Vec::new();
        let (mut state_names, mut message_names) = (Vec::new(), Vec::new());
        for index in 0..view.unit.states.len() {
            let state = view.state(index);
            counts.push(match state.active_side() {
                Some(_) => state.messages.len().to_string(),
                None => "0".to_owned(),
            });
            within.push(state.within.map_or(0, |limit| limit.most).to_string());
            state_names.push(format!(
                "\"{}.{}\"",
                view.protocol_name(),
                state.name.text()
            ));
            let encodings = sizes.messages(state, &view.unit.states[index].arguments);
            for (message, encoding) in state.messages.iter().zip(encodings) {
                message_names.push(format!("\"{}\"", message.name.text()));
                // No session reaches a state that nothing leads to, so its messages have no encoding and need none.
                let row = match view.begun[index] {
                    true => wires.message(index, message, encoding),
                    false => ["NULL", "0", "0", "0", "0"].map(str::to_owned),
                };
                messages.push_str(&spelling::wrapped("    {", &row, "},\n"));
            }
        }
        wires.finish();
        let mut text = String::new();
        let head = SourceView {
            source: spelling::harmless(&view.types.program.file(view.unit.file).path),
            header: view.unit.file(Header::Wire),
        };
        render(&head, &mut text);
        text.push_str("\n\n");
        let mut write = |part: String| text.push_str(&part);
        if !wires.rows.is_empty() {
            let name = ours(Own::Wires);
            write(format!("extern const duo_wire {name}[];\n\n"));
        }
        if wires.part_count > 0 {
            let (name, parts) = (ours(Own::Parts), &wires.parts);
            write(format!(
                "static const duo_wire_part {name}[] = {{\n{parts}}};\n\n"
            ));
        }
        if !wires.rows.is_empty() {
            let (name, rows) = (ours(Own::Wires), wires.rows.concat());
            write(format!("const duo_wire {name}[] = {{\n{rows}}};\n\n"));
        }
        let has_messages = !messages.is_empty();
        if has_messages {
            let name = ours(Own::Encodings);
            write(format!(
                "static const duo_wire_message {name}[] = {{\n{messages}}};\n\n"
            ));
        }
        let counts_name = ours(Own::Counts);
        let start = format!("static const unsigned short {counts_name}[] = {{");
        write(spelling::wrapped(&start, &counts, "};\n\n"));
        let has_times = within.iter().any(|time| time != "0");
        if has_times {
            let start = format!("static const uint32_t {}[] = {{", ours(Own::Within));
            write(spelling::wrapped(&start, &within, "};\n\n"));
        }
        let either = |what, has: bool| match has {
            true => ours(what),
            false => "NULL".to_owned(),
        };
        let names_messages = has_names && has_messages;
        if has_names {
            write(self.texts(Own::StateNames, &state_names));
            write(self.texts(Own::MessageNames, &message_names));
        }
        write(self.accepts());
        let [accepts, accepts_count] = self.accepted();
        let parts = [
            ours(Own::States),
            counts_name,
            either(Own::Messages, has_messages),
            either(Own::Encodings, has_messages),
            view.unit.own(OfUnit::Fingerprint),
            spelling::role(self.wire.first).to_owned(),
            format!("\"{}\"", view.name()),
            either(Own::Within, has_times),
            either(Own::StateNames, has_names),
            either(Own::MessageNames, names_messages),
            accepts,
            accepts_count,
        ];
        let start = format!("const duo_wire_protocol {} = {{", ours(Own::Wire));
        write(spelling::wrapped(&start, &parts, "};\n"));
        render(&SourceFootView, &mut text);
        text.push('\n');
        text
    }
}

fn hexadecimal(byte: u8) -> String {
    format!("0x{byte:02x}")
}
