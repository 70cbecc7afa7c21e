//! Sessions over sockets: the bytes of `tests/wire/streams.txt`, peers that break the rules, waiting for many, and the programs of
//! the conversations, each side in a process of its own.

#![cfg(target_os = "linux")]

use super::processes::{Case, PAYLOADS, fuzz};
use super::programs::{AT_HOME, CASES};
use super::{generate_with, hosts, protocols, quiet};
use crate::support::c::{Compiler, Program, Watch, runtime, sources_in, tls_objects};
use crate::support::repository;
use crate::support::running::converse;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The case of a program of `tests/remote`.
fn case(test: &str, proto: &str, program: &str) -> Case {
    let mut case = Case::new(test, proto, &format!("../remote/{program}"));
    case.includes.push(repository().join("tests/remote"));
    case
}

/// The flag that names the folder of a case, for sockets: their names are relative, because the system limits their
/// length.
fn folder(case: &Case) -> String {
    format!("-DFOLDER=\"{}\"", case.generated.display())
}

const CHECKED: [Watch; 3] = [Watch::Plain, Watch::Address, Watch::Thread];

#[test]
fn bytes_are_those_of_the_format() {
    let mut case = case("net-streams", "protocols/bank.proto", "streams.c");
    let bank = repository().join("tests/run/bank");
    let shared = repository().join("tests/suite/support/c");
    case.sources.extend([
        bank.join("client.c"),
        bank.join("server.c"),
        shared.join("transcript.c"),
    ]);
    case.includes.push(shared);
    let header = "#include \"bank.h\"\n#include \"transcript.h\"\n\
        duo_status bank_case_client(bank_client_login_t endpoint, struct transcript *transcript);\n\
        duo_status bank_case_server(bank_server_login_t endpoint, struct transcript *transcript);\n";
    std::fs::write(case.generated.join("case.h"), header).expect("it can be written");
    let streams = repository().join("tests/wire/streams.txt");
    let flag = format!("-DSTREAMS=\"{}\"", streams.display());
    for watch in CHECKED {
        case.run_watched_as(watch, &[&flag, &folder(&case)], &[]);
    }
}

#[test]
fn peers_that_break_the_rules_are_dropped() {
    let case = case("net-attacks", "protocols/bank.proto", "attacks.c");
    for watch in CHECKED {
        case.run_watched_as(watch, &[&folder(&case)], &[]);
    }
}

/// A short run; `tests/remote/fuzz.c` says how to make a longer one.
#[test]
#[ignore = "nightly: fuzz"]
fn a_fuzzer_finds_nothing_in_what_peers_send() {
    fuzz(&case("net-fuzz", PAYLOADS, "fuzz.c"), &[]);
}

#[test]
fn peers_do_not_get_more_than_their_share() {
    let case = case("net-hostile", "protocols/telemetry.proto", "hostile.c");
    for watch in CHECKED {
        let flags = match watch {
            Watch::Plain => vec![folder(&case)],
            Watch::Address | Watch::Thread | Watch::Valgrind => {
                vec![folder(&case), String::from("-DWATCHED")]
            }
        };
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        case.run_watched_as(watch, &flags, &[]);
    }
}

#[test]
fn sessions_keep_what_the_header_promises() {
    let case = case("net-sessions", "tests/processes/talk.proto", "sessions.c");
    for watch in CHECKED {
        case.run_watched_as(watch, &[&folder(&case)], &[]);
    }
    let checked = "-DDUO_CHECKED";
    case.run_watched_as(Watch::Plain, &[checked, &folder(&case)], &[checked]);
}

/// Not under the thread sanitizer, which does not support children of a process with threads.
#[test]
fn both_sides_find_why_a_session_ended() {
    let case = case("net-reasons", "tests/remote/reasons.proto", "reasons.c");
    for watch in [Watch::Plain, Watch::Address] {
        case.run_watched_as(watch, &[&folder(&case)], &[]);
    }
}

#[test]
fn clients_ask_about_the_health_of_a_server() {
    let case = case("net-health", "tests/processes/talk.proto", "health.c");
    for watch in CHECKED {
        case.run_watched_as(watch, &[&folder(&case)], &[]);
    }
    let record = "-DDUO_RECORD";
    case.run_watched_as(Watch::Plain, &[record, &folder(&case)], &[record]);
}

