//! What a protocol needs between processes: how its payloads are encoded, its fingerprint, and the functions that attach a side.

use super::functions::{FunctionView, FunctionsView};
use super::spelling;
use super::tables::{SourceFootView, SourceView};
use super::units::Kind;
use super::view::{FootView, UnitView, handle, render};
use crate::fingerprint::Fingerprint;
use crate::protocol::{Builtin, Definition, Direction, Message, Side, Type, TypeId};
use crate::relation::{Obstacle, View, canonical};
use askama::Template;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

#[derive(Template)]
#[template(path = "c/shm.h.jinja")]
struct HeadView {
    source: String,
    guard: String,
    header: String,
    prefix: String,
    fingerprint_name: String,
    fingerprint: String,
}

/// How many bytes of payload a line of the region has.
const LINE: u64 = 56;

/// A second header and source of a protocol.
pub struct WireView<'a> {
    view: &'a UnitView<'a>,
    fingerprint: Fingerprint,
    first: Side,
}

/// The tables in the making: an entry of `wires` for each type that travels.
struct Wires<'a> {
    view: &'a UnitView<'a>,
    /// For each type, by its name in C, its place in `wires`.
    places: BTreeMap<String, usize>,
    /// Types that have a place and no row yet.
    later: Vec<(usize, Type)>,
    rows: Vec<String>,
    parts: String,
    part_count: usize,
    sizes: Sizes<'a>,
}

/// The least and the most bytes that values take on the wire; the most is `None` if there is no bound.
#[derive(Clone, Copy)]
struct Size {
    least: u64,
    most: Option<u64>,
}

/// Sizes of declared types, each worked out once.
struct Sizes<'a> {
    view: &'a UnitView<'a>,
    known: BTreeMap<TypeId, Size>,
}

