//! The names that the targets will declare, as the `clashing-names` rule compares them. The targets fill these in.

use crate::source::Span;

/// One place in a target language where names must differ: a module, an object, the global scope of C.
#[derive(Debug)]
pub struct Scope {
    /// The target, as users call it: `Rust`, `C`, `Scala`.
    pub target: &'static str,
    /// The place in the target's own words, such as `module bank::client` or `the names of the C program`. Two scopes of one
    /// target with the same place are one scope, also over several files.
    pub place: String,
    /// Whether the target's file system or linker cannot tell names apart that differ in case only.
    pub ignores_case: bool,
    /// Whether code of the target is asked for.
    pub is_asked: bool,
    /// What is declared there.
    pub names: Vec<Spelled>,
}

/// A name in its final spelling, escapes included.
#[derive(Debug)]
pub struct Spelled {
    /// The spelling.
    pub spelling: String,
    /// What the user wrote that leads to it; `None` for a name that the target itself declares there, such as `init`.
    pub origin: Option<Span>,
    /// What it is, such as ``state `login` `` or ``the message type of state `login` ``.
    pub what: String,
}