#[test]
fn a_listener_wakes_a_loop_of_the_program() {
    let case = case("net-loop", "tests/processes/talk.proto", "loop.c");
    for watch in CHECKED {
        case.run_watched_as(watch, &[&folder(&case)], &[]);
    }
}

#[test]
fn numbers_of_a_run_arrive_in_order() {
    let case = case("net-numbers", "tests/processes/talk.proto", "numbers.c");
    for watch in CHECKED {
        case.run_watched_as(watch, &[], &[]);
    }
    let checked = "-DDUO_CHECKED";
    case.run_watched_as(Watch::Plain, &[checked], &[checked]);
    let without = "-DDUO_NO_MEMBARRIER";
    case.run_watched_as(Watch::Plain, &[without], &[without]);
}

#[test]
fn observers_are_called() {
    let case = case("net-observe", "tests/processes/talk.proto", "observe.c");
    for watch in CHECKED {
        case.run_watched_as(watch, &[&folder(&case)], &[]);
    }
}

#[test]
fn messages_allocate_what_their_values_need() {
    let case = case(
        "net-allocations",
        "tests/processes/talk.proto",
        "allocations.c",
    );
    for watch in CHECKED {
        case.run_watched_as(watch, &[], &[]);
    }
}

#[test]
fn waiting_for_sessions_of_all_kinds() {
    let case = case("net-ready", "tests/processes/talk.proto", "ready.c");
    for watch in CHECKED {
        case.run_watched_as(watch, &[], &[]);
    }
}

/// The program `remote`, which has both sides of every conversation that can leave its process, built once in a run of the tests.
pub fn remote(watch: Watch) -> PathBuf {
    static BUILT: Mutex<BTreeMap<Watch, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    built
        .entry(watch)
        .or_insert_with(|| build_remote(watch))
        .clone()
}

fn build_remote(watch: Watch) -> PathBuf {
    let generated = generate_with(
        &format!("net-remote-{watch:?}"),
        &protocols(),
        &["--c-shm", "--remote"],
    );
    let shared = repository().join("tests/suite/support/c");
    let includes = [vec![generated.clone(), shared.clone()], hosts()].concat();
    let mut objects = Vec::new();
    let mut all = String::from("#ifndef CASES_H\n#define CASES_H\n\n");
    let mut rows = String::new();
    let leaving = CASES.iter().filter(|(case, ..)| !AT_HOME.contains(case));
    for (case, prefix, state) in leaving {
        let own = repository().join("tests/run").join(case);
        let folder = generated.join(format!("case-{case}"));
        std::fs::create_dir(&folder).expect("it can be written");
        let header = format!(
            "#include \"{prefix}.h\"\n#include \"transcript.h\"\n\
             duo_status {case}_case_client({prefix}_client_{state}_t, struct transcript *);\n\
             duo_status {case}_case_server({prefix}_server_{state}_t, struct transcript *);\n"
        );
        std::fs::write(folder.join("case.h"), header).expect("it can be written");
        let sources = [own.join("client.c"), own.join("server.c")];
        let includes = [includes.clone(), vec![folder.clone()]].concat();
        let compiled = quiet(watch, &sources, &includes, &folder).objects();
        objects.extend(compiled.unwrap_or_else(|complaint| panic!("{complaint}")));
        all.push_str(&format!(
            "#include \"{prefix}_net.h\"\n#include \"{prefix}_shm.h\"\n"
        ));
        rows.push_str(&format!(" X({case}, {prefix}, {state})"));
    }
    all.push_str(&format!("\n#define CASES(X){rows}\n\n#endif\n"));
    std::fs::write(generated.join("cases.h"), all).expect("it can be written");
    let mut sources = sources_in(&generated);
    sources.push(shared.join("transcript.c"));
    sources.push(repository().join("tests/remote/remote.c"));
    objects.extend(tls_objects(watch, &generated));
    let program = Program {
        compiler: Compiler::Gcc,
        objects: &objects,
        ..quiet(watch, &sources, &includes, &generated)
    };
    program
        .link()
        .unwrap_or_else(|complaint| panic!("{complaint}"))
}

