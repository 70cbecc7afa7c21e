//! Shared endpoints: the functions of a header for states to which every message leads back.

use crate::languages::c::names::OfState;
use crate::languages::c::names::Waiting;
use crate::languages::c::protocol::send::EntryView;
use crate::languages::c::spelling;
use crate::languages::c::spelling::filters;
use crate::languages::c::view::UnitView;
use crate::protocol::Side;
use askama::Template;

/// The functions of a sending endpoint that can be shared.
#[derive(Template)]
#[template(path = "c/shared.h.jinja")]
pub struct SharedView<'a> {
    endpoint: String,
    shared: String,
    peer: &'static str,
    share: String,
    retain: String,
    release: String,
    /// The state.
    table: String,
    may_wait: bool,
    full: &'static str,
    /// What the peer receives.
    received: String,
    sends: Vec<SharedSendView<'a>>,
}

struct SharedSendView<'a> {
    docs: String,
    message: &'a str,
    name: String,
    is_try: bool,
    checks: bool,
    spreads: bool,
    is_too_large: bool,
    entries: Vec<EntryView>,
    member: String,
    table: String,
    wait: &'static str,
}

impl<'a> SharedView<'a> {
    /// The functions of a side in a state.
    pub fn of(view: &UnitView<'a>, index: usize, side: Side) -> SharedView<'a> {
        let name = |verb| view.unit.of_state(index, OfState::Function(side, verb));
        let mut sends = Vec::new();
        for (position, message) in view.state(index).messages.iter().enumerate() {
            let facts = view.facts(index, message);
            let is_too_large = view.may_be_too_large(facts, &view.entries(index, message));
            for (verb, waiting) in [
                ("shared_send", Waiting::Forever),
                ("shared_try_send", Waiting::AtOnce),
            ] {
                let sent = OfState::Send(side, verb, message);
                sends.push(SharedSendView {
                    docs: spelling::comment_start(&view.message_docs(index, message)),
                    message: message.name.text(),
                    name: view.unit.of_state(index, sent),
                    is_try: waiting == Waiting::AtOnce,
                    checks: facts.checks,
                    spreads: facts.spreads,
                    is_too_large,
                    entries: view.entries(index, message),
                    member: spelling::member(message.name.text()),
                    table: view.message_table(index, position),
                    wait: waiting.argument(),
                });
            }
        }
        SharedView {
            endpoint: view.endpoint_type(index, side),
            shared: view.unit.of_state(index, OfState::Shared(side)),
            peer: side.dual().word(),
            share: name("share"),
            retain: name("shared_retain"),
            release: name("shared_release"),
            table: view.table(index),
            may_wait: view.leaves || view.may_wait[index],
            full: view.full(index),
            received: view.received(index),
            sends,
        }
    }
}
