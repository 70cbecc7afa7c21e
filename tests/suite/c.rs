//! The C target: the runtime, the generated code, and the programs that use it.

mod amalgamation;
mod analysis;
pub mod cmake;
mod cortex_m;
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
mod short_enums;
mod symbols;
mod system_names;
mod tls;

use crate::support::c::{Compiler, Program, Watch, files_in, runtime, scratch};
use crate::support::{repository, succeed};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program that has both sides of every conversation that can leave its process.
pub fn remote_program() -> Command {
    Command::new(net::remote(Watch::Plain))
}

/// One side of sessions in which the server has limits and the client has none.
pub fn limits_program(side: &str) -> Command {
    Command::new(net::limits(side))
}

/// The server of many sessions at once.
pub fn load_program() -> Command {
    Command::new(net::load())
}

/// A server that is asked about its services, and a client that asks.
pub fn ask_program() -> Command {
    Command::new(net::ask())
}

/// Runs a test of the runtime, which is a separate program, with every compiler, and under every checker once: with clang under the
/// address sanitizer, with gcc under the others. Without clang, gcc does all.
fn check_runtime(test: &str) {
    let has_clang = Compiler::all().contains(&Compiler::Clang);
    for compiler in Compiler::all() {
        let is_repeated = |watch: &Watch| match compiler {
            Compiler::Gcc => has_clang && *watch == Watch::Address,
            Compiler::Clang => matches!(watch, Watch::Thread | Watch::Valgrind),
        };
        for watch in Watch::all().into_iter().filter(|watch| !is_repeated(watch)) {
            check_runtime_with(test, compiler, watch, &[]);
        }
    }
}

fn check_runtime_with(test: &str, compiler: Compiler, watch: Watch, runtime_flags: &[&str]) {
    check_test_with(test, compiler, watch, &[], runtime_flags);
}

/// The same with additional arguments for the test alone.
fn check_test_with(
    test: &str,
    compiler: Compiler,
    watch: Watch,
    flags: &[&str],
    runtime_flags: &[&str],
) {
    let tests = runtime().join("tests");
    // The headers contain a part of the runtime.
    let flags = [flags, runtime_flags].concat();
    let folder = scratch(&format!(
        "runtime-{test}-{compiler:?}-{watch:?}-{}",
        flags.concat()
    ));
    let mut sources = vec![tests.join("golden.c"), tests.join(test)];
    if cfg!(target_os = "linux") && test != "header.cpp" {
        sources.push(tests.join("refuse.c"));
    }
    let program = Program {
        compiler,
        watch,
        sources: &sources,
        objects: &[],
        includes: std::slice::from_ref(&tests),
        flags: &flags,
        runtime: runtime_flags,
        folder: &folder,
    };
    if let Err(complaint) = program.run() {
        panic!("{test}, {compiler:?}, {watch:?}, {flags:?}:\n{complaint}");
    }
}

#[test]
fn an_answer_is_not_mistaken_for_ones_own_message() {
    check_runtime("turn.c");
}

#[test]
fn closed_empty_and_full_are_told_apart() {
    check_runtime("close.c");
}

#[test]
fn a_second_use_is_reported() {
    check_runtime("used.c");
}

#[test]
fn sessions_have_the_layout_that_generated_code_expects() {
    check_runtime("shape.c");
}

#[test]
fn a_waiting_thread_yields_as_long_as_that_is_cheap() {
    check_runtime("backoff.c");
}

#[test]
fn no_side_sleeps_after_what_it_waits_for_has_happened() {
    check_runtime("asleep.c");
}

#[test]
fn a_receiver_spins_once_before_it_sleeps() {
    check_runtime("spins.c");
}

#[test]
fn lines_are_made_ready_before_the_receiver_looks_there() {
    check_runtime("lines.c");
}

#[test]
fn unread_messages_are_destroyed_once() {
    check_runtime("unread.c");
}

#[test]
fn two_threads_agree() {
    check_runtime("stress.c");
}

#[test]
fn two_threads_disconnect_anywhere() {
    check_runtime("walks.c");
}

#[test]
fn waiting_for_one_of_many() {
    check_runtime("ready.c");
}

#[test]
fn any_thread_adds_to_a_set() {
    check_runtime("give.c");
}

#[test]
fn another_thread_ends_a_wait() {
    check_runtime("cancel.c");
    check_runtime_with("cancel.c", Compiler::Gcc, Watch::Plain, &["-DDUO_NO_FUTEX"]);
}

#[test]
fn room_is_waited_for() {
    check_runtime("credit.c");
}

