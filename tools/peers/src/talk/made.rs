//! Values that are made by their types, as a robot or an attacker chooses them.

use super::value::Value;
use duologue::protocol::{Builtin, Entry, Lengths, Part, Program, Shape, Type};

/// What is chosen where a type has several values.
pub trait Choices {
    /// How deeply values are nested at most, where their type allows it to end.
    const DEPTH: usize;

    /// How deeply values are nested at most.
    const DEEPEST: usize;

    /// A value without parts, with at most this many bytes or characters.
    fn builtin(&mut self, builtin: Builtin, most: u64) -> Value;

    /// How many items a list has, if the value is one, of at most this many.
    fn items(&mut self, most: u64) -> u64;

    /// Whether an option has a value.
    fn is_some(&mut self) -> bool;

    /// Which of this many variants is tried first.
    fn variant(&mut self, count: usize) -> usize;
}

/// Makes values.
pub struct Maker<'m, C> {
    /// The program that has the types.
    pub program: &'m Program,
    /// What is chosen.
    pub choices: &'m mut C,
    /// How many more values are made.
    pub left: usize,
}

impl<C: Choices> Maker<'_, C> {
    /// The values of a payload with these entries; `None` if its types have no values that can be sent, or only large ones.
    pub fn payload(&mut self, entries: &[Entry], arguments: &[Type]) -> Option<Vec<Value>> {
        let entries = entries.iter();
        let types = entries.map(|entry| (entry.ty.substitute(arguments), &entry.lengths));
        types
            .map(|(ty, lengths)| self.value(&ty, lengths, 0))
            .collect()
    }

    fn parts<'p>(
        &mut self,
        parts: impl IntoIterator<Item = Part<'p>>,
        depth: usize,
    ) -> Option<Vec<Value>> {
        let parts = parts.into_iter();
        parts
            .map(|it| self.value(it.ty, it.lengths, depth))
            .collect()
    }

    fn value(&mut self, ty: &Type, lengths: &Lengths, depth: usize) -> Option<Value> {
        let (is_deep, below) = (depth >= C::DEPTH, depth + 1);
        self.left = self.left.checked_sub(1)?;
        if depth > C::DEEPEST {
            return None;
        }
        let (shape, lengths) = self.program.shape(ty, lengths);
        let most = lengths.most.map_or(u64::MAX, |limit| limit.most);
        let length = if is_deep { 0 } else { self.choices.items(most) };
        Some(match shape {
            Shape::Builtin(builtin) => self.choices.builtin(builtin, most),
            Shape::List(item) => {
                let items = self.parts((0..length).map(|_| item), below);
                Value::List(items.unwrap_or_default())
            }
            Shape::Option(_) if is_deep || !self.choices.is_some() => Value::Option(None),
            Shape::Option(item) => {
                let value = self.parts([item], below).and_then(|mut it| it.pop());
                Value::Option(value.map(Box::new))
            }
            Shape::Tuple(items) => Value::Tuple(self.parts(items, below)?),
            Shape::Struct(fields) => {
                let values = self.parts(fields.iter().map(Part::from), below)?;
                let names = fields.iter().map(|field| field.name.text().into());
                Value::Struct(names.zip(values).collect())
            }
            Shape::Enum(variants) => {
                let mut order: Vec<_> = variants.iter().collect();
                let first = self.choices.variant(order.len());
                order.rotate_left(first);
                if is_deep {
                    order.sort_by_key(|variant| variant.entries.len());
                }
                return order.into_iter().find_map(|variant| {
                    let values = self.parts(variant.entries.iter().map(Part::from), below)?;
                    Some(Value::Variant(variant.name.text().into(), values))
                });
            }
            Shape::Host(_) | Shape::Endpoint(_) | Shape::Unknown => return None,
        })
    }
}
