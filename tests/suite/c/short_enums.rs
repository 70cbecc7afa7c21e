//! Enums that are smaller than an `int`, as in compilers for devices: the program and the runtime are built with `-fshort-enums`.

#![cfg(target_os = "linux")]

use super::processes::Case;
use super::{check_test_with, generate, quiet};
use crate::support::c::{Compiler, Program, Watch, runtime, sources_in};
use crate::support::repository;

const SHORT: [&str; 1] = ["-fshort-enums"];

#[test]
fn sessions_go_as_ever() {
    for test in [
        "turn.c", "close.c", "used.c", "ready.c", "credit.c", "lines.c",
    ] {
        check_test_with(test, Compiler::Gcc, Watch::Address, &SHORT, &SHORT);
    }
}

/// Values with enums arrive, and what messages own is freed, whatever comes between the tag and the rest.
#[test]
fn owned_payloads_are_freed() {
    let folder = repository().join("tests/payloads");
    for (name, flags) in [("int", &[][..]), ("short", &SHORT[..])] {
        for program in ["payloads.c", "tags.c"] {
            for watch in [Watch::Plain, Watch::Address] {
                let generated = generate(
                    &format!("enums-{name}-{program}-{watch:?}"),
                    &[folder.join("payloads.proto")],
                );
                let sources = [sources_in(&generated), vec![folder.join(program)]].concat();
                let includes = [generated.clone(), folder.clone(), runtime().join("tests")];
                let program = Program {
                    flags,
                    runtime: flags,
                    ..quiet(watch, &sources, &includes, &generated)
                };
                if let Err(complaint) = program.run() {
                    panic!("{name} {watch:?}:\n{complaint}");
                }
            }
        }
    }
}

/// A tag has as many bytes as the tables say, whatever the compiler's setting.
#[test]
fn tags_have_the_bytes_that_tables_say() {
    let case = Case::new("enums", "tests/processes/talk.proto", "enums.c");
    case.run_watched_as(Watch::Address, &[], &[]);
}

/// The bytes that travel do not depend on the flag.
#[test]
fn payloads_travel_between_processes() {
    let vectors = repository().join("tests/wire/payloads.txt");
    let vectors = format!("-DVECTORS=\"{}\"", vectors.display());
    for (program, proto) in [
        ("vectors.c", "tests/wire/payloads.proto"),
        ("garbage.c", "tests/wire/payloads.proto"),
        ("sound.c", "tests/processes/sound.proto"),
        ("meet.c", "tests/processes/talk.proto"),
        ("long.c", "tests/processes/talk.proto"),
        ("mixed.c", "tests/processes/talk.proto"),
        ("turns.c", "tests/processes/talk.proto"),
    ] {
        let case = Case::new(&format!("short-enums-{program}"), proto, program);
        let flags = [&SHORT[..], &[vectors.as_str()]].concat();
        for watch in [Watch::Plain, Watch::Address] {
            case.run_watched_as(watch, &flags, &SHORT);
        }
    }
}