/// The program of `tests/remote` for one side of sessions in which the server has limits and the client has none, built once in a run
/// of the tests.
pub fn limits(side: &str) -> PathBuf {
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let build = || {
        let protos = match side {
            "client" => ["wide.proto", "untimed.proto"],
            _ => ["narrow.proto", "timed.proto"],
        };
        let protos = protos.map(|file| repository().join("tests/conversations/limits").join(file));
        let generated = generate_with(&format!("net-limits-{side}"), &protos, &["--remote"]);
        let folder = repository().join("tests/remote");
        let mut sources = sources_in(&generated);
        sources.push(folder.join(format!("limits_{side}.c")));
        let includes = [generated.clone(), folder];
        let program = quiet(Watch::Plain, &sources, &includes, &generated).link();
        program.unwrap_or_else(|complaint| panic!("{complaint}"))
    };
    built.entry(side.to_owned()).or_insert_with(build).clone()
}

/// The server of many sessions at once, built once in a run of the tests.
pub fn load() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| with_pingpong("load")).clone()
}

/// A server that is asked about its services, and a client that asks, built once in a run of the tests.
pub fn ask() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| with_pingpong("ask")).clone()
}

/// A program of `tests/remote` with sessions of `pingpong`.
fn with_pingpong(name: &str) -> PathBuf {
    let proto = repository().join("protocols/pingpong.proto");
    let generated = generate_with(&format!("net-{name}"), &[proto], &["--remote"]);
    let mut sources = sources_in(&generated);
    sources.push(repository().join(format!("tests/remote/{name}.c")));
    let includes = [generated.clone()];
    let objects = tls_objects(Watch::Plain, &generated);
    let program = Program {
        objects: &objects,
        ..quiet(Watch::Plain, &sources, &includes, &generated)
    };
    let program = program.link();
    program.unwrap_or_else(|complaint| panic!("{complaint}"))
}

/// The lines of a transcript that one side writes.
fn lines_of<'t>(side: &str, expected: &'t str) -> Vec<&'t str> {
    let lines = expected.lines();
    lines.filter(|line| line.starts_with(side)).collect()
}

fn check_conversations(watch: Watch, addresses: &[&str]) {
    let program = remote(watch);
    for (case, ..) in CASES.iter().filter(|(case, ..)| !AT_HOME.contains(case)) {
        let expected = repository()
            .join("tests/run")
            .join(case)
            .join("expected.txt");
        let expected = std::fs::read_to_string(expected).expect("every case has a transcript");
        for address in addresses {
            let folder = program.parent().expect("it is in a folder");
            let side = || {
                let mut command = Command::new(&program);
                command.current_dir(folder);
                command
            };
            let outcomes = converse(side(), side(), case, address, None);
            for (outcome, mark) in outcomes.iter().zip(["client <-", "server <-"]) {
                assert_eq!(outcome.code, Some(0), "{case}: {outcome:?}");
                assert_eq!(outcome.lines, lines_of(mark, &expected), "{case}");
            }
        }
    }
}

#[test]
fn conversations_run_over_sockets() {
    check_conversations(Watch::Address, &["unix:remote.sock"]);
}

/// A header that cannot do anything says so.
#[test]
fn a_device_has_no_sockets() {
    let folder = crate::support::c::scratch("net-refused");
    let source = folder.join("refused.c");
    std::fs::write(
        &source,
        "#include \"duologue/net.h\"\nint main(void) { return 0; }\n",
    )
    .expect("it can be written");
    for flag in ["-DDUO_NO_MALLOC", "-DDUO_NO_THREADS"] {
        let mut compile = Compiler::Gcc.command(false);
        compile.arg(flag).arg("-I").arg(runtime().join("include"));
        let output = compile.arg("-fsyntax-only").arg(&source).output();
        let output = output.expect("it can be started");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains(&flag[2..]),
            "{said}"
        );
    }
}

#[test]
fn limits_hold_on_both_sides() {
    let case = case("net-limits", "tests/remote/limits.proto", "limits.c");
    for watch in CHECKED {
        case.run_watched_as(watch, &[&folder(&case)], &[]);
    }
}

#[test]
fn a_peer_that_takes_too_long_is_late() {
    let case = case("net-within", "tests/remote/within.proto", "within.c");
    for watch in CHECKED {
        case.run_watched_as(watch, &[], &[]);
    }
}
