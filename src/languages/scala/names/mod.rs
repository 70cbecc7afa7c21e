//! What things are called in generated Scala.

pub mod object_scope;
pub mod public_names;
pub mod spelling;
pub mod whole;
