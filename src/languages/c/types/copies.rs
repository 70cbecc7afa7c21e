//! The functions that copy values of which parts are stored outside, so that they outlive the message they came in.

use super::Types;
use super::layouts::{Layouts, Table};
use crate::languages::c::ctype::CType;

/// The function for a type without a name of its own. Several headers may contain it; the first one that is included defines it.
pub struct Copy {
    pub word: String,
    /// What values consist of: the last is the table of the type.
    pub tables: Vec<Table>,
}

/// Whether a value has a function that copies it: parts of it are stored outside, and it can be in two places.
pub fn is_copied(types: &Types, ty: &CType) -> bool {
    let facts = types.facts(ty);
    facts.spreads && !facts.moves
}

/// The functions of the lists, options and tuples among these types. Their parts are complete.
pub fn of_inner(types: &Types, inner: &[CType], by: Option<usize>) -> Vec<Copy> {
    let copied = inner.iter().filter(|ty| is_copied(types, ty));
    let copies = copied.map(|ty| {
        let mut layouts = Layouts::new(types, by);
        layouts.of(ty);
        Copy {
            word: types.words(ty, by),
            tables: layouts.tables,
        }
    });
    copies.collect()
}
