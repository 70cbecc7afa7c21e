//! What things are called in generated Scala.

pub mod public_names;
pub mod spelling;
