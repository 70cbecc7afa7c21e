//! The functions of a header: what can be done in each state.

use super::names::{OfState, OfUnit, Own};
use super::plain::Plain;
use super::spelling;
use super::view::{UnitView, handle};
use crate::endpoint::Activity;
use crate::protocol::{Message, Side};
use askama::Template;

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

/// How a function that sends passes on the entries of its message.
pub struct Payload {
    /// The parameters, one for each entry.
    pub parameters: Vec<String>,
    /// The lines that combine them.
    pub body: Vec<String>,
    /// The expression for all of them.
    pub entries: String,
}

/// How long a function that sends waits for a free slot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    Forever,
    /// Up to a limit that the caller sets.
    Within,
    AtOnce,
}

impl Sending {
    /// The verb in the name of the function.
    pub fn verb(self) -> &'static str {
        match self {
            Sending::Forever => "send",
            Sending::Within => "send_within",
            Sending::AtOnce => "try_send",
        }
    }

    /// The argument that the runtime takes.
    fn wait(self) -> &'static str {
        match self {
            Sending::Forever => "DUO_FOREVER",
            Sending::Within => "nanoseconds",
            Sending::AtOnce => "DUO_AT_ONCE",
        }
    }
}

impl UnitView<'_> {
    pub fn init(&self) -> FunctionView {
        let endpoint = |side| format!("{} *{}", self.endpoint_type(0, side), Side::word(side));
        let direction = self.state(0).direction;
        let name = self.unit.own(OfUnit::Init);
        let start = format!("DUO_MUST_CHECK static inline duo_status {name}");
        let handles = [Side::Server, Side::Client]
            .map(|side| format!("{}->{}", side.word(), handle(direction, side)));
        let [server, client] = handles;
        let body = match direction {
            Some(_) => vec![
                spelling::head(
                    "    return duo_open",
                    &[
                        format!("&{}", self.unit.ours(Own::Protocol)),
                        format!("&{server}"),
                        format!("&{client}"),
                    ],
                ) + ";",
            ],
            None => vec![
                "    const duo_endpoint nothing = {NULL, 0};".to_owned(),
                format!("    {server} = {client} = nothing;"),
                "    return DUO_OK;".to_owned(),
            ],
        };
        FunctionView {
            comment: "/** Starts a session. */\n".to_owned(),
            head: spelling::head(&start, &[endpoint(Side::Server), endpoint(Side::Client)]),
            body,
        }
    }

    /// The same in the caller's memory.
    pub fn init_in(&self) -> FunctionView {
        let name = self.unit.own(OfUnit::InitIn);
        let direction = self.state(0).direction;
        let endpoint = |side| format!("{} *{}", self.endpoint_type(0, side), Side::word(side));
        let handle = |side: Side| format!("&{}->{}", side.word(), handle(direction, side));
        let start = format!("DUO_MUST_CHECK static inline duo_status {name}");
        let parameters = [
            format!("{} *memory", self.unit.own(OfUnit::Memory)),
            endpoint(Side::Server),
            endpoint(Side::Client),
        ];
        let arguments = [
            format!("&{}", self.unit.ours(Own::Protocol)),
            "memory".to_owned(),
            "sizeof *memory".to_owned(),
            handle(Side::Server),
            handle(Side::Client),
        ];
        FunctionView {
            comment:
                "/** Starts a session in the caller's memory. It must outlive all endpoints. */\n"
                    .to_owned(),
            head: spelling::head(&start, &parameters),
            body: vec![spelling::head("    return duo_open_in", &arguments) + ";"],
        }
    }

    pub fn functions(&self, index: usize, functions: &mut Vec<FunctionView>) {
        let state = self.state(index);
        for side in [Side::Client, Side::Server] {
            let activity = Activity::of(state.direction, side);
            match activity {
                Activity::Sends => {
                    for position in 0..state.messages.len() {
                        let mut send =
                            |sending| functions.push(self.send(index, position, side, sending));
                        send(Sending::Forever);
                        if self.leaves {
                            send(Sending::Within);
                        }
                        // Between processes a sender may have to wait in any state.
                        if self.leaves || self.may_wait[index] {
                            send(Sending::AtOnce);
                        }
                    }
                }
                Activity::Receives => {
                    functions.push(self.recv(index, side, "recv_within", "nanoseconds"));
                    functions.push(self.recv(index, side, "recv", "DUO_FOREVER"));
                    functions.push(self.recv(index, side, "try_recv", "DUO_AT_ONCE"));
                }
                Activity::Over => {}
            }
            if activity == Activity::Sends && self.can_be_shared(index) {
                self.shared_functions(index, side, functions);
            }
            functions.push(self.close(index, side));
            if self.unit.states[index].travels {
                functions.push(self.take(index, side));
            }
        }
        if state.direction.is_some() {
            functions.push(self.free(index));
        }
    }

    fn send(&self, index: usize, position: usize, side: Side, sending: Sending) -> FunctionView {
        let message = &self.state(index).messages[position];
        let payload = self.payload(index, message);
        let mut parameters = vec![format!("{} self", self.endpoint_type(index, side))];
        if sending == Sending::Within {
            parameters.push("uint64_t nanoseconds".to_owned());
        }
        parameters.extend(payload.parameters);
        let next = match self.next(index, message) {
            Some(next) => {
                parameters.push(format!("{} *next", self.endpoint_type(next, side)));
                format!("&next->{}", handle(self.state(next).direction, side))
            }
            None => "NULL".to_owned(),
        };
        let mut body = Vec::new();
        let mut function = "duo_send";
        let plain = match sending {
            Sending::Forever | Sending::AtOnce => self
                .plain(index, side, message)
                .filter(Plain::is_seen_sound),
            // The cost of a call does not matter to a caller that sets a time limit.
            Sending::Within => None,
        };
        if let Some(plain) = plain {
            function = "duo_send_apart";
            body.push("    duo_way way;".to_owned());
            self.send_in_lane((index, position), side, message, &next, &mut body);
            self.send_plainly(index, position, &plain, &next, &mut body);
            self.send_in_volley((index, position), side, message, &next, &mut body);
        }
        let arguments = [
            "self.sends".to_owned(),
            self.message_table(index, position),
            payload.entries,
            sending.wait().to_owned(),
            next,
        ];
        body.extend(payload.body);
        body.push(spelling::head(&format!("    return {function}"), &arguments) + ";");
        let sends = OfState::Send(side, sending.verb(), message);
        let name = self.unit.of_state(index, sends);
        let start = format!("DUO_MUST_CHECK static inline duo_status {name}");
        FunctionView {
            comment: spelling::comment(&message.docs, ""),
            head: spelling::head(&start, &parameters),
            body,
        }
    }

    /// The entries of a message, as a function that sends takes and combines them.
    pub fn payload(&self, index: usize, message: &Message) -> Payload {
        let mut payload = Payload {
            parameters: Vec::new(),
            body: Vec::new(),
            entries: "NULL".to_owned(),
        };
        let member = spelling::member(message.name.text());
        if !message.entries.is_empty() {
            payload
                .body
                .push(format!("    {} message;", self.received(index)));
            payload.entries = format!("&message.as.{member}");
        }
        for entry in &message.entries {
            let ty = self
                .types
                .name(&self.entry_type(index, entry), Some(self.id));
            let parameter = self.types.parameter(entry.name.text());
            payload.body.push(format!(
                "    message.as.{member}.{} = {parameter};",
                spelling::entry(entry.name.text())
            ));
            payload.parameters.push(format!("{ty} {parameter}"));
        }
        payload
    }

    /// A pointer to the runtime's description of a message.
    pub fn message_table(&self, index: usize, position: usize) -> String {
        format!(
            "&{}[{}]",
            self.unit.ours(Own::Messages),
            self.starts[index] + position
        )
    }

    fn recv(&self, index: usize, side: Side, verb: &'static str, wait: &str) -> FunctionView {
        let function = |verb| self.unit.of_state(index, OfState::Function(side, verb));
        let mut parameters = vec![format!("{} self", self.endpoint_type(index, side))];
        if verb == "recv_within" {
            parameters.push("uint64_t nanoseconds".to_owned());
        }
        parameters.push(format!("{} *message", self.received(index)));
        let mut body = Vec::new();
        let arguments = |message: &str| {
            let parts = ["self.receives", &self.table(index), wait, message];
            parts.map(str::to_owned)
        };
        let plain = match self.state(index).messages.as_slice() {
            [only] => self.plain(index, side, only),
            _ => None,
        };
        match plain {
            Some(_) if verb != "recv_within" => {
                let arguments = ["self", wait, "message"].map(str::to_owned);
                let start = format!("    return {}", function("recv_within"));
                body.push(spelling::head(&start, &arguments) + ";");
            }
            Some(plain) => {
                body.push("    duo_way way;".to_owned());
                self.recv_in_lane(index, side, &mut body);
                self.recv_plainly(index, wait, &plain, &mut body);
                self.recv_in_volley(index, side, wait, true, &mut body);
                self.recv_apart(index, &arguments("&arrived"), &mut body);
            }
            None => {
                let is_lane = self.has_lane(index);
                if is_lane || self.has_volley(index) {
                    body.push("    duo_way way;".to_owned());
                }
                self.recv_in_lane(index, side, &mut body);
                self.recv_in_volley(index, side, wait, false, &mut body);
                if is_lane {
                    self.recv_apart(index, &arguments("&arrived"), &mut body);
                } else {
                    body.push(spelling::head("    return duo_recv", &arguments("message")) + ";");
                }
            }
        }
        let start = format!("DUO_MUST_CHECK static inline duo_status {}", function(verb));
        FunctionView {
            comment: String::new(),
            head: spelling::head(&start, &parameters),
            body,
        }
    }

    /// Receives a message without passing on the caller's pointer, so that the caller's message can be kept in registers.
    fn recv_apart(&self, index: usize, arguments: &[String], body: &mut Vec<String>) {
        body.push(format!("    {} arrived;", self.received(index)));
        body.push(spelling::head("    duo_status status = duo_recv", arguments) + ";");
        let lines = [
            "    message->tag = arrived.tag;",
            "    message->block = arrived.block;",
            "    if (status == DUO_OK) message->as = arrived.as;",
            "    return status;",
        ];
        body.extend(lines.map(str::to_owned));
    }

    fn close(&self, index: usize, side: Side) -> FunctionView {
        let endpoint = self.endpoint_type(index, side);
        let handle = handle(self.state(index).direction, side);
        let close = OfState::Function(side, "close");
        let start = format!(
            "static inline duo_status {}",
            self.unit.of_state(index, close)
        );
        let activity = Activity::of(self.state(index).direction, side);
        let body = if activity == Activity::Over {
            vec![
                "    (void)self;".to_owned(),
                "    return DUO_OK;".to_owned(),
            ]
        } else {
            vec![
                spelling::head(
                    "    return duo_close",
                    &[format!("self.{handle}"), self.table(index)],
                ) + ";",
            ]
        };
        FunctionView {
            comment: String::new(),
            head: spelling::head(&start, &[format!("{endpoint} self")]),
            body,
        }
    }

    fn take(&self, index: usize, side: Side) -> FunctionView {
        let endpoint = self.endpoint_type(index, side);
        let handle = handle(self.state(index).direction, side);
        let take = self.unit.of_state(index, OfState::Function(side, "take"));
        let start = format!("static inline {endpoint} {take}");
        FunctionView {
            comment: String::new(),
            head: spelling::head(&start, &[format!("{endpoint} *place")]),
            body: vec![
                format!("    {endpoint} taken;"),
                format!("    taken.{handle} = duo_take(&place->{handle});"),
                "    return taken;".to_owned(),
            ],
        }
    }

    fn free(&self, index: usize) -> FunctionView {
        let name = self.unit.of_state(index, OfState::Free);
        FunctionView {
            comment: String::new(),
            head: spelling::head(
                &format!("static inline void {name}"),
                &[format!("{} *message", self.received(index))],
            ),
            body: vec![
                spelling::head("    duo_free", &[self.table(index), "message".to_owned()]) + ";",
            ],
        }
    }
}
