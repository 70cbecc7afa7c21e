//! The C target: the runtime, the generated code, and the programs that use it.

mod amalgamation;
mod analysis;
pub mod cmake;
mod cortex_m;
mod driver;
mod events;
mod firmware;
mod generated;
mod inline;
mod model;
mod narrow;
mod net;
mod processes;
mod programs;
mod record;
mod robots;
mod symbols;
mod system_names;
mod tls;

use crate::support::c::{Compiler, Program, Watch, files_in, runtime, scratch, sources_in};
use crate::support::{repository, succeed};
use driver::{ADDRESS, Build, Driver, THREAD, cases};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program that has both sides of every conversation that can leave its process.
pub fn remote_program() -> Command {
    Command::new(net::remote())
}

/// A service whose servers are found with NATS, and its clients.
pub fn desk_program() -> Command {
    Command::new(net::desk())
}

/// The server of many sessions at once.
pub fn load_program() -> Command {
    Command::new(net::load())
}

const HEAVY: Build = Build::new(Watch::Address, &["-DDUO_NO_MEMBARRIER"]);
/// Threads sleep on conditions, and every operation is a call that checks the turn.
const OLD: Build = Build::new(
    Watch::Thread,
    &[
        "-DDUO_NO_FUTEX",
        "-DDUO_CHECKED",
        "-Wl,--wrap=clock_gettime,--wrap=pthread_cond_init,--wrap=pthread_cond_timedwait",
    ],
);
/// Epochs wrap around after a few turns instead of a million, and enums are smaller than an `int`.
const SMALL: Build = Build::new(Watch::Address, &["-DDUO_RENEWAL=5", "-fshort-enums"]);
const SANITIZED: &[Build] = &[ADDRESS, THREAD];
/// In which a wake-up can be lost in different ways.
const SLEEPING: &[Build] = &[ADDRESS, THREAD, HEAVY, OLD];
const ALL: &[Build] = &[ADDRESS, THREAD, HEAVY, OLD, SMALL];

/// The tests of the runtime within a process.
static RUNTIME: Driver = Driver {
    name: "runtime-tests",
    folder: "runtime/c/tests",
    includes: &[],
    protos: &["runtime/c/tests/golden.proto"],
    prepare: |_, _| Vec::new(),
    cases: CASES,
};

cases! { RUNTIME:
    turn in ALL;
    close in ALL;
    used in ALL;
    asleep in SLEEPING;
    lines in &[ADDRESS, THREAD, HEAVY, SMALL];
    stress in ALL;
    walks in ALL;
    ready in ALL;
    give in SLEEPING;
    cancel in SLEEPING;
    credit in ALL;
    taken in ALL;
    shared in SLEEPING;
    memory in SANITIZED;
    lockstep in &[ADDRESS, HEAVY, OLD];
    #[cfg(target_os = "linux")]
    spins in SANITIZED;
    ; whole:
    shape in &[ADDRESS];
    backoff in &[ADDRESS];
    unread in &[ADDRESS];
    text in &[ADDRESS];
    clock in &[OLD];
    #[cfg(target_os = "linux")]
    without in &[ADDRESS];
    #[cfg(target_os = "linux")]
    refused in &[ADDRESS];
}

/// A system call filter may forbid `membarrier` from the start, which is like [`HEAVY`].
#[cfg(target_os = "linux")]
#[test]
#[ignore = "slow: C in further builds"]
fn where_the_barrier_is_refused() {
    for case in ["turn", "close", "stress"] {
        RUNTIME.run(ADDRESS, &["refused_early", case]);
    }
}

/// No time limit, occasional check or other message wakes a sleeper that was forgotten.
#[test]
#[ignore = "slow: C in further builds"]
fn no_sleeper_is_forgotten_where_nothing_else_wakes_it() {
    for case in ["stress", "shared"] {
        for build in [ADDRESS, HEAVY, OLD] {
            RUNTIME.run(build, &["nothing_rescues", case]);
        }
    }
}

#[test]
fn the_headers_are_cpp_too() {
    let tests = runtime().join("tests");
    let folder = generate("runtime-cpp", &[tests.join("golden.proto")]);
    let mut sources = sources_in(&folder);
    sources.push(tests.join("header.cpp"));
    let includes = [folder.clone()];
    let program = quiet(Watch::Address, &sources, &includes, &folder).run();
    program.unwrap_or_else(|complaint| panic!("{complaint}"));
}

/// Generates code from `protos` in a scratch folder of the test and returns the folder.
fn generate(test: &str, protos: &[PathBuf]) -> PathBuf {
    generate_with(test, protos, &[])
}

/// The same with additional arguments.
pub fn generate_with(test: &str, protos: &[PathBuf], arguments: &[&str]) -> PathBuf {
    let folder = scratch(test);
    let mut gen_c = Command::new(env!("CARGO_BIN_EXE_duologue"));
    gen_c
        .current_dir(repository())
        .arg("gen")
        .args(protos)
        .args(arguments);
    succeed(gen_c.arg("--c").arg(&folder).arg("--quiet"))
        .unwrap_or_else(|complaint| panic!("{complaint}"));
    folder
}

/// The folders of the cases whose programs supply types of their own.
fn hosts() -> Vec<PathBuf> {
    ["double_buffer", "work_queue"]
        .iter()
        .map(|case| repository().join("tests/run").join(case))
        .collect()
}

fn protocols() -> Vec<PathBuf> {
    files_in(&repository().join("protocols"), "proto")
}

/// A program with the usual settings.
pub fn quiet<'a>(
    watch: Watch,
    sources: &'a [PathBuf],
    includes: &'a [PathBuf],
    folder: &'a Path,
) -> Program<'a> {
    Program {
        compiler: Compiler::Gcc,
        watch,
        sources,
        objects: &[],
        includes,
        flags: &[],
        runtime: &[],
        folder,
    }
}

/// Compiles sources, each of which has one error, for this reason, and none with `RIGHT` defined.
fn check_misuse(generated: &Path, wrong: &[(PathBuf, String)]) {
    assert!(!wrong.is_empty(), "there are programs");
    let compile = |flags: &[&str]| {
        let mut compile = Compiler::Gcc.command(false);
        compile.current_dir(generated).args(["-O2", "-c", "-I."]);
        let sources = wrong.iter().map(|(source, _)| source);
        succeed(compile.args(flags).args(sources))
    };
    compile(&["-DRIGHT"]).unwrap_or_else(|complaint| panic!("with RIGHT:\n{complaint}"));
    let complaint = compile(&[]).expect_err("they are wrong");
    for (source, reason) in wrong {
        let start = format!("{}:", source.display());
        let lines = complaint.lines().filter(|line| line.starts_with(&start));
        let errors: Vec<&str> = lines.filter(|line| line.contains(" error: ")).collect();
        assert!(
            errors.len() == 1 && errors[0].contains(reason.as_str()),
            "{} fails for another reason than {reason}:\n{complaint}",
            source.display()
        );
    }
}
