//! The tables that describe to the runtime what a value consists of. Types for which any bytes are a valid value need none.

use super::{Facts, Types, is_bare};
use crate::languages::c::ctype::{Bytes, CType};
use crate::languages::c::names::spelling;
use crate::name::Name;
use crate::protocol::{Definition, Message, TypeId, Variant};
use std::collections::{BTreeMap, BTreeSet};

/// Where a part of a value is.
#[derive(Clone)]
pub enum Place {
    Whole,
    /// In a struct.
    Member {
        of: String,
        member: String,
    },
    /// Among the entries of a message.
    Entry {
        of: String,
        message: String,
        member: String,
    },
}

impl Place {
    pub fn member(of: &str, member: impl Into<String>) -> Place {
        Place::Member {
            of: of.to_owned(),
            member: member.into(),
        }
    }

    /// In a variant of an enum.
    pub fn variant(of: &str, variant: &Variant, entry: &Name) -> Place {
        let variant = spelling::member(variant.name.text());
        let member = spelling::member(entry.text());
        Place::member(of, format!("as.{variant}.{member}"))
    }

    /// Among the entries of a message of the state with this name.
    pub fn entry(state: &str, message: &Message, entry: &Name) -> Place {
        Place::Entry {
            of: format!("{state}_t"),
            message: spelling::member(message.name.text()),
            member: spelling::entry(entry.text()),
        }
    }
}

/// The table of a type, with that of its fields.
pub struct Table {
    /// Whose table it is: `layout_of_` or, for types without a name of their own, `inner_layout_of_`, and its owner.
    pub kind: &'static str,
    pub owner: String,
    pub spreads: bool,
    pub moves: bool,
    pub checks: bool,
    pub fields: Vec<Field>,
    pub of: Content,
}

/// A part of a value that has a table of its own.
pub struct Field {
    pub layout: String,
    pub place: Place,
    /// The tag of its variant.
    pub variant: Option<String>,
}

/// What the table of a type says besides.
pub enum Content {
    Struct,
    Option,
    Enum {
        tag: String,
        variants: usize,
    },
    List {
        item: String,
        layout: Option<String>,
    },
    Array {
        name: String,
        most: u16,
        item: String,
        layout: Option<String>,
    },
    Text {
        most: u16,
    },
    Bytes {
        most: u16,
    },
    /// The state of an endpoint. `is_declared`: the table of its states is declared before.
    Endpoint {
        prefix: String,
        state: usize,
        is_declared: bool,
    },
    /// A type of the host, with its destructor.
    Extern {
        word: String,
        drop: String,
    },
}

/// The tables of one source file.
pub struct Layouts<'a> {
    types: &'a Types<'a>,
    unit: Option<usize>,
    done: BTreeMap<String, String>,
    declared: BTreeSet<usize>,
    pub tables: Vec<Table>,
}

