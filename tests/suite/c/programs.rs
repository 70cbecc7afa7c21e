//! Programs that use generated code: conversations, payloads of every kind, misuse, and those of the documentation.

use super::driver::{ADDRESS, THREAD};
use super::firmware::BANK;
use super::{SMALL, generate, generate_with, hosts, protocols, quiet};
use crate::support::c::{Compiler, Program, Watch, files_in, runtime, scratch, sources_in};
use crate::support::{conversations, repository, succeed, target_pages};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The conversations: the case, the prefix of its endpoint types, and the state they start in.
pub const CASES: &[(&str, &str, &str)] = &[
    ("bank", "bank", "login"),
    ("double_buffer", "double_buffer", "acquire"),
    ("feed", "feed", "idle"),
    ("file_server", "file_server", "idle"),
    ("future", "future_text", "waiting"),
    ("future_broken", "future_text", "waiting"),
    ("long_words", "word_count", "counting"),
    ("oneshot", "oneshot_bytes", "oneshot"),
    ("relay", "relay_text", "board"),
    ("seller", "seller", "asked"),
    ("stream", "numbers", "stream"),
    ("switchboard", "switchboard", "open"),
    ("telemetry", "telemetry", "report"),
    ("type_switch", "type_switch", "start"),
    ("word_count", "word_count", "counting"),
    ("work_queue", "work_queue", "idle"),
];

/// Cases whose payloads cannot leave their process.
pub const AT_HOME: &[&str] = &["double_buffer", "feed", "switchboard", "work_queue"];

/// The header that gives the programs of a case the types they start with and, between processes, how they attach their sides.
pub fn case_header(case: &str, prefix: &str, state: &str, room: Option<u32>) -> String {
    let attach = room.map_or_else(String::new, |room| {
        format!(
            "#include \"{prefix}_shm.h\"\n\n#define CASE_ROOM {room}\n\
             #define CASE_CLIENT_ATTACH {prefix}_client_attach\n\
             #define CASE_SERVER_ATTACH {prefix}_server_attach\n"
        )
    });
    let types = |side| format!("{prefix}_{side}_{state}_t");
    let (client, server) = (types("client"), types("server"));
    format!(
        "#ifndef CASE_H\n#define CASE_H\n\n#include \"{prefix}.h\"\n#include \"transcript.h\"\n\n\
         {attach}#define CASE_INIT {prefix}_init\n#define CASE_CLIENT {case}_case_client\n\
         #define CASE_SERVER {case}_case_server\n#define CASE_CLIENT_TYPE {client}\n\
         #define CASE_SERVER_TYPE {server}\n\n\
         duo_status CASE_CLIENT({client} endpoint, struct transcript *transcript);\n\
         duo_status CASE_SERVER({server} endpoint, struct transcript *transcript);\n\n#endif\n"
    )
}

/// Both sides in one process; over sockets and in shared memory they are in `remote`.
#[cfg(target_os = "linux")]
#[test]
fn conversations_run() {
    for (case, ..) in CASES {
        let expected = repository().join(format!("tests/run/{case}/expected.txt"));
        let expected = std::fs::read_to_string(expected).expect("every case has a transcript");
        let written = succeed(super::remote_program().args(["pair", case]));
        let written = written.unwrap_or_else(|complaint| panic!("{case}:\n{complaint}"));
        assert_eq!(written, expected, "{case}");
    }
}

/// Every case must also have programs in C.
#[test]
fn every_case_is_spoken() {
    let known: Vec<&str> = CASES.iter().map(|(known, ..)| *known).collect();
    assert_eq!(conversations(), known);
}

/// How a program of `tests/misuse` ends, by its first line.
fn promise(misuse: &Path) -> String {
    let text = std::fs::read_to_string(misuse).expect("it is there");
    let first = text.lines().next().unwrap_or_default();
    first
        .trim_start_matches("/* ")
        .trim_end_matches(" */")
        .to_owned()
}

