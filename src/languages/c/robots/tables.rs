//! The tables by which the runtime makes and shows values, and finds its way through a protocol.

use super::Robots;
use crate::languages::c::names::{OfUnit, Own};
use crate::languages::c::spelling;
use crate::languages::c::types::ctype::{Bytes, CType};
use crate::languages::c::types::is_bare;
use crate::protocol::{Builtin, Definition, Lengths, Side, Type, TypeId, Variant};
use crate::wire::BuiltinEncoding;
use std::collections::BTreeMap;
use std::fmt::Write;

/// No robot makes a value with more parts than this, so larger bounds are not in the tables.
const MOST: u64 = 1 << 20;

/// A host type that messages have.
pub struct Host {
    /// In names of hooks.
    pub word: String,
    /// Its C type.
    pub ty: String,
    senders: Vec<Side>,
}

impl Host {
    /// Whether a message that this side sends has such values.
    pub fn is_sent_by(&self, side: Side) -> bool {
        self.senders.contains(&side)
    }
}

/// A row of the table of types.
struct Row {
    kind: &'static str,
    is_makeable: bool,
    size: String,
    most: Option<u64>,
    parts: String,
    count: usize,
    variants: String,
    tag_size: String,
    shallow: usize,
    name: Option<String>,
    open: Option<String>,
    host: usize,
}

/// The tables under construction.
pub struct Tables<'r, 'a> {
    robots: &'r Robots<'a>,
    /// The index of each type, by what it is and its bounds.
    places: BTreeMap<String, usize>,
    /// Types that have an index but no row yet.
    later: Vec<(usize, Type, Lengths)>,
    rows: Vec<String>,
    parts: String,
    part_count: usize,
    variants: String,
    variant_count: usize,
    opens: String,
    open_count: usize,
    /// The side whose messages are being looked at.
    sender: Side,
    /// The host types, by their numbers.
    pub hosts: Vec<Host>,
    host_numbers: BTreeMap<TypeId, usize>,
    /// The side for which each type was found, so that host types in them are known for both.
    found: Vec<[bool; 2]>,
    /// All of them.
    pub text: String,
}

impl<'r, 'a> Tables<'r, 'a> {
    /// The tables of a unit.
    pub fn of(robots: &'r Robots<'a>) -> Tables<'r, 'a> {
        let mut tables = Tables {
            robots,
            places: BTreeMap::new(),
            later: Vec::new(),
            rows: Vec::new(),
            parts: String::new(),
            part_count: 0,
            variants: String::new(),
            variant_count: 0,
            opens: String::new(),
            open_count: 0,
            sender: Side::Client,
            hosts: Vec::new(),
            host_numbers: BTreeMap::new(),
            found: Vec::new(),
            text: String::new(),
        };
        tables.fill();
        tables
    }

    fn ours(&self, own: Own) -> String {
        self.robots.view.unit.ours(own)
    }

