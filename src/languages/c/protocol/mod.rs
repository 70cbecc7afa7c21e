//! The header and the source of a unit, and the header for event loops.

mod device;

use super::names::units::UnitKind;
use super::scope::Scope;
use super::types::copies::{self, Copy};
use super::types::declarations::{Declarations, Item};
use super::types::layouts::{Content, Layouts, Place, Table};
use super::types::{Facts, Types};
use super::view::UnitView;
use crate::languages::c::names::spelling;
use crate::languages::limits::instance_docs;
use askama::Template;
use device::Reason;

#[derive(Template)]
#[template(path = "c/protocol.h.jinja")]
struct HeaderView<'a> {
    unit: &'a UnitView<'a>,
    docs: Vec<String>,
    name_macro: String,
    /// Why it cannot be used without an allocator.
    refusal: Option<Reason>,
    /// Whether its sessions can live in the caller's memory.
    fits_in: bool,
    has_shared: bool,
    includes: Vec<String>,
    items: Vec<Item>,
    inner: Vec<Copy>,
    protocols: Vec<String>,
}

#[derive(Template)]
#[template(path = "c/protocol.c.jinja")]
struct SourceView<'a> {
    unit: &'a UnitView<'a>,
    tables: Vec<Table>,
    /// For each message, whether it has a table.
    has_table: Vec<bool>,
}

#[derive(Template)]
#[template(path = "c/events.h.jinja")]
struct EventsView<'a> {
    unit: &'a UnitView<'a>,
}

/// The text of the header for event loops.
pub fn events_header(unit: &UnitView) -> String {
    spelling::rendered(&EventsView { unit })
}

/// The text of the header.
pub fn header(scope: &Scope, unit: &UnitView) -> String {
    let program = scope.types.program;
    let mut declarations = Declarations::new(scope.types, None, Some(scope.id));
    for index in 0..scope.unit.states.len() {
        for message in &scope.state(index).messages {
            for entry in &message.entries {
                declarations.need(&scope.entry_type(index, entry));
            }
        }
    }
    declarations.finish();
    let docs = match scope.unit.kind {
        UnitKind::Instance(id) => {
            let title = format!("`{}`", scope.protocol.name);
            instance_docs(program, program.instance(id), &title)
        }
        UnitKind::Protocol | UnitKind::Mentioned => scope.protocol.docs.clone(),
    };
    spelling::rendered(&HeaderView {
        unit,
        docs: spelling::docs(&docs),
        name_macro: spelling::constant(&scope.unit.prefix, "NAME"),
        refusal: scope.refusal(),
        fits_in: scope.fits_in(),
        has_shared: unit.states.iter().any(|state| state.is_shared),
        includes: declarations.includes.into_iter().collect(),
        items: declarations.items,
        inner: copies::of_inner(scope.types, &declarations.inner, Some(scope.id)),
        protocols: declarations.protocols.into_iter().collect(),
    })
}

/// The text of the source: tables that say what payloads consist of, and where each message leads.
pub fn source(scope: &Scope, unit: &UnitView) -> String {
    let types: &Types = scope.types;
    let mut layouts = Layouts::new(types, Some(scope.id));
    let mut has_table = Vec::new();
    for (index, state) in unit.states.iter().enumerate() {
        let messages = scope.state(index).messages.iter().zip(&state.messages);
        for (message, view) in messages {
            let mut fields = Vec::new();
            let mut facts = Facts::default();
            for entry in &message.entries {
                let ty = scope.entry_type(index, entry);
                let own = types.facts(&ty);
                if !own.is_any_bytes() {
                    facts = facts.or(own);
                    let place = Place::entry(&state.name, message, &entry.name);
                    layouts.field(&mut fields, &ty, place, None);
                }
            }
            has_table.push(!fields.is_empty());
            if !fields.is_empty() {
                let owner = format!("{}_{}", unit.prefix, view.number);
                layouts.add("said_", owner, facts, fields, Content::Struct);
            }
        }
    }
    spelling::rendered(&SourceView {
        unit,
        tables: layouts.tables,
        has_table,
    })
}
