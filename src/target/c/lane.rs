//! Numbers that are sent between processes, which the header also writes to the region and reads from it without a call.

use super::spelling;
use super::view::{UnitView, handle};
use crate::endpoint::Edge;
use crate::protocol::{Builtin, Entry, Message, Side, Type};

impl UnitView<'_> {
    /// Whether a message is an 8-byte number that leads back to its state, in a protocol that can be used between processes.
    pub fn is_lane(&self, index: usize, message: &Message) -> bool {
        let [only] = message.entries.as_slice() else {
            return false;
        };
        let ty = self.entry_type(index, only);
        let is_number = matches!(
            self.types.underlying(&ty),
            Type::Builtin(Builtin::U64 | Builtin::I64 | Builtin::F64)
        );
        self.leaves && is_number && self.next(index, message) == Some(index)
    }

    /// Whether a state has such a message.
    pub fn has_lane(&self, index: usize) -> bool {
        let mut messages = self.state(index).messages.iter();
        messages.any(|message| self.is_lane(index, message))
    }

    fn lane(&self, handle: &str, side: Side, of: String) -> [String; 4] {
        let role = match side {
            Side::Client => "DUO_CLIENT",
            Side::Server => "DUO_SERVER",
        };
        let way = "&way".to_owned();
        [way, format!("self.{handle}"), role.to_owned(), of]
    }

    /// The messages of a state that the runtime may put into a lane.
    fn lanes(&self, index: usize) -> Vec<&Message> {
        let messages = self.state(index).messages.iter();
        messages
            .filter(|message| {
                self.next(index, message) == Some(index) && !message.entries.is_empty()
            })
            .collect()
    }

    /// The lines that send such a message if one like it was sent before; `way` is declared.
    pub fn send_in_lane(
        &self,
        (index, position): (usize, usize),
        side: Side,
        message: &Message,
        next: &str,
        body: &mut Vec<String>,
    ) {
        if !self.is_lane(index, message) {
            return;
        }
        let of = match self.lanes(index).as_slice() {
            [_] => "NULL".to_owned(),
            _ => self.message_table(index, position),
        };
        let arguments = self.lane("sends", side, of);
        body.push(spelling::head("    if (duo_lane_has", &arguments) + ")");
        let [way, from, role, _] = arguments;
        let parameter = self.types.parameter(message.entries[0].name.text());
        let arguments = [way, from, role, format!("&{parameter}"), next.to_owned()];
        body.push(spelling::head("        return duo_lane_send", &arguments) + ";");
    }

    /// The lines that receive such a message if it was seen after one like it; `way` is declared.
    pub fn recv_in_lane(&self, index: usize, side: Side, body: &mut Vec<String>) {
        if !self.has_lane(index) {
            return;
        }
        let arguments = self.lane("receives", side, "NULL".to_owned());
        body.push(spelling::head("    if (duo_lane_has", &arguments) + ") {");
        let [way, from, role, _] = arguments;
        if let [only] = self.lanes(index).as_slice() {
            let member = spelling::member(only.name.text());
            let value = spelling::entry(only.entries[0].name.text());
            let place = format!("message->as.{member}");
            body.extend([
                format!("        message->tag = {};", self.constant(index, only)),
                "        message->block = NULL;".to_owned(),
                spelling::head(
                    "        memcpy",
                    &[
                        format!("&{place}.{value}"),
                        format!("duo_lane_number({from})"),
                        format!("sizeof {place}.{value}"),
                    ],
                ) + ";",
                format!(
                    "        {place}.next.receives = {};",
                    spelling::head("duo_lane_taken", &[way, from, role])
                ),
            ]);
        } else {
            let offset = format!("offsetof({}, as)", self.received(index));
            let arguments = [way, from, role, "message".to_owned(), offset];
            body.push(spelling::head("        duo_lane_recv", &arguments) + ";");
        }
        body.push("        return DUO_OK;".to_owned());
        body.push("    }".to_owned());
    }

    /// Whether a message consists only of 8-byte numbers, at most as many as fit in a line, and turns the direction, in a
    /// protocol that can be used between processes.
    fn is_volley(&self, index: usize, message: &Message) -> bool {
        let is_number = |entry: &Entry| {
            let ty = self.entry_type(index, entry);
            matches!(
                self.types.underlying(&ty),
                Type::Builtin(Builtin::U64 | Builtin::I64 | Builtin::F64)
            )
        };
        self.leaves
            && message.entries.len() <= 7
            && self.edge(index, message) == Edge::Turn
            && message.entries.iter().all(is_number)
    }

    /// Whether a state has such a message.
    pub fn has_volley(&self, index: usize) -> bool {
        let mut messages = self.state(index).messages.iter();
        messages.any(|message| self.is_volley(index, message))
    }

    /// The lines that send such a message if it is the first of its run; `way` is declared.
    pub fn send_in_volley(
        &self,
        (index, position): (usize, usize),
        side: Side,
        message: &Message,
        next: &str,
        body: &mut Vec<String>,
    ) {
        if !self.is_volley(index, message) {
            return;
        }
        let [way, from, role, _] = self.lane("sends", side, String::new());
        let arguments = [way, from.clone(), role.clone()];
        body.push(spelling::head("    if (duo_may_volley", &arguments) + ") {");
        self.fill_place(index, message, body);
        let arguments = [from, role, position.to_string(), next.to_owned()];
        body.push(spelling::head("        return duo_volley_send", &arguments) + ";");
        body.push("    }".to_owned());
    }

    /// The lines that receive such a message if it is the first of its run; `way` is declared. `is_alone` means that the state
    /// has no other message.
    pub fn recv_in_volley(
        &self,
        index: usize,
        side: Side,
        wait: &str,
        is_alone: bool,
        body: &mut Vec<String>,
    ) {
        let messages = &self.state(index).messages;
        let volleys: Vec<&Message> = messages
            .iter()
            .filter(|message| self.is_volley(index, message))
            .take(MOST_VOLLEYS)
            .collect();
        if volleys.is_empty() {
            return;
        }
        let [way, from, role, _] = self.lane("receives", side, String::new());
        let arguments = [way, from.clone(), role.clone(), wait.to_owned()];
        body.push(spelling::head("    unsigned volley = duo_volley_tag", &arguments) + ";");
        for message in volleys {
            body.push(format!(
                "    if (volley == {}) {{",
                self.constant(index, message)
            ));
            self.take_from_place(index, message, body);
            let Some(next) = self.next(index, message) else {
                continue;
            };
            let member = spelling::member(message.name.text());
            let handle = handle(self.state(next).direction, side);
            let taken = spelling::head("duo_volley_taken", &[from.clone(), role.clone()]);
            let place = format!("message->as.{member}.next.{handle}");
            body.push(if is_alone {
                format!("        {place} = {taken};")
            } else {
                let arguments = [taken, format!("(char *)&{place}")];
                spelling::head("        duo_store_at_once", &arguments) + ";"
            });
            body.push("        return DUO_OK;".to_owned());
            body.push("    }".to_owned());
        }
    }
}

/// The header checks for at most this many messages of a state; the library finds the others.
const MOST_VOLLEYS: usize = 4;