impl<'a> WireView<'a> {
    /// What the protocol needs between processes; nothing if nothing is said in it, and the reason if it cannot leave its process.
    pub fn of(view: &'a UnitView<'a>) -> Result<Option<WireView<'a>>, Obstacle> {
        let program = view.types.program;
        let whole = match view.unit.kind {
            Kind::Mentioned => return Ok(None),
            Kind::Protocol => View::of(program, view.unit.protocol),
            Kind::Instance(id) => View::instance(program, program.instance(id)),
        };
        let first = match view.state(0).direction {
            None => return Ok(None),
            Some(Direction::Send) => Side::Client,
            Some(Direction::Recv) => Side::Server,
        };
        let text = canonical(whole);
        let fingerprint = Fingerprint::of_text(&text);
        match text.obstacle {
            Some(obstacle) => Err(obstacle),
            None => Ok(Some(WireView {
                view,
                fingerprint,
                first,
            })),
        }
    }

    fn prefix(&self) -> &str {
        &self.view.unit.prefix
    }

    /// The text of the header.
    pub fn header(&self) -> String {
        let unit = self.view.unit;
        let upper = unit.prefix.to_ascii_uppercase();
        let bytes = self.fingerprint.0.map(|byte| format!("0x{byte:02x}"));
        let head = HeadView {
            source: spelling::harmless(&self.view.types.program.file(unit.file).path),
            guard: format!("DUO_{upper}_SHM_H"),
            header: unit.file_name.clone(),
            prefix: unit.prefix.clone(),
            fingerprint_name: format!("{upper}_FINGERPRINT"),
            fingerprint: format!(
                "{{{{{}, \\\n      {}}}}}",
                bytes[..8].join(", "),
                bytes[8..].join(", ")
            ),
        };
        let mut text = String::new();
        render(&head, &mut text);
        let functions = [Side::Client, Side::Server].map(|side| self.attach(side));
        render(
            &FunctionsView {
                functions: functions.into(),
            },
            &mut text,
        );
        FootView::write(BTreeSet::new(), &mut text);
        text
    }

    fn attach(&self, side: Side) -> FunctionView {
        let word = side.word();
        let handle = handle(self.view.state(0).direction, side);
        let endpoint = self.view.endpoint_name(0, side);
        let role = match side {
            Side::Client => "DUO_CLIENT",
            Side::Server => "DUO_SERVER",
        };
        let start = format!(
            "DUO_MUST_CHECK static inline duo_status {}_{word}_attach",
            self.prefix()
        );
        let parameters = [
            "int region".to_owned(),
            "const duo_shm_options *options".to_owned(),
            format!("{endpoint}_t *{word}"),
        ];
        let arguments = [
            "region".to_owned(),
            format!("&duo_{}_wire", self.prefix()),
            role.to_owned(),
            "options".to_owned(),
            format!("&{word}->{handle}"),
        ];
        FunctionView {
            comment: format!(
                "/** Takes the {word}'s side of a session between processes: see `duo_shm_attach`. */\n"
            ),
            head: spelling::head(&start, &parameters),
            body: vec![spelling::head("    return duo_shm_attach", &arguments) + ";"],
        }
    }

    /// The text of the source: tables.
    pub fn source(&self) -> String {
        let (view, prefix) = (self.view, self.prefix());
        let mut wires = Wires {
            view,
            places: BTreeMap::new(),
            later: Vec::new(),
            rows: Vec::new(),
            parts: String::new(),
            part_count: 0,
            sizes: Sizes {
                view,
                known: BTreeMap::new(),
            },
        };
        let mut messages = String::new();
        let mut counts = Vec::new();
        for index in 0..view.unit.states.len() {
            let state = view.state(index);
            counts.push(match state.direction {
                Some(_) => state.messages.len().to_string(),
                None => "0".to_owned(),
            });
            for message in &state.messages {
                let row = wires.message(index, message);
                messages.push_str(&spelling::wrapped("    {", &row, "},\n"));
            }
        }
        wires.finish();
        let mut text = String::new();
        let head = SourceView {
            source: spelling::harmless(&view.types.program.file(view.unit.file).path),
            header: format!("{}_shm", view.unit.file_name),
        };
        render(&head, &mut text);
        text.push_str("\n\n");
        let mut write = |part: String| text.push_str(&part);
        if !wires.rows.is_empty() {
            write(format!("extern const duo_wire duo_{prefix}_wires[];\n\n"));
        }
        if wires.part_count > 0 {
            let parts = &wires.parts;
            write(format!(
                "static const duo_wire_part duo_{prefix}_parts[] = {{\n{parts}}};\n\n"
            ));
        }
        if !wires.rows.is_empty() {
            let rows = wires.rows.concat();
            write(format!(
                "const duo_wire duo_{prefix}_wires[] = {{\n{rows}}};\n\n"
            ));
        }
        let has_messages = !messages.is_empty();
        if has_messages {
            write(format!(
                "static const duo_wire_message duo_{prefix}_wire_messages[] = {{\n{messages}}};\n\n"
            ));
        }
        let start = format!("static const unsigned short duo_{prefix}_counts[] = {{");
        write(spelling::wrapped(&start, &counts, "};\n\n"));
        let either = |name: &str| match has_messages {
            true => format!("duo_{prefix}_{name}"),
            false => "NULL".to_owned(),
        };
        let first = match self.first {
            Side::Client => "DUO_CLIENT",
            Side::Server => "DUO_SERVER",
        };
        let parts = [
            format!("duo_{prefix}_states"),
            format!("duo_{prefix}_counts"),
            either("messages"),
            either("wire_messages"),
            format!("{}_FINGERPRINT", prefix.to_ascii_uppercase()),
            first.to_owned(),
        ];
        let start = format!("const duo_wire_protocol duo_{prefix}_wire = {{");
        write(spelling::wrapped(&start, &parts, "};\n"));
        render(&SourceFootView, &mut text);
        text.push('\n');
        text
    }
}