    fn fill(&mut self) {
        let robots = self.robots;
        let view = robots.view;
        let (mut nodes, mut edges) = (String::new(), String::new());
        let mut first = 0;
        for (node, place) in robots.plan.nodes.iter().zip(&robots.places) {
            self.sender = node.sender;
            for (message, edge) in robots.plan.messages(node) {
                let received = view.received(*place);
                let member = spelling::member(message.name.text());
                let mut parts = Vec::new();
                for entry in &message.entries {
                    let ty = entry.ty.substitute(&view.unit.states[*place].arguments);
                    let entry_name = spelling::entry(entry.name.text());
                    let offset = format!("DUO_ENTRY({received}, {member}, {entry_name})");
                    parts.push((self.place(&ty, &entry.lengths), offset, None));
                }
                let row = [
                    format!("\"{}\"", message.name.text()),
                    edge.next.map_or("-1".to_owned(), |next| next.to_string()),
                    edge.is_makeable.to_string(),
                    edge.is_coverable.to_string(),
                    self.add_parts(&parts),
                    parts.len().to_string(),
                ];
                edges.push_str(&spelling::wrapped("    {", &row, "},\n"));
                self.finish();
            }
            let row = [
                format!("\"{}\"", node.name),
                spelling::role(node.sender).to_owned(),
                node.way_out
                    .map_or("-1".to_owned(), |edge| edge.to_string()),
                first.to_string(),
                node.edges.len().to_string(),
            ];
            nodes.push_str(&spelling::wrapped("    {", &row, "},\n"));
            first += node.edges.len();
        }
        self.text = std::mem::take(&mut self.opens);
        let [types, parts, variants] =
            [Own::RobotTypes, Own::RobotParts, Own::RobotVariants].map(|own| self.ours(own));
        if !self.rows.is_empty() {
            self.add(&format!("extern const duo_robot_type {types}[];\n\n"));
        }
        let rows = [
            (
                format!("static const duo_robot_part {parts}"),
                std::mem::take(&mut self.parts),
            ),
            (
                format!("static const duo_robot_variant {variants}"),
                std::mem::take(&mut self.variants),
            ),
            (format!("const duo_robot_type {types}"), self.rows.concat()),
            (
                format!("static const duo_robot_edge {}", self.ours(Own::RobotEdges)),
                edges,
            ),
            (
                format!("static const duo_robot_node {}", self.ours(Own::RobotNodes)),
                nodes,
            ),
        ];
        for (name, rows) in rows.iter().filter(|(_, rows)| !rows.is_empty()) {
            self.add(&format!("{name}[] = {{\n{rows}}};\n\n"));
        }
        let table = [
            format!("\"{}\"", robots.plan.name),
            format!("\"{}\"", robots.plan.fingerprint),
            self.ours(Own::RobotNodes),
            robots.plan.nodes.len().to_string(),
            if first == 0 {
                "NULL".to_owned()
            } else {
                self.ours(Own::RobotEdges)
            },
            first.to_string(),
        ];
        let name = view.unit.own(OfUnit::RobotTable);
        self.add(&spelling::wrapped(
            &format!("const duo_robot_table {name} = {{"),
            &table,
            "};\n",
        ));
    }

    fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// The index of a type. It gets its row later, so that types can contain themselves.
    fn place(&mut self, ty: &Type, lengths: &Lengths) -> usize {
        let (ty, lengths) = self.unaliased(ty, lengths);
        let key = format!("{ty:?} {lengths:?}");
        let side = usize::from(self.sender == Side::Server);
        let place = match self.places.get(&key) {
            Some(place) => *place,
            None => {
                let place = self.rows.len();
                self.rows.push(String::new());
                self.found.push([false; 2]);
                self.places.insert(key, place);
                place
            }
        };
        if !std::mem::replace(&mut self.found[place][side], true) {
            self.later.push((place, ty, lengths));
        }
        place
    }

    /// An alias with bounds of its own brings these; otherwise those hold that are written where it is used.
    fn unaliased(&self, ty: &Type, lengths: &Lengths) -> (Type, Lengths) {
        let program = self.robots.view.types.program;
        let mut found = (ty, lengths);
        for _ in 0..=program.types.len() {
            let Some((target, own)) = program.aliased(found.0) else {
                break;
            };
            found = (target, if own.is_none() { found.1 } else { own });
        }
        (found.0.clone(), found.1.clone())
    }

    fn finish(&mut self) {
        while let Some((place, ty, lengths)) = self.later.pop() {
            let before = [&self.parts, &self.variants, &self.opens].map(String::len);
            let counts = [self.part_count, self.variant_count, self.open_count];
            let row = self.described(&ty, &lengths);
            if self.rows[place].is_empty() {
                self.rows[place] = self.row(&row);
                continue;
            }
            // It was found in a message of the other side before: only its host types were wanted.
            let [parts, variants, opens] = before;
            self.parts.truncate(parts);
            self.variants.truncate(variants);
            self.opens.truncate(opens);
            [self.part_count, self.variant_count, self.open_count] = counts;
        }
    }

    fn row(&self, row: &Row) -> String {
        let quoted = |name: &Option<String>| match name {
            Some(name) => format!("\"{name}\""),
            None => "NULL".to_owned(),
        };
        let most = row.most.filter(|most| *most <= MOST);
        let cells = [
            row.kind.to_owned(),
            row.is_makeable.to_string(),
            row.size.clone(),
            most.map_or("SIZE_MAX".to_owned(), |most| most.to_string()),
            row.parts.clone(),
            row.count.to_string(),
            row.variants.clone(),
            row.tag_size.clone(),
            row.shallow.to_string(),
            quoted(&row.name),
            row.open.clone().unwrap_or_else(|| "NULL".to_owned()),
            row.host.to_string(),
        ];
        spelling::wrapped("    {", &cells, "},\n")
    }

