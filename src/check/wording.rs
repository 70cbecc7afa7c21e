//! Parts of a protocol, as the user wrote or would write them.

pub use crate::protocol::text::type_text;

use crate::diagnostic::joined;
use crate::protocol::{Bound, Program};

/// A bound's name.
pub fn bound_word(program: &Program, bound: Bound) -> &str {
    if let Bound::Extern(id) = bound {
        return program.bound(id).name.text();
    }
    let mut words = Bound::BUILTINS.iter();
    let found = words.find(|(_, named)| *named == bound);
    found.map_or("_", |(word, _)| *word)
}

/// `a`, `a and b`, `a, b and c`, or `a, b, c and 4 more`.
pub fn and(words: &[String]) -> String {
    const SHOWN: usize = 4;
    if words.len() <= SHOWN {
        return joined(words, "and");
    }
    let (shown, more) = words.split_at(SHOWN - 1);
    format!("{} and {} more", shown.join(", "), more.len())
}
