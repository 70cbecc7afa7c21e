//! The tree of a text: what is declared in it, what may be written at a position, and what an editor shows of it.

// Most kinds of nodes cannot occur at a given position.
#[allow(clippy::wildcard_enum_match_arm)]
pub mod context;
pub mod shape;
#[allow(clippy::wildcard_enum_match_arm)]
pub mod symbols;
