//! Sessions between processes: how they begin and end, long messages, peers that break the rules, and the bytes that travel.

#![cfg(target_os = "linux")]

use super::{generate_with, quiet};
use crate::support::c::{Compiler, Program, Watch, runtime, sources_for, sources_in};
use crate::support::repository;
use std::path::PathBuf;
use std::process::Command;

/// A program of `tests/processes`, with the code generated from `proto`.
pub struct Case {
    pub generated: PathBuf,
    pub sources: Vec<PathBuf>,
    pub includes: Vec<PathBuf>,
    /// What else is linked.
    pub objects: Vec<PathBuf>,
}

impl Case {
    pub fn new(test: &str, proto: &str, program: &str) -> Case {
        let folder = repository().join("tests/processes");
        let proto = repository().join(proto);
        let generated = generate_with(test, &[proto], &["--c-shm", "--remote"]);
        let sources = [sources_in(&generated), vec![folder.join(program)]].concat();
        let includes = vec![
            generated.clone(),
            folder,
            runtime().join("tests"),
            runtime().join("src"),
        ];
        Case {
            generated,
            sources,
            includes,
            objects: Vec::new(),
        }
    }

    fn program(&self, watch: Watch) -> Program<'_> {
        Program {
            objects: &self.objects,
            ..quiet(watch, &self.sources, &self.includes, &self.generated)
        }
    }

    /// Runs the program and the runtime built with these flags.
    pub fn run_as(&self, flags: &[&str]) {
        self.run_watched_as(Watch::Plain, flags, flags);
    }

    /// The same under a checker; the runtime's flags may differ from the program's.
    pub fn run_watched_as(&self, watch: Watch, flags: &[&str], runtime: &[&str]) {
        let program = Program {
            flags,
            runtime,
            ..self.program(watch)
        };
        if let Err(complaint) = program.run() {
            panic!("{watch:?} {flags:?}:\n{complaint}");
        }
    }

    fn run(&self, watches: &[Watch], flags: &[&str]) {
        for &watch in watches {
            let program = Program {
                flags,
                ..self.program(watch)
            };
            if let Err(complaint) = program.run() {
                panic!("{watch:?}:\n{complaint}");
            }
        }
    }
}

#[test]
fn two_processes_meet() {
    // Some versions of Valgrind in use do not support `membarrier`.
    let mut watches = Watch::all();
    watches.retain(|watch| !matches!(watch, Watch::Valgrind));
    Case::new("processes-meet", "tests/processes/talk.proto", "meet.c").run(&watches, &[]);
}

#[test]
fn a_peer_that_leaves_or_dies_is_noticed() {
    Case::new("processes-leave", "tests/processes/talk.proto", "leave.c")
        .run(&[Watch::Plain, Watch::Address], &[]);
}

#[test]
fn waiting_for_many_sessions() {
    let mut watches = Watch::all();
    watches.retain(|watch| !matches!(watch, Watch::Valgrind));
    Case::new("processes-ready", "tests/processes/talk.proto", "ready.c").run(&watches, &[]);
}

#[test]
fn waiting_for_space_in_many_sessions() {
    let case = Case::new(
        "processes-writable",
        "tests/processes/talk.proto",
        "writable.c",
    );
    case.run(&[Watch::Plain, Watch::Address, Watch::Thread], &[]);
    case.run_as(&["-DDUO_NO_MEMBARRIER"]);
}

/// As on Linux before 5.16, and where a thread does not sleep on a futex.
#[test]
fn waiting_for_many_sessions_on_an_older_system() {
    let case = Case::new("processes-older", "tests/processes/talk.proto", "ready.c");
    for runtime in ["-DDUO_NO_FUTEX_WAITV", "-DDUO_NO_FUTEX"] {
        let program = Program {
            runtime: &[runtime],
            ..case.program(Watch::Plain)
        };
        if let Err(complaint) = program.run() {
            panic!("{runtime}:\n{complaint}");
        }
    }
}

/// A system call filter, or a kernel that is out of memory, must not make a waiting thread spin.
#[test]
fn waiting_for_many_sessions_where_the_system_refuses() {
    Case::new(
        "processes-refused",
        "tests/processes/talk.proto",
        "refused.c",
    )
    .run(&[Watch::Plain], &["-Wl,--wrap=syscall"]);
}

