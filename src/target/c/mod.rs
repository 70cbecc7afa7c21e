//! The C target: which files are written.

use crate::check::{CheckedProgram, Scope};
use crate::protocol::Program;
use crate::target::{Generated, Options};

/// Writes the program in C.
#[must_use]
pub fn generate(_checked: &CheckedProgram, _options: &Options) -> Generated {
    Generated::default()
}

/// Hands over every name that will be declared, scope by scope.
pub fn spellings(_program: &Program, _options: &Options, _hand_over: &mut dyn FnMut(Scope)) {}