impl Wires<'_> {
    /// The row of a message: its entries, whether they lie in memory as they travel, and how much may follow in the same line.
    fn message(&mut self, index: usize, message: &Message) -> [String; 3] {
        let next = self.view.next(index, message);
        let own = self.view.state(index).direction;
        let follow = match next {
            Some(next) if self.view.state(next).direction == own => self.cells(next),
            Some(_) | None => 0,
        };
        if message.entries.is_empty() {
            return ["NULL".to_owned(), "0".to_owned(), follow.to_string()];
        }
        let name = self.view.name(index);
        let member = spelling::member(message.name.text());
        let mut parts = Vec::new();
        let mut least = 0u64;
        let mut flat = Some(0u64);
        let mut end = String::new();
        for entry in &message.entries {
            let ty = self.view.entry_type(index, entry);
            let size = self.sizes.of(&ty);
            least = least.saturating_add(size.least);
            flat = flat.filter(|_| is_number(self.view.types.underlying(&ty)));
            flat = flat.map(|flat| flat + size.least);
            let offset = format!(
                "DUO_ENTRY({name}_t, {member}, {})",
                spelling::entry(entry.name.text())
            );
            end = format!("{offset} + {}", size.least);
            parts.push((self.place(&ty), offset, 0));
        }
        let first = self.add_parts(&parts);
        let row = self.row("DUO_WIRE_STRUCT", "0", least, &first, parts.len(), 0);
        self.rows.push(row);
        let place = format!(
            "&duo_{}_wires[{}]",
            self.view.unit.prefix,
            self.rows.len() - 1
        );
        let flat = match flat {
            Some(flat) => format!("DUO_WIRE_FLAT({end}, {flat})"),
            None => "0".to_owned(),
        };
        [place, flat, follow.to_string()]
    }

    /// How many units of 8 bytes the largest message of a state takes, or a whole line.
    fn cells(&mut self, index: usize) -> u64 {
        let mut cells = 0;
        for message in &self.view.state(index).messages {
            let mut size = Some(0u64);
            for entry in &message.entries {
                let ty = self.view.entry_type(index, entry);
                let most = self.sizes.of(&ty).most;
                size = size.and_then(|size| size.checked_add(most?));
            }
            let own = size
                .filter(|size| *size <= LINE)
                .unwrap_or(LINE)
                .div_ceil(8);
            cells = cells.max(own);
        }
        cells
    }

    fn row(
        &self,
        kind: &str,
        size: &str,
        least: u64,
        parts: &str,
        count: usize,
        variants: usize,
    ) -> String {
        let cells = [
            kind.to_owned(),
            size.to_owned(),
            least.to_string(),
            parts.to_owned(),
            count.to_string(),
            variants.to_string(),
        ];
        spelling::wrapped("    {", &cells, "},\n")
    }

    /// The place of a type in `wires`.
    fn place(&mut self, ty: &Type) -> usize {
        let types = self.view.types;
        let ty = types.underlying(ty);
        let name = types.name(ty, Some(self.view.id));
        if let Some(place) = self.places.get(&name) {
            return *place;
        }
        let place = self.rows.len();
        // Its own row comes later; until then the place is kept.
        self.rows.push(String::new());
        self.places.insert(name, place);
        self.later.push((place, ty.clone()));
        place
    }

    fn finish(&mut self) {
        while let Some((place, ty)) = self.later.pop() {
            self.rows[place] = self.described(&ty);
        }
    }

    /// Adds parts: the place of the type, the offset and the variant of each. Gives a pointer to the first.
    fn add_parts(&mut self, parts: &[(usize, String, usize)]) -> String {
        if parts.is_empty() {
            return "NULL".to_owned();
        }
        let prefix = &self.view.unit.prefix;
        let first = format!("&duo_{prefix}_parts[{}]", self.part_count);
        for (place, offset, variant) in parts {
            let wire = format!("&duo_{prefix}_wires[{place}]");
            let cells = [wire, offset.clone(), variant.to_string()];
            let row = spelling::wrapped("    {", &cells, "},\n");
            self.parts
                .write_str(&row)
                .expect("a string takes everything");
        }
        self.part_count += parts.len();
        first
    }

    fn described(&mut self, ty: &Type) -> String {
        let types = self.view.types;
        let name = types.name(ty, Some(self.view.id));
        let size = format!("sizeof({name})");
        let least = self.sizes.of(ty).least;
        match ty {
            Type::Builtin(builtin) => {
                let kind = match builtin {
                    Builtin::Bool => "DUO_WIRE_BOOL",
                    Builtin::Str => "DUO_WIRE_TEXT",
                    Builtin::Bytes => "DUO_WIRE_BYTES",
                    Builtin::U8
                    | Builtin::U16
                    | Builtin::U32
                    | Builtin::U64
                    | Builtin::I8
                    | Builtin::I16
                    | Builtin::I32
                    | Builtin::I64
                    | Builtin::F32
                    | Builtin::F64 => "DUO_WIRE_NUMBER",
                };
                self.row(kind, &size, least, "NULL", 0, 0)
            }
            Type::List(item) => {
                if let Type::Builtin(Builtin::U8 | Builtin::I8) = types.underlying(item) {
                    return self.row("DUO_WIRE_BYTES", &size, least, "NULL", 0, 0);
                }
                let parts = [(self.place(item), "0".to_owned(), 0)];
                let parts = self.add_parts(&parts);
                self.row("DUO_WIRE_LIST", &size, least, &parts, 1, 0)
            }
            Type::Option(item) => {
                let parts = [(self.place(item), format!("offsetof({name}, value)"), 0)];
                let parts = self.add_parts(&parts);
                self.row("DUO_WIRE_OPTION", &size, least, &parts, 1, 0)
            }
            Type::Tuple(items) => {
                let mut parts = Vec::new();
                for (position, item) in items.iter().enumerate() {
                    let offset = format!("offsetof({name}, v{position})");
                    parts.push((self.place(item), offset, 0));
                }
                let first = self.add_parts(&parts);
                self.row("DUO_WIRE_STRUCT", &size, least, &first, parts.len(), 0)
            }
            Type::Named(id) => self.declared(*id, &name, &size, least),
            Type::Parameter(_) | Type::Endpoint(_) => unreachable!("an obstacle was found before"),
        }
    }

    fn declared(&mut self, id: TypeId, name: &str, size: &str, least: u64) -> String {
        let mut parts = Vec::new();
        let mut kind = "DUO_WIRE_STRUCT";
        let mut variants_count = 0;
        match &self.view.types.program.ty(id).definition {
            Definition::Struct(fields) => {
                for field in fields {
                    let member = spelling::member(field.name.text());
                    let offset = format!("offsetof({name}, {member})");
                    parts.push((self.place(&field.ty), offset, 0));
                }
            }
            Definition::Enum(variants) => {
                kind = "DUO_WIRE_ENUM";
                variants_count = variants.len();
                for (position, variant) in variants.iter().enumerate() {
                    let word = spelling::member(variant.name.text());
                    for entry in &variant.entries {
                        let member = spelling::member(entry.name.text());
                        let offset = format!("offsetof({name}, as.{word}.{member})");
                        parts.push((self.place(&entry.ty), offset, position + 1));
                    }
                }
            }
            Definition::Alias(_) | Definition::Extern(..) | Definition::Undeclared => {
                unreachable!("an obstacle was found before")
            }
        }
        let first = self.add_parts(&parts);
        self.row(kind, size, least, &first, parts.len(), variants_count)
    }
}

