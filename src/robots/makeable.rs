//! Which values robots can make.

use crate::protocol::{Definition, Entry, Program, Type, TypeId, Variant};
use std::collections::VecDeque;

/// For each declared type, how deep its smallest values are.
#[derive(Debug)]
pub struct Makeable {
    /// `None` for types without values that a robot can make.
    heights: Vec<Option<u32>>,
}

impl Makeable {
    /// Of all types of a program.
    #[must_use]
    pub fn of(program: &Program) -> Makeable {
        let count = program.types.len();
        let mut makeable = Makeable {
            heights: vec![None; count],
        };
        let mut users: Vec<Vec<TypeId>> = vec![Vec::new(); count];
        for (index, declared) in program.types.iter().enumerate() {
            for part in declared.definition.parts() {
                for id in part.named() {
                    users[id.index()].push(TypeId::new(index));
                }
            }
        }
        // A height becomes smaller with each change, so this ends.
        let mut pending: VecDeque<TypeId> = (0..count).map(TypeId::new).collect();
        while let Some(id) = pending.pop_front() {
            let found = makeable.of_definition(&program.ty(id).definition);
            let old = makeable.heights[id.index()];
            if found.is_some_and(|found| old.is_none_or(|old| found < old)) {
                makeable.heights[id.index()] = found;
                pending.extend(&users[id.index()]);
            }
        }
        makeable
    }

    /// Whether a robot can make values of a type.
    #[must_use]
    pub fn is(&self, ty: &Type) -> bool {
        self.height(ty).is_some()
    }

    /// Whether a robot can make a variant.
    #[must_use]
    pub fn has(&self, variant: &Variant) -> bool {
        self.of_entries(&variant.entries).is_some()
    }

    /// The position of the variant with the smallest values: the first, if several are equally small.
    #[must_use]
    pub fn shallow(&self, variants: &[Variant]) -> Option<usize> {
        let heights = variants.iter().enumerate();
        let heights =
            heights.filter_map(|(at, variant)| Some((self.of_entries(&variant.entries)?, at)));
        heights.min().map(|(_, at)| at)
    }

    /// How deep the smallest values of a type are, apart from lists and options; `None` if a robot can make none.
    #[must_use]
    pub fn height(&self, ty: &Type) -> Option<u32> {
        match ty {
            Type::Builtin(_) | Type::List(_) | Type::Option(_) => Some(0),
            Type::Tuple(items) => self.above(items.iter()),
            Type::Named(id) => self.heights[id.index()],
            Type::Endpoint(endpoint) => (endpoint.state.index() == 0).then_some(0),
            Type::Parameter(_) | Type::Error => None,
        }
    }

    fn above<'t>(&self, parts: impl Iterator<Item = &'t Type>) -> Option<u32> {
        let mut height = 0;
        for part in parts {
            height = height.max(self.height(part)?.saturating_add(1));
        }
        Some(height.max(1))
    }

    fn of_entries(&self, entries: &[Entry]) -> Option<u32> {
        match entries {
            [] => Some(0),
            entries => self.above(entries.iter().map(|entry| &entry.ty)),
        }
    }

    fn of_definition(&self, definition: &Definition) -> Option<u32> {
        match definition {
            Definition::Alias(target) => self.height(target),
            Definition::Struct(fields) if fields.is_empty() => Some(0),
            Definition::Struct(fields) => self.above(fields.iter().map(|field| &field.ty)),
            Definition::Enum(variants) => {
                let heights = variants.iter();
                let heights = heights.filter_map(|variant| self.of_entries(&variant.entries));
                heights.min()
            }
            Definition::Extern(..) | Definition::Undeclared => Some(0),
        }
    }
}