#[test]
fn a_side_is_held_as_long_as_its_program_runs() {
    Case::new("processes-attach", "tests/processes/talk.proto", "attach.c")
        .run(&[Watch::Plain, Watch::Address, Watch::Thread], &[]);
}

#[test]
fn a_name_left_behind_by_a_crash_is_usable() {
    Case::new("processes-names", "tests/processes/talk.proto", "names.c")
        .run(&[Watch::Plain, Watch::Address], &[]);
}

#[test]
fn a_region_has_all_of_its_memory() {
    Case::new("processes-space", "tests/processes/talk.proto", "space.c").run(
        &[Watch::Plain, Watch::Address],
        &["-Wl,--wrap=posix_fallocate"],
    );
}

#[test]
fn a_child_of_busy_threads_has_sessions_of_its_own() {
    let mut watches = Watch::all();
    watches.retain(|watch| !matches!(watch, Watch::Valgrind));
    Case::new("processes-fork", "tests/processes/talk.proto", "fork.c").run(&watches, &[]);
}

/// The thread sanitizer mistakes the parent's thread for one that the child leaked.
#[test]
fn a_child_of_a_thread_in_its_first_session_has_sessions_of_its_own() {
    Case::new("processes-first", "tests/processes/talk.proto", "first.c").run(
        &[Watch::Plain, Watch::Address],
        &["-Wl,--wrap=pthread_mutex_unlock"],
    );
}

#[test]
fn many_threads_send_to_another_process() {
    let mut watches = Watch::all();
    watches.retain(|watch| !matches!(watch, Watch::Valgrind));
    Case::new("processes-shared", "tests/processes/talk.proto", "shared.c").run(&watches, &[]);
}

#[test]
fn messages_of_every_length_arrive() {
    Case::new("processes-long", "tests/processes/talk.proto", "long.c")
        .run(&[Watch::Plain, Watch::Address], &[]);
}

#[test]
fn a_sender_gives_up_when_its_time_is_over() {
    Case::new("processes-limits", "tests/processes/talk.proto", "limits.c")
        .run(&[Watch::Plain, Watch::Address], &[]);
}

#[test]
fn numbers_arrive_in_any_order() {
    let watches = [Watch::Plain, Watch::Address];
    Case::new("processes-mixed", "tests/processes/talk.proto", "mixed.c").run(&watches, &[]);
}

#[test]
fn turns_of_one_number_and_others_arrive() {
    let mut watches = Watch::all();
    watches.retain(|watch| !matches!(watch, Watch::Valgrind));
    let case = Case::new("processes-turns", "tests/processes/talk.proto", "turns.c");
    case.run(&watches, &[]);
    for flag in ["-DDUO_CHECKED", "-DDUO_NO_MEMBARRIER", "-Os"] {
        case.run_as(&[flag]);
    }
}

#[test]
fn streams_stop_and_go_on_anywhere() {
    let mut watches = Watch::all();
    watches.retain(|watch| !matches!(watch, Watch::Valgrind));
    let case = Case::new("processes-stream", "tests/processes/talk.proto", "stream.c");
    case.run(&watches, &["-O2"]);
    for flag in ["-DDUO_CHECKED", "-DDUO_NO_MEMBARRIER", "-Os"] {
        case.run_as(&[flag]);
    }
}

#[test]
fn ends_change_hands_in_the_middle_of_a_stream() {
    let mut watches = Watch::all();
    watches.retain(|watch| !matches!(watch, Watch::Valgrind));
    Case::new("processes-moved", "tests/processes/talk.proto", "moved.c").run(&watches, &["-O2"]);
}

#[test]
fn without_the_barrier_of_the_system() {
    let case = Case::new("processes-heavy", "tests/processes/talk.proto", "long.c");
    let program = Program {
        runtime: &["-DDUO_NO_MEMBARRIER"],
        ..case.program(Watch::Plain)
    };
    if let Err(complaint) = program.run() {
        panic!("{complaint}");
    }
}

#[test]
fn garbage_is_answered() {
    Case::new(
        "processes-garbage",
        "tests/wire/payloads.proto",
        "garbage.c",
    )
    .run(&[Watch::Plain, Watch::Address], &[]);
}

/// The program `side` of the package `conversations` is the victim.
fn withstands_a_peer_in_c(side: &Command) {
    let case = Case::new(
        "processes-hostile",
        "tests/wire/payloads.proto",
        "hostile.c",
    );
    let flag = format!("-DSIDE=\"{}\"", side.get_program().display());
    case.run(&[Watch::Plain], &[&flag]);
}

