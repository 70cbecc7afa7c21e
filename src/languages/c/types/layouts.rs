//! The tables that describe to the runtime what a value consists of. Types for which any bytes are a valid value need none.

use crate::languages::c::names::{self, OfType, Own};
use crate::languages::c::spelling;
use crate::languages::c::types::ctype::{Bytes, CType};
use crate::languages::c::types::{Facts, Types};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A table: the macro that initializes it, and the arguments of the macro.
pub type Table = (&'static str, Vec<String>);

/// The table of a value; `fields` is the name of the table of its fields.
pub fn composite(kind: &str, facts: Facts, fields: String) -> Table {
    let Facts {
        spreads,
        moves,
        checks,
        ..
    } = facts;
    (
        "DUO_TYPE_OF",
        vec![
            kind.to_owned(),
            spreads.to_string(),
            moves.to_string(),
            checks.to_string(),
            fields,
        ],
    )
}

/// The table of an enum; `fields` is the name of the table of its fields, if it has any.
pub fn enumeration(facts: Facts, tag: &str, variants: usize, fields: Option<String>) -> Table {
    let (size, variants) = (format!("sizeof({tag})"), variants.to_string());
    match fields {
        None => ("DUO_TAG_TYPE", vec![size, variants]),
        Some(fields) => {
            let (spreads, moves) = (facts.spreads.to_string(), facts.moves.to_string());
            (
                "DUO_ENUM_TYPE",
                vec![spreads, moves, size, variants, fields],
            )
        }
    }
}

/// The tables of one source file.
pub struct Layouts<'a> {
    types: &'a Types<'a>,
    unit: Option<usize>,
    done: BTreeMap<String, String>,
    /// The tables, and the declarations of those that are defined elsewhere.
    pub text: String,
}

impl<'a> Layouts<'a> {
    /// For the source of a unit, or of a file with types.
    pub fn new(types: &'a Types<'a>, unit: Option<usize>) -> Layouts<'a> {
        Layouts {
            types,
            unit,
            done: BTreeMap::new(),
            text: String::new(),
        }
    }

    /// A pointer to the table of a type; `None` if any bytes are a valid value of it.
    pub fn of(&mut self, ty: &CType) -> Option<String> {
        let types = self.types;
        let ty = types.underlying(ty);
        let facts = types.facts(ty);
        if facts.is_any_bytes() {
            return None;
        }
        if let CType::Builtin(_) = ty {
            let name = if facts.checks { "text" } else { "bytes" };
            return Some(format!("&duo_{name}_type"));
        }
        if let CType::Named(id) = ty {
            return Some(format!("&{}", types.of_type(*id, OfType::Layout)));
        }
        let words = types.words(ty, self.unit);
        if let Some(known) = self.done.get(&words) {
            return Some(known.clone());
        }
        let table = self.table(ty, facts, &words)?;
        let name = names::of("inner_layout", &words);
        self.define("static ", &name, &table);
        self.done.insert(words, format!("&{name}"));
        Some(format!("&{name}"))
    }

    /// Defines a table: a macro with its arguments.
    pub fn define(&mut self, storage: &str, name: &str, (kind, parts): &Table) {
        let start = format!("{storage}const duo_type {name} =\n    {kind}(");
        // Wrapping depends on the width of the second line.
        let columns = start.len() - start.find('\n').map_or(0, |end| end + 1);
        let text = spelling::wrapped(&" ".repeat(columns), parts, ");\n");
        self.text.push_str(&start);
        self.text.push_str(&text[columns..]);
    }

    fn table(&mut self, ty: &CType, facts: Facts, words: &str) -> Option<Table> {
        let name = self.types.name(ty, self.unit);
        match ty {
            CType::Inline(bytes, most) => {
                let kind = match bytes {
                    Bytes::Text => "DUO_INLINE_TEXT_TYPE",
                    Bytes::Any => "DUO_INLINE_BYTES_TYPE",
                };
                Some((kind, vec![most.to_string()]))
            }
            CType::Array(item, most) => {
                let element = self.of(item).unwrap_or_else(|| "NULL".to_owned());
                let size = self.types.name(item, self.unit);
                let parts = vec![
                    facts.spreads.to_string(),
                    facts.moves.to_string(),
                    most.to_string(),
                    format!("sizeof({size})"),
                    element,
                    format!("offsetof({name}, data)"),
                ];
                Some(("DUO_INLINE_LIST_TYPE", parts))
            }
            CType::List(item) => {
                let element = self.of(item).unwrap_or_else(|| "NULL".to_owned());
                let size = self.types.name(item, self.unit);
                let (moves, checks) = (facts.moves.to_string(), facts.checks.to_string());
                let parts = vec![moves, checks, format!("sizeof({size})"), element];
                Some(("DUO_LIST_TYPE", parts))
            }
            CType::Option(item) => {
                let item = self.of(item)?;
                let fields = names::of("inner_fields", words);
                let value = (item, format!("offsetof({name}, value)"), "0".to_owned());
                self.fields(&fields, &[value]);
                Some(composite("DUO_OPTION", facts, fields))
            }
            CType::Tuple(items) => {
                let mut fields = Vec::new();
                for (position, item) in items.iter().enumerate() {
                    if let Some(item) = self.of(item) {
                        fields.push((
                            item,
                            format!("offsetof({name}, v{position})"),
                            "0".to_owned(),
                        ));
                    }
                }
                let name = names::of("inner_fields", words);
                self.fields(&name, &fields);
                Some(composite("DUO_STRUCT", facts, name))
            }
            CType::Endpoint(endpoint) => {
                let id = self.types.unit_state(endpoint, self.unit)?;
                let (unit, _) = self.types.units.at(id);
                let states = unit.ours(Own::States);
                if self.done.insert(states.clone(), String::new()).is_none()
                    && self.unit != Some(id.unit)
                {
                    writeln!(self.text, "extern const duo_state {states}[];")
                        .expect("string writes cannot fail");
                }
                let state = format!("&{states}[{}]", id.state);
                Some(("DUO_ENDPOINT_TYPE", vec![state]))
            }
            CType::Builtin(_) | CType::Named(_) | CType::Parameter(_) => None,
        }
    }

    /// Defines a table of fields, each with its type, offset and variant.
    pub fn fields(&mut self, name: &str, fields: &[(String, String, String)]) {
        self.text.push_str("static const duo_field ");
        self.text.push_str(name);
        self.text.push_str("[] = {\n");
        for (ty, offset, variant) in fields {
            let parts = [ty.clone(), offset.clone(), variant.clone()];
            self.text
                .push_str(&spelling::wrapped("    {", &parts, "},\n"));
        }
        self.text.push_str("};\n");
    }
}
