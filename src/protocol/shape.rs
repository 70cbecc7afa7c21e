//! What values consist of.

use super::{
    Builtin, Definition, EndpointType, Entry, Field, Lengths, Program, Type, TypeId, Variant,
};
use crate::name::Name;

/// What the values of a type consist of. There are no aliases: what they stand for has a shape.
#[derive(Debug)]
pub enum Shape<'p> {
    /// A value without parts.
    Builtin(Builtin),
    /// Items of one type.
    List(Part<'p>),
    /// One value or none.
    Option(Part<'p>),
    /// Parts without names.
    Tuple(Vec<Part<'p>>),
    /// These fields.
    Struct(&'p [Field]),
    /// One of these variants.
    Enum(&'p [Variant]),
    /// Something that only the host program knows.
    Host(TypeId),
    /// An endpoint.
    Endpoint(&'p EndpointType),
    /// A value of a type parameter, or of a type that could not be resolved.
    Unknown,
}

/// A part of a value.
#[derive(Clone, Copy, Debug)]
pub struct Part<'p> {
    /// The name of an entry or a field.
    pub name: Option<&'p Name>,
    /// Its type.
    pub ty: &'p Type,
    /// The bounds in its type.
    pub lengths: &'p Lengths,
}

impl<'p> From<&'p Field> for Part<'p> {
    fn from(field: &'p Field) -> Part<'p> {
        Part {
            name: Some(&field.name),
            ty: &field.ty,
            lengths: &field.lengths,
        }
    }
}

impl<'p> From<&'p Entry> for Part<'p> {
    fn from(entry: &'p Entry) -> Part<'p> {
        Part {
            name: Some(&entry.name),
            ty: &entry.ty,
            lengths: &entry.lengths,
        }
    }
}

impl Program {
    /// The shape of a type that is written with these bounds, and the bounds of the type that aliases stand for.
    #[must_use]
    pub fn shape<'p>(&'p self, ty: &'p Type, lengths: &'p Lengths) -> (Shape<'p>, &'p Lengths) {
        let (ty, lengths) = self.unaliased(ty, lengths);
        let part = |at, ty| Part {
            name: None,
            ty,
            lengths: lengths.part(at),
        };
        let shape = match ty {
            Type::Builtin(builtin) => Shape::Builtin(*builtin),
            Type::List(item) => Shape::List(part(0, item)),
            Type::Option(item) => Shape::Option(part(0, item)),
            Type::Tuple(items) => {
                let items = items.iter().enumerate();
                Shape::Tuple(items.map(|(at, item)| part(at, item)).collect())
            }
            Type::Named(id) => match &self.ty(*id).definition {
                Definition::Struct(fields) => Shape::Struct(fields),
                Definition::Enum(variants) => Shape::Enum(variants),
                Definition::Alias(_) | Definition::Extern(..) => Shape::Host(*id),
            },
            Type::Endpoint(endpoint) => Shape::Endpoint(endpoint),
            Type::Parameter(_) | Type::Error => Shape::Unknown,
        };
        (shape, lengths)
    }
}