    /// Adds parts, each with the index of its type, its offset and its name. Returns a pointer to the first.
    fn add_parts(&mut self, parts: &[(usize, String, Option<&str>)]) -> String {
        if parts.is_empty() {
            return "NULL".to_owned();
        }
        let [types, own] = [Own::RobotTypes, Own::RobotParts].map(|own| self.ours(own));
        let first = format!("&{own}[{}]", self.part_count);
        for (place, offset, name) in parts {
            let name = name.map_or("NULL".to_owned(), |name| format!("\"{name}\""));
            let cells = [format!("&{types}[{place}]"), offset.clone(), name];
            self.parts
                .push_str(&spelling::wrapped("    {", &cells, "},\n"));
        }
        self.part_count += parts.len();
        first
    }

    fn described(&mut self, ty: &Type, lengths: &Lengths) -> Row {
        let (view, makeable) = (self.robots.view, self.robots.makeable);
        let stored = view.types.stored(ty, lengths);
        let name = view.types.name(&stored, Some(view.id));
        let mut row = Row {
            kind: "DUO_ROBOT_STRUCT",
            is_makeable: makeable.is(ty),
            size: format!("sizeof({name})"),
            most: lengths.most.map(|limit| limit.most),
            parts: "NULL".to_owned(),
            count: 0,
            variants: "NULL".to_owned(),
            tag_size: "0".to_owned(),
            shallow: 0,
            name: None,
            open: None,
            host: 0,
        };
        let mut parts: Vec<(usize, String, Option<&str>)> = Vec::new();
        match ty {
            Type::Builtin(builtin) => {
                row.kind = match stored {
                    CType::Inline(Bytes::Text, _) => "DUO_ROBOT_INLINE_TEXT",
                    CType::Inline(Bytes::Any, _) => "DUO_ROBOT_INLINE_BYTES",
                    CType::Builtin(_)
                    | CType::List(_)
                    | CType::Array(..)
                    | CType::Option(_)
                    | CType::Tuple(_)
                    | CType::Named(_)
                    | CType::Parameter(_)
                    | CType::Endpoint(_) => kind(*builtin),
                };
            }
            Type::List(item) => {
                let item = self.place(item, lengths.part(0));
                let is_inline = matches!(stored, CType::Array(..));
                row.kind = if is_inline {
                    "DUO_ROBOT_INLINE_LIST"
                } else {
                    "DUO_ROBOT_LIST"
                };
                let offset = if is_inline {
                    format!("offsetof({name}, data)")
                } else {
                    "0".to_owned()
                };
                parts.push((item, offset, None));
            }
            Type::Option(item) => {
                row.kind = "DUO_ROBOT_OPTION";
                let item = self.place(item, lengths.part(0));
                parts.push((item, format!("offsetof({name}, value)"), None));
            }
            Type::Tuple(items) => {
                row.kind = "DUO_ROBOT_TUPLE";
                for (at, item) in items.iter().enumerate() {
                    let item = self.place(item, lengths.part(at));
                    parts.push((item, format!("offsetof({name}, v{at})"), None));
                }
            }
            Type::Named(id) => return self.declared(*id, &name, row),
            Type::Endpoint(endpoint) => {
                let program = view.types.program;
                let protocol = program.protocol(endpoint.protocol);
                let state = protocol.state(endpoint.state);
                let (side, state_name) = (endpoint.side, state.name.text());
                row.kind = "DUO_ROBOT_ENDPOINT";
                row.name = Some(format!("<{}.{}.{state_name}>", protocol.name, side.word()));
                row.open = row
                    .is_makeable
                    .then(|| self.open(ty, side, state.direction.is_none()));
            }
            Type::Parameter(_) | Type::Error => unreachable!("a checked program has arguments"),
        }
        row.count = parts.len();
        row.parts = self.add_parts(&parts);
        row
    }

