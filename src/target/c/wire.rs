//! What a protocol needs between processes: how its payloads are encoded, its fingerprint, and the functions that attach a side.

use super::functions::{FunctionView, FunctionsView};
use super::names::{OfUnit, Own};
use super::spelling;
use super::tables::{SourceFootView, SourceView};
use super::units::Kind;
use super::view::{FootView, UnitView, handle, render};
use crate::fingerprint::Fingerprint;
use crate::protocol::Side;
use crate::relation::{Obstacle, View};
use crate::wire::{Plan, Sizes};
use askama::Template;
use std::collections::BTreeSet;
use tables::Wires;

mod tables;

#[derive(Template)]
#[template(path = "c/shm.h.jinja")]
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
}

/// The second header and source of a protocol.
pub struct WireView<'a> {
    view: &'a UnitView<'a>,
    fingerprint: Fingerprint,
    first: Side,
}

impl Wire {
    /// What the protocol needs between processes: `None` if no session of this unit has messages, or the obstacle if it cannot be
    /// used between processes.
    pub fn of(view: &UnitView<'_>) -> Result<Option<Wire>, Obstacle> {
        let program = view.types.program;
        let whole = match view.unit.kind {
            Kind::Mentioned => return Ok(None),
            Kind::Protocol => View::of(program, view.unit.protocol),
            Kind::Instance(id) => View::instance(program, program.instance(id)),
        };
        let plan = Plan::of(whole)?;
        let parts = plan.fingerprint.zip(plan.first);
        Ok(parts.map(|(fingerprint, first)| Wire { fingerprint, first }))
    }
}

impl<'a> WireView<'a> {
    pub fn of(view: &'a UnitView<'a>, wire: Wire) -> WireView<'a> {
        WireView {
            view,
            fingerprint: wire.fingerprint,
            first: wire.first,
        }
    }

    /// The text of the header.
    pub fn header(&self) -> String {
        let unit = self.view.unit;
        let bytes = self.fingerprint.0.map(|byte| format!("0x{byte:02x}"));
        let [_, guard, owner] = self.view.guards();
        let head = HeadView {
            source: spelling::harmless(&self.view.types.program.file(unit.file).path),
            guard,
            owner,
            header: unit.file_name.clone(),
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
        let functions = [Side::Client, Side::Server].map(|side| self.attach(side));
        render(
            &FunctionsView {
                functions: functions.into(),
            },
            &mut text,
        );
        FootView::write(BTreeSet::new(), &mut text);
        text
    }

    fn attach(&self, side: Side) -> FunctionView {
        let word = side.word();
        let handle = handle(self.view.state(0).direction, side);
        let endpoint = self.view.endpoint_type(0, side);
        let role = match side {
            Side::Client => "DUO_CLIENT",
            Side::Server => "DUO_SERVER",
        };
        let start = format!(
            "DUO_MUST_CHECK static inline duo_status {}",
            self.view.unit.own(OfUnit::Attach(side))
        );
        let parameters = [
            "int region".to_owned(),
            "const duo_shm_options *options".to_owned(),
            format!("{endpoint} *{word}"),
        ];
        let arguments = [
            "region".to_owned(),
            format!("&{}", self.view.unit.ours(Own::Wire)),
            role.to_owned(),
            "options".to_owned(),
            format!("&{word}->{handle}"),
        ];
        FunctionView {
            comment: format!(
                "/** Attaches the {word}'s side of a session between processes: see `duo_shm_attach`. */\n"
            ),
            head: spelling::head(&start, &parameters),
            body: vec![spelling::head("    return duo_shm_attach", &arguments) + ";"],
        }
    }

    /// The text of the source: tables.
    pub fn source(&self, sizes: &Sizes) -> String {
        let view = self.view;
        let ours = |what| view.unit.ours(what);
        let mut wires = Wires::of(view, sizes);
        let mut messages = String::new();
        let mut counts = Vec::new();
        for index in 0..view.unit.states.len() {
            let state = view.state(index);
            counts.push(match state.direction {
                Some(_) => state.messages.len().to_string(),
                None => "0".to_owned(),
            });
            let encodings = sizes.messages(state, &view.unit.states[index].arguments);
            for (message, encoding) in state.messages.iter().zip(encodings) {
                // No session reaches a state that nothing leads to, so its messages have no encoding and need none.
                let row = match view.begun[index] {
                    true => wires.message(index, message, encoding),
                    false => ["NULL", "0", "0"].map(str::to_owned),
                };
                messages.push_str(&spelling::wrapped("    {", &row, "},\n"));
            }
        }
        wires.finish();
        let mut text = String::new();
        let head = SourceView {
            source: spelling::harmless(&view.types.program.file(view.unit.file).path),
            header: format!("{}_shm", view.unit.file_name),
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
        let either = |what| match has_messages {
            true => ours(what),
            false => "NULL".to_owned(),
        };
        let first = match self.first {
            Side::Client => "DUO_CLIENT",
            Side::Server => "DUO_SERVER",
        };
        let parts = [
            ours(Own::States),
            counts_name,
            either(Own::Messages),
            either(Own::Encodings),
            view.unit.own(OfUnit::Fingerprint),
            first.to_owned(),
        ];
        let start = format!("const duo_wire_protocol {} = {{", ours(Own::Wire));
        write(spelling::wrapped(&start, &parts, "};\n"));
        render(&SourceFootView, &mut text);
        text.push('\n');
        text
    }
}