#[test]
fn an_endpoint_is_used_elsewhere_while_it_is_in_a_set() {
    check_runtime("taken.c");
}

#[test]
fn many_send_through_one_endpoint() {
    check_runtime("shared.c");
}

#[test]
fn memory_is_released_when_it_runs_out() {
    check_runtime("memory.c");
}

#[test]
fn untrusted_text_can_be_shown() {
    check_runtime("text.c");
}

#[test]
fn the_headers_are_cpp_too() {
    check_runtime("header.cpp");
}

/// The runtime in other configurations.
#[test]
fn without_futex_and_with_checked_turns() {
    for test in [
        "turn.c", "asleep.c", "close.c", "used.c", "stress.c", "credit.c", "taken.c",
    ] {
        let runtime = ["-DDUO_NO_FUTEX", "-DDUO_CHECKED"];
        check_runtime_with(test, Compiler::Gcc, Watch::Thread, &runtime);
    }
}

/// Setting the system's clock neither ends a wait nor makes it longer.
#[test]
fn time_limits_use_a_clock_that_cannot_be_set() {
    let tests = runtime().join("tests");
    let folder = scratch("runtime-clock");
    let sources = [tests.join("golden.c"), tests.join("clock.c")];
    let program = Program {
        flags: &[
            "-Wl,--wrap=clock_gettime",
            "-Wl,--wrap=pthread_cond_init",
            "-Wl,--wrap=pthread_cond_timedwait",
        ],
        runtime: &["-DDUO_NO_FUTEX"],
        ..quiet(
            Watch::Plain,
            &sources,
            std::slice::from_ref(&tests),
            &folder,
        )
    };
    if let Err(complaint) = program.run() {
        panic!("{complaint}");
    }
}

/// Without the system's asymmetric barrier, every message is published with an atomic swap.
#[test]
fn without_the_barrier() {
    for test in [
        "turn.c", "asleep.c", "close.c", "lines.c", "stress.c", "walks.c", "ready.c", "credit.c",
        "taken.c",
    ] {
        check_runtime_with(
            test,
            Compiler::Gcc,
            Watch::Address,
            &["-DDUO_NO_MEMBARRIER"],
        );
    }
}

/// A system call filter may forbid `membarrier`: from the start, or after sessions that rely on it have begun.
#[cfg(target_os = "linux")]
#[test]
fn where_the_barrier_is_refused() {
    for refused in ["-DREFUSED_EARLY", "-DREFUSED_LATE"] {
        for test in [
            "turn.c",
            "close.c",
            "used.c",
            "lines.c",
            "unread.c",
            "stress.c",
            "walks.c",
            "ready.c",
            "cancel.c",
            "taken.c",
            "shared.c",
            "lockstep.c",
        ] {
            check_test_with(test, Compiler::Gcc, Watch::Address, &[refused], &[]);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_barrier_is_refused_while_two_threads_walk() {
    for watch in [Watch::Plain, Watch::Address] {
        check_test_with("walks.c", Compiler::Gcc, watch, &["-DREFUSED_MIDWAY"], &[]);
    }
}

/// Stores messages by hand, like a sender that misses its waiting receiver.
#[cfg(target_os = "linux")]
#[test]
fn a_waiter_that_is_missed_without_the_barrier_still_wakes() {
    check_test_with("unseen.c", Compiler::Gcc, Watch::Plain, &[], &[]);
}

/// Built so that a forgotten sleeper is not woken by a time limit, an occasional check or another message.
#[test]
fn no_sleeper_is_forgotten_where_nothing_else_wakes_it() {
    for test in [
        "lockstep.c",
        "stress.c",
        "walks.c",
        "shared.c",
        "ready.c",
        "give.c",
        "cancel.c",
        "credit.c",
    ] {
        for runtime in [
            &[] as &[&str],
            &["-DDUO_NO_MEMBARRIER"],
            &["-DDUO_NO_FUTEX"],
        ] {
            check_test_with(
                test,
                Compiler::Gcc,
                Watch::Plain,
                &["-DNOTHING_RESCUES"],
                runtime,
            );
        }
    }
}

/// A program can opt out of the call, which is then never made.
#[cfg(target_os = "linux")]
#[test]
fn a_program_does_without_the_barrier() {
    check_test_with("without.c", Compiler::Gcc, Watch::Plain, &[], &[]);
}

/// Epochs wrap around after a million turns, and here after a few.
#[test]
fn epochs_come_round() {
    for test in ["turn.c", "close.c", "lines.c", "stress.c", "walks.c"] {
        check_runtime_with(test, Compiler::Gcc, Watch::Address, &["-DDUO_RENEWAL=5"]);
    }
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
