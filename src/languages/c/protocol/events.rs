//! The header for event loops: an endpoint in any state of its side, and a function that receives a message and calls the callback
//! of its state.

use crate::endpoint::Activity;
use crate::languages::c::names::{Header, OfState, OfUnit, handle};
use crate::languages::c::spelling;
use crate::languages::c::spelling::{filters, render, render_functions};
use crate::languages::c::types::inline;
use crate::languages::c::view::{FootView, UnitView};
use crate::languages::limits::state_docs;
use crate::protocol::{Entry, Message, Side};
use askama::Template;
use std::collections::BTreeSet;

#[derive(Template)]
#[template(path = "c/events_head.h.jinja")]
struct HeadView {
    source: String,
    guard: String,
    owner: String,
    header: String,
    prefix: String,
}

/// Everything for one side.
#[derive(Template)]
#[template(path = "c/events.h.jinja")]
struct SideView {
    side: &'static str,
    any: String,
    tag: String,
    ended: String,
    receives: String,
    ready: String,
    text: String,
    close: String,
    cleanup: String,
    handlers: String,
    dispatch: String,
    /// Whether there is no callback at all; C requires a member in every struct nevertheless.
    has_nothing: bool,
    states: Vec<StateView>,
}

/// A state that sessions can be in.
struct StateView {
    /// The name in the protocol.
    name: String,
    comment: String,
    constant: String,
    receives: bool,
    sends: bool,
    is_over: bool,
    /// Whether it has callbacks: one for each message, or one for the moment at which this side can send.
    has_callbacks: bool,
    endpoint: String,
    handle: &'static str,
    /// The functions of the endpoint.
    any: String,
    from: String,
    close: String,
    recv: String,
    free: String,
    /// The type of the received message.
    received: String,
    /// The member with the callbacks.
    member: String,
    messages: Vec<MessageView>,
}

/// A message that is received.
struct MessageView {
    comment: String,
    constant: String,
    member: String,
    /// The member for the callback, and the arguments with which it is called.
    callback: String,
    arguments: String,
    /// Whether it is the last.
    ends: bool,
}

impl UnitView<'_> {
    /// The text of the header.
    pub fn events_header(&self) -> String {
        let head = HeadView {
            source: spelling::harmless(&self.types.program.file(self.unit.file).path),
            guard: self.unit.guard(Header::Events),
            owner: self.owner(),
            header: self.unit.file(Header::Own),
            prefix: self.unit.prefix.clone(),
        };
        let mut text = String::new();
        render(&head, &mut text);
        for side in [Side::Client, Side::Server] {
            render_functions(&self.events_of(side), &mut text);
        }
        FootView::write(BTreeSet::new(), &mut text);
        text
    }

    fn events_of(&self, side: Side) -> SideView {
        let name = |what| self.unit.own(OfUnit::Any(side, what));
        let states: Vec<StateView> = self
            .own_states()
            .map(|index| self.event_state(index, side))
            .collect();
        SideView {
            side: side.word(),
            any: name("any_t"),
            tag: name("any_tag_t"),
            ended: self.unit.own(OfUnit::Ended(side)),
            receives: name("any_receives"),
            ready: name("any_ready"),
            text: name("any_text"),
            close: name("any_close"),
            cleanup: name("any_cleanup"),
            handlers: name("handlers_t"),
            dispatch: name("dispatch"),
            has_nothing: !states.iter().any(|state| state.has_callbacks),
            states,
        }
    }

    fn event_state(&self, index: usize, side: Side) -> StateView {
        let state = self.state(index);
        let name = |what| self.unit.of_state(index, OfState::Function(side, what));
        let activity = Activity::of(state.direction, side);
        let messages = state.messages.iter();
        StateView {
            name: state.name.text().to_owned(),
            comment: spelling::comment(&state_docs(state), "    "),
            constant: self.unit.of_state(index, OfState::InState(side)),
            receives: activity == Activity::Receives,
            sends: activity == Activity::Sends,
            is_over: activity == Activity::Over,
            has_callbacks: activity != Activity::Over && !state.messages.is_empty(),
            endpoint: self.endpoint_type(index, side),
            handle: handle(state.direction, side),
            any: name("any"),
            from: name("from"),
            close: name("close"),
            recv: name("recv_within"),
            free: self.unit.of_state(index, OfState::Free),
            received: self.received(index),
            member: spelling::member(&self.unit.states[index].name),
            messages: messages
                .map(|message| self.event(index, side, message))
                .collect(),
        }
    }

    fn event(&self, index: usize, side: Side, message: &Message) -> MessageView {
        let member = spelling::member(message.name.text());
        let entries = message.entries.iter();
        let (mut parameters, mut arguments): (Vec<String>, Vec<String>) = entries
            .map(|entry| self.event_entry(index, &member, entry))
            .unzip();
        let next = self.next(index, message);
        if let Some(next) = next {
            parameters.push(format!("{} next", self.endpoint_type(next, side)));
            arguments.push(format!("message.as.{member}.next"));
        }
        parameters.push("void *context".to_owned());
        arguments.push("context".to_owned());
        let returned = match next {
            Some(_) => self.unit.own(OfUnit::Any(side, "any_t")),
            None => "void".to_owned(),
        };
        let start = format!("        {returned} (*{member})(");
        MessageView {
            comment: spelling::comment(&self.message_docs(index, message), "        "),
            constant: self.constant(index, message),
            member,
            callback: spelling::wrapped(&start, &parameters, ");"),
            arguments: arguments.join(", "),
            ends: next.is_none(),
        }
    }

    /// How a callback takes an entry, and what it is called with: a view of what is stored inline; the address of what can be taken
    /// out of the message; otherwise the value.
    fn event_entry(&self, index: usize, message: &str, entry: &Entry) -> (String, String) {
        let ty = self.entry_type(index, entry);
        let written = self.types.name(&ty, Some(self.id));
        let mut parameter = self.types.parameter(entry.name.text());
        if parameter == "context" {
            parameter.push('_');
        }
        let place = format!(
            "message.as.{message}.{}",
            spelling::entry(entry.name.text())
        );
        if let Some((view, show)) = inline::shown_as(self.types, &ty, Some(self.id)) {
            (format!("{view} {parameter}"), format!("{show}(&{place})"))
        } else if self.types.facts(&ty).moves {
            (format!("{written} *{parameter}"), format!("&{place}"))
        } else {
            (format!("{written} {parameter}"), place)
        }
    }
}