    fn declared(&mut self, id: TypeId, name: &str, mut row: Row) -> Row {
        let program = self.robots.view.types.program;
        let declared = program.ty(id);
        match &declared.definition {
            Definition::Struct(fields) => {
                let mut parts = Vec::new();
                for field in fields {
                    let member = spelling::member(field.name.text());
                    let offset = format!("offsetof({name}, {member})");
                    let field_name = Some(field.name.text());
                    parts.push((self.place(&field.ty, &field.lengths), offset, field_name));
                }
                row.count = parts.len();
                row.parts = self.add_parts(&parts);
            }
            Definition::Enum(variants) => {
                row.kind = "DUO_ROBOT_ENUM";
                row.tag_size = match is_bare(variants) {
                    true => row.size.clone(),
                    false => format!("DUO_TAG_SIZE({name})"),
                };
                row.count = variants.len();
                row.shallow = self.robots.makeable.shallow(variants).unwrap_or(0);
                row.variants = self.add_variants(name, variants);
            }
            Definition::Extern(..) | Definition::Undeclared => {
                row.kind = "DUO_ROBOT_HOST";
                row.name = Some(declared.name.text().to_owned());
                row.host = self.host(id, name);
            }
            Definition::Alias(_) => unreachable!("aliases are replaced"),
        }
        row
    }

    fn add_variants(&mut self, name: &str, variants: &[Variant]) -> String {
        let mut rows = String::new();
        for variant in variants {
            let word = spelling::member(variant.name.text());
            let mut parts = Vec::new();
            for entry in &variant.entries {
                let member = spelling::member(entry.name.text());
                let offset = format!("offsetof({name}, as.{word}.{member})");
                parts.push((self.place(&entry.ty, &entry.lengths), offset, None));
            }
            let cells = [
                format!("\"{}\"", variant.name.text()),
                self.add_parts(&parts),
                parts.len().to_string(),
                self.robots.makeable.has(variant).to_string(),
            ];
            rows.push_str(&spelling::wrapped("    {", &cells, "},\n"));
        }
        let first = format!("&{}[{}]", self.ours(Own::RobotVariants), self.variant_count);
        self.variants.push_str(&rows);
        self.variant_count += variants.len();
        if variants.is_empty() {
            "NULL".to_owned()
        } else {
            first
        }
    }

    fn host(&mut self, id: TypeId, ty: &str) -> usize {
        let count = self.hosts.len();
        let number = *self.host_numbers.entry(id).or_insert(count);
        if number == count {
            let view = self.robots.view;
            let word = view.types.words(&CType::Named(id), Some(view.id));
            self.hosts.push(Host {
                word,
                ty: ty.to_owned(),
                senders: Vec::new(),
            });
        }
        let senders = &mut self.hosts[number].senders;
        if !senders.contains(&self.sender) {
            senders.push(self.sender);
        }
        number
    }

    /// A function that makes an endpoint: that of a new session, whose other side disconnects at once.
    fn open(&mut self, ty: &Type, side: Side, is_over: bool) -> String {
        let view = self.robots.view;
        let name = format!("{}_{}", self.ours(Own::RobotOpen), self.open_count);
        let Type::Endpoint(endpoint) = ty else {
            return name;
        };
        let found = view.types.unit_state(endpoint, Some(view.id));
        let Some(id) = found.filter(|_| !is_over) else {
            return "duo_robot_open_nothing".to_owned();
        };
        self.open_count += 1;
        let (unit, _) = view.types.units.at(id);
        let [protocol, states] = [Own::Protocol, Own::States].map(|own| unit.ours(own));
        let (own, other) = (side.word(), side.dual().word());
        writeln!(
            self.opens,
            "static bool {name}(void *place)\n{{\n    duo_endpoint server, client;\n    \
             if (duo_open(&{protocol}, &server, &client) != DUO_OK) return false;\n    \
             (void)duo_close({other}, &{states}[{}]);\n    memcpy(place, &{own}, sizeof {own});\n    \
             return true;\n}}\n",
            id.state
        )
        .expect("string writes cannot fail");
        name
    }
}

/// The runtime's name for a built-in type.
fn kind(builtin: Builtin) -> &'static str {
    match BuiltinEncoding::of(builtin) {
        BuiltinEncoding::Bool => "DUO_ROBOT_BOOL",
        BuiltinEncoding::Text => "DUO_ROBOT_TEXT",
        BuiltinEncoding::Bytes => "DUO_ROBOT_BYTES",
        BuiltinEncoding::Number => match builtin {
            Builtin::I8 | Builtin::I16 | Builtin::I32 | Builtin::I64 => "DUO_ROBOT_SIGNED",
            Builtin::F32 | Builtin::F64 => "DUO_ROBOT_REAL",
            Builtin::Bool
            | Builtin::U8
            | Builtin::U16
            | Builtin::U32
            | Builtin::U64
            | Builtin::Str
            | Builtin::Bytes => "DUO_ROBOT_UNSIGNED",
        },
    }
}
