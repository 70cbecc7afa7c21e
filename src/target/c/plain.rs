//! Messages of plain bytes that are not the last: they are written to the ring, and read from it, in the header, so that the compiler
//! knows all about them.

use super::spelling;
use super::types::{Types, is_bare};
use super::view::{UnitView, handle};
use crate::protocol::{Definition, Message, Side, Type, Variant};

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
    /// What must hold of its entries before it is sent; `None` if that is more than a few comparisons.
    conditions: Option<Vec<String>>,
}

/// So many tags of a message are compared in the header; where there are more it goes through the library.
const MOST_TAGS: usize = 4;

/// What must hold of a value at `place` of which no part lives elsewhere: that its enums have tags that there are. `left` is how many
/// more may be compared.
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
                    let word = types.declared_word(*id);
                    for variant in variants {
                        all.extend(variant_tags(types, &word, variant, place, left)?);
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

/// The same of the values of one variant, if the enum at `place` has its tag.
fn variant_tags(
    types: &Types,
    word: &str,
    variant: &Variant,
    place: &str,
    left: &mut usize,
) -> Option<Option<String>> {
    let constant = spelling::variant(word, variant.name.text());
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
    /// Whether the header can see that the entries are values of their types.
    pub fn is_seen_sound(&self) -> bool {
        self.conditions.is_some()
    }
}

impl UnitView<'_> {
    /// What there is to know of a message, if it is plain bytes and not the last.
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
        (is_plain && edge != "DUO_END").then(|| Plain {
            message,
            role: match side {
                Side::Client => "DUO_CLIENT",
                Side::Server => "DUO_SERVER",
            },
            edge,
            shape: if self.begun[index] {
                format!("&duo_{}_shape", self.unit.prefix)
            } else {
                "NULL".to_owned()
            },
            stays: self.stays(next),
            handle: handle(self.state(next).direction, side),
            conditions: conditions.map(|all| all.concat()),
        })
    }

    /// The lines that send it if that needs no help; `way` is declared. What is not to be sent is left to the library, which says why.
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

    /// The lines that copy the parameters of a message to its place.
    pub fn fill_place(&self, index: usize, message: &Message, body: &mut Vec<String>) {
        let name = self.name(index);
        let member = spelling::member(message.name.text());
        for entry in &message.entries {
            let parameter = self.types.parameter(entry.name.text());
            let entry = spelling::entry(entry.name.text());
            let arguments = [
                format!("way.place + DUO_ENTRY({name}_t, {member}, {entry})"),
                format!("&{parameter}"),
                format!("sizeof {parameter}"),
            ];
            body.push(spelling::head("        memcpy", &arguments) + ";");
        }
    }

    /// The enumerator of a message.
    pub fn constant(&self, index: usize, message: &Message) -> String {
        format!(
            "{}_{}",
            self.name(index).to_ascii_uppercase(),
            spelling::loud(message.name.text())
        )
    }

    /// The lines that say which message came, and copy its entries from their place.
    pub fn take_from_place(&self, index: usize, message: &Message, body: &mut Vec<String>) {
        let name = self.name(index);
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
                format!("way.place + DUO_ENTRY({name}_t, {member}, {entry})"),
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
