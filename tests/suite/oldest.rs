//! The oldest Rust that each package supports, as its manifest says. Each night it compiles them: rustup has to have it.

use crate::support::{cargo, repository, succeed};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The runtime and the transports that use it, each with its manifest.
pub const RUNTIMES: [(&str, &str); 4] = [
    ("duologue-runtime", "runtime/rust/Cargo.toml"),
    ("duologue-net", "runtime/rust/net/Cargo.toml"),
    ("duologue-nats", "runtime/rust/nats/Cargo.toml"),
    ("duologue-shm", "runtime/rust/shm/Cargo.toml"),
];

/// A command of the toolchain that a manifest names as the oldest.
fn oldest_cargo(manifest: &str) -> Command {
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
#[ignore = "nightly: msrv"]
fn the_oldest_rust_compiles_the_compiler() {
    let mut check = oldest_cargo("Cargo.toml");
    check.args(["check", "--locked", "--package", "duologue-cli"]);
    check.arg("--target-dir").arg(target("compiler"));
    check.current_dir(repository());
    succeed(&mut check).unwrap_or_else(|failure| panic!("{failure}"));
}

/// As users get them: the workspace has packages that older versions of Cargo cannot read.
#[test]
#[ignore = "nightly: msrv"]
fn the_oldest_rust_compiles_the_packed_runtimes() {
    let target = target("runtime");
    let packed = target.join("package");
    let _ = fs::remove_dir_all(&packed);
    let mut pack = cargo();
    pack.current_dir(repository());
    pack.args(["package", "--locked", "--allow-dirty", "--no-verify"]);
    for (package, _) in RUNTIMES {
        pack.args(["--package", package]);
    }
    pack.arg("--target-dir").arg(&target);
    succeed(&mut pack).unwrap_or_else(|failure| panic!("{failure}"));
    let archives = crate::support::c::files_in(&packed, "crate");
    assert_eq!(archives.len(), RUNTIMES.len(), "{archives:?}");
    let folder_of = |name: &str| {
        let is_it = |archive: &&PathBuf| {
            let file = archive.file_name().map(|name| name.to_string_lossy());
            file.is_some_and(|file| file.starts_with(name))
        };
        archives.iter().find(is_it).expect("it was packed")
    };
    for archive in &archives {
        let mut unpack = Command::new("tar");
        unpack.arg("-xzf").arg(archive).arg("-C").arg(&packed);
        succeed(&mut unpack).unwrap_or_else(|failure| panic!("{failure}"));
    }
    // The folders are below the workspace, of which these packages are not members.
    for (package, manifest) in RUNTIMES {
        let folder = folder_of(package).with_extension("");
        let own = folder.join("Cargo.toml");
        let text = fs::read_to_string(&own).expect("it was unpacked");
        let used = ["duologue-runtime", "duologue-net"].into_iter();
        let patches = used.filter(|name| *name != package).map(|name| {
            let folder = folder_of(name).with_extension("");
            format!("{name} = {{ path = {folder:?} }}\n")
        });
        let more = format!(
            "\n[workspace]\n\n[patch.crates-io]\n{}",
            patches.collect::<String>()
        );
        fs::write(&own, text + &more).expect("it can be written");
        for features in ["--all-features", "--no-default-features"] {
            let mut check = oldest_cargo(manifest);
            check.args(["check", features]);
            check.arg("--target-dir").arg(target.join("checked"));
            check.current_dir(&folder);
            succeed(&mut check).unwrap_or_else(|failure| panic!("{failure}"));
        }
    }
}

/// What dependencies say themselves can be checked without the old toolchains.
#[test]
fn no_dependency_needs_a_newer_rust() {
    let mut ask = cargo();
    ask.current_dir(repository());
    ask.args([
        "metadata",
        "--locked",
        "--all-features",
        "--format-version",
        "1",
    ]);
    let answer = ask.output().expect("Cargo runs");
    assert!(
        answer.status.success(),
        "{}",
        String::from_utf8_lossy(&answer.stderr)
    );
    let answer: Value = serde_json::from_slice(&answer.stdout).expect("it is JSON");
    let packages = by_id(&answer["packages"]);
    let nodes = by_id(&answer["resolve"]["nodes"]);
    let runtimes = RUNTIMES.iter().map(|(package, _)| *package);
    let published = runtimes.chain(["duologue"]);
    let mut wrong = Vec::new();
    for root in published {
        let (id, package) = packages
            .iter()
            .find(|(_, package)| package["name"] == root)
            .expect("the package is in the workspace");
        let oldest = version(package).expect("the manifest names a version");
        let mut seen = BTreeSet::from([*id]);
        let mut next = vec![*id];
        while let Some(id) = next.pop() {
            let package = packages[id];
            if version(package).is_some_and(|needed| needed > oldest) {
                wrong.push(format!(
                    "{root} supports Rust {}.{}, but {} {} needs {}",
                    oldest.0,
                    oldest.1,
                    package["name"],
                    package["version"],
                    package["rust_version"]
                ));
            }
            let dependencies = nodes[id]["deps"].as_array().expect("it is a list");
            let used = dependencies.iter().filter(|used| !is_for_tests(used));
            next.extend(used.filter_map(|used| {
                let id = used["pkg"].as_str()?;
                seen.insert(id).then_some(id)
            }));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn by_id(list: &Value) -> BTreeMap<&str, &Value> {
    let list = list.as_array().expect("it is a list");
    list.iter()
        .filter_map(|entry| Some((entry["id"].as_str()?, entry)))
        .collect()
}

/// The oldest Rust of a package, where its manifest names one.
fn version(package: &Value) -> Option<(u32, u32)> {
    let mut parts = package["rust_version"].as_str()?.split('.');
    let mut part = || parts.next()?.parse().ok();
    Some((part()?, part()?))
}

fn is_for_tests(dependency: &Value) -> bool {
    let kinds = dependency["dep_kinds"].as_array().expect("it is a list");
    kinds.iter().all(|kind| kind["kind"] == "dev")
}
