//! The packages as they are published: Cargo fetches their dependencies.

use crate::oldest::RUNTIMES;
use crate::support::{cargo, repository, succeed};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

const PACKAGES: [&str; 13] = [
    "duologue-runtime",
    "duologue-net",
    "duologue-nats",
    "duologue-shm",
    "duologue-grammar",
    "duologue",
    "duologue-traces",
    "duologue-reports",
    "duologue-site",
    "duologue-project",
    "duologue-lsp",
    "duologue-peers",
    "duologue-cli",
];

/// Checks what a crate packs: its own sources, and nothing else of the repository.
fn packs(package: &str) {
    let mut list = cargo();
    list.current_dir(repository());
    list.args(["package", "--list", "--allow-dirty", "--package", package]);
    let listed = succeed(&mut list).unwrap_or_else(|failure| panic!("{failure}"));
    let root = match package {
        "duologue-cli" => "src/main.rs",
        _ => "src/lib.rs",
    };
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", root] {
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

/// Checks the packages from nothing but what was packed. Together, because one depends on another that is in no registry yet: they are the members
/// of a workspace with the locked versions, and what they have in common with other builds of the same folder is not checked again.
#[test]
#[ignore = "nightly: packages"]
fn all_crates_can_be_published() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
    let packed = target.join("package");
    let _ = fs::remove_dir_all(&packed);
    let mut pack = cargo();
    pack.current_dir(repository());
    pack.args(["package", "--locked", "--allow-dirty", "--no-verify"]);
    for package in PACKAGES {
        pack.args(["--package", package]);
    }
    pack.arg("--target-dir").arg(&target);
    succeed(&mut pack).unwrap_or_else(|failure| panic!("{failure}"));
    let mut workspace = "[workspace]\nresolver = \"3\"\nmembers = [".to_owned();
    let mut patch = "\n[patch.crates-io]\n".to_owned();
    for package in PACKAGES {
        let name = format!("{package}-{}", env!("CARGO_PKG_VERSION"));
        let mut unpack = Command::new("tar");
        unpack.current_dir(&packed);
        unpack.arg("-xzf").arg(format!("{name}.crate"));
        succeed(&mut unpack).unwrap_or_else(|failure| panic!("{failure}"));
        workspace += &format!("{name:?}, ");
        patch += &format!("{package} = {{ path = {name:?} }}\n");
    }
    fs::write(packed.join("Cargo.toml"), format!("{workspace}]\n{patch}"))
        .expect("it can be written");
    fs::copy(repository().join("Cargo.lock"), packed.join("Cargo.lock")).expect("it can be copied");
    let mut check = cargo();
    check.current_dir(&packed);
    check.args(["check", "--offline", "--workspace"]);
    check.arg("--target-dir").arg(target.join("checked"));
    check.env("RUSTFLAGS", "-D warnings");
    succeed(&mut check).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
#[ignore = "nightly: packages"]
fn each_crate_packs_its_sources_licenses_and_readme() {
    PACKAGES.into_iter().for_each(packs);
}

/// The value of a key of a manifest, where it is a text.
fn value<'a>(manifest: &'a str, key: &str) -> Option<&'a str> {
    let mut lines = manifest.lines();
    lines.find_map(|line| {
        line.strip_prefix(key)?
            .strip_prefix(" = \"")?
            .strip_suffix('"')
    })
}

/// A crate that is added to the workspace is published, and then packed, compared and compiled by the oldest Rust too, or says that
/// it is not published.
#[test]
fn no_crate_is_left_out() {
    let read = |path: &str| fs::read_to_string(repository().join(path)).expect("it is there");
    let all: BTreeSet<String> = PACKAGES.map(str::to_owned).into();
    let workspace = read("Cargo.toml");
    let members = workspace
        .lines()
        .find_map(|line| line.strip_prefix("members = "));
    let members = members
        .expect("the workspace has members")
        .trim_matches(['[', ']']);
    let manifests = members
        .split(", ")
        .map(|member| read(&format!("{}/Cargo.toml", member.trim_matches('"'))));
    let published = [workspace.clone()].into_iter().chain(manifests);
    let published = published.filter(|manifest| !manifest.contains("\npublish = false\n"));
    let published: BTreeSet<String> = published
        .map(|manifest| value(&manifest, "name").expect("it has a name").to_owned())
        .collect();
    assert_eq!(published, all);
    // The oldest Rust compiles the runtimes, and the command line with everything that it depends on.
    let program = read("cli/Cargo.toml") + &read("Cargo.toml");
    let runtimes = RUNTIMES.map(|(package, _)| package);
    for package in PACKAGES {
        let is_used = program.contains(&format!("\n{package} = {{"));
        assert!(
            is_used || runtimes.contains(&package) || package == "duologue-cli",
            "{package} is not compiled by the oldest Rust"
        );
    }
    for path in [".ci/semver", ".ci/nightly", "docs/releasing.md"] {
        // A program has no interface to compare.
        let has_interface = |name: &&String| path != ".ci/semver" || *name != "duologue-cli";
        let all: BTreeSet<String> = all.iter().filter(has_interface).cloned().collect();
        let text = read(path);
        let several = |list: &&str| list.matches(" -p duologue").count() > 1;
        let lists: Vec<&str> = text.split(['\n', '`']).filter(several).collect();
        assert!(!lists.is_empty(), "{path} lists no crates");
        for list in lists {
            let words: Vec<&str> = list.split(' ').collect();
            let named = words.windows(2).filter(|pair| pair[0] == "-p");
            let named: BTreeSet<String> = named.map(|pair| pair[1].to_owned()).collect();
            assert_eq!(named, all, "{path}: {list}");
        }
    }
}

/// A package with features that differ between programs and build scripts would be compiled twice, and with it all that depends on it.
#[test]
fn build_scripts_share_the_compiler_with_the_program() {
    let mut cargo = cargo();
    cargo.current_dir(repository()).args(["tree", "--locked"]);
    cargo.args(["--workspace", "--duplicates", "--depth", "0"]);
    cargo.args(["--prefix", "none", "--edges", "normal,build,no-proc-macro"]);
    let output = succeed(&mut cargo).unwrap_or_else(|failure| panic!("{failure}"));
    let mut once = BTreeSet::new();
    let names = output.lines().map(|line| line.trim_end_matches(" (*)"));
    let twice = names.filter(|name| !name.is_empty() && !once.insert(*name));
    assert_eq!(
        twice.collect::<Vec<&str>>(),
        [""; 0],
        "see the build dependencies of tests/conversations"
    );
}
