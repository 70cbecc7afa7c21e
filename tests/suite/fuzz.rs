//! Coverage-guided fuzzing of the front end and of what arrives from other processes, for a bounded time.
//! `tests/fuzz/README.md` says how to run it for longer.

use crate::support::rust::tool;
use crate::support::{repository, succeed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The flags that make compiled code report its coverage to libFuzzer: those that cargo-fuzz passes, all of them stable.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

/// How long each target runs, in seconds, unless `DUOLOGUE_FUZZ_SECONDS` says otherwise.
const SECONDS: &str = "30";

fn seconds() -> String {
    std::env::var("DUOLOGUE_FUZZ_SECONDS").unwrap_or_else(|_| SECONDS.to_owned())
}

/// Whether a target runs for less than ten seconds.
fn is_short() -> bool {
    seconds().parse().is_ok_and(|seconds: u32| seconds < 10)
}

/// Builds the targets, and returns the folder with them.
fn targets() -> Result<PathBuf, String> {
    let host =
        succeed(tool("rustc", "rustup toolchain install stable").args(["--print", "host-tuple"]))?;
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    let mut cargo = tool("cargo", "rustup toolchain install stable");
    cargo.current_dir(repository().join("tests/fuzz"));
    cargo.args(["build", "--release", "--locked", "--quiet"]);
    // With an explicit target, build scripts and macros are not instrumented.
    cargo.args(["--target", host.trim()]);
    cargo.env("CARGO_TARGET_DIR", &target);
    // A short run takes less time than optimizing what it runs.
    if is_short() {
        cargo.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
    }
    succeed(cargo.env("RUSTFLAGS", COVERAGE))?;
    Ok(target.join(host.trim()).join("release"))
}

/// Every protocol file of the repository, as initial inputs.
fn seeds() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz-seeds");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let below = ["protocols", "tests", "docs"];
    let files = below.into_iter().flat_map(crate::tidy::files);
    let protocols = files.filter(|path| path.extension().is_some_and(|end| end == "proto"));
    for (number, path) in protocols.enumerate() {
        fs::copy(path, folder.join(number.to_string())).expect("it can be copied");
    }
    folder
}

/// Runs a target on its known inputs and on what libFuzzer derives from them. Inputs that fail are kept next to the corpus.
fn finds_nothing(target: &Path, seeds: &Path) -> Result<String, String> {
    let name = target.file_name().expect("a target has a name");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("fuzz-corpus")
        .join(name);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let dictionary = repository().join("tests/fuzz/duologue.dict");
    let mut fuzzer = Command::new(target);
    fuzzer.args([
        "-seed=1",
        "-max_len=4096",
        "-timeout=20",
        "-rss_limit_mb=2048",
    ]);
    fuzzer.arg(format!("-max_total_time={}", seconds()));
    fuzzer.arg(format!("-dict={}", dictionary.display()));
    fuzzer.arg(format!("-artifact_prefix={}-", folder.display()));
    succeed(fuzzer.arg(&folder).arg(seeds))
}

/// One test, because all targets are built together: tests that wait for the same build would keep others from running.
#[test]
#[ignore = "nightly: fuzz"]
fn fuzzers_find_nothing() {
    let targets = targets().unwrap_or_else(|failure| panic!("{failure}"));
    let seeds = seeds();
    // The front end, and what arrives from other processes.
    let names = ["compile", "format", "fix", "breaking", "socket", "region"];
    let found: Vec<String> = names
        .iter()
        .filter_map(|name| finds_nothing(&targets.join(name), &seeds).err())
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
