//! Values for payloads in which something is changed.

use crate::talk::Value;
use duologue::protocol::{Builtin, Entry, Lengths, Part, Program, Shape, Type};

/// How deeply values are nested, where their type allows it to end.
const DEPTH: usize = 6;

/// How deeply values are nested at most.
const DEEPEST: usize = 40;

/// How many values a payload has at most.
const VALUES: usize = 4 << 10;

/// Makes values.
pub struct Maker<'a> {
    program: &'a Program,
    /// Which of the variants is chosen, of each enum.
    choice: usize,
    depth: usize,
    /// How many more values it makes.
    left: usize,
    /// The most variants of an enum that was met.
    pub variants: usize,
}

impl<'a> Maker<'a> {
    pub fn new(program: &'a Program, choice: usize) -> Maker<'a> {
        Maker {
            program,
            choice,
            depth: 0,
            left: VALUES,
            variants: 1,
        }
    }

    /// The values of a payload with these entries; `None` if its types have no values that can be sent, or only large ones.
    pub fn payload(&mut self, entries: &[Entry], arguments: &[Type]) -> Option<Vec<Value>> {
        let types = entries.iter();
        let types = types.map(|entry| (entry.ty.substitute(arguments), &entry.lengths));
        let values = types.map(|(ty, lengths)| self.value(&ty, lengths));
        values.collect()
    }

    fn parts<'p>(&mut self, parts: impl IntoIterator<Item = Part<'p>>) -> Option<Vec<Value>> {
        let parts = parts.into_iter();
        parts.map(|it| self.value(it.ty, it.lengths)).collect()
    }

    fn value(&mut self, ty: &Type, lengths: &Lengths) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        if self.depth > DEEPEST {
            return None;
        }
        self.depth += 1;
        let made = self.of_type(ty, lengths);
        self.depth -= 1;
        made
    }

    fn of_type(&mut self, ty: &Type, lengths: &Lengths) -> Option<Value> {
        let is_deep = self.depth > DEPTH;
        let (shape, lengths) = self.program.shape(ty, lengths);
        let most = lengths.most.map_or(u64::MAX, |limit| limit.most);
        Some(match shape {
            Shape::Builtin(builtin) => of_builtin(builtin, most),
            Shape::List(item) => {
                let item = (!is_deep && most > 0).then_some(item);
                Value::List(self.parts(item).unwrap_or_default())
            }
            Shape::Option(item) => {
                let value = self.parts((!is_deep).then_some(item));
                Value::Option(value.and_then(|mut it| it.pop()).map(Box::new))
            }
            Shape::Tuple(items) => Value::Tuple(self.parts(items)?),
            Shape::Struct(fields) => {
                let values = self.parts(fields.iter().map(Part::from))?;
                let names = fields.iter().map(|field| field.name.text().into());
                Value::Struct(names.zip(values).collect())
            }
            Shape::Enum(variants) => {
                self.variants = self.variants.max(variants.len());
                let mut order: Vec<_> = variants.iter().collect();
                order.rotate_left(self.choice % variants.len().max(1));
                if is_deep {
                    order.sort_by_key(|variant| variant.entries.len());
                }
                return order.into_iter().find_map(|variant| {
                    let values = self.parts(variant.entries.iter().map(Part::from))?;
                    Some(Value::Variant(variant.name.text().into(), values))
                });
            }
            Shape::Host(_) | Shape::Endpoint(_) | Shape::Unknown => return None,
        })
    }
}

fn of_builtin(builtin: Builtin, most: u64) -> Value {
    let text = &"abc"[..most.min(3) as usize];
    match builtin {
        Builtin::Bool => Value::Bool(true),
        Builtin::U8 | Builtin::U16 | Builtin::U32 | Builtin::U64 => {
            Value::Unsigned(u64::from_le_bytes([1; 8]))
        }
        Builtin::I8 | Builtin::I16 | Builtin::I32 | Builtin::I64 => {
            Value::Signed(i64::from_le_bytes([1; 8]))
        }
        Builtin::F32 | Builtin::F64 => Value::Real(0.0),
        Builtin::Str => Value::Text(text.to_owned()),
        Builtin::Bytes => Value::Bytes(text.into()),
    }
}
