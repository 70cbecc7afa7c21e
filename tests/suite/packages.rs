//! The packages as they are published, where `DUOLOGUE_TEST_WITH` names `packages`: Cargo fetches their dependencies.

use crate::support::{is_named, repository, succeed};
use std::path::Path;
use std::process::Command;

/// Packs a crate, and builds it from nothing but what was packed.
fn packs(package: &str) {
    if !is_named("packages") {
        return;
    }
    let mut list = Command::new(env!("CARGO"));
    list.current_dir(repository());
    list.args(["package", "--list", "--allow-dirty", "--package", package]);
    let listed = succeed(&mut list).unwrap_or_else(|failure| panic!("{failure}"));
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"] {
        assert!(listed.lines().any(|line| line == file), "{file} is missing");
    }
    let is_foreign = |line: &&str| {
        ["tests/", "runtime/", "."]
            .iter()
            .any(|folder| line.starts_with(folder))
    };
    let foreign: Vec<&str> = listed.lines().filter(is_foreign).collect();
    assert_eq!(foreign, [".cargo_vcs_info.json"], "{package}");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(repository());
    cargo.args(["publish", "--dry-run", "--locked", "--allow-dirty"]);
    cargo.args(["--package", package]);
    cargo.arg("--target-dir").arg(&target);
    succeed(&mut cargo).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn the_runtime_can_be_published() {
    packs("duologue-runtime");
}

#[test]
fn the_compiler_can_be_published() {
    packs("duologue");
}
