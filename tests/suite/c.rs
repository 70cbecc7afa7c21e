//! The C target: the shim, what is generated, and the programs that use it.

use crate::support::c::{
    Compiler, Program, Watch, files_in, repository, runtime, scratch, sources_in, succeed,
};
use std::path::{Path, PathBuf};
use std::process::Command;

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
        objects: &[],
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

/// Generates `protos` into a scratch folder of the test and hands back the folder.
fn generate(test: &str, protos: &[PathBuf]) -> PathBuf {
    let folder = scratch(test);
    let mut gen_c = Command::new(env!("CARGO_BIN_EXE_duologue"));
    gen_c.current_dir(repository()).arg("gen").args(protos);
    succeed(gen_c.arg("--c").arg(&folder).arg("--quiet"))
        .unwrap_or_else(|complaint| panic!("{complaint}"));
    folder
}

/// Every source and every header by itself compiles as C and as C++, without a warning.
fn check_compiles(generated: &Path, hosts: &[PathBuf]) {
    let mut sources = sources_in(generated);
    assert!(!sources.is_empty(), "nothing was generated");
    let alone = generated.join("alone");
    std::fs::create_dir(&alone).expect("the folder is ours");
    for header in files_in(generated, "h") {
        let name = header
            .file_name()
            .expect("it is a file")
            .to_string_lossy()
            .into_owned();
        let source = alone.join(format!("{name}.c"));
        std::fs::write(&source, format!("#include \"{name}\"\n")).expect("the folder is ours");
        sources.push(source);
    }
    let as_cpp = sources.iter().map(|source| {
        let name = source
            .file_stem()
            .expect("it is a file")
            .to_string_lossy()
            .into_owned();
        let copy = alone.join(format!("{name}.cpp"));
        std::fs::copy(source, &copy).expect("the folder is ours");
        copy
    });
    let sources: Vec<PathBuf> = sources.iter().cloned().chain(as_cpp).collect();
    let mut includes = vec![generated.to_owned()];
    includes.extend(hosts.iter().cloned());
    for compiler in Compiler::all() {
        let program = Program {
            compiler,
            watch: Watch::Plain,
            sources: &sources,
            objects: &[],
            includes: &includes,
            flags: &["-fsyntax-only"],
            shim: &[],
            folder: &alone,
        };
        if let Err(complaint) = program.objects() {
            panic!("{complaint}");
        }
    }
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

#[test]
fn all_protocols_compile() {
    check_compiles(&generate("protocols", &protocols()), &hosts());
}

#[test]
fn names_that_others_claim_compile() {
    let folder = repository().join("tests/nasty");
    check_compiles(&generate("names", &[folder.join("names.proto")]), &[folder]);
}

/// What is generated, beside what it is generated from.
#[test]
fn generated_text() {
    for case in ["pingpong", "oneshot", "double_buffer"] {
        let proto = repository().join(format!("protocols/{case}.proto"));
        let folder = generate(&format!("text-{case}"), std::slice::from_ref(&proto));
        let mut text = std::fs::read_to_string(&proto).expect("the protocol is there");
        let mut files = files_in(&folder, "h");
        files.extend(sources_in(&folder));
        files.sort();
        for file in files {
            let name = file
                .file_name()
                .expect("it is a file")
                .to_string_lossy()
                .into_owned();
            let written = std::fs::read_to_string(&file).expect("it was just written");
            text.push_str(&format!("\n======== {name}\n{written}"));
        }
        insta::assert_snapshot!(format!("c@{case}"), text);
    }
}

/// The conversations: the case, what its endpoints are called, and the state they start in.
const CASES: &[(&str, &str, &str)] = &[
    ("bank", "bank", "login"),
    ("buyer", "buyer", "ask"),
    ("calculator", "calculator", "ready"),
    ("double_buffer", "double_buffer", "acquire"),
    ("feed", "feed", "idle"),
    ("file_server", "file_server", "idle"),
    ("future", "future_text", "waiting"),
    ("future_broken", "future_text", "waiting"),
    ("oneshot", "oneshot_bytes", "oneshot"),
    ("pingpong", "pingpong", "ping"),
    ("relay", "relay_text", "board"),
    ("seller", "seller", "asked"),
    ("simple_proto", "simple_proto", "say_hello"),
    ("smtp", "smtp", "greeting"),
    ("stream", "numbers", "stream"),
    ("switchboard", "switchboard", "open"),
    ("telemetry", "telemetry", "report"),
    ("type_switch", "type_switch", "start"),
    ("word_count", "word_count", "counting"),
    ("work_queue", "work_queue", "idle"),
];

/// Tells the programs of a case which types they start with.
fn case_header(case: &str, prefix: &str, state: &str) -> String {
    let types = |side| format!("{prefix}_{side}_{state}_t");
    let (client, server) = (types("client"), types("server"));
    format!(
        "#ifndef CASE_H\n#define CASE_H\n\n#include \"{prefix}.h\"\n#include \"transcript.h\"\n\n\
         #define CASE_INIT {prefix}_init\n#define CASE_CLIENT {case}_case_client\n\
         #define CASE_SERVER {case}_case_server\n#define CASE_CLIENT_TYPE {client}\n\
         #define CASE_SERVER_TYPE {server}\n\n\
         duo_status CASE_CLIENT({client} endpoint, struct transcript *transcript);\n\
         duo_status CASE_SERVER({server} endpoint, struct transcript *transcript);\n\n#endif\n"
    )
}

#[test]
fn conversations_run() {
    check_conversations(Watch::Plain);
}

#[test]
fn conversations_leak_nothing() {
    check_conversations(Watch::Address);
}

fn check_conversations(watch: Watch) {
    let generated = generate(&format!("conversations-{watch:?}"), &protocols());
    let shared = repository().join("tests/suite/support/c");
    let includes = [vec![generated.clone(), shared.clone()], hosts()].concat();
    let sources = sources_in(&generated);
    let objects = quiet(watch, &sources, &includes, &generated).objects();
    let objects = objects.unwrap_or_else(|complaint| panic!("{complaint}"));
    for &(case, prefix, state) in CASES {
        let own = repository().join("tests/run").join(case);
        let folder = generated.join(format!("case-{case}"));
        std::fs::create_dir(&folder).expect("the folder is ours");
        std::fs::write(folder.join("case.h"), case_header(case, prefix, state))
            .expect("the folder is ours");
        let sources = [
            own.join("client.c"),
            own.join("server.c"),
            shared.join("transcript.c"),
        ];
        let includes = [includes.clone(), vec![folder.clone()]].concat();
        let expected =
            std::fs::read_to_string(own.join("expected.txt")).expect("every case has a transcript");
        let program = Program {
            objects: &objects,
            ..quiet(watch, &sources, &includes, &folder)
        };
        let written = program.run();
        let written = written.unwrap_or_else(|complaint| panic!("{case}, {watch:?}:\n{complaint}"));
        assert_eq!(written, expected, "{case}, {watch:?}");
    }
}

/// A program with nothing special about it.
fn quiet<'a>(
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
        shim: &[],
        folder,
    }
}

