//! The names that the targets will declare, as the `clashing-names` rule compares them. The targets fill these in.

use crate::source::Span;

/// One scope of a target language, in which names must differ: a module, an object, the global scope of C.
#[derive(Debug)]
pub struct Scope {
    /// The target, as users call it: `Rust`, `C`, `Scala`.
    pub target: &'static str,
    /// The scope in the target's own terms, such as `module bank::client` or `the global scope of the C program`. Two scopes of
    /// one target with the same `place` are one scope, even across several files.
    pub place: String,
    /// Whether the target's file system or linker cannot distinguish names that differ only in case.
    pub ignores_case: bool,
    /// Whether code for the target was requested.
    pub is_asked: bool,
    /// The names declared there.
    pub names: Vec<Spelled>,
}

/// A name in its final spelling, escapes included.
#[derive(Debug)]
pub struct Spelled {
    /// The spelling.
    pub spelling: String,
    /// The source text that it comes from.
    pub origin: Span,
    /// What it is, such as ``state `login` `` or ``the message type of state `login` ``.
    pub what: String,
}

impl Scope {
    /// A scope in which names that differ only in case differ, of a target for which no code was requested.
    pub fn new(target: &'static str, place: impl Into<String>, names: Vec<Spelled>) -> Scope {
        Scope {
            target,
            place: place.into(),
            ignores_case: false,
            is_asked: false,
            names,
        }
    }
}

/// A name of a protocol file, or one that is made from it.
pub fn spelled(spelling: String, origin: Span, what: String) -> Spelled {
    Spelled {
        spelling,
        origin,
        what,
    }
}