/// The first line of each program of `tests/misuse/c` says how it ends: `fails`, for the one reason given (the program compiles
/// with `RIGHT` defined, so there is no other reason), `aborts`, with this report (and runs with `RIGHT` defined), or `runs`, and
/// succeeds.
#[test]
fn misuse_is_found() {
    let generated = generate("misuse", &[repository().join("protocols/bank.proto")]);
    let mut wrong = Vec::new();
    for misuse in sources_in(&repository().join("tests/misuse/c")) {
        let promise = promise(&misuse);
        if let Some(report) = promise.strip_prefix("aborts: ") {
            check_aborts(&generated, misuse, report);
            continue;
        }
        if promise == "runs" {
            let sources = [sources_in(&generated), vec![misuse.clone()]].concat();
            let includes = std::slice::from_ref(&generated);
            if let Err(complaint) = quiet(Watch::Address, &sources, includes, &generated).run() {
                panic!("{}:\n{complaint}", misuse.display());
            }
            continue;
        }
        let reason = promise.strip_prefix("fails: ");
        let reason = reason.unwrap_or_else(|| panic!("{} promises `{promise}`", misuse.display()));
        wrong.push((misuse, reason.to_owned()));
    }
    super::check_misuse(&generated, &wrong);
}

/// The same in C++, where the first error is the one that is promised, whatever follows it.
#[test]
fn misuse_is_found_in_cpp() {
    let generated = generate("misuse-cpp", &[repository().join("protocols/bank.proto")]);
    let programs = files_in(&repository().join("tests/misuse/cpp"), "cpp");
    assert!(!programs.is_empty(), "there are programs");
    for misuse in programs {
        let promise = promise(&misuse);
        if let Some(report) = promise.strip_prefix("aborts: ") {
            check_aborts(&generated, misuse, report);
            continue;
        }
        let reason = promise.strip_prefix("fails: ");
        let reason = reason.unwrap_or_else(|| panic!("{} promises `{promise}`", misuse.display()));
        for compiler in Compiler::all() {
            let compile = |flags: &[&str]| {
                let mut compile = compiler.command(true);
                compile.arg("-fsyntax-only").arg("-I").arg(&generated);
                succeed(compile.args(flags).arg(&misuse))
            };
            compile(&["-DRIGHT"]).unwrap_or_else(|complaint| panic!("with RIGHT:\n{complaint}"));
            let complaint = compile(&[]).expect_err("it is wrong");
            let first = complaint.lines().find(|line| line.contains(" error: "));
            assert!(
                first.is_some_and(|first| first.contains(reason)),
                "{} fails for another reason than {reason}:\n{complaint}",
                misuse.display()
            );
        }
    }
}

/// Runs a program that reads a message wrongly, and the same with `RIGHT` defined.
fn check_aborts(generated: &Path, misuse: PathBuf, report: &str) {
    let name = misuse.file_name().unwrap_or_default().to_string_lossy();
    let folder = scratch(&format!("aborts-{name}"));
    let tables = quiet(
        Watch::Address,
        &sources_in(generated),
        &[generated.to_path_buf()],
        &folder,
    )
    .objects();
    let tables = tables.unwrap_or_else(|complaint| panic!("{complaint}"));
    let includes = [generated.to_path_buf()];
    let own = [misuse];
    let program = |flags| Program {
        flags,
        objects: &tables,
        ..quiet(Watch::Address, &own, &includes, &folder)
    };
    let right = program(&["-DRIGHT"]).run();
    right.unwrap_or_else(|complaint| panic!("with RIGHT: {complaint}"));
    let wrong = program(&[])
        .link()
        .unwrap_or_else(|complaint| panic!("{complaint}"));
    let ended = Command::new(wrong).output().expect("it can be run");
    let printed = String::from_utf8_lossy(&ended.stderr);
    // Killed by a signal.
    assert_eq!(ended.status.code(), None, "{printed}");
    assert!(
        printed
            .lines()
            .next()
            .is_some_and(|line| line.ends_with(report)),
        "{printed}"
    );
}

