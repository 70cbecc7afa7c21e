//! The programs of `tests/services`, each alone with its clients, and all of them together.

mod orders;
mod play;
mod sensors;
mod together;
