//! How values are encoded, and the objects that encode the types that a file declares.

use super::names::object_scope::{ObjectScope, nested};
use super::names::spelling;
use super::names::whole::Whole;
use crate::protocol::{Builtin, Definition, Lengths, Type, TypeId, Variant};
use crate::wire::Sizes;
use askama::Template;
use std::fmt::Display;

/// If an enum has more variants and values than this, each part of it has code of its own, because the JVM limits the size of a method and
/// of a class.
const LARGEST_PART: usize = 400;

/// How values of a type are encoded.
pub enum Codec {
    /// By methods of the writer and the reader.
    Builtin {
        method: &'static str,
        /// Whether it is written as an `Int`.
        is_small: bool,
        most: Option<i64>,
    },
    Bytes {
        most: Option<i64>,
    },
    List {
        /// How many bytes an item takes.
        least: i64,
        most: Option<i64>,
        item: Box<Codec>,
    },
    Option(Box<Codec>),
    Tuple(Vec<Codec>),
    /// By an object.
    Declared(String),
    /// Another name of a built-in type, which is a type of its own.
    Distinct {
        codec: Box<Codec>,
        ty: String,
    },
}

/// The statement that encodes a value.
#[derive(Template)]
#[template(path = "scala/encoded.scala.jinja")]
pub struct Encoded<'c> {
    codec: &'c Codec,
    value: String,
}

/// The expression that decodes a value.
#[derive(Template)]
#[template(path = "scala/decoded.scala.jinja")]
pub struct Decoded<'c> {
    codec: &'c Codec,
}

impl Codec {
    pub fn encoded(&self, value: impl Display) -> Encoded<'_> {
        let value = value.to_string();
        Encoded { codec: self, value }
    }

    pub fn decoded(&self) -> Decoded<'_> {
        Decoded { codec: self }
    }

    pub fn of(scope: &ObjectScope, sizes: &Sizes, ty: &Type, lengths: &Lengths) -> Codec {
        let most = most(lengths);
        let part = |at, ty| Codec::of(scope, sizes, ty, lengths.part(at));
        match ty {
            Type::Builtin(Builtin::Bytes) => Codec::Bytes { most },
            Type::Builtin(builtin) => Codec::Builtin {
                method: method(*builtin),
                is_small: matches!(builtin, Builtin::I8 | Builtin::I16),
                most,
            },
            Type::List(item) => Codec::List {
                least: long(sizes.of_type(item).least),
                most,
                item: Box::new(part(0, item)),
            },
            Type::Option(item) => Codec::Option(Box::new(part(0, item))),
            Type::Tuple(items) => {
                let items = items.iter().enumerate();
                Codec::of_tuple(items.map(|(at, item)| part(at, item)))
            }
            Type::Named(id) if !matches!(scope.whole.underlying(ty), Type::Builtin(_)) => {
                Codec::Declared(scope.wire(*id))
            }
            Type::Named(_) => {
                let (builtin, lengths) = scope.whole.program.unaliased(ty, Lengths::NONE);
                let codec = Codec::of(scope, sizes, builtin, lengths);
                match scope.distinct(ty) {
                    Some(ty) => Codec::Distinct {
                        codec: Box::new(codec),
                        ty,
                    },
                    None => codec,
                }
            }
            // Obstacles, which no encoded message carries.
            Type::Parameter(_) | Type::Endpoint(_) | Type::Error => Codec::Tuple(Vec::new()),
        }
    }

    /// A codec for several values.
    pub fn of_tuple(parts: impl Iterator<Item = Codec>) -> Codec {
        nested(parts.collect(), &Codec::Tuple)
    }
}

/// The name of the methods that write and read a value.
fn method(builtin: Builtin) -> &'static str {
    match builtin {
        Builtin::Bool => "bool",
        Builtin::U8 => "u8",
        Builtin::U16 => "u16",
        Builtin::U32 => "u32",
        Builtin::U64 | Builtin::I64 => "i64",
        Builtin::I8 => "i8",
        Builtin::I16 => "i16",
        Builtin::I32 => "i32",
        Builtin::F32 => "f32",
        Builtin::F64 => "f64",
        Builtin::Str => "str",
        Builtin::Bytes => "bytes",
    }
}

