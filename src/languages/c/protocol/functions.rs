//! The functions of a header: what can be done in each state. The templates show them; here are the names that go into them.

use crate::endpoint::Activity;
use crate::languages::c::names::OfType;
use crate::languages::c::names::Waiting;
use crate::languages::c::names::{OfState, OfUnit, Own, handle};
use crate::languages::c::protocol::shared::SharedView;
use crate::languages::c::spelling::{filters, render_functions};
use crate::languages::c::types::Types;
use crate::languages::c::view::UnitView;
use crate::protocol::{Side, TypeId, Variant};
use askama::Template;

/// Functions that are finished text.
#[derive(Template)]
#[template(path = "c/functions.h.jinja")]
pub struct FunctionsView {
    pub functions: Vec<FunctionView>,
}

/// A function that is defined in a header.
pub struct FunctionView {
    pub comment: String,
    pub head: String,
    pub body: Vec<String>,
}

/// An endpoint that a function takes or returns.
struct EndpointName {
    ty: String,
    handle: &'static str,
}

/// The functions that start a session.
#[derive(Template)]
#[template(path = "c/start.h.jinja")]
struct StartView {
    init: String,
    protocol: String,
    server: EndpointName,
    client: EndpointName,
    /// Whether the protocol has no messages.
    is_over: bool,
    /// For sessions in the caller's memory.
    memory: Option<MemoryView>,
}

struct MemoryView {
    init: String,
    tag: String,
    name: String,
    capacity: String,
    payload: String,
    messages: usize,
}

/// What can be done with an endpoint besides sending and receiving.
#[derive(Template)]
#[template(path = "c/endpoint.h.jinja")]
struct EndpointFunctionsView {
    sends: bool,
    /// Whether the session is over.
    is_over: bool,
    handle: &'static str,
    endpoint: String,
    peer: &'static str,
    close: String,
    cleanup: String,
    /// The function that takes it out of a message, if it can be in one.
    take: Option<String>,
    table: String,
}

#[derive(Template)]
#[template(path = "c/free.h.jinja")]
struct FreeView {
    free: String,
    received: String,
    table: String,
    owns: bool,
}

impl UnitView<'_> {
    /// Writes the functions that start a session.
    pub fn start(&self, text: &mut String) {
        let direction = self.state(0).direction;
        let [server, client] = [Side::Server, Side::Client].map(|side| EndpointName {
            ty: self.endpoint_type(0, side),
            handle: handle(direction, side),
        });
        let memory = self.fits_in().then(|| MemoryView {
            init: self.unit.own(OfUnit::InitIn),
            tag: self.unit.own(OfUnit::MemoryTag),
            name: self.unit.own(OfUnit::Memory),
            capacity: self.capacity_name(),
            payload: self.unit.ours(Own::Payload),
            messages: self.most_messages(),
        });
        let view = StartView {
            init: self.unit.own(OfUnit::Init),
            protocol: self.unit.ours(Own::Protocol),
            server,
            client,
            is_over: direction.is_none(),
            memory,
        };
        render_functions(&view, text);
    }

    /// Writes the functions of a state.
    pub fn functions(&self, index: usize, text: &mut String) {
        let state = self.state(index);
        for side in [Side::Client, Side::Server] {
            let activity = Activity::of(state.direction, side);
            match activity {
                Activity::Sends => {
                    for position in 0..state.messages.len() {
                        let mut send = |waiting| {
                            render_functions(&self.send(index, position, side, waiting), text);
                        };
                        send(Waiting::Forever);
                        if self.leaves {
                            send(Waiting::Within);
                        }
                        // Between processes a sender may have to wait in any state.
                        if self.leaves || self.may_wait[index] {
                            send(Waiting::AtOnce);
                        }
                    }
                    if self.can_be_shared(index) {
                        render_functions(&SharedView::of(self, index, side), text);
                    }
                }
                Activity::Receives => {
                    for waiting in [Waiting::Within, Waiting::Forever, Waiting::AtOnce] {
                        render_functions(&self.recv(index, side, waiting), text);
                    }
                }
                Activity::Over => {}
            }
            let name = |verb| self.unit.of_state(index, OfState::Function(side, verb));
            let view = EndpointFunctionsView {
                sends: activity == Activity::Sends,
                is_over: activity == Activity::Over,
                handle: handle(state.direction, side),
                endpoint: self.endpoint_type(index, side),
                peer: side.dual().word(),
                close: name("close"),
                cleanup: name("cleanup"),
                take: self.unit.states[index].travels.then(|| name("take")),
                table: self.table(index),
            };
            render_functions(&view, text);
        }
        if state.direction.is_some() {
            let view = FreeView {
                free: self.unit.of_state(index, OfState::Free),
                received: self.received(index),
                table: self.table(index),
                owns: !self.facts_of_all(index).is_plain(),
            };
            render_functions(&view, text);
        }
    }
}

/// The function that returns the name of a tag.
#[derive(Template)]
#[template(path = "c/text.h.jinja")]
struct TextView<'a> {
    /// What the tag tells apart.
    of: &'static str,
    function: String,
    tag: String,
    /// Each constant with its text.
    texts: Vec<(String, &'a str)>,
}

impl UnitView<'_> {
    /// Writes the function for the messages of a state, unless there are none.
    pub fn message_texts(&self, index: usize, text: &mut String) {
        let messages = self.state(index).messages.iter();
        let texts = messages.map(|message| (self.constant(index, message), message.name.text()));
        let view = TextView {
            of: "message",
            function: self.unit.of_state(index, OfState::TagText),
            tag: self.unit.of_state(index, OfState::Tag),
            texts: texts.collect(),
        };
        view.write(text);
    }
}

/// Writes the function for the variants of an enum.
pub fn of_variants(types: &Types, id: TypeId, variants: &[Variant], tag: &str, text: &mut String) {
    let constant = |name| types.of_type(id, OfType::Variant(name));
    let variants = variants.iter().map(|variant| variant.name.text());
    let view = TextView {
        of: "variant",
        function: types.of_type(id, OfType::Text),
        tag: tag.to_owned(),
        texts: variants.map(|name| (constant(name), name)).collect(),
    };
    view.write(text);
}

impl TextView<'_> {
    fn write(&self, text: &mut String) {
        if !self.texts.is_empty() {
            render_functions(self, text);
        }
    }
}
