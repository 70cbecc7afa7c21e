//! The types in payloads, as the tables of the wire format list them.

use super::ctype::CType;
use super::names::spelling;
use super::scope::Scope;
use super::types::layouts::Place;
use crate::protocol::{self, Builtin, Field, Lengths, Message, Program, Shape, Type};
use std::collections::BTreeMap;

/// The types in payloads, each once for all values with the same bounds. A type with a bound has a row for the bound, which leads to that
/// of the type without it. A list of bytes has no parts.
pub struct Values<'a> {
    scope: &'a Scope<'a>,
    positions: BTreeMap<(Type, String), usize>,
    pub all: Vec<Value>,
}

/// One of them, without aliases.
pub struct Value {
    pub ty: Type,
    pub lengths: Lengths,
    pub stored: CType,
    /// Its name in C.
    pub name: String,
    pub parts: Vec<Part>,
}

/// A part of a value, or an entry of a message.
pub struct Part {
    /// The position of its type.
    pub value: usize,
    pub place: Place,
    /// The variant that it belongs to, counted from 1; in values that are no enums 0.
    pub variant: usize,
}

impl<'a> Values<'a> {
    pub fn of(scope: &'a Scope<'a>) -> Values<'a> {
        Values {
            scope,
            positions: BTreeMap::new(),
            all: Vec::new(),
        }
    }

    /// The entries of a message.
    pub fn message(&mut self, index: usize, message: &Message) -> Vec<Part> {
        let unit = self.scope.unit;
        let state = &unit.states[index];
        let entries = message.entries.iter().map(|entry| {
            let ty = entry.ty.substitute(&state.arguments);
            let place = Place::entry(&unit.state(index), message, &entry.name);
            self.part(&ty, &entry.lengths, place, 0)
        });
        entries.collect()
    }

    /// Looks at the parts of all types that were found.
    pub fn finish(&mut self) {
        let mut at = 0;
        while at < self.all.len() {
            self.all[at].parts = self.parts(at);
            at += 1;
        }
    }

    /// Whether a type with bounds has a row for its own bound: no payload is larger than 4 GiB, so larger bounds are not checked, and
    /// the bound of what is stored inline is in its own row.
    pub fn is_bound(&self, value: &Value) -> bool {
        let most = value.lengths.most.map(|limit| limit.most);
        !value.stored.is_inline() && most.is_some_and(is_checked)
    }

    fn part(&mut self, ty: &Type, lengths: &Lengths, place: Place, variant: usize) -> Part {
        Part {
            value: self.position(ty, lengths),
            place,
            variant,
        }
    }

    fn position(&mut self, ty: &Type, lengths: &Lengths) -> usize {
        let types = self.scope.types;
        let (ty, lengths) = types.program.unaliased(ty, lengths);
        let bounds = match lengths.is_none() {
            true => String::new(),
            false => format!("{lengths:?}"),
        };
        let next = self.all.len();
        let position = *self.positions.entry((ty.clone(), bounds)).or_insert(next);
        if position == next {
            let stored = types.stored(ty, lengths);
            self.all.push(Value {
                ty: ty.clone(),
                lengths: lengths.clone(),
                name: types.name(&stored, Some(self.scope.id)),
                stored,
                parts: Vec::new(),
            });
        }
        position
    }

    fn parts(&mut self, at: usize) -> Vec<Part> {
        let program = self.scope.types.program;
        let value = &self.all[at];
        let (ty, mut lengths, of) = (value.ty.clone(), value.lengths.clone(), value.name.clone());
        if self.is_bound(value) {
            lengths.most = None;
            return vec![self.part(&ty, &lengths, Place::Whole, 0)];
        }
        let place = match value.stored.is_inline() {
            true => Place::member(&of, "data"),
            false => Place::Whole,
        };
        let mut part = |part: protocol::Part, place| self.part(part.ty, part.lengths, place, 0);
        match program.shape(&ty, &lengths).0 {
            Shape::List(item) if is_byte(program, item.ty) => Vec::new(),
            Shape::List(item) => vec![part(item, place)],
            Shape::Option(item) => vec![part(item, Place::member(&of, "value"))],
            Shape::Tuple(items) => {
                let items = items.into_iter().enumerate();
                let items = items.map(|(at, it)| part(it, Place::member(&of, format!("v{at}"))));
                items.collect()
            }
            Shape::Struct(fields) => {
                let place = |field: &Field| Place::member(&of, spelling::member(field.name.text()));
                let fields = fields.iter();
                fields
                    .map(|field| part(field.into(), place(field)))
                    .collect()
            }
            Shape::Enum(variants) => {
                let all = variants.iter().zip(1..);
                let all = all.flat_map(|(it, at)| it.entries.iter().map(move |own| (it, at, own)));
                let all = all.map(|(variant, at, entry)| {
                    let place = Place::variant(&of, variant, &entry.name);
                    self.part(&entry.ty, &entry.lengths, place, at)
                });
                all.collect()
            }
            Shape::Builtin(_) | Shape::Host(_) | Shape::Endpoint(_) | Shape::Unknown => Vec::new(),
        }
    }
}

/// Whether a list of such items is encoded like bytes.
pub fn is_byte(program: &Program, item: &Type) -> bool {
    let (item, _) = program.unaliased(item, Lengths::NONE);
    matches!(item, Type::Builtin(Builtin::U8 | Builtin::I8))
}

/// Whether a limit is in the tables of the wire format.
pub fn is_checked(most: u64) -> bool {
    u32::try_from(most).is_ok()
}
