//! A payload, and where in it something can be wrong.

use crate::talk::{Value, write_count};
use duologue::protocol::{Builtin, Definition, Entry, Lengths, Program, Type};
use duologue::sizes::Sizes;

/// How deeply values are nested, where their type allows it to end.
const DEPTH: usize = 6;

/// How deeply values are nested at most.
const DEEPEST: usize = 40;

/// How many bytes a sample has at most.
const LONGEST: usize = 4 << 10;

/// An encoded payload.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub bytes: Vec<u8>,
    pub spots: Vec<Spot>,
}

/// A part of a payload.
#[derive(Clone, Debug)]
pub struct Spot {
    /// Where it begins and ends in the payload.
    pub at: usize,
    pub end: usize,
    pub part: Part,
    /// The value that it belongs to, as `customer.name`.
    pub path: String,
}

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A byte that is 0 or 1.
    Flag,
    /// A floating point number.
    Real,
    /// A count and what it counts, from `content` on.
    Counted {
        content: usize,
        /// What is counted: bytes, or items of at least this many bytes.
        least: u64,
        most: Option<u64>,
        is_text: bool,
        is_list: bool,
    },
    /// The number of a variant, of this many.
    Variant { count: usize },
}

/// Makes samples.
pub struct Sampler<'a> {
    pub program: &'a Program,
    pub sizes: &'a Sizes,
    /// Which of the variants is chosen, of each enum.
    pub choice: usize,
    sample: Sample,
    depth: usize,
    /// The most variants of an enum that was met.
    pub variants: usize,
}