fn is_number(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Builtin(
            Builtin::U8
                | Builtin::U16
                | Builtin::U32
                | Builtin::U64
                | Builtin::I8
                | Builtin::I16
                | Builtin::I32
                | Builtin::I64
                | Builtin::F32
                | Builtin::F64
        )
    )
}

impl Size {
    fn exactly(bytes: u64) -> Size {
        Size {
            least: bytes,
            most: Some(bytes),
        }
    }

    fn and(self, other: Size) -> Size {
        Size {
            least: self.least.saturating_add(other.least),
            most: self.most.and_then(|most| most.checked_add(other.most?)),
        }
    }
}

impl Sizes<'_> {
    fn all<'t>(&mut self, types: impl Iterator<Item = &'t Type>) -> Size {
        types.fold(Size::exactly(0), |sum, ty| sum.and(self.of(ty)))
    }

    /// Recurses as deep as types hold each other by value, which ends; lists need not look inside.
    fn of(&mut self, ty: &Type) -> Size {
        let any = Size {
            least: 1,
            most: None,
        };
        match ty {
            Type::Builtin(builtin) => match builtin {
                Builtin::Bool | Builtin::U8 | Builtin::I8 => Size::exactly(1),
                Builtin::U16 | Builtin::I16 => Size::exactly(2),
                Builtin::U32 | Builtin::I32 | Builtin::F32 => Size::exactly(4),
                Builtin::U64 | Builtin::I64 | Builtin::F64 => Size::exactly(8),
                Builtin::Str | Builtin::Bytes => any,
            },
            Type::List(_) => any,
            Type::Option(item) => Size {
                least: 1,
                most: self.of(item).most.and_then(|most| most.checked_add(1)),
            },
            Type::Tuple(items) => self.all(items.iter()),
            Type::Named(id) => self.of_declared(*id),
            Type::Parameter(_) | Type::Endpoint(_) => Size::exactly(0),
        }
    }

    fn of_declared(&mut self, id: TypeId) -> Size {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let program = self.view.types.program;
        let size = match &program.ty(id).definition {
            Definition::Alias(ty) => self.of(ty),
            Definition::Struct(fields) => self.all(fields.iter().map(|field| &field.ty)),
            Definition::Enum(variants) => {
                let mut least = u64::MAX;
                let mut most = Some(0);
                for (position, variant) in variants.iter().enumerate() {
                    let tag = Size::exactly(match position {
                        0..0x80 => 1,
                        0x80..0x4000 => 2,
                        _ => 3,
                    });
                    let own = tag.and(self.all(variant.entries.iter().map(|entry| &entry.ty)));
                    least = least.min(own.least);
                    most = most.and_then(|most: u64| own.most.map(|own| most.max(own)));
                }
                Size { least, most }
            }
            Definition::Extern(..) | Definition::Undeclared => Size::exactly(0),
        };
        self.known.insert(id, size);
        size
    }
}
