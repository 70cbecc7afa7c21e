//! Numbers that follow one another to and from another process, which go through the region in the header too.

use super::spelling;
use super::view::UnitView;
use crate::protocol::{Builtin, Message, Side, Type};

impl UnitView<'_> {
    /// Whether a message is a number of 8 bytes that leads back to its state, in a protocol that may leave its process.
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

    fn lane(&self, handle: &str, side: Side, of: String) -> [String; 3] {
        let role = match side {
            Side::Client => "DUO_CLIENT",
            Side::Server => "DUO_SERVER",
        };
        [format!("self.{handle}"), role.to_owned(), of]
    }

    /// The lines that send such a message if one like it went before.
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
        // The runtime may put any of these into a lane.
        let messages = self.state(index).messages.iter();
        let lanes = messages.filter(|message| {
            self.next(index, message) == Some(index) && !message.entries.is_empty()
        });
        let of = match lanes.count() {
            1 => "NULL".to_owned(),
            _ => self.message_table(index, position),
        };
        let arguments = self.lane("sends", side, of);
        body.push(spelling::head("    if (duo_lane_has", &arguments) + ")");
        let [from, role, _] = arguments;
        let parameter = self.types.parameter(message.entries[0].name.text());
        let arguments = [from, role, format!("&{parameter}"), next.to_owned()];
        body.push(spelling::head("        return duo_lane_send", &arguments) + ";");
    }

    /// The lines that receive such a message if it was seen behind one like it.
    pub fn recv_in_lane(&self, index: usize, side: Side, body: &mut Vec<String>) {
        let mut messages = self.state(index).messages.iter();
        if !messages.any(|message| self.is_lane(index, message)) {
            return;
        }
        let arguments = self.lane("receives", side, "NULL".to_owned());
        body.push(spelling::head("    if (duo_lane_has", &arguments) + ") {");
        let [from, role, _] = arguments;
        let offset = format!("offsetof({}_t, as)", self.name(index));
        let arguments = [from, role, "message".to_owned(), offset];
        body.push(spelling::head("        duo_lane_recv", &arguments) + ";");
        body.push("        return DUO_OK;".to_owned());
        body.push("    }".to_owned());
    }
}
