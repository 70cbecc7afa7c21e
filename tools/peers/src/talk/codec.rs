//! Values as bytes, by `docs/wire.md`.

use super::value::{DEPTH, Value};
use duologue::protocol::{Builtin, Entry, Lengths, Limit, Part, Program, Shape, Type};
use duologue::sizes::Sizes;

/// How deeply lists may be nested.
const LISTS: usize = 256;

/// How many values a payload may have, so that few bytes do not take much memory.
const VALUES: usize = 1 << 20;

/// How many items of a list may take no bytes.
const EMPTY_ITEMS: u64 = 65_535;

/// Appends a count.
pub fn write_count(out: &mut Vec<u8>, mut count: u64) {
    while count >= 0x80 {
        out.push((count & 0x7f) as u8 | 0x80);
        count >>= 7;
    }
    out.push(count as u8);
}

/// Reads a count from the beginning of `bytes`, with its length. `Ok(None)` if it is not complete.
///
/// # Errors
/// If it does not fit into 64 bits, or is longer than necessary.
pub(super) fn read_count(bytes: &[u8]) -> Result<Option<(u64, usize)>, &'static str> {
    let mut count = 0_u64;
    for (index, byte) in bytes.iter().enumerate() {
        let low = u64::from(byte & 0x7f);
        if index == 9 && low > 1 || index > 9 {
            return Err("a count does not fit into 64 bits");
        }
        count |= low << (7 * index);
        if byte & 0x80 == 0 {
            if *byte == 0 && index > 0 {
                return Err("a count is longer than necessary");
            }
            return Ok(Some((count, index + 1)));
        }
    }
    Ok(None)
}

/// A part of a payload in which something can be wrong.
#[derive(Clone, Debug)]
pub struct Spot {
    /// Where it begins and ends in the payload.
    pub at: usize,
    /// The byte after it.
    pub end: usize,
    /// What it is.
    pub kind: SpotKind,
    /// The value that it belongs to, as `customer.name`.
    pub path: String,
}

/// What a part of a payload is.
#[derive(Clone, Debug)]
pub enum SpotKind {
    /// A byte that is 0 or 1.
    Flag,
    /// A floating point number.
    Real,
    /// A count and what it counts, from `content` on: items of a type, or bytes.
    Counted {
        /// Where what is counted begins.
        content: usize,
        /// The type of the items.
        item: Option<Type>,
        /// The most that the protocol allows.
        most: Option<u64>,
        /// Whether the bytes are a text.
        is_text: bool,
    },
    /// The number of a variant, of this many.
    Variant(usize),
}

/// Encodes values, and notes the parts in which something can be wrong.
#[derive(Debug)]
pub struct Encoder<'p> {
    program: &'p Program,
    /// The encoding.
    pub bytes: Vec<u8>,
    /// Its parts.
    pub spots: Vec<Spot>,
}

impl<'p> Encoder<'p> {
    /// An encoder that has no values yet.
    #[must_use]
    pub fn new(program: &'p Program) -> Encoder<'p> {
        Encoder {
            program,
            bytes: Vec::new(),
            spots: Vec::new(),
        }
    }

    fn spot(&mut self, at: usize, kind: SpotKind, path: &str) {
        let (end, path) = (self.bytes.len(), path.to_owned());
        self.spots.push(Spot {
            at,
            end,
            kind,
            path,
        });
    }

    /// Appends the encoding of a value of a type.
    ///
    /// # Errors
    /// The value cannot leave its process.
    pub fn value(
        &mut self,
        ty: &Type,
        lengths: &Lengths,
        value: &Value,
        path: &str,
    ) -> Result<(), &'static str> {
        let at = self.bytes.len();
        let (shape, lengths) = self.program.shape(ty, lengths);
        let counted = |content, item, is_text| SpotKind::Counted {
            content,
            item,
            most: lengths.most.map(|limit| limit.most),
            is_text,
        };
        match (shape, value) {
            (Shape::Builtin(builtin), value) => {
                encode_builtin(builtin, value, &mut self.bytes)?;
                let kind = match (builtin, value) {
                    (Builtin::Bool, _) => SpotKind::Flag,
                    (Builtin::F32 | Builtin::F64, _) => SpotKind::Real,
                    (_, Value::Text(text)) => counted(self.bytes.len() - text.len(), None, true),
                    (_, Value::Bytes(bytes)) => {
                        counted(self.bytes.len() - bytes.len(), None, false)
                    }
                    _ => return Ok(()),
                };
                self.spot(at, kind, path);
                Ok(())
            }
            (Shape::List(item), Value::List(items)) => {
                write_count(&mut self.bytes, items.len() as u64);
                let content = self.bytes.len();
                let items = items.iter().enumerate();
                self.values(items.map(|(at, value)| (item, value, format!("{path}[{at}]"))))?;
                self.spot(at, counted(content, Some(item.ty.clone()), false), path);
                Ok(())
            }
            (Shape::Option(item), Value::Option(inner)) => {
                self.bytes.push(u8::from(inner.is_some()));
                self.spot(at, SpotKind::Flag, path);
                self.values(inner.iter().map(|value| (item, &**value, path.to_owned())))
            }
            (Shape::Tuple(items), Value::Tuple(values)) => {
                let items = items.into_iter().zip(values).enumerate();
                self.values(items.map(|(at, (item, value))| (item, value, format!("{path}.{at}"))))
            }
            (Shape::Struct(fields), Value::Struct(values)) => {
                let fields = fields.iter().map(Part::from).zip(values);
                self.values(
                    fields.map(|(field, (name, value))| (field, value, format!("{path}.{name}"))),
                )
            }
            (Shape::Enum(variants), Value::Variant(name, values)) => {
                let mut names = variants.iter().map(|variant| variant.name.text());
                let index = names.position(|known| known == &**name);
                let index = index.ok_or("the variant does not exist")?;
                write_count(&mut self.bytes, index as u64);
                self.spot(at, SpotKind::Variant(variants.len()), path);
                let entries = variants[index].entries.iter().zip(values);
                self.values(entries.map(|(entry, value)| {
                    (Part::from(entry), value, format!("{path}.{}", entry.name))
                }))
            }
            (Shape::Endpoint(_), _) => Err("an endpoint cannot leave its process"),
            (Shape::Unknown, _) => Err("a value of a type parameter cannot leave its process"),
            _ => Err("a value of a type of the host program cannot leave its process"),
        }
    }

