//! Messages of plain bytes that do not end the session. The header writes them to the ring and reads them from it, so the
//! compiler sees the whole operation.

use super::names::{OfState, OfType};
use super::spelling;
use super::types::{Types, is_bare};
use super::view::{UnitView, handle};
use crate::endpoint::Edge;
use crate::protocol::{Definition, Message, Side, Type, TypeId, Variant};

/// What the runtime needs to know about such a message.
pub struct Plain<'a> {
    message: &'a Message,
    /// The side that sends or receives it.
    role: &'static str,
    edge: &'static str,
    /// The memory layout of its sessions, if that is known.
    shape: String,
    /// Whether the state after it has messages that keep the direction.
    stays: bool,
    /// What the receiver does in the state after it.
    handle: &'static str,
    /// The conditions that its entries must meet before it is sent; `None` if they take more than a few comparisons.
    conditions: Option<Vec<String>>,
}

/// The header compares at most this many tags of a message; a message with more goes through the library.
const MOST_TAGS: usize = 4;

/// The conditions for a value at `place` that stores nothing outside of itself: its enums must have valid tags. `left` is how
/// many more tags may be compared.
fn tags(types: &Types, ty: &Type, place: &str, left: &mut usize) -> Option<Vec<String>> {
    let ty = types.underlying(ty);
    if !types.facts(ty).checks {
        return Some(Vec::new());
    }
    let mut all = Vec::new();
    match ty {
        Type::Option(item) => {
            let inner = tags(types, item, &format!("{place}.value"), left)?;
            all.push(format!("(!{place}.some || {})", together(&inner)));
        }
        Type::Tuple(items) => {
            for (position, item) in items.iter().enumerate() {
                all.extend(tags(types, item, &format!("{place}.v{position}"), left)?);
            }
        }
        Type::Named(id) => match &types.program.ty(*id).definition {
            Definition::Struct(fields) => {
                for field in fields {
                    let member = spelling::member(field.name.text());
                    all.extend(tags(types, &field.ty, &format!("{place}.{member}"), left)?);
                }
            }
            Definition::Enum(variants) => {
                *left = left.checked_sub(1)?;
                if is_bare(variants) {
                    all.push(format!("duo_is_tag({place}, {})", variants.len()));
                } else {
                    all.push(format!("duo_is_tag({place}.tag, {})", variants.len()));
                    for variant in variants {
                        all.extend(variant_tags(types, *id, variant, place, left)?);
                    }
                }
            }
            Definition::Alias(_) | Definition::Extern(..) | Definition::Undeclared => return None,
        },
        Type::Builtin(_) | Type::List(_) | Type::Parameter(_) | Type::Endpoint(_) => return None,
    }
    Some(all)
}

/// Conditions that must all hold, as one operand.
fn together(conditions: &[String]) -> String {
    match conditions {
        [only] => only.clone(),
        several => format!("({})", several.join(" && ")),
    }
}

/// The same for the values of one variant, if the enum at `place` has its tag.
fn variant_tags(
    types: &Types,
    id: TypeId,
    variant: &Variant,
    place: &str,
    left: &mut usize,
) -> Option<Option<String>> {
    let constant = types.of_type(id, OfType::Variant(variant.name.text()));
    let own = spelling::member(variant.name.text());
    let mut inner = Vec::new();
    for entry in &variant.entries {
        let member = spelling::member(entry.name.text());
        let place = format!("{place}.as.{own}.{member}");
        inner.extend(tags(types, &entry.ty, &place, left)?);
    }
    let is_any = inner.is_empty();
    Some((!is_any).then(|| format!("({place}.tag != {constant} || {})", together(&inner))))
}

impl Plain<'_> {
    /// Whether the header can check that the entries are valid values of their types.
    pub fn is_seen_sound(&self) -> bool {
        self.conditions.is_some()
    }
}

impl UnitView<'_> {
    /// The description of a message, if it is plain bytes and does not end the session.
    pub fn plain<'a>(&self, index: usize, side: Side, message: &'a Message) -> Option<Plain<'a>> {
        let mut entries = message.entries.iter();
        let is_plain =
            entries.all(|entry| self.types.facts(&self.entry_type(index, entry)).is_plain());
        let edge = self.edge(index, message);
        let next = self.next(index, message)?;
        let mut left = MOST_TAGS;
        let conditions = message.entries.iter().map(|entry| {
            let ty = self.entry_type(index, entry);
            let parameter = self.types.parameter(entry.name.text());
            tags(self.types, &ty, &parameter, &mut left)
        });
        let conditions: Option<Vec<Vec<String>>> = conditions.collect();
        (is_plain && edge != Edge::End).then(|| Plain {
            message,
            role: match side {
                Side::Client => "DUO_CLIENT",
                Side::Server => "DUO_SERVER",
            },
            edge: self.edge_name(index, message),
            shape: if self.begun[index] {
                self.shape_table()
            } else {
                "NULL".to_owned()
            },
            stays: self.stays(next),
            handle: handle(self.state(next).direction, side),
            conditions: conditions.map(|all| all.concat()),
        })
    }

    /// The lines that send it if that does not need the library; `way` is declared. A message that must not be sent is left to
    /// the library, which reports the reason.
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
        let mut start = "    if (duo_may_send";
        for (position, condition) in plain.conditions.iter().flatten().enumerate() {
            let opening = if position == 0 { "if (" } else { "    " };
            body.push(format!("    {opening}{condition} &&"));
            start = "        duo_may_send";
        }
        body.push(spelling::head(start, &arguments) + ") {");
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

    /// The lines that copy the parameters of a message to its slot.
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

    /// The lines that record which message arrived, and copy its entries from the slot.
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

    /// The lines that receive it if that does not need the library; `way` is declared.
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
