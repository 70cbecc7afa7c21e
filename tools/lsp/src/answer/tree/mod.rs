//! The tree of a text: what is declared in it, what may be written at a position, and what an editor shows of it.

#[allow(clippy::wildcard_enum_match_arm)]
pub mod context;
#[allow(clippy::wildcard_enum_match_arm)]
pub mod semantic;
pub mod shape;
#[allow(clippy::wildcard_enum_match_arm)]
pub mod symbols;
#[allow(clippy::wildcard_enum_match_arm)]
pub mod text;