/// Only a type without values exceeds the range of `Long`.
pub fn long(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The bound of a type.
pub fn most(lengths: &Lengths) -> Option<i64> {
    lengths.most.map(|limit| long(limit.most))
}

/// The object that encodes a declared type.
pub struct WireView {
    pub name: String,
    pub ty: String,
    pub body: WireBody,
}

pub enum WireBody {
    Alias(Codec),
    Struct(Vec<FieldCodec>),
    Enum {
        matching: Matching,
        count: usize,
        /// More than one if the enum is large.
        parts: Vec<Vec<VariantCodec>>,
    },
}

pub struct FieldCodec {
    pub name: String,
    pub codec: Codec,
}

pub struct VariantCodec {
    pub number: usize,
    pub name: String,
    pub fields: Vec<FieldCodec>,
}

impl WireView {
    /// `None` if a type needs no object, or has no encoding.
    pub fn of(scope: &mut ObjectScope, sizes: &Sizes, id: TypeId) -> Option<WireView> {
        let whole = scope.whole;
        let declared = whole.program.ty(id);
        if !whole.is_encoded(&Type::Named(id)) {
            return None;
        }
        scope.hide(std::iter::empty());
        let field = |name: String, ty: &Type, lengths: &Lengths| FieldCodec {
            name,
            codec: Codec::of(scope, sizes, ty, lengths),
        };
        let body = match &declared.definition {
            Definition::Alias(target) if matches!(whole.underlying(target), Type::Builtin(_)) => {
                return None;
            }
            Definition::Alias(target) => {
                WireBody::Alias(Codec::of(scope, sizes, target, &declared.lengths))
            }
            Definition::Struct(fields) => {
                let name = spelling::field_name;
                let fields = fields.iter();
                WireBody::Struct(
                    fields
                        .map(|it| field(name(it.name.text()), &it.ty, &it.lengths))
                        .collect(),
                )
            }
            Definition::Enum(variants) => {
                let name = whole.variant_field();
                let codec = |(number, variant): (usize, &Variant)| VariantCodec {
                    number,
                    name: spelling::type_name(variant.name.text()),
                    fields: (variant.entries.iter())
                        .map(|it| field(name(it.name.text()), &it.ty, &it.lengths))
                        .collect(),
                };
                let codecs = variants.iter().enumerate().map(codec).collect();
                WireBody::Enum {
                    matching: Matching::of(whole, variants),
                    count: variants.len(),
                    parts: parts(codecs, |variant| variant.fields.len()),
                }
            }
            Definition::Extern(..) => return None,
        };
        Some(WireView {
            name: spelling::wire_object(declared.name.text()),
            ty: scope.payload_type(&Type::Named(id)),
            body,
        })
    }
}

/// The parts into which code for these variants is split: one, unless there are many.
pub fn parts<V>(variants: Vec<V>, values: impl Fn(&V) -> usize) -> Vec<Vec<V>> {
    let (mut parts, mut size) = (vec![Vec::new()], 0);
    for variant in variants {
        let own = 1 + values(&variant);
        if size + own > LARGEST_PART {
            parts.push(Vec::new());
            size = 0;
        }
        size += own;
        parts.last_mut().expect("there is one").push(variant);
    }
    parts
}

/// Whether code for an enum is split into parts.
pub fn is_split(variants: &[Variant]) -> bool {
    parts(variants.iter().collect(), |variant| variant.entries.len()).len() > 1
}

/// How code finds the variant of `value`: by its type or, where code is split, by its number. The time in which the compilers analyze
/// patterns grows with the third power of the number of types.
pub struct Matching {
    pub by_number: bool,
    /// The member that has the number.
    pub member: &'static str,
}

impl Matching {
    pub fn of(whole: &Whole, variants: &[Variant]) -> Matching {
        Matching {
            by_number: is_split(variants),
            member: if whole.is_for_three() {
                "ordinal"
            } else {
                "$number"
            },
        }
    }
}