    fn values<'v>(
        &mut self,
        parts: impl Iterator<Item = (Part<'v>, &'v Value, String)>,
    ) -> Result<(), &'static str> {
        for (part, value, path) in parts {
            self.value(part.ty, part.lengths, value, &path)?;
        }
        Ok(())
    }
}

pub(super) fn encode_builtin(
    builtin: Builtin,
    value: &Value,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let width = builtin.width().unwrap_or(0);
    match value {
        Value::Bool(value) => out.push(u8::from(*value)),
        Value::Unsigned(value) => out.extend_from_slice(&value.to_le_bytes()[..width]),
        Value::Signed(value) => out.extend_from_slice(&value.to_le_bytes()[..width]),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it was read as a number of 32 bits"
        )]
        Value::Real(value) if builtin == Builtin::F32 => {
            out.extend_from_slice(&(*value as f32).to_le_bytes());
        }
        Value::Real(value) => out.extend_from_slice(&value.to_le_bytes()),
        Value::Text(text) => {
            write_count(out, text.len() as u64);
            out.extend_from_slice(text.as_bytes());
        }
        Value::Bytes(bytes) => {
            write_count(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
        Value::List(_)
        | Value::Option(_)
        | Value::Tuple(_)
        | Value::Struct(_)
        | Value::Variant(..)
        | Value::Opaque(_) => return Err("the value does not have its type"),
    }
    Ok(())
}

/// Whether bytes are a payload of a message with these entries, whose type parameters have these arguments.
#[must_use]
pub fn is_payload(
    program: &Program,
    sizes: &Sizes,
    entries: &[Entry],
    arguments: &[Type],
    bytes: &[u8],
) -> bool {
    payload_length(program, sizes, entries, arguments, bytes) == Some(bytes.len())
}

/// The length of the payload of such a message at the beginning of `bytes`, if there is one.
#[must_use]
fn payload_length(
    program: &Program,
    sizes: &Sizes,
    entries: &[Entry],
    arguments: &[Type],
    bytes: &[u8],
) -> Option<usize> {
    let mut decoder = Decoder::new(program, sizes, bytes);
    let mut entries = entries.iter();
    let is_read = entries.all(|entry| {
        let ty = entry.ty.substitute(arguments);
        decoder.value(&ty, &entry.lengths).is_ok()
    });
    is_read.then(|| bytes.len() - decoder.bytes.len())
}

/// Reads values from bytes that a peer has sent.
#[derive(Debug)]
pub(super) struct Decoder<'a> {
    pub program: &'a Program,
    pub sizes: &'a Sizes,
    pub bytes: &'a [u8],
    lists: usize,
    depth: usize,
    /// How many more values there may be.
    values: usize,
}

impl<'a> Decoder<'a> {
    pub fn new(program: &'a Program, sizes: &'a Sizes, bytes: &'a [u8]) -> Decoder<'a> {
        Decoder {
            program,
            sizes,
            bytes,
            lists: 0,
            depth: 0,
            values: VALUES,
        }
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], &'static str> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (taken, rest) = self
            .bytes
            .split_at_checked(length)
            .ok_or("bytes are missing")?;
        self.bytes = rest;
        Ok(taken)
    }