/// Where the tag was already switched on, reading the message costs nothing: the comparison is gone.
#[test]
fn what_was_switched_on_is_not_compared_again() {
    let generated = generate("switched", &[repository().join("protocols/bank.proto")]);
    let folder = scratch("switched-code");
    let code = |deposit: &str, withdrawal: &str| {
        let source = folder.join("main.c");
        let text = format!(
            "#include \"bank.h\"\n\ndouble total(bank_connected_t *said);\n\ndouble total(bank_connected_t *said)\n{{\n    \
             switch (said->tag) {{\n    case BANK_CONNECTED_DEPOSIT: return {deposit};\n    \
             case BANK_CONNECTED_WITHDRAWAL: return -{withdrawal};\n    case BANK_CONNECTED_QUIT: return 0.0;\n    }}\n    \
             return 1.0;\n}}\n"
        );
        std::fs::write(&source, text).expect("it can be written");
        let mut compile = Compiler::Gcc.command(false);
        compile.args(["-O2", "-g0", "-S", "-o", "-", "-I"]);
        let code = succeed(compile.arg(&generated).arg(&source));
        code.unwrap_or_else(|complaint| panic!("{complaint}"))
    };
    let unchecked = code("said->as.deposit.money", "said->as.withdrawal.amount");
    assert!(unchecked.contains("total:"), "{unchecked}");
    let checked = code(
        "bank_connected_as_deposit(said)->money",
        "bank_connected_as_withdrawal(said)->amount",
    );
    assert_eq!(checked, unchecked);
}

/// With `-DDUO_DEBUG`, also under the address sanitizer, which sees the block but not the views.
#[test]
fn freed_messages_are_poisoned() {
    check_debug("poison");
}

#[test]
fn forgotten_endpoints_are_reported() {
    check_debug("forgotten");
}

/// Runs a program of `tests/misuse` with the runtime built for debugging.
fn check_debug(name: &str) {
    let generated = generate(name, &[repository().join("protocols/bank.proto")]);
    let program = repository().join(format!("tests/misuse/{name}.c"));
    let sources = [sources_in(&generated), vec![program]].concat();
    let includes = [generated.clone(), runtime().join("tests")];
    let report = format!("-DREPORT=\"{}\"", generated.join("report").display());
    let program = Program {
        flags: &[report.as_str()],
        runtime: &["-DDUO_DEBUG"],
        ..quiet(Watch::Address, &sources, &includes, &generated)
    };
    if let Err(complaint) = program.run() {
        panic!("{complaint}");
    }
}

#[test]
fn payloads_arrive_and_what_is_left_is_destroyed_once() {
    let folder = repository().join("tests/payloads");
    let generated = generate("payloads", &[folder.join("payloads.proto")]);
    let includes = [generated.clone(), folder.clone(), runtime().join("tests")];
    for (program, build) in [
        ("payloads.c", ADDRESS),
        ("payloads.c", THREAD),
        ("payloads.c", SMALL),
        ("tags.c", ADDRESS),
        ("tags.c", SMALL),
    ] {
        let sources = [sources_in(&generated), vec![folder.join(program)]].concat();
        let program = Program {
            flags: build.flags,
            runtime: build.flags,
            ..quiet(build.watch, &sources, &includes, &generated)
        };
        if let Err(complaint) = program.run() {
            panic!("{build:?}:\n{complaint}");
        }
    }
}

#[test]
fn copies_outlive_their_message() {
    let kept = repository().join("tests/payloads/kept.proto");
    let generated = generate("copies", &[protocols(), vec![kept]].concat());
    let tables = [
        "kept",
        "kept_types",
        "smtp",
        "smtp_types",
        "file_server",
        "acme_files_file_server_types",
        "acme_types",
    ];
    let mut sources = sources_in(&generated);
    sources.retain(|source| {
        let name = source.file_stem().unwrap_or_default().to_string_lossy();
        tables.contains(&name.as_ref())
    });
    sources.push(repository().join("tests/payloads/copies.c"));
    let includes = [generated.clone(), runtime().join("tests")];
    if let Err(complaint) = quiet(Watch::Address, &sources, &includes, &generated).run() {
        panic!("{complaint}");
    }
}

/// `--c-ring`: a session uses no more memory than requested, and an unbounded run still works.
#[test]
fn a_ring_is_as_small_as_requested() {
    for (bytes, least) in [("0", "640"), ("1024", "1024"), ("8192", "8192")] {
        let name = format!("small-ring-{bytes}");
        let protos = [repository().join("protocols/stream.proto")];
        let generated = generate_with(&name, &protos, &["--c-ring", bytes]);
        let program = repository().join("tests/payloads/ring.c");
        let sources = [sources_in(&generated), vec![program]].concat();
        let includes = [generated.clone(), runtime().join("tests")];
        let ring = format!("-DRING={least}");
        let program = Program {
            flags: &[ring.as_str()],
            ..quiet(Watch::Address, &sources, &includes, &generated)
        };
        if let Err(complaint) = program.run() {
            panic!("{bytes}:\n{complaint}");
        }
    }
}

