//! What can be done in a state: the functions of a header.

use super::plain::Plain;
use super::spelling;
use super::view::{UnitView, handle};
use crate::protocol::{Message, Side};
use askama::Template;

#[derive(Template)]
#[template(path = "c/functions.h.jinja")]
pub struct FunctionsView {
    pub functions: Vec<FunctionView>,
}

/// A function that is written in a header.
pub struct FunctionView {
    pub comment: String,
    pub head: String,
    pub body: Vec<String>,
}

/// What a function that sends does with the entries of its message.
pub struct Payload {
    /// The parameters that they are.
    pub parameters: Vec<String>,
    /// The lines that put them together.
    pub body: Vec<String>,
    /// The expression for all of them.
    pub entries: String,
}

impl UnitView<'_> {
    pub fn init(&self) -> FunctionView {
        let endpoint = |side| format!("{}_t *{}", self.endpoint_name(0, side), Side::word(side));
        let direction = self.state(0).direction;
        let start = format!(
            "DUO_MUST_CHECK static inline duo_status {}_init",
            self.unit.prefix
        );
        let handles = [Side::Server, Side::Client]
            .map(|side| format!("{}->{}", side.word(), handle(direction, side)));
        let [server, client] = handles;
        let body = match direction {
            Some(_) => vec![
                spelling::head(
                    "    return duo_open",
                    &[
                        format!("&duo_{}_protocol", self.unit.prefix),
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

    /// The same in memory of the caller's.
    pub fn init_in(&self) -> FunctionView {
        let prefix = &self.unit.prefix;
        let direction = self.state(0).direction;
        let endpoint = |side| format!("{}_t *{}", self.endpoint_name(0, side), Side::word(side));
        let handle = |side: Side| format!("&{}->{}", side.word(), handle(direction, side));
        let start = format!("DUO_MUST_CHECK static inline duo_status {prefix}_init_in");
        let parameters = [
            format!("{prefix}_session_memory_t *memory"),
            endpoint(Side::Server),
            endpoint(Side::Client),
        ];
        let arguments = [
            format!("&duo_{prefix}_protocol"),
            "memory".to_owned(),
            "sizeof *memory".to_owned(),
            handle(Side::Server),
            handle(Side::Client),
        ];
        FunctionView {
            comment:
                "/** Starts a session in memory of the caller's, which outlives all endpoints. */\n"
                    .to_owned(),
            head: spelling::head(&start, &parameters),
            body: vec![spelling::head("    return duo_open_in", &arguments) + ";"],
        }
    }

    pub fn functions(&self, index: usize, functions: &mut Vec<FunctionView>) {
        let state = self.state(index);
        for side in [Side::Client, Side::Server] {
            match handle(state.direction, side) {
                "sends" => {
                    for position in 0..state.messages.len() {
                        functions.push(self.send(index, position, side, "send", "DUO_FOREVER"));
                        if self.may_wait[index] {
                            functions.push(self.send(
                                index,
                                position,
                                side,
                                "try_send",
                                "DUO_AT_ONCE",
                            ));
                        }
                    }
                }
                "receives" => {
                    functions.push(self.recv(index, side, "recv_within", "nanoseconds"));
                    functions.push(self.recv(index, side, "recv", "DUO_FOREVER"));
                    functions.push(self.recv(index, side, "try_recv", "DUO_AT_ONCE"));
                }
                _ => {}
            }
            if handle(state.direction, side) == "sends" && self.can_be_shared(index) {
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

    fn send(
        &self,
        index: usize,
        position: usize,
        side: Side,
        verb: &str,
        wait: &str,
    ) -> FunctionView {
        let message = &self.state(index).messages[position];
        let endpoint = self.endpoint_name(index, side);
        let payload = self.payload(index, message);
        let mut parameters = vec![format!("{endpoint}_t self")];
        parameters.extend(payload.parameters);
        let next = match self.next(index, message) {
            Some(next) => {
                parameters.push(format!("{}_t *next", self.endpoint_name(next, side)));
                format!("&next->{}", handle(self.state(next).direction, side))
            }
            None => "NULL".to_owned(),
        };
        let mut body = Vec::new();
        let mut function = "duo_send";
        let plain = self.plain(index, side, message);
        if let Some(plain) = plain.filter(Plain::is_seen_sound) {
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
            wait.to_owned(),
            next,
        ];
        body.extend(payload.body);
        body.push(spelling::head(&format!("    return {function}"), &arguments) + ";");
        let name = spelling::word(message.name.text());
        let start = format!("DUO_MUST_CHECK static inline duo_status {endpoint}_{verb}_{name}");
        FunctionView {
            comment: spelling::comment(&message.docs, ""),
            head: spelling::head(&start, &parameters),
            body,
        }
    }

    /// The entries of a message, as a function that sends takes them and puts them together.
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
                .push(format!("    {}_t message;", self.name(index)));
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

    /// What the runtime knows about a message.
    pub fn message_table(&self, index: usize, position: usize) -> String {
        format!(
            "&duo_{}_messages[{}]",
            self.unit.prefix,
            self.starts[index] + position
        )
    }

    fn recv(&self, index: usize, side: Side, verb: &str, wait: &str) -> FunctionView {
        let endpoint = self.endpoint_name(index, side);
        let mut parameters = vec![format!("{endpoint}_t self")];
        if verb == "recv_within" {
            parameters.push("uint64_t nanoseconds".to_owned());
        }
        parameters.push(format!("{}_t *message", self.name(index)));
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
                let start = format!("    return {endpoint}_recv_within");
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
        let start = format!("DUO_MUST_CHECK static inline duo_status {endpoint}_{verb}");
        FunctionView {
            comment: String::new(),
            head: spelling::head(&start, &parameters),
            body,
        }
    }

    /// Receives a message in a way by which the caller's address goes nowhere, so that what it has can be in registers.
    fn recv_apart(&self, index: usize, arguments: &[String], body: &mut Vec<String>) {
        body.push(format!("    {}_t arrived;", self.name(index)));
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
        let endpoint = self.endpoint_name(index, side);
        let handle = handle(self.state(index).direction, side);
        let start = format!("static inline duo_status {endpoint}_close");
        let body = if handle == "over" {
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
            head: spelling::head(&start, &[format!("{endpoint}_t self")]),
            body,
        }
    }

    fn take(&self, index: usize, side: Side) -> FunctionView {
        let endpoint = self.endpoint_name(index, side);
        let handle = handle(self.state(index).direction, side);
        let start = format!("static inline {endpoint}_t {endpoint}_take");
        FunctionView {
            comment: String::new(),
            head: spelling::head(&start, &[format!("{endpoint}_t *place")]),
            body: vec![
                format!("    {endpoint}_t taken;"),
                format!("    taken.{handle} = duo_take(&place->{handle});"),
                "    return taken;".to_owned(),
            ],
        }
    }

    fn free(&self, index: usize) -> FunctionView {
        let name = self.name(index);
        FunctionView {
            comment: String::new(),
            head: spelling::head(
                &format!("static inline void {name}_free"),
                &[format!("{name}_t *message")],
            ),
            body: vec![
                spelling::head("    duo_free", &[self.table(index), "message".to_owned()]) + ";",
            ],
        }
    }
}
