//! Which values robots can make.

use crate::protocol::{Definition, Entry, Program, Type, Variant};

/// For each declared type, how deep its smallest values are; `None` for types without values that a robot can make.
#[derive(Debug)]
pub struct Makeable(Vec<Option<u32>>);

impl Makeable {
    /// Of all types of a program.
    #[must_use]
    pub fn of(program: &Program) -> Makeable {
        let height = |heights: &[_], id| of_definition(heights, &program.ty(id).definition);
        Makeable(program.settle(None, height))
    }

    /// Whether a robot can make values of a type.
    #[must_use]
    pub fn is(&self, ty: &Type) -> bool {
        of_type(&self.0, ty).is_some()
    }

    /// Whether a robot can make a variant.
    #[must_use]
    pub fn has(&self, variant: &Variant) -> bool {
        of_entries(&self.0, &variant.entries).is_some()
    }

    /// The position of the variant with the smallest values: the first, if several are equally small.
    #[must_use]
    pub fn shallow(&self, variants: &[Variant]) -> Option<usize> {
        let heights = variants.iter().zip(0..).filter_map(|(variant, at)| {
            let height = of_entries(&self.0, &variant.entries)?;
            Some((height, at))
        });
        heights.min().map(|(_, at)| at)
    }
}

/// How deep the smallest values of a type are, apart from lists and options.
fn of_type(heights: &[Option<u32>], ty: &Type) -> Option<u32> {
    match ty {
        Type::Builtin(_) | Type::List(_) | Type::Option(_) => Some(0),
        Type::Tuple(items) => above(heights, items),
        Type::Named(id) => heights[id.index()],
        Type::Endpoint(endpoint) => (endpoint.state.index() == 0).then_some(0),
        Type::Parameter(_) | Type::Error => None,
    }
}

/// One more than its highest part; 0 without parts.
fn above<'t>(heights: &[Option<u32>], parts: impl IntoIterator<Item = &'t Type>) -> Option<u32> {
    let mut height = 0;
    for part in parts {
        height = height.max(of_type(heights, part)?.saturating_add(1));
    }
    Some(height)
}

fn of_entries(heights: &[Option<u32>], entries: &[Entry]) -> Option<u32> {
    above(heights, entries.iter().map(|entry| &entry.ty))
}

fn of_definition(heights: &[Option<u32>], definition: &Definition) -> Option<u32> {
    match definition {
        Definition::Alias(target) => of_type(heights, target),
        Definition::Struct(fields) => above(heights, fields.iter().map(|field| &field.ty)),
        Definition::Enum(variants) => {
            let variants = variants.iter();
            let heights = variants.filter_map(|variant| of_entries(heights, &variant.entries));
            heights.min()
        }
        Definition::Extern(..) => Some(0),
    }
}