/// Whether robots were generated into a folder.
fn has_robots(folder: &std::path::Path) -> bool {
    folder.join("bank_robots.h").exists()
}

/// Every block of the page compiles, and those that are programs run and print what the page says. A server that does not end is
/// marked `no_run`, as in rustdoc.
#[test]
fn the_programs_of_the_page_print_what_it_says() {
    let page = target_pages("c");
    let options = ["--c-shm", "--remote", "--c-events", "--robots"];
    let generated = generate_with("page", &protocols(), &options);
    let device = BANK.generate("page-device");
    let [(includes, objects), of_device] =
        [(&generated, hosts()), (&device, Vec::new())].map(|(folder, hosts)| {
            let includes = [vec![folder.clone()], hosts].concat();
            let mut sources = sources_in(folder);
            if has_robots(folder) {
                sources.extend(sources_in(&runtime().join("robots")));
            }
            let objects = quiet(Watch::Address, &sources, &includes, folder).objects();
            let objects = objects.unwrap_or_else(|complaint| panic!("{complaint}"));
            (includes, objects)
        });
    let mut programs = 0;
    let blocks: Vec<(&str, &str)> = page
        .split("\n```")
        .skip(1)
        .step_by(2)
        .map(|block| block.split_once('\n').unwrap_or((block, "")))
        .collect();
    for (position, (language, text)) in blocks.iter().enumerate() {
        let is_program = text.contains("int main(");
        if !is_program && *language != "c" {
            continue;
        }
        programs += 1;
        let folder = generated.join(format!("program-{position}"));
        std::fs::create_dir(&folder).expect("it can be written");
        let source = folder.join(match *language {
            "cpp" => "program.cpp",
            _ => "program.c",
        });
        std::fs::write(&source, text).expect("it can be written");
        let expected = match blocks.get(position + 1) {
            Some(("text", expected)) => format!("{expected}\n"),
            _ => String::new(),
        };
        let own = [source];
        let (includes, mut objects) = match BANK.is_in(text) {
            true => of_device.clone(),
            false => (includes.clone(), objects.clone()),
        };
        // Programs that record are compiled with tables that have names.
        let record: &[&str] = match text.contains("duologue/record.h") {
            true => &["-DDUO_RECORD"],
            false => &[],
        };
        if !record.is_empty() {
            let tables = sources_in(&includes[0]);
            let bank = tables.iter().filter(|file| file.ends_with("bank.c"));
            let bank: Vec<PathBuf> = bank.cloned().collect();
            let tables = Program {
                flags: record,
                ..quiet(Watch::Address, &bank, &includes, &folder)
            };
            objects = tables
                .objects()
                .unwrap_or_else(|complaint| panic!("{complaint}"));
            for object in &mut objects {
                let renamed = folder.join("tables.o");
                std::fs::rename(&*object, &renamed).expect("it can be renamed");
                *object = renamed;
            }
        }
        if !is_program {
            let part = Program {
                flags: &[record, &["-Wno-unused-function"]].concat(),
                ..quiet(Watch::Address, &own, &includes, &folder)
            };
            let compiled = part.objects();
            compiled.unwrap_or_else(|complaint| panic!("{text}\n{complaint}"));
            continue;
        }
        let program = Program {
            objects: &objects,
            flags: record,
            runtime: record,
            ..quiet(Watch::Address, &own, &includes, &folder)
        };
        let run = |program: PathBuf| match language.ends_with(" no_run") {
            true => Ok(String::new()),
            false => succeed(&mut Command::new(program)),
        };
        let printed = program.link().and_then(run);
        let printed = printed.unwrap_or_else(|complaint| panic!("{text}\n{complaint}"));
        assert_eq!(printed, expected, "{text}");
    }
    assert!(programs > 0, "the page shows programs");
}
