//! Sessions between processes: how they begin and end, long messages, peers that break the rules, and the bytes that travel.

#![cfg(target_os = "linux")]

use super::driver::{ADDRESS, Build, Driver, THREAD, cases};
use super::{generate_with, quiet};
use crate::support::c::{Compiler, Program, Watch, runtime, sources_for, sources_in};
use crate::support::repository;

/// As on Linux before 5.16, where the kernel refuses `membarrier`, and where enums are smaller than an `int`.
pub const BARE: Build = Build::new(
    Watch::Address,
    &[
        "-DDUO_NO_FUTEX_WAITV",
        "-DDUO_NO_MEMBARRIER",
        "-fshort-enums",
    ],
);
/// Threads sleep on conditions, and every operation is a call that checks the turn.
const CALLS: Build = Build::new(Watch::Thread, &["-DDUO_NO_FUTEX", "-DDUO_CHECKED"]);
/// Functions of the system that a test replaces.
const WRAPPED: Build = Build::new(
    Watch::Address,
    &["-Wl,--wrap=syscall,--wrap=posix_fallocate,--wrap=pthread_mutex_unlock"],
);
/// For programs with threads.
const SANITIZED: &[Build] = &[ADDRESS, THREAD];
const ALL: &[Build] = &[ADDRESS, THREAD, BARE, CALLS];

/// The tests of sessions between processes.
pub static PROCESSES: Driver = Driver {
    name: "processes",
    folder: "tests/processes",
    includes: &[],
    protos: &[
        "tests/processes/talk.proto",
        "tests/processes/sound.proto",
        "tests/wire/payloads.proto",
    ],
    prepare: |_, _| Vec::new(),
    cases: CASES,
};

cases! { PROCESSES:
    meet in &[ADDRESS, THREAD, BARE];
    ready in ALL;
    writable in &[ADDRESS, THREAD, BARE];
    attach in SANITIZED;
    fork in SANITIZED;
    shared in SANITIZED;
    long in &[ADDRESS, BARE];
    mixed in &[ADDRESS, BARE];
    turns in ALL;
    stream in ALL;
    moved in SANITIZED;
    garbage in &[ADDRESS, BARE];
    canceled in SANITIZED;
    sound in &[ADDRESS, BARE, CALLS];
    vectors in &[ADDRESS, BARE];
    ; whole:
    leave in &[ADDRESS];
    names in &[ADDRESS];
    limits in &[ADDRESS];
    letters in &[ADDRESS];
    given_back in &[ADDRESS];
    bounds in &[ADDRESS];
    sizes in &[ADDRESS];
    enums in &[ADDRESS];
    refused in &[WRAPPED];
    space in &[WRAPPED];
    first in &[WRAPPED];
}

/// A short run; `tests/processes/fuzz.c` says how to make a longer one.
#[test]
#[ignore = "nightly: fuzz"]
fn a_fuzzer_finds_nothing() {
    fuzz("processes", &[]);
}

/// Runs libFuzzer and clang's sanitizers on the reader of a folder of tests, compiled with these flags.
pub(super) fn fuzz(folder: &str, flags: &[&str]) {
    let name = format!("fuzz-{folder}-{}", flags.concat());
    let proto = repository().join("tests/wire/payloads.proto");
    let generated = generate_with(&name, &[proto], &["--c-shm", "--remote"]);
    let tests = repository().join("tests");
    let reader = tests.join(folder).join("fuzz.c");
    let own = [sources_in(&generated), vec![reader]].concat();
    let sources = [sources_for(&own), own].concat();
    let includes = [
        generated.clone(),
        tests.join("processes"),
        runtime().join("tests"),
        runtime().join("src"),
    ];
    let fuzzing = [
        flags,
        &[
            "-fsanitize=fuzzer,address,undefined",
            "-fno-sanitize-recover=all",
        ],
    ]
    .concat();
    let program = Program {
        compiler: Compiler::Clang,
        flags: &fuzzing,
        ..quiet(Watch::Plain, &sources, &includes, &generated)
    };
    if let Err(complaint) = program.fuzz(20_000) {
        panic!("{complaint}");
    }
}
