//! Records of sessions in C: the conversations, a program that does everything else, and what records cost where there are none.

use super::programs::{CASES, case_header};
use super::{generate, generate_with, hosts, protocols, quiet};
use crate::support::c::{Compiler, Program, Watch, runtime, scratch, sources_in};
use crate::support::program::run;
use crate::support::{copy, repository, succeed};
use crate::trace::recorded::is_accepted;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What makes a program record its sessions.
const RECORD: &[&str] = &["-DDUO_RECORD"];

/// Conversations with every kind of protocol: bounded and unbounded, generic, in a package, with endpoints in messages, and one that is
/// left early.
const RECORDED: &[&str] = &[
    "bank",
    "file_server",
    "future_broken",
    "relay",
    "switchboard",
    "work_queue",
];

#[test]
fn conversations_are_recorded() {
    let generated = generate_with("recorded", &protocols(), &["--c-shm"]);
    let shared = repository().join("tests/suite/support/c");
    let includes = [vec![generated.clone(), shared.clone()], hosts()].concat();
    let sources = sources_in(&generated);
    let tables = Program {
        flags: RECORD,
        ..quiet(Watch::Address, &sources, &includes, &generated)
    };
    let objects = tables
        .objects()
        .unwrap_or_else(|complaint| panic!("{complaint}"));
    let log = generated.join("sessions.jsonl");
    // In shared memory each side is a process, and both logs are of one session.
    let at_home = CASES.iter().filter(|(case, ..)| RECORDED.contains(case));
    let cases = at_home
        .map(|case| (case, None))
        .chain([(&CASES[0], Some(4096))]);
    for (&(case, prefix, state), room) in cases {
        let own = repository().join("tests/run").join(case);
        let label = format!("{case}-{}-", if room.is_some() { "shm" } else { "own" });
        let folder = generated.join(format!("case-{label}"));
        fs::create_dir(&folder).expect("it can be written");
        let name = format!("#define CASE_NAME \"{label}\"\n");
        let header = name + &case_header(case, prefix, state, room);
        fs::write(folder.join("case.h"), header).expect("it can be written");
        let sources = [
            own.join("client.c"),
            own.join("server.c"),
            shared.join("transcript.c"),
            shared.join("pair.c"),
        ];
        let includes = [includes.clone(), vec![folder.clone()]].concat();
        let program = Program {
            objects: &objects,
            flags: RECORD,
            runtime: RECORD,
            ..quiet(Watch::Address, &sources, &includes, &folder)
        };
        let program = program
            .link()
            .unwrap_or_else(|complaint| panic!("{case}:\n{complaint}"));
        let written = succeed(Command::new(program).env("CASE_LOG", &log));
        let written = written.unwrap_or_else(|complaint| panic!("{case}:\n{complaint}"));
        let expected = fs::read_to_string(own.join("expected.txt")).expect("it is there");
        assert_eq!(written, expected, "{case}");
        let text = fs::read_to_string(&log).expect("it was written");
        assert!(
            text.contains(&format!("\"session\":\"{label}1\"")),
            "{text}"
        );
    }
    is_accepted(&log, "c-changed");
}

/// Compiles a program of `tests/record/` with the code in this folder, and runs it, so that it writes these files.
fn write_with(program: &str, generated: &Path, watch: Watch, files: &[PathBuf]) {
    let program = repository().join("tests/record").join(program);
    let sources = [sources_in(generated), vec![program]].concat();
    let includes = [generated.to_path_buf(), runtime().join("tests")];
    let program = Program {
        flags: RECORD,
        runtime: RECORD,
        ..quiet(watch, &sources, &includes, generated)
    };
    let program = program
        .link()
        .unwrap_or_else(|complaint| panic!("{watch:?}:\n{complaint}"));
    let ended = succeed(Command::new(program).args(files));
    ended.unwrap_or_else(|complaint| panic!("{watch:?}:\n{complaint}"));
}

#[test]
fn sessions_are_recorded_and_stopped() {
    let protos =
        ["bank", "stream"].map(|name| repository().join(format!("protocols/{name}.proto")));
    for watch in [Watch::Address, Watch::Thread] {
        let generated = generate(&format!("record-{watch:?}"), &protos);
        let logs = ["whole.jsonl", "full.jsonl"].map(|name| generated.join(name));
        write_with("record.c", &generated, watch, &logs);
        let text = fs::read_to_string(&logs[0]).expect("it was written");
        let left = text
            .lines()
            .filter(|line| line.contains("\"left\""))
            .count();
        assert_eq!(left, 2 + 2 + 2 + 2 + 2 + 2, "{text}");
        assert!(
            text.contains("\"why\":\"a monitor did not allow a message\""),
            "{text}"
        );
        is_accepted(&logs[0], &format!("c-{watch:?}"));
        let full = fs::read_to_string(&logs[1]).expect("it was written");
        assert!(full.len() <= 900 && full.lines().count() > 5, "{full}");
        is_accepted(&logs[1], &format!("c-full-{watch:?}"));
    }
}

