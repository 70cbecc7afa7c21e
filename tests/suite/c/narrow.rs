//! The shim for 32 bits: with `m32` in `DUOLOGUE_TEST_WITH`.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use super::check_runtime_with;
use super::processes::Case;
use crate::support::c::{Compiler, scratch};
use crate::support::{is_named, succeed};

/// As such systems have always been, and with times that go on after 2038.
const WAYS: [&[&str]; 2] = [
    &["-m32", "-Wno-psabi"],
    &[
        "-m32",
        "-Wno-psabi",
        "-D_TIME_BITS=64",
        "-D_FILE_OFFSET_BITS=64",
    ],
];

/// Whether it is wanted; complains if the compiler cannot.
fn is_wanted() -> bool {
    if !is_named("m32") {
        return false;
    }
    let folder = scratch("narrow");
    let source = folder.join("can.c");
    std::fs::write(
        &source,
        "#include <stdio.h>\nint main(void) { return 0; }\n",
    )
    .expect("the target folder can be written");
    let mut compile = Compiler::Gcc.command(false);
    compile
        .arg("-m32")
        .arg(&source)
        .arg("-o")
        .arg(folder.join("can"));
    if let Err(complaint) = succeed(&mut compile) {
        panic!(
            "gcc cannot build for 32 bits: apt-get install -y --no-install-recommends gcc-multilib\n{complaint}"
        );
    }
    true
}

#[test]
fn within_a_process() {
    if !is_wanted() {
        return;
    }
    for way in WAYS {
        for test in [
            "turn.c", "asleep.c", "close.c", "used.c", "shape.c", "walks.c", "ready.c", "room.c",
            "taken.c",
        ] {
            check_runtime_with(test, Compiler::Gcc, crate::support::c::Watch::Plain, way);
        }
    }
}

#[test]
fn between_processes() {
    if !is_wanted() {
        return;
    }
    for program in [
        "meet.c", "long.c", "limits.c", "attach.c", "names.c", "mixed.c", "turns.c", "ready.c",
        "room.c",
    ] {
        let case = Case::new(
            &format!("narrow-{program}"),
            "tests/processes/talk.proto",
            program,
        );
        for way in WAYS {
            case.run_as(way);
        }
    }
}