#[test]
fn a_side_in_rust_withstands_a_peer_in_c() {
    withstands_a_peer_in_c(&crate::rust::side_program());
}

/// Not under the thread sanitizer, which does not understand the standard library's locks, and sees no race between processes.
#[test]
#[ignore = "nightly: sanitizers"]
fn a_side_in_rust_withstands_a_peer_in_c_under_the_address_sanitizer() {
    withstands_a_peer_in_c(&crate::rust::side_program_under("address"));
}

#[test]
fn messages_with_descriptors_leak_none() {
    Case::new(
        "processes-letters",
        "tests/processes/talk.proto",
        "letters.c",
    )
    .run(&[Watch::Plain, Watch::Address], &[]);
}

#[test]
fn every_wait_for_a_region_can_be_canceled() {
    let watches = [Watch::Plain, Watch::Address, Watch::Thread];
    Case::new(
        "processes-canceled",
        "tests/processes/talk.proto",
        "canceled.c",
    )
    .run(&watches, &[]);
}

/// In the header, and where everything goes through the library.
#[test]
fn senders_get_errors_for_invalid_values() {
    let case = Case::new("processes-sound", "tests/processes/sound.proto", "sound.c");
    case.run(&[Watch::Plain, Watch::Address], &[]);
    for flag in ["-DDUO_CHECKED", "-Os"] {
        case.run_as(&[flag]);
    }
}

#[test]
fn memory_of_ended_sessions_is_released() {
    Case::new(
        "processes-given-back",
        "tests/processes/talk.proto",
        "given_back.c",
    )
    .run(&Watch::all(), &[]);
    Case::new("processes-pooled", "tests/processes/talk.proto", "pooled.c").run(&Watch::all(), &[]);
}

#[test]
fn the_memory_that_a_peer_can_claim_is_bounded() {
    Case::new("processes-bounds", "tests/wire/payloads.proto", "bounds.c")
        .run(&[Watch::Plain, Watch::Address], &[]);
}

#[test]
fn sizes_that_no_memory_has_are_refused() {
    Case::new("processes-sizes", "tests/processes/talk.proto", "sizes.c")
        .run(&[Watch::Plain, Watch::Address], &[]);
}

#[test]
fn payloads_are_the_bytes_of_the_page() {
    let vectors = repository().join("tests/wire/payloads.txt");
    let flag = format!("-DVECTORS=\"{}\"", vectors.display());
    Case::new("processes-wire", "tests/wire/payloads.proto", "vectors.c")
        .run(&[Watch::Address], &[&flag]);
}

/// Every case transfers three values; how long it takes is not checked.
#[test]
fn the_benchmark_works() {
    let bench = repository().join("tests/bench");
    let proto = "tests/bench/processes/bench.proto";
    let mut case = Case::new("processes-bench", proto, "../bench/processes/main.c");
    for source in [
        "processes/ours.c",
        "processes/sockets.c",
        "processes/texts.c",
        "c/harness.c",
        "c/rings.c",
        "c/system.c",
    ] {
        case.sources.push(bench.join(source));
    }
    case.includes.extend([bench.join("c")]);
    let program = Program {
        flags: &["-DBENCH_ROUNDS=0"],
        ..case.program(Watch::Plain)
    };
    if let Err(complaint) = program.run() {
        panic!("{complaint}");
    }
}

/// A short run; `tests/processes/fuzz.c` says how to make a longer one.
#[test]
#[ignore = "nightly: fuzz"]
fn a_fuzzer_finds_nothing() {
    fuzz(&Case::new("processes-fuzz", PAYLOADS, "fuzz.c"), &[]);
}

/// The protocol whose payloads are fuzzed.
pub(super) const PAYLOADS: &str = "tests/wire/payloads.proto";

/// Runs libFuzzer and clang's sanitizers on a reader, compiled with these flags.
pub(super) fn fuzz(case: &Case, flags: &[&str]) {
    let sources = [case.sources.clone(), sources_for(&case.sources)].concat();
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
        sources: &sources,
        flags: &fuzzing,
        ..case.program(Watch::Plain)
    };
    if let Err(complaint) = program.fuzz(20_000) {
        panic!("{complaint}");
    }
}