/// A case that is added must be spoken in C too.
#[test]
fn every_case_is_spoken() {
    let folders = std::fs::read_dir(repository().join("tests/run")).expect("the folder exists");
    let folders = folders.map(|entry| entry.expect("the folder can be read"));
    let cases = folders.filter(|entry| entry.path().join("expected.txt").exists());
    for case in cases {
        let name = case.file_name().to_string_lossy().into_owned();
        assert!(
            CASES.iter().any(|(known, ..)| *known == name),
            "{name} is missing in CASES"
        );
    }
}

/// Each program of `tests/misuse/c` says in its first line how it ends: `fails` for the one reason that is given, and compiles
/// with `RIGHT` defined, so that there is no other; or `runs`, and ends well.
#[test]
fn misuse_is_found() {
    let generated = generate("misuse", &[repository().join("protocols/bank.proto")]);
    let includes = [generated.clone()];
    let programs = sources_in(&repository().join("tests/misuse/c"));
    assert!(!programs.is_empty(), "there are programs");
    for misuse in programs {
        let name = misuse
            .file_stem()
            .expect("it is a file")
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&misuse).expect("it is there");
        let first = text.lines().next().unwrap_or_default();
        let promise = first.trim_start_matches("/* ").trim_end_matches(" */");
        let own = [misuse.clone()];
        if promise == "runs" {
            let sources = [sources_in(&generated), own.to_vec()].concat();
            if let Err(complaint) = quiet(Watch::Address, &sources, &includes, &generated).run() {
                panic!("{name}:\n{complaint}");
            }
            continue;
        }
        let reason = promise
            .strip_prefix("fails: ")
            .unwrap_or_else(|| panic!("{name} promises `{promise}`"));
        let program = Program {
            flags: &["-DRIGHT"],
            ..quiet(Watch::Plain, &own, &includes, &generated)
        };
        if let Err(complaint) = program.objects() {
            panic!("{name} is not right with RIGHT:\n{complaint}");
        }
        let complaint = match quiet(Watch::Plain, &own, &includes, &generated).objects() {
            Ok(_) => panic!("{name} compiles"),
            Err(complaint) => complaint,
        };
        let errors: Vec<&str> = complaint
            .lines()
            .filter(|line| line.contains(" error: "))
            .collect();
        assert!(
            errors.len() == 1 && errors[0].contains(reason),
            "{name} fails for another reason:\n{complaint}"
        );
    }
}
