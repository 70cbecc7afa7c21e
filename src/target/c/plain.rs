//! Messages of plain bytes that are not the last: they are written to the ring, and read from it, in the header, so that the compiler
//! knows all about them.

use super::names::OfState;
use super::spelling;
use super::view::{UnitView, handle};
use crate::protocol::{Message, Side};

/// What the runtime is told of such a message.
pub struct Plain<'a> {
    message: &'a Message,
    /// Who sends or receives it.
    role: &'static str,
    edge: &'static str,
    /// How its sessions lie in memory, if that is known.
    shape: String,
    /// Whether the state behind it has messages that keep the direction.
    stays: bool,
    /// What the receiver does in the state behind it.
    handle: &'static str,
}

impl UnitView<'_> {
    /// What there is to know of a message, if it is plain bytes and not the last.
    pub fn plain<'a>(&self, index: usize, side: Side, message: &'a Message) -> Option<Plain<'a>> {
        let mut entries = message.entries.iter();
        let is_plain =
            entries.all(|entry| self.types.facts(&self.entry_type(index, entry)).is_plain());
        let edge = self.edge(index, message);
        let next = self.next(index, message)?;
        (is_plain && edge != "DUO_END").then(|| Plain {
            message,
            role: match side {
                Side::Client => "DUO_CLIENT",
                Side::Server => "DUO_SERVER",
            },
            edge,
            shape: if self.begun[index] {
                self.shape_table()
            } else {
                "NULL".to_owned()
            },
            stays: self.stays(next),
            handle: handle(self.state(next).direction, side),
        })
    }

    /// The lines that send it if that needs no help; `way` is declared.
    pub fn send_plainly(
        &self,
        index: usize,
        position: usize,
        plain: &Plain,
        next: &str,
        body: &mut Vec<String>,
    ) {
        let words = |parts: &[&str]| {
            parts
                .iter()
                .map(|part| (*part).to_owned())
                .collect::<Vec<_>>()
        };
        let arguments = words(&["&way", "self.sends", plain.role, &plain.shape, plain.edge]);
        body.push(spelling::head("    if (duo_may_send", &arguments) + ") {");
        self.fill_place(index, plain.message, body);
        let arguments = words(&[
            "&way",
            "self.sends",
            plain.role,
            plain.edge,
            &position.to_string(),
            &(!self.stays(index)).to_string(),
            &plain.stays.to_string(),
            next,
        ]);
        body.push(spelling::head("        return duo_publish", &arguments) + ";");
        body.push("    }".to_owned());
    }

    /// The lines that copy the parameters of a message to its place.
    pub fn fill_place(&self, index: usize, message: &Message, body: &mut Vec<String>) {
        let name = self.received(index);
        let member = spelling::member(message.name.text());
        for entry in &message.entries {
            let parameter = self.types.parameter(entry.name.text());
            let entry = spelling::entry(entry.name.text());
            let arguments = [
                format!("way.place + DUO_ENTRY({name}, {member}, {entry})"),
                format!("&{parameter}"),
                format!("sizeof {parameter}"),
            ];
            body.push(spelling::head("        memcpy", &arguments) + ";");
        }
    }

    /// The enumerator of a message.
    pub fn constant(&self, index: usize, message: &Message) -> String {
        self.unit.of_state(index, OfState::Constant(message))
    }

    /// The lines that say which message came, and copy its entries from their place.
    pub fn take_from_place(&self, index: usize, message: &Message, body: &mut Vec<String>) {
        let name = self.received(index);
        body.push(format!(
            "        message->tag = {};",
            self.constant(index, message)
        ));
        body.push("        message->block = NULL;".to_owned());
        let member = spelling::member(message.name.text());
        for entry in &message.entries {
            let entry = spelling::entry(entry.name.text());
            let arguments = [
                format!("&message->as.{member}.{entry}"),
                format!("way.place + DUO_ENTRY({name}, {member}, {entry})"),
                format!("sizeof message->as.{member}.{entry}"),
            ];
            body.push(spelling::head("        memcpy", &arguments) + ";");
        }
    }

    /// The lines that receive it if that needs no help; `way` is declared.
    pub fn recv_plainly(&self, index: usize, wait: &str, plain: &Plain, body: &mut Vec<String>) {
        let words = |parts: &[&str]| {
            parts
                .iter()
                .map(|part| (*part).to_owned())
                .collect::<Vec<_>>()
        };
        let arguments = words(&[
            "&way",
            "self.receives",
            plain.role,
            &plain.shape,
            plain.edge,
            wait,
        ]);
        body.push(spelling::head("    if (duo_may_recv", &arguments) + ") {");
        self.take_from_place(index, plain.message, body);
        let member = spelling::member(plain.message.name.text());
        let place = format!(
            "        message->as.{member}.next.{} = duo_taken",
            plain.handle
        );
        let arguments = words(&[
            "&way",
            "self.receives",
            plain.edge,
            &plain.stays.to_string(),
        ]);
        body.push(spelling::head(&place, &arguments) + ";");
        body.push("        return DUO_OK;".to_owned());
        body.push("    }".to_owned());
    }
}