    /// The next bytes as a number of this width.
    fn number<const WIDTH: usize>(&mut self) -> Result<[u8; WIDTH], &'static str> {
        let mut number = [0; WIDTH];
        number.copy_from_slice(self.take(WIDTH as u64)?);
        Ok(number)
    }

    fn count(&mut self) -> Result<u64, &'static str> {
        let (count, length) = read_count(self.bytes)?.ok_or("bytes are missing")?;
        self.bytes = &self.bytes[length..];
        Ok(count)
    }

    /// The next value, which has at most the lengths that its type is written with.
    pub fn value(&mut self, ty: &Type, lengths: &Lengths) -> Result<Value, &'static str> {
        self.values = (self.values.checked_sub(1)).ok_or("a payload has too many values")?;
        if self.depth == DEPTH {
            return Err("values are nested too deeply");
        }
        self.depth += 1;
        let value = self.of_type(ty, lengths);
        self.depth -= 1;
        value
    }

    fn of_type(&mut self, ty: &Type, lengths: &Lengths) -> Result<Value, &'static str> {
        let (shape, lengths) = self.program.shape(ty, lengths);
        Ok(match shape {
            Shape::Builtin(builtin) => self.builtin(builtin, lengths.most)?,
            Shape::List(item) => {
                let count = self.count()?;
                let fits = match self.sizes.of_type(item.ty).least {
                    0 => count <= EMPTY_ITEMS,
                    least => count <= self.bytes.len() as u64 / least,
                };
                if !fits {
                    return Err("a list has more items than its bytes have space for");
                }
                within(count, lengths.most)?;
                if self.lists == LISTS {
                    return Err("lists are nested too deeply");
                }
                self.lists += 1;
                let items = self.parts((0..count).map(|_| item));
                self.lists -= 1;
                Value::List(items?)
            }
            Shape::Option(item) => Value::Option(match self.number::<1>()? {
                [0] => None,
                [1] => Some(Box::new(self.value(item.ty, item.lengths)?)),
                _ => return Err("an option begins with neither 0 nor 1"),
            }),
            Shape::Tuple(items) => Value::Tuple(self.parts(items)?),
            Shape::Struct(fields) => {
                let values = self.parts(fields.iter().map(Part::from))?;
                let names = fields.iter().map(|field| field.name.text().into());
                Value::Struct(names.zip(values).collect())
            }
            Shape::Enum(variants) => {
                let index = usize::try_from(self.count()?).unwrap_or(usize::MAX);
                let variant = variants.get(index).ok_or("a variant does not exist")?;
                let values = self.parts(variant.entries.iter().map(Part::from))?;
                Value::Variant(variant.name.text().into(), values)
            }
            Shape::Host(_) => return Err("a value of a type of the host program cannot arrive"),
            Shape::Endpoint(_) | Shape::Unknown => return Err("such a value cannot arrive"),
        })
    }

    fn parts<'p>(
        &mut self,
        parts: impl IntoIterator<Item = Part<'p>>,
    ) -> Result<Vec<Value>, &'static str> {
        let parts = parts.into_iter();
        parts
            .map(|part| self.value(part.ty, part.lengths))
            .collect()
    }

    fn builtin(&mut self, builtin: Builtin, most: Option<Limit>) -> Result<Value, &'static str> {
        Ok(match builtin {
            Builtin::Bool => match self.number::<1>()? {
                [0] => Value::Bool(false),
                [1] => Value::Bool(true),
                _ => return Err("a `bool` is neither 0 nor 1"),
            },
            Builtin::U8 => Value::Unsigned(u8::from_le_bytes(self.number()?).into()),
            Builtin::U16 => Value::Unsigned(u16::from_le_bytes(self.number()?).into()),
            Builtin::U32 => Value::Unsigned(u32::from_le_bytes(self.number()?).into()),
            Builtin::U64 => Value::Unsigned(u64::from_le_bytes(self.number()?)),
            Builtin::I8 => Value::Signed(i8::from_le_bytes(self.number()?).into()),
            Builtin::I16 => Value::Signed(i16::from_le_bytes(self.number()?).into()),
            Builtin::I32 => Value::Signed(i32::from_le_bytes(self.number()?).into()),
            Builtin::I64 => Value::Signed(i64::from_le_bytes(self.number()?)),
            Builtin::F32 => Value::Real(f32::from_le_bytes(self.number()?).into()),
            Builtin::F64 => Value::Real(f64::from_le_bytes(self.number()?)),
            Builtin::Str => {
                let length = self.count()?;
                within(length, most)?;
                let text = std::str::from_utf8(self.take(length)?);
                Value::Text(text.map_err(|_| "a text is not UTF-8")?.to_owned())
            }
            Builtin::Bytes => {
                let length = self.count()?;
                within(length, most)?;
                Value::Bytes(self.take(length)?.to_vec())
            }
        })
    }
}

/// Checks a length against the bound that the protocol has for it.
fn within(length: u64, most: Option<Limit>) -> Result<(), &'static str> {
    match most {
        Some(limit) if length > limit.most => Err("a value is longer than its bound"),
        _ => Ok(()),
    }
}
