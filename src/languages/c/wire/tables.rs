//! The tables by which the runtime encodes payloads.

use crate::endpoint::Edge;
use crate::languages::c::names::Own;
use crate::languages::c::spelling;
use crate::languages::c::types::ctype::{Bytes, CType};
use crate::languages::c::types::is_bare;
use crate::languages::c::view::UnitView;
use crate::protocol::{Builtin, Definition, Lengths, Message, Type, TypeId};
use crate::wire::{BuiltinEncoding, Encoding, Sizes};
use std::collections::BTreeMap;
use std::fmt::Write;

/// For a type that is not an enum: no variants, and a tag of zero bytes.
const NO_TAG: (usize, &str) = (0, "0");

/// The tables under construction: an entry of `wires` for each type that is sent.
pub struct Wires<'a> {
    view: &'a UnitView<'a>,
    /// The index in `wires` of each type, by its name in C and its bounds.
    places: BTreeMap<String, usize>,
    /// Types that have an index but no row yet.
    later: Vec<(usize, Type, Lengths)>,
    pub rows: Vec<String>,
    pub parts: String,
    pub part_count: usize,
    sizes: &'a Sizes,
}

impl<'a> Wires<'a> {
    /// Empty tables.
    pub fn of(view: &'a UnitView<'a>, sizes: &'a Sizes) -> Wires<'a> {
        Wires {
            view,
            places: BTreeMap::new(),
            later: Vec::new(),
            rows: Vec::new(),
            parts: String::new(),
            part_count: 0,
            sizes,
        }
    }

    /// The row of a message: its entries, whether they have the same layout in memory and on the wire, how much may follow in the
    /// same line, and the minimum and maximum size of its payload.
    pub fn message(&mut self, index: usize, message: &Message, encoding: Encoding) -> [String; 5] {
        let next = self.view.next(index, message);
        let next = next.filter(|_| self.view.edge(index, message) == Edge::Stay);
        let follow = next.map_or(0, |next| self.cells(next));
        if message.entries.is_empty() {
            let [none, zero] = ["NULL", "0"].map(str::to_owned);
            return [none, zero.clone(), follow.to_string(), zero.clone(), zero];
        }
        let name = self.view.received(index);
        let member = spelling::member(message.name.text());
        let mut parts = Vec::new();
        let mut end = String::new();
        for entry in &message.entries {
            // An alias is kept: it may have bounds.
            let ty = entry.ty.substitute(&self.view.unit.states[index].arguments);
            let size = self.sizes.of_type(&ty);
            let offset = format!(
                "DUO_ENTRY({name}, {member}, {})",
                spelling::entry(entry.name.text())
            );
            end = format!("{offset} + {}", size.least);
            parts.push((self.place(&ty, &entry.lengths), offset, 0));
        }
        let first = self.add_parts(&parts);
        let least = encoding.size.least;
        let row = self.row("DUO_WIRE_STRUCT", "0", least, &first, parts.len(), NO_TAG);
        self.rows.push(row);
        // Bounds limit a payload as `at_most` does: a receiver refuses what is larger before it has arrived.
        let limit = encoding.limit.filter(|most| is_checked(*most));
        if let Some(most) = limit {
            let whole = self.add_parts(&[(self.rows.len() - 1, "0".to_owned(), 0)]);
            let row = self.row("DUO_WIRE_LIMIT", "0", least, &whole, most as usize, NO_TAG);
            self.rows.push(row);
        }
        let place = format!(
            "&{}[{}]",
            self.view.unit.ours(Own::Wires),
            self.rows.len() - 1
        );
        // Numbers that are copied as they are would not be checked against their limit.
        let flat = match encoding.is_numbers && limit.is_none() {
            true => format!("DUO_WIRE_FLAT({end}, {least})"),
            false => "0".to_owned(),
        };
        let most = match encoding.size.most {
            Some(most) => most.to_string(),
            None => "DUO_WIRE_UNBOUNDED".to_owned(),
        };
        [place, flat, follow.to_string(), least.to_string(), most]
    }

    /// How many cells of a line the largest message of a state takes.
    fn cells(&self, index: usize) -> u64 {
        let arguments = &self.view.unit.states[index].arguments;
        let encodings = self.sizes.messages(self.view.state(index), arguments);
        let cells = encodings.map(|encoding| encoding.size.cells());
        cells.max().unwrap_or(0)
    }

    fn row(
        &self,
        kind: &str,
        size: &str,
        least: u64,
        parts: &str,
        count: usize,
        (variants, tag_size): (usize, &str),
    ) -> String {
        let cells = [
            kind.to_owned(),
            size.to_owned(),
            least.to_string(),
            parts.to_owned(),
            count.to_string(),
            variants.to_string(),
            tag_size.to_owned(),
        ];
        spelling::wrapped("    {", &cells, "},\n")
    }

    /// The index of a type in `wires`.
    fn place(&mut self, ty: &Type, lengths: &Lengths) -> usize {
        let types = self.view.types;
        let (ty, lengths) = match self.sizes.is_bounded(ty, lengths) {
            true => types.program.unaliased(ty, lengths),
            false => (types.without_aliases(ty), Lengths::NONE),
        };
        let stored = types.stored(ty, lengths);
        let name = types.name(&stored, Some(self.view.id)) + &self.bounds(ty, lengths);
        if let Some(place) = self.places.get(&name) {
            return *place;
        }
        let place = self.rows.len();
        // Its row is written later; this reserves the index.
        self.rows.push(String::new());
        self.places.insert(name, place);
        self.later.push((place, ty.clone(), lengths.clone()));
        place
    }

    pub fn finish(&mut self) {
        while let Some((place, ty, lengths)) = self.later.pop() {
            self.rows[place] = self.described(&ty, &lengths);
        }
    }

    /// The bounds of a type as a text, which distinguishes it from the same type with other bounds. Aliases with bounds, of which a
    /// checked program has few, are replaced.
    fn bounds(&self, ty: &Type, lengths: &Lengths) -> String {
        if !self.sizes.is_bounded(ty, lengths) {
            return String::new();
        }
        let (ty, lengths) = self.view.types.program.unaliased(ty, lengths);
        let most = lengths.most.map(|limit| limit.most);
        let items = match ty {
            Type::List(item) | Type::Option(item) => std::slice::from_ref(&**item),
            Type::Tuple(items) => items,
            Type::Builtin(_)
            | Type::Named(_)
            | Type::Parameter(_)
            | Type::Endpoint(_)
            | Type::Error => &[],
        };
        let items = items.iter().enumerate();
        let items = items.map(|(at, item)| self.bounds(item, lengths.part(at)));
        format!(" {most:?}({})", items.collect::<Vec<_>>().join(","))
    }

    /// Adds parts, each with the index of its type, its offset and its variant. Returns a pointer to the first.
    fn add_parts(&mut self, parts: &[(usize, String, usize)]) -> String {
        if parts.is_empty() {
            return "NULL".to_owned();
        }
        let [wires, own] = [Own::Wires, Own::Parts].map(|what| self.view.unit.ours(what));
        let first = format!("&{own}[{}]", self.part_count);
        for (place, offset, variant) in parts {
            let wire = format!("&{wires}[{place}]");
            let cells = [wire, offset.clone(), variant.to_string()];
            let row = spelling::wrapped("    {", &cells, "},\n");
            self.parts
                .write_str(&row)
                .expect("string writes cannot fail");
        }
        self.part_count += parts.len();
        first
    }

    fn described(&mut self, ty: &Type, lengths: &Lengths) -> String {
        let types = self.view.types;
        let stored = types.stored(ty, lengths);
        let name = types.name(&stored, Some(self.view.id));
        let size = format!("sizeof({name})");
        let least = self.sizes.of_type(ty).least;
        if let CType::Inline(..) | CType::Array(..) = stored {
            return self.inline(ty, lengths, &stored, &name, least);
        }
        let most = lengths.most.map(|limit| limit.most);
        if let Some(most) = most.filter(|most| is_checked(*most)) {
            let whole = Lengths {
                most: None,
                parts: lengths.parts.clone(),
            };
            let parts = [(self.place(ty, &whole), "0".to_owned(), 0)];
            let parts = self.add_parts(&parts);
            return self.row(
                "DUO_WIRE_LENGTH",
                &size,
                least,
                &parts,
                most as usize,
                NO_TAG,
            );
        }
        match ty {
            Type::Builtin(builtin) => self.row(kind(*builtin), &size, least, "NULL", 0, NO_TAG),
            Type::List(item) => {
                if self.is_byte(item) {
                    return self.row("DUO_WIRE_BYTES", &size, least, "NULL", 0, NO_TAG);
                }
                let parts = [(self.place(item, lengths.part(0)), "0".to_owned(), 0)];
                let parts = self.add_parts(&parts);
                self.row("DUO_WIRE_LIST", &size, least, &parts, 1, NO_TAG)
            }
            Type::Option(item) => {
                let item = self.place(item, lengths.part(0));
                let parts = [(item, format!("offsetof({name}, value)"), 0)];
                let parts = self.add_parts(&parts);
                self.row("DUO_WIRE_OPTION", &size, least, &parts, 1, NO_TAG)
            }
            Type::Tuple(items) => {
                let mut parts = Vec::new();
                for (position, item) in items.iter().enumerate() {
                    let offset = format!("offsetof({name}, v{position})");
                    parts.push((self.place(item, lengths.part(position)), offset, 0));
                }
                let first = self.add_parts(&parts);
                self.row("DUO_WIRE_STRUCT", &size, least, &first, parts.len(), NO_TAG)
            }
            Type::Named(id) => self.declared(*id, &name, &size, least),
            Type::Parameter(_) | Type::Endpoint(_) | Type::Error => {
                unreachable!("an obstacle was found before")
            }
        }
    }

    /// Whether a list of such items is encoded like bytes.
    fn is_byte(&self, item: &Type) -> bool {
        let item = self.view.types.without_aliases(item);
        matches!(item, Type::Builtin(Builtin::U8 | Builtin::I8))
    }

    /// A value that is stored inline: its bound is in its own row.
    fn inline(
        &mut self,
        ty: &Type,
        lengths: &Lengths,
        stored: &CType,
        name: &str,
        least: u64,
    ) -> String {
        let size = format!("sizeof({name})");
        let (kind, parts, most) = match (ty, stored) {
            (_, CType::Inline(Bytes::Text, most)) => ("DUO_WIRE_INLINE_TEXT", Vec::new(), *most),
            (_, CType::Inline(Bytes::Any, most)) => ("DUO_WIRE_INLINE_BYTES", Vec::new(), *most),
            (Type::List(item), CType::Array(_, most)) if !self.is_byte(item) => {
                let item = self.place(item, lengths.part(0));
                let part = (item, format!("offsetof({name}, data)"), 0);
                ("DUO_WIRE_INLINE_LIST", vec![part], *most)
            }
            (_, CType::Array(_, most)) => ("DUO_WIRE_INLINE_BYTES", Vec::new(), *most),
            _ => unreachable!("it is stored inline"),
        };
        let parts = self.add_parts(&parts);
        self.row(kind, &size, least, &parts, usize::from(most), NO_TAG)
    }

    fn declared(&mut self, id: TypeId, name: &str, size: &str, least: u64) -> String {
        let mut parts = Vec::new();
        let mut kind = "DUO_WIRE_STRUCT";
        let mut tag = (0, "0".to_owned());
        match &self.view.types.program.ty(id).definition {
            Definition::Struct(fields) => {
                for field in fields {
                    let member = spelling::member(field.name.text());
                    let offset = format!("offsetof({name}, {member})");
                    parts.push((self.place(&field.ty, &field.lengths), offset, 0));
                }
            }
            Definition::Enum(variants) => {
                kind = "DUO_WIRE_ENUM";
                let own = if is_bare(variants) {
                    size.to_owned()
                } else {
                    format!("DUO_TAG_SIZE({name})")
                };
                tag = (variants.len(), own);
                for (position, variant) in variants.iter().enumerate() {
                    let word = spelling::member(variant.name.text());
                    for entry in &variant.entries {
                        let member = spelling::member(entry.name.text());
                        let offset = format!("offsetof({name}, as.{word}.{member})");
                        let place = self.place(&entry.ty, &entry.lengths);
                        parts.push((place, offset, position + 1));
                    }
                }
            }
            Definition::Alias(_) | Definition::Extern(..) | Definition::Undeclared => {
                unreachable!("an obstacle was found before")
            }
        }
        let first = self.add_parts(&parts);
        self.row(kind, size, least, &first, parts.len(), (tag.0, &tag.1))
    }
}

/// Whether a limit is in the tables. No payload is larger than 4 GiB, so a larger limit needs no check.
fn is_checked(most: u64) -> bool {
    u32::try_from(most).is_ok()
}

/// The runtime's name for the encoding of a built-in type.
fn kind(builtin: Builtin) -> &'static str {
    match BuiltinEncoding::of(builtin) {
        BuiltinEncoding::Bool => "DUO_WIRE_BOOL",
        BuiltinEncoding::Number => "DUO_WIRE_NUMBER",
        BuiltinEncoding::Text => "DUO_WIRE_TEXT",
        BuiltinEncoding::Bytes => "DUO_WIRE_BYTES",
    }
}
