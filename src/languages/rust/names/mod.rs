//! What things are called in generated Rust.

pub mod fields;
pub mod methods;
pub mod public_names;
pub mod spelling;
