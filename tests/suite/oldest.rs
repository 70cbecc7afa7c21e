//! The oldest Rust that each package supports, as its manifest says, where `DUOLOGUE_TEST_WITH` names `msrv`: rustup has to have it.

use crate::support::{is_named, repository, succeed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command of the toolchain that a manifest names as the oldest.
fn cargo(manifest: &str) -> Command {
    let text = fs::read_to_string(repository().join(manifest)).expect("the manifest is there");
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"'))
        .expect("the manifest names a version");
    let mut cargo = Command::new("rustup");
    cargo.args(["run", version, "cargo"]);
    let known = succeed(Command::new("rustup").args(["run", version, "rustc", "--version"]));
    assert!(
        known.is_ok(),
        "Rust {version} is not installed: rustup toolchain install {version} --profile minimal"
    );
    cargo.env_remove("CARGO").env_remove("RUSTC");
    cargo
}

fn target(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("oldest")
        .join(name)
}

#[test]
fn the_oldest_rust_compiles_the_compiler() {
    if !is_named("msrv") {
        return;
    }
    for features in ["--all-features", "--no-default-features"] {
        let mut check = cargo("Cargo.toml");
        check.args(["check", "--locked", "--package", "duologue", features]);
        check.arg("--target-dir").arg(target("compiler"));
        check.current_dir(repository());
        succeed(&mut check).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// As users get it: the workspace has packages that older versions of Cargo cannot read.
#[test]
fn the_oldest_rust_compiles_the_packed_runtime() {
    if !is_named("msrv") {
        return;
    }
    let target = target("runtime");
    let packed = target.join("package");
    let _ = fs::remove_dir_all(&packed);
    let mut pack = Command::new(env!("CARGO"));
    pack.current_dir(repository());
    pack.args(["package", "--locked", "--allow-dirty", "--no-verify"]);
    pack.args(["--package", "duologue-runtime", "--target-dir"]);
    succeed(pack.arg(&target)).unwrap_or_else(|failure| panic!("{failure}"));
    let archive = crate::support::c::files_in(&packed, "crate");
    assert_eq!(archive.len(), 1, "{archive:?}");
    let mut unpack = Command::new("tar");
    unpack.arg("-xzf").arg(&archive[0]).arg("-C").arg(&packed);
    succeed(&mut unpack).unwrap_or_else(|failure| panic!("{failure}"));
    let folder = archive[0].with_extension("");
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("it was unpacked");
    // The folder is below the workspace, of which this package is not a member.
    fs::write(&manifest, text + "\n[workspace]\n").expect("it can be written");
    for features in ["--all-features", "--no-default-features"] {
        let mut check = cargo("runtime/rust/Cargo.toml");
        check.args(["check", "--locked", features]);
        check.arg("--target-dir").arg(target.join("checked"));
        check.current_dir(&folder);
        succeed(&mut check).unwrap_or_else(|failure| panic!("{failure}"));
    }
}
