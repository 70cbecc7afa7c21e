//! Rules about names that collide in generated code.

pub mod clashing_names;
pub mod target_clash;
pub mod target_names;