/// Two threads wait for each other in two sessions, and `duologue top` names the circle.
#[test]
fn sessions_that_are_stuck_are_in_the_registry() {
    let protos =
        ["bank", "stream"].map(|name| repository().join(format!("protocols/{name}.proto")));
    for watch in [Watch::Address, Watch::Thread] {
        let generated = generate(&format!("registry-{watch:?}"), &protos);
        let files = ["stuck.json", "after.json"].map(|name| generated.join(name));
        write_with("registry.c", &generated, watch, &files);
        let top = |file: &Path| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_duologue"));
            command.arg("top").arg(file).arg("--once");
            let output = run(command, b"");
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            (output.status.code(), said)
        };
        let (code, said) = top(&files[0]);
        assert_eq!(code, Some(1), "{watch:?}: {said}");
        let circle = "deadlock: thread first #N -> thread second #N -> thread first #N\n";
        let numberless = said.replace(['1', '2'], "N");
        assert!(numberless.contains(circle), "{watch:?}: {said}");
        let (code, said) = top(&files[1]);
        assert_eq!(code, Some(0), "{watch:?}: {said}");
        assert!(
            said.starts_with("0 deadlocks, 0 sessions, "),
            "{watch:?}: {said}"
        );
    }
}

/// Removes what only DUO_RECORD compiles, as if there were no records.
fn without_records(text: &str) -> String {
    let (mut kept, mut open) = (String::new(), Vec::new());
    for line in text.lines() {
        let word = line.trim_start();
        if word.starts_with("#if") {
            open.push(match word {
                "#ifdef DUO_RECORD" | "#if defined(DUO_RECORD) && !defined(DUO_CHECKED)" => {
                    Some(true)
                }
                _ => None,
            });
            if open.last() == Some(&Some(true)) {
                continue;
            }
        } else if word.starts_with("#else") && open.last().is_some_and(Option::is_some) {
            *open.last_mut().expect("it is there") = Some(false);
            continue;
        } else if word.starts_with("#endif") && open.pop().is_some_and(|last| last.is_some()) {
            continue;
        }
        if !open.contains(&Some(true)) {
            kept += line;
            kept.push('\n');
        }
    }
    kept
}

/// Rewrites the C files of a folder.
fn rewrite(folder: &Path, change: &dyn Fn(&str) -> String) {
    for entry in fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            rewrite(&path, change);
        } else if path
            .extension()
            .is_some_and(|ending| ending == "c" || ending == "h")
        {
            let text = fs::read_to_string(&path).expect("it is text");
            fs::write(&path, change(&text)).expect("it can be written");
        }
    }
}

/// A program of which every instruction is counted: a customer, on one thread.
fn counted(folder: &Path, runtime: &Path, generated: &Path, flags: &[&str]) -> u64 {
    fs::create_dir_all(folder).expect("it can be written");
    let program = folder.join("program");
    let mut gcc = Compiler::Gcc.strict(false);
    gcc.args(["-O2", "-pthread", "-D_POSIX_C_SOURCE=200809L", "-I"])
        .arg(runtime.join("include"));
    gcc.arg("-I")
        .arg(generated)
        .args(flags)
        .arg(repository().join("tests/record/count.c"));
    gcc.args(sources_in(generated))
        .args(sources_in(&runtime.join("src")));
    succeed(gcc.args(["-lrt", "-o"]).arg(&program))
        .unwrap_or_else(|complaint| panic!("{complaint}"));
    let out = folder.join("callgrind.out");
    let mut valgrind = Command::new("valgrind");
    valgrind.args([
        "--tool=callgrind",
        "--collect-atstart=no",
        "--toggle-collect=customers",
    ]);
    valgrind
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program);
    let ran = run(valgrind, b"");
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "apt-get install valgrind\n{errors}");
    let text = fs::read_to_string(&out).expect("callgrind writes it");
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    let total = total.or_else(|| text.lines().find_map(|line| line.strip_prefix("summary: ")));
    total
        .and_then(|number| number.trim().parse().ok())
        .unwrap_or_else(|| panic!("{text}"))
}

/// Where nothing is recorded, a session takes exactly as many instructions as one whose code knows nothing of records.
#[test]
#[ignore = "with valgrind"]
fn sessions_that_are_not_recorded_take_no_instruction_more() {
    let folder = scratch("record-cost");
    let generated = generate(
        "record-cost-generated",
        &[repository().join("protocols/bank.proto")],
    );
    let (plain, plain_generated) = (folder.join("runtime"), folder.join("generated"));
    for part in ["include", "src"] {
        copy(&runtime().join(part), &plain.join(part));
    }
    copy(&generated, &plain_generated);
    let without = |text: &str| {
        let text = without_records(text);
        let kept = text
            .lines()
            .filter(|line| !line.contains("DUO_RECORD_BEGINS("));
        let kept: Vec<String> = kept.map(str::to_owned).collect();
        kept.join("\n") + "\n"
    };
    rewrite(&plain, &without);
    rewrite(&plain_generated, &|text| {
        let mut text = text.to_owned();
        for name in [" DUO_NAMED(", " DUO_NAMED_IN("] {
            while let Some(at) = text.find(name) {
                let end = at + text[at..].find(')').expect("it is closed") + 1;
                text.replace_range(at..end, "");
            }
        }
        text
    });
    let count = |name: &str, runtime: &Path, generated: &PathBuf, flags: &[&str]| {
        counted(&folder.join(name), runtime, generated, flags)
    };
    let off = count("off", &runtime(), &generated, &[]);
    let none = count("none", &plain, &plain_generated, &[]);
    let on = count("on", &runtime(), &generated, RECORD);
    assert!(
        off > 100_000,
        "{off} instructions are not a thousand sessions"
    );
    assert_eq!(off, none, "instructions of a session that is not recorded");
    assert!(
        on > 2 * off,
        "a record takes instructions: {on}, and {off} without it"
    );
}
