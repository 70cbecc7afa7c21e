//! The packages as they are published, where `DUOLOGUE_TEST_WITH` names `packages`: Cargo fetches their dependencies.

use crate::support::{is_named, repository, succeed};
use std::path::Path;
use std::process::Command;

const PACKAGES: [&str; 4] = [
    "duologue-runtime",
    "duologue-net",
    "duologue-shm",
    "duologue",
];

/// Checks what a crate packs: its own sources, and nothing else of the repository.
fn packs(package: &str) {
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
}

/// Builds the packages from nothing but what was packed. In one command, because one depends on another that is in no registry yet.
#[test]
fn all_crates_can_be_published() {
    if !is_named("packages") {
        return;
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(repository());
    cargo.args(["publish", "--dry-run", "--locked", "--allow-dirty"]);
    for package in PACKAGES {
        cargo.args(["--package", package]);
    }
    cargo.arg("--target-dir").arg(&target);
    succeed(&mut cargo).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn each_crate_packs_its_sources_licenses_and_readme() {
    if is_named("packages") {
        PACKAGES.into_iter().for_each(packs);
    }
}