impl<'a> Layouts<'a> {
    /// For the source of a unit, or of a file with types.
    pub fn new(types: &'a Types<'a>, unit: Option<usize>) -> Layouts<'a> {
        Layouts {
            types,
            unit,
            done: BTreeMap::new(),
            declared: unit.into_iter().collect(),
            tables: Vec::new(),
        }
    }

    /// The table of a type, as its name after `duo_`; `None` if any bytes are a valid value of it.
    pub fn of(&mut self, ty: &CType) -> Option<String> {
        let types = self.types;
        let ty = types.underlying(ty);
        let facts = types.facts(ty);
        if facts.is_any_bytes() {
            return None;
        }
        if let CType::Builtin(_) = ty {
            let name = if facts.checks { "text" } else { "bytes" };
            return Some(format!("{name}_type"));
        }
        if let CType::Named(id) = ty {
            return Some(format!("layout_of_{}", types.declared_word(*id)));
        }
        let words = types.words(ty, self.unit);
        if let Some(known) = self.done.get(&words) {
            return Some(known.clone());
        }
        let (of, fields) = self.content(ty)?;
        let layout = format!("inner_layout_of_{words}");
        self.add("inner_", words.clone(), facts, fields, of);
        self.done.insert(words, layout.clone());
        Some(layout)
    }

    /// Adds a table.
    pub fn add(
        &mut self,
        kind: &'static str,
        owner: String,
        facts: Facts,
        fields: Vec<Field>,
        of: Content,
    ) {
        let Facts {
            spreads,
            moves,
            checks,
            ..
        } = facts;
        self.tables.push(Table {
            kind,
            owner,
            spreads,
            moves,
            checks,
            fields,
            of,
        });
    }

    /// Adds a field if its type has a table.
    pub fn field(
        &mut self,
        fields: &mut Vec<Field>,
        ty: &CType,
        place: Place,
        variant: Option<&str>,
    ) {
        let field = |layout| Field {
            layout,
            place,
            variant: variant.map(str::to_owned),
        };
        fields.extend(self.of(ty).map(field));
    }

    fn content(&mut self, ty: &CType) -> Option<(Content, Vec<Field>)> {
        let types = self.types;
        let name = types.name(ty, self.unit);
        let mut fields = Vec::new();
        let of = match ty {
            CType::Inline(Bytes::Text, most) => Content::Text { most: *most },
            CType::Inline(Bytes::Any, most) => Content::Bytes { most: *most },
            CType::Array(item, most) => Content::Array {
                name,
                most: *most,
                item: types.name(item, self.unit),
                layout: self.of(item),
            },
            CType::List(item) => Content::List {
                item: types.name(item, self.unit),
                layout: self.of(item),
            },
            CType::Option(item) => {
                self.field(&mut fields, item, Place::member(&name, "value"), None);
                Content::Option
            }
            CType::Tuple(items) => {
                for (position, item) in items.iter().enumerate() {
                    let place = Place::member(&name, format!("v{position}"));
                    self.field(&mut fields, item, place, None);
                }
                Content::Struct
            }
            CType::Endpoint(endpoint) => {
                let id = types.unit_state(endpoint, self.unit)?;
                Content::Endpoint {
                    prefix: types.units.at(id).0.prefix.clone(),
                    state: id.state,
                    is_declared: !self.declared.insert(id.unit),
                }
            }
            CType::Builtin(_) | CType::Named(_) | CType::Parameter(_) => return None,
        };
        Some((of, fields))
    }

    /// Adds the table of a declared type.
    pub fn declared(&mut self, id: TypeId) {
        let types = self.types;
        let word = types.declared_word(id);
        let name = format!("{word}_t");
        let mut fields = Vec::new();
        let of = match &types.program.ty(id).definition {
            Definition::Struct(members) => {
                for field in members {
                    let place = Place::member(&name, spelling::member(field.name.text()));
                    let ty = types.stored(&field.ty, &field.lengths);
                    self.field(&mut fields, &ty, place, None);
                }
                Content::Struct
            }
            Definition::Enum(variants) => {
                for variant in variants {
                    let tag = types.variant(id, variant.name.text());
                    for entry in &variant.entries {
                        let place = Place::variant(&name, variant, &entry.name);
                        let ty = types.stored(&entry.ty, &entry.lengths);
                        self.field(&mut fields, &ty, place, Some(&tag));
                    }
                }
                let tag = if is_bare(variants) { "t" } else { "tag_t" };
                Content::Enum {
                    tag: format!("{word}_{tag}"),
                    variants: variants.len(),
                }
            }
            Definition::Extern(..) => {
                let Some(drop) = types.drop_of(id) else {
                    return;
                };
                Content::Extern {
                    word: word.clone(),
                    drop: drop.to_owned(),
                }
            }
            Definition::Alias(_) => return,
        };
        self.add("", word, types.facts(&CType::Named(id)), fields, of);
    }
}
