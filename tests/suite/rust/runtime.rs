//! The tests of the Rust runtime in builds other than Cargo's default: optimized, under loom, under sanitizers.

use crate::support::rust::{checked, compile_runtime, protocols_in, scratch, tool};
use crate::support::{repository, succeed};
use crate::tidy::files;
use duologue::languages::{self, Options, Target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
#[ignore = "slow: the optimized runtime"]
fn the_runtime_keeps_its_contract_when_it_is_optimized() {
    succeed_in(&mut tests_of_the_runtime(
        "sessions",
        &["--test", "sessions"],
    ));
}

#[test]
#[ignore = "slow: models in loom"]
fn all_interleavings_of_short_conversations_are_sound() {
    let mut tests = tests_of_the_runtime("loom", &["--test", "loom"]);
    succeed_in(tests.env("RUSTFLAGS", "--cfg duologue_loom"));
}

/// An application sets these to test itself with loom or the thread sanitizer, and `RUSTFLAGS` reaches all of its dependencies.
#[test]
fn the_runtime_leaves_the_names_loom_and_tsan_to_applications() {
    let library = scratch("runtime-of-an-application").join("libduologue_runtime.rmeta");
    let mut rustc = compile_runtime(&library);
    rustc.args(["--cfg", "loom", "--cfg", "tsan", "--emit", "metadata"]);
    succeed(&mut rustc).unwrap_or_else(|failure| panic!("{failure}"));

    let dependencies = |flags: &str| {
        let mut cargo = tool("cargo", "rustup toolchain install stable");
        cargo.args(["tree", "--edges", "normal", "-p", "duologue-runtime"]);
        cargo.env("RUSTFLAGS", flags).current_dir(repository());
        succeed(&mut cargo).unwrap_or_else(|failure| panic!("{failure}"))
    };
    assert_eq!(dependencies("--cfg loom --cfg tsan"), dependencies(""));
    assert!(dependencies("--cfg duologue_loom").contains(" loom v"));
}

/// The builds that docs/decisions/0007 compares.
#[test]
#[ignore = "nightly: benchmarks"]
fn each_mechanism_can_be_left_out() {
    let names = [
        "deferral",
        "exchange",
        "processor",
        "short-laps",
        "small-blocks",
        "timed-yields",
    ];
    for name in names {
        let library = scratch(&format!("without-{name}")).join("libduologue_runtime.rmeta");
        let mut rustc = compile_runtime(&library);
        rustc.args(["--cfg", &format!("duologue_without=\"{name}\"")]);
        rustc.args(["--emit", "metadata"]);
        succeed(&mut rustc).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// With `membarrier`, messages of a run are stored; without it, all are swapped. Both builds free memory at once, because a list of
/// free blocks would hide its use afterwards.
#[test]
#[ignore = "slow: sanitizers"]
fn the_runtime_is_clean_under_the_address_sanitizer() {
    for features in [&["--features", "membarrier"] as &[&str], &[]] {
        under_sanitizer("address", &[&["--no-default-features"], features].concat());
    }
}

/// Sessions over sockets and in shared memory: runs, slow and silent peers, time limits, ends, and hostile memory.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "nightly: sanitizers"]
fn sessions_between_processes_are_clean_under_the_address_sanitizer() {
    let tests = [
        "remote_runs::",
        "remote_slow::",
        "remote_until::",
        "remote_waits::",
        "shm::",
    ];
    between_processes_under("address", &tests, &[]);
}

/// The sanitizer does not see how threads of a scope and those of tokio wait for each other, which is in the standard library, so tests
/// with such threads are left out.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "nightly: sanitizers"]
fn sessions_between_processes_are_clean_under_the_thread_sanitizer() {
    let scopes = ["garbage_while_it", "a_name_that_many_open_at_once"];
    let tokio = ["tasks_wait_for_messages"];
    let others: Vec<&str> = [&scopes[..], &tokio]
        .concat()
        .into_iter()
        .flat_map(|name| ["--skip", name])
        .collect();
    let choice = [&["--test-threads=1"], &others[..]].concat();
    between_processes_under(
        "thread",
        &["remote_slow::", "remote_waits::", "shm::"],
        &choice,
    );
}

/// Not optimized, because most of the time is that of the compiler. Both sanitizers use one folder, so that what is compiled for neither of
/// them, such as the compiler of protocols, is compiled once.
#[cfg(target_os = "linux")]
fn between_processes_under(sanitizer: &str, names: &[&str], choice: &[&str]) {
    let mut tests = tool("cargo", "rustup toolchain install stable");
    tests.args([
        "test",
        "--quiet",
        "-p",
        "conversations",
        "--target",
        &host(),
    ]);
    tests.args(["--test", "main", "--"]);
    tests.args(names).args(choice);
    tests.env("CARGO_TARGET_DIR", between());
    tests.env("RUSTC_BOOTSTRAP", "1");
    tests.env("RUSTFLAGS", flags_of(sanitizer));
    tests.env("TSAN_OPTIONS", known_races());
    succeed_in(tests.current_dir(repository()));
}

/// The folder of what is built with sanitizers and runs in several processes.
pub fn between() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("between")
}

/// The options of the thread sanitizer.
fn known_races() -> String {
    let known = repository().join("runtime/rust/tests/tsan.supp");
    format!("suppressions={}", known.display())
}

/// The standard library is not compiled for the sanitizer, which both the compiler and the sanitizer have to allow for.
#[test]
#[ignore = "slow: sanitizers"]
fn the_runtime_is_clean_under_the_thread_sanitizer() {
    for features in [&[] as &[&str], &["--no-default-features"]] {
        under_sanitizer("thread", features);
    }
}

/// The platform that is compiled for. If it is named, build scripts are not compiled for a sanitizer.
pub fn host() -> String {
    let mut rustc = tool("rustc", "rustup toolchain install stable");
    let host = succeed(rustc.args(["--print", "host-tuple"]));
    let host = host.unwrap_or_else(|failure| panic!("{failure}"));
    host.trim().to_owned()
}

/// The compiler's flags for a sanitizer. They are unstable, but their meaning has not changed for years.
pub fn flags_of(sanitizer: &str) -> String {
    let more = match sanitizer {
        "thread" => "-Cunsafe-allow-abi-mismatch=sanitizer --cfg duologue_tsan",
        _ => "",
    };
    format!("-Zsanitizer={sanitizer} -g {more}")
}

/// Runs under a sanitizer the tests that need only their own threads.
fn under_sanitizer(sanitizer: &str, features: &[&str]) {
    let host = host();
    let programs = ["--lib", "--test", "sessions", "--test", "exchange"];
    let target = ["--target", &host];
    let choice = [features, &programs, &target].concat();
    let mut tests = tests_of_the_runtime(sanitizer, &choice);
    // One test at a time: where several run, the harness uses more of the standard library.
    tests.args(["--", "--test-threads=1"]);
    // As the sanitizers' documentation recommends. More takes longer to compile than it saves.
    tests.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
    tests.env("RUSTC_BOOTSTRAP", "1");
    tests.env("RUSTFLAGS", flags_of(sanitizer));
    tests.env("TSAN_OPTIONS", known_races());
    succeed_in(&mut tests);
}

/// Optimized tests of the runtime, in a folder of their own.
fn tests_of_the_runtime(folder: &str, choice: &[&str]) -> Command {
    let mut cargo = tool("cargo", "rustup toolchain install stable");
    cargo.args(["test", "--release", "--quiet", "-p", "duologue-runtime"]);
    cargo.args(choice).current_dir(repository());
    // It takes longer to compile than to run.
    cargo.env("CARGO_PROFILE_RELEASE_LTO", "off");
    cargo.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    cargo.env(
        "CARGO_TARGET_DIR",
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder),
    );
    cargo
}

fn succeed_in(tests: &mut Command) {
    let printed = succeed(tests).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(
        printed.contains("test result: ok. ") && !printed.contains(" 0 passed"),
        "{printed}"
    );
}

/// The functions for tasks in a text, and whether each says in its documentation what happens if its future is dropped.
fn cancel_safety(text: &str) -> Vec<(String, bool)> {
    let mut is_said = false;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("///") {
            is_said |= line == "/// # Cancel safety";
            continue;
        }
        let head = line.trim_start_matches("pub ");
        let is_async = head.starts_with("async ");
        let name = head
            .trim_start_matches("async ")
            .strip_prefix("fn ")
            .and_then(|rest| rest.split(['<', '(']).next());
        let is_public = line.starts_with("pub ") || line.starts_with("fn ready(&mut self)");
        // `ready` of a `Select` blocks.
        let is_future = is_async || line.contains("-> impl Future");
        let of_tasks =
            |name: &&str| is_future || name.ends_with("_async") || line.starts_with("fn ready(");
        if let Some(name) = name.filter(of_tasks).filter(|_| is_public) {
            found.push((name.to_owned(), is_said));
        }
        is_said &= line.starts_with("#[");
    }
    found
}

/// In the runtimes and in generated code.
#[test]
fn each_function_for_tasks_says_what_happens_if_its_future_is_dropped() {
    let folders = [
        "runtime/rust/src",
        "runtime/rust/net/src",
        "runtime/rust/shm/src",
    ];
    let paths = folders.into_iter().flat_map(files);
    let texts = paths.map(|path| fs::read_to_string(path).expect("it can be read"));
    let generated = languages::generate(
        &checked(&protocols_in("protocols")),
        Target::Rust,
        &Options::default(),
    );
    let texts: Vec<String> = texts
        .chain(generated.files.into_iter().map(|file| file.text))
        .collect();
    let found: Vec<_> = texts.iter().flat_map(|text| cancel_safety(text)).collect();
    for known in [
        "recv_async",
        "ready",
        "attach_async",
        "send_async",
        "wait_async",
    ] {
        let is_there = found.iter().any(|(name, _)| name == known);
        assert!(is_there, "{known} is not found");
    }
    let silent: Vec<_> = found.iter().filter(|(_, is_said)| !is_said).collect();
    assert!(silent.is_empty(), "{silent:?}");
}
