//! The runtime for 32 bits.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use super::driver::Build;
use super::processes::{PROCESSES, fuzz};
use super::{generate, generate_with, quiet};
use crate::support::c::{Compiler, Program, Watch, runtime, scratch, sources_in};
use crate::support::{repository, succeed};

/// The traditional 32-bit system, and one with times beyond 2038.
const WAYS: [&[&str]; 2] = [
    &["-m32"],
    &["-m32", "-D_TIME_BITS=64", "-D_FILE_OFFSET_BITS=64"],
];

/// Panics if the compiler cannot build for 32 bits. libFuzzer needs the C++ library, too.
fn require_both_widths() {
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
        .arg("-lstdc++")
        .arg("-o")
        .arg(folder.join("can"));
    if let Err(complaint) = succeed(&mut compile) {
        panic!(
            "gcc cannot build for 32 bits: apt-get install -y --no-install-recommends g++-multilib\n{complaint}"
        );
    }
}

#[test]
#[ignore = "nightly: narrow"]
fn within_a_process() {
    require_both_widths();
    for way in WAYS {
        for case in [
            "turn", "asleep", "close", "used", "shape", "walks", "ready", "credit", "taken",
            "cancel",
        ] {
            super::RUNTIME.run(Build::new(Watch::Plain, way), &[case]);
        }
    }
}

#[test]
#[ignore = "nightly: narrow"]
fn between_processes() {
    require_both_widths();
    for case in [
        "meet", "long", "limits", "attach", "names", "mixed", "turns", "ready", "writable",
    ] {
        for way in WAYS {
            PROCESSES.run(Build::new(Watch::Plain, way), &[case]);
        }
    }
}

/// Reads bytes of other processes under a sanitizer: what fits into 64 bits may not fit here.
#[test]
#[ignore = "nightly: narrow"]
fn peers_that_attack() {
    require_both_widths();
    for case in ["garbage", "bounds", "vectors", "sizes", "leave", "sound"] {
        for way in WAYS {
            PROCESSES.run(Build::new(Watch::Address, way), &[case]);
        }
    }
}

#[test]
#[ignore = "nightly: narrow"]
fn a_fuzzer_finds_nothing() {
    require_both_widths();
    fuzz("processes", &["-m32"]);
}

#[test]
#[ignore = "nightly: narrow"]
fn values_with_a_bound() {
    require_both_widths();
    let builds = [Build::new(Watch::Address, &["-m32"])];
    super::inline::arrive("narrow-inline", &builds);
    super::inline::leave("narrow-inline-processes", &builds);
}

#[test]
#[ignore = "nightly: narrow"]
fn payloads_of_every_kind() {
    require_both_widths();
    let folder = repository().join("tests/payloads");
    let generated = generate("narrow-payloads", &[folder.join("payloads.proto")]);
    let sources = [sources_in(&generated), vec![folder.join("payloads.c")]].concat();
    let includes = [generated.clone(), folder.clone(), runtime().join("tests")];
    for watch in [Watch::Plain, Watch::Address] {
        for way in WAYS {
            let program = Program {
                flags: way,
                runtime: way,
                ..quiet(watch, &sources, &includes, &generated)
            };
            if let Err(complaint) = program.run() {
                panic!("{watch:?}, {way:?}:\n{complaint}");
            }
        }
    }
}

/// Compilers print a note where they lay out a type differently than older versions did; nothing here depends on such a layout.
#[test]
#[ignore = "nightly: narrow"]
fn nothing_is_noted() {
    require_both_widths();
    let proto = repository().join("protocols/telemetry.proto");
    let generated = generate_with("narrow-noted", &[proto], &["--c-shm"]);
    let sources = [sources_in(&runtime().join("src")), sources_in(&generated)].concat();
    for source in sources {
        let mut compile = Compiler::Gcc.command(false);
        compile.args(["-m32", "-O2", "-c", "-o", "/dev/null", "-I"]);
        let output = compile.arg(&generated).arg(&source).output();
        let noted = output.expect("gcc was called before").stderr;
        let noted = String::from_utf8_lossy(&noted);
        assert!(noted.is_empty(), "{}:\n{noted}", source.display());
    }
}