impl<'a> Sampler<'a> {
    pub fn new(program: &'a Program, sizes: &'a Sizes, choice: usize) -> Sampler<'a> {
        Sampler {
            program,
            sizes,
            choice,
            sample: Sample::default(),
            depth: 0,
            variants: 1,
        }
    }

    /// A payload with these entries, and these values as far as there are some; `None` if its types have no values that can be sent, or
    /// only large ones.
    pub fn payload(
        &mut self,
        entries: &[Entry],
        arguments: &[Type],
        values: &[Value],
    ) -> Option<Sample> {
        self.sample = Sample::default();
        for (at, entry) in entries.iter().enumerate() {
            let ty = entry.ty.substitute(arguments);
            self.value(&ty, &entry.lengths, entry.name.text(), values.get(at))?;
        }
        Some(std::mem::take(&mut self.sample))
    }

    fn spot(&mut self, at: usize, part: Part, path: &str) {
        let (end, path) = (self.sample.bytes.len(), path.to_owned());
        self.sample.spots.push(Spot {
            at,
            end,
            part,
            path,
        });
    }

    fn value(
        &mut self,
        ty: &Type,
        lengths: &Lengths,
        path: &str,
        known: Option<&Value>,
    ) -> Option<()> {
        if self.depth > DEEPEST || self.sample.bytes.len() > LONGEST {
            return None;
        }
        self.depth += 1;
        let made = self.of_type(ty, lengths, path, known);
        self.depth -= 1;
        made
    }

    fn of_type(
        &mut self,
        ty: &Type,
        lengths: &Lengths,
        path: &str,
        known: Option<&Value>,
    ) -> Option<()> {
        let is_deep = self.depth > DEPTH;
        let program = self.program;
        let (ty, lengths) = program.unaliased(ty, lengths);
        let at = self.sample.bytes.len();
        let most = lengths.most.map(|limit| limit.most);
        match ty {
            Type::Builtin(builtin) => self.builtin(*builtin, most, path, known),
            Type::List(item) if let Some(Value::List(values)) = known => {
                write_count(&mut self.sample.bytes, values.len() as u64);
                let content = self.sample.bytes.len();
                for (index, value) in values.iter().enumerate() {
                    let path = format!("{path}[{index}]");
                    self.value(item, lengths.part(0), &path, Some(value))?;
                }
                let part = Part::Counted {
                    content,
                    least: self.sizes.of_type(item).least,
                    most,
                    is_text: false,
                    is_list: true,
                };
                self.spot(at, part, path);
            }
            Type::List(item) => {
                self.sample.bytes.push(1);
                let before = self.sample.spots.len();
                let is_empty = is_deep
                    || most == Some(0)
                    || self
                        .value(item, lengths.part(0), &format!("{path}[0]"), None)
                        .is_none();
                if is_empty {
                    self.sample.bytes.truncate(at);
                    self.sample.spots.truncate(before);
                    self.sample.bytes.push(0);
                }
                let least = self.sizes.of_type(item).least;
                let part = Part::Counted {
                    content: at + 1,
                    least,
                    most,
                    is_text: false,
                    is_list: true,
                };
                self.spot(at, part, path);
            }
            Type::Option(item) => {
                self.sample.bytes.push(1);
                let before = self.sample.spots.len();
                self.spot(at, Part::Flag, path);
                let (is_none, inner) = match known {
                    Some(Value::Option(inner)) => (inner.is_none(), inner.as_deref()),
                    _ => (is_deep, None),
                };
                if is_none || self.value(item, lengths.part(0), path, inner).is_none() {
                    self.sample.bytes.truncate(at);
                    self.sample.spots.truncate(before);
                    self.sample.bytes.push(0);
                    self.spot(at, Part::Flag, path);
                }
            }
            Type::Tuple(items) => {
                for (index, item) in items.iter().enumerate() {
                    let path = format!("{path}.{index}");
                    let value = match known {
                        Some(Value::Tuple(values)) => values.get(index),
                        _ => None,
                    };
                    self.value(item, lengths.part(index), &path, value)?;
                }
            }
            Type::Named(id) => match &program.ty(*id).definition {
                Definition::Struct(fields) => {
                    for (index, field) in fields.iter().enumerate() {
                        let path = format!("{path}.{}", field.name);
                        let value = match known {
                            Some(Value::Struct(values)) => {
                                values.get(index).map(|(_, value)| value)
                            }
                            _ => None,
                        };
                        self.value(&field.ty, &field.lengths, &path, value)?;
                    }
                }
                Definition::Enum(variants) => {
                    self.variants = self.variants.max(variants.len());
                    let chosen = self.choice % variants.len().max(1);
                    let mut order: Vec<usize> = (0..variants.len()).collect();
                    order.rotate_left(chosen);
                    let (name, values) = match known {
                        Some(Value::Variant(name, values)) => (&**name, values.as_slice()),
                        _ => ("", &[][..]),
                    };
                    let is_named = |index: &usize| variants[*index].name.text() == name;
                    if let Some(index) = (0..variants.len()).find(is_named) {
                        order = vec![index];
                    } else if is_deep {
                        order.sort_by_key(|index| variants[*index].entries.len());
                    }
                    let before = self.sample.spots.len();
                    let mut made = order.into_iter().map(|index| {
                        self.sample.bytes.truncate(at);
                        self.sample.spots.truncate(before);
                        write_count(&mut self.sample.bytes, index as u64);
                        self.spot(
                            at,
                            Part::Variant {
                                count: variants.len(),
                            },
                            path,
                        );
                        for (at, entry) in variants[index].entries.iter().enumerate() {
                            let path = format!("{path}.{}", entry.name);
                            self.value(&entry.ty, &entry.lengths, &path, values.get(at))?;
                        }
                        Some(())
                    });
                    made.find_map(|made| made)?;
                }
                Definition::Alias(_) | Definition::Extern(..) => {
                    return None;
                }
            },
            Type::Endpoint(_) | Type::Parameter(_) | Type::Error => return None,
        }
        Some(())
    }

    fn builtin(&mut self, builtin: Builtin, most: Option<u64>, path: &str, known: Option<&Value>) {
        let at = self.sample.bytes.len();
        let width = match builtin {
            Builtin::Bool => {
                let is_false = matches!(known, Some(Value::Bool(false)));
                self.sample.bytes.push(u8::from(!is_false));
                return self.spot(at, Part::Flag, path);
            }
            Builtin::Str | Builtin::Bytes => {
                let length = most.unwrap_or(3).min(3) as usize;
                let text = match known {
                    Some(Value::Text(text)) => text.as_bytes(),
                    Some(Value::Bytes(bytes)) => bytes,
                    _ => &b"abc"[..length],
                };
                write_count(&mut self.sample.bytes, text.len() as u64);
                let content = self.sample.bytes.len();
                self.sample.bytes.extend(text);
                let part = Part::Counted {
                    content,
                    least: 1,
                    most,
                    is_text: builtin == Builtin::Str,
                    is_list: false,
                };
                return self.spot(at, part, path);
            }
            Builtin::U8 | Builtin::I8 => 1,
            Builtin::U16 | Builtin::I16 => 2,
            Builtin::U32 | Builtin::I32 => 4,
            Builtin::U64 | Builtin::I64 => 8,
            Builtin::F32 | Builtin::F64 => {
                let width = if builtin == Builtin::F32 { 4 } else { 8 };
                match known {
                    Some(Value::Real(real)) if width == 4 => {
                        self.sample.bytes.extend((*real as f32).to_le_bytes());
                    }
                    Some(Value::Real(real)) => self.sample.bytes.extend(real.to_le_bytes()),
                    _ => self.sample.bytes.resize(at + width, 0),
                }
                return self.spot(at, Part::Real, path);
            }
        };
        let number = match known {
            Some(Value::Unsigned(number)) => number.to_le_bytes(),
            Some(Value::Signed(number)) => number.to_le_bytes(),
            _ => [1; 8],
        };
        self.sample.bytes.extend(&number[..width]);
    }
}
