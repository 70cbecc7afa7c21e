//! The programs of `tests/services`, each alone with its clients, and all of them together.

mod orders;
mod play;
mod sensors;
mod together;

use crate::support::{repository, succeed};
use std::process::Command;

#[test]
fn their_protocols_are_sound() {
    let mut check = Command::new(env!("CARGO_BIN_EXE_duologue"));
    check.current_dir(repository());
    check.args(["check", "tests/services/protocols"]);
    succeed(&mut check).unwrap_or_else(|failure| panic!("{failure}"));
}
