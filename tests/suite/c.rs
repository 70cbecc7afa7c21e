//! The C target: the shim, what is generated, and the programs that use it.

use crate::support::c::{Compiler, Program, Watch, runtime, scratch};

/// Every test of the shim, a program of its own, watched in every way.
fn check_runtime(test: &str) {
    for compiler in Compiler::all() {
        for watch in Watch::all() {
            check_runtime_with(test, compiler, watch, &[]);
        }
    }
}

fn check_runtime_with(test: &str, compiler: Compiler, watch: Watch, shim: &[&str]) {
    let tests = runtime().join("tests");
    let folder = scratch(&format!(
        "runtime-{test}-{compiler:?}-{watch:?}-{}",
        shim.concat()
    ));
    let program = Program {
        compiler,
        watch,
        sources: &[tests.join("golden.c"), tests.join(test)],
        includes: std::slice::from_ref(&tests),
        flags: &[],
        shim,
        folder: &folder,
    };
    if let Err(complaint) = program.run() {
        panic!("{test}, {compiler:?}, {watch:?}:\n{complaint}");
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
fn a_second_use_is_an_answer() {
    check_runtime("used.c");
}

#[test]
fn what_nobody_reads_is_destroyed_once() {
    check_runtime("unread.c");
}

#[test]
fn two_threads_agree() {
    check_runtime("stress.c");
}

#[test]
fn memory_that_runs_out_is_given_back() {
    check_runtime("memory.c");
}

#[test]
fn the_headers_are_cpp_too() {
    check_runtime("header.cpp");
}

/// The ways in which the shim can be built otherwise.
#[test]
fn without_futex_and_with_checked_turns() {
    for test in ["turn.c", "close.c", "used.c", "stress.c"] {
        let shim = ["-DDUO_NO_FUTEX", "-DDUO_CHECKED"];
        check_runtime_with(test, Compiler::Gcc, Watch::Thread, &shim);
    }
}
