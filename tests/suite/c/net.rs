//! Sessions over sockets: the bytes of `tests/wire/streams.txt`, peers that break the rules, waiting for many, and the programs of
//! the conversations, each side in a process of its own.

#![cfg(target_os = "linux")]

use super::driver::{ADDRESS, Build, Driver, THREAD, cases};
use super::processes::fuzz;
use super::programs::{AT_HOME, CASES as CONVERSATIONS};
use super::{generate_with, hosts, protocols, quiet};
use crate::support::c::{Compiler, Program, Watch, runtime, sources_in, tls_objects};
use crate::support::{repository, shown_of_nats};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Every operation is a call, which checks the turn and records it; messages are published with an atomic swap.
const CALLS: Build = Build::new(Watch::Thread, &["-DDUO_RECORD", "-DDUO_NO_MEMBARRIER"]);
const SANITIZED: &[Build] = &[ADDRESS, THREAD];
/// The test turns the clock, also that of sleeping threads.
const TURNED: &[Build] = &[
    Build::new(Watch::Address, &[WRAPPED]),
    Build::new(Watch::Thread, &[WRAPPED]),
];
const WRAPPED: &str = "-Wl,--wrap=clock_gettime,--wrap=ppoll";

/// The tests of sessions over sockets.
static NET: Driver = Driver {
    name: "net",
    folder: "tests/remote",
    includes: &["tests/processes"],
    protos: &[
        "tests/processes/talk.proto",
        "tests/remote/limits.proto",
        "tests/remote/reasons.proto",
        "tests/remote/within.proto",
        "tests/wire/sessions.proto",
        "protocols/bank.proto",
        "protocols/telemetry.proto",
    ],
    prepare: |_, _| Vec::new(),
    cases: CASES,
};

cases! { NET:
    streams in SANITIZED;
    attacks in SANITIZED;
    hostile in SANITIZED;
    sessions in &[ADDRESS, CALLS];
    health in &[ADDRESS, CALLS];
    event_loop in SANITIZED;
    numbers in &[ADDRESS, THREAD, CALLS];
    observe in SANITIZED;
    allocations in SANITIZED;
    ready in SANITIZED;
    limits in SANITIZED;
    within in SANITIZED;
    transcripts in TURNED;
    ; whole:
    // The thread sanitizer does not support children of a process with threads.
    reasons in &[ADDRESS];
}

/// A short run; `tests/remote/fuzz.c` says how to make a longer one.
#[test]
#[ignore = "nightly: fuzz"]
fn a_fuzzer_finds_nothing_in_what_peers_send() {
    fuzz("remote", &[]);
}

/// The program `remote`, which has both sides of every conversation, built once in a run of the tests. It is checked for bad addresses,
/// undefined behavior and leaks.
pub fn remote() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(build_remote)
}

fn build_remote() -> PathBuf {
    let generated = generate_with("net-remote", &protocols(), &["--c-shm", "--remote"]);
    let shared = repository().join("tests/suite/support/c");
    let mut includes = vec![generated.clone(), shared.clone()];
    includes.extend(hosts());
    let mut header = String::from("#ifndef CASE_H\n#define CASE_H\n\n#include \"transcript.h\"\n");
    let mut lists = [
        String::from("\n#define CASES(X)"),
        String::from("\n#define AT_HOME(X)"),
    ];
    let mut sources = sources_in(&generated);
    for (case, prefix, state) in CONVERSATIONS {
        let own = repository().join("tests/run").join(case);
        sources.extend([own.join("client.c"), own.join("server.c")]);
        let is_at_home = AT_HOME.contains(case);
        let kinds: &[&str] = if is_at_home { &[""] } else { &["_net", "_shm"] };
        for kind in kinds {
            header.push_str(&format!("#include \"{prefix}{kind}.h\"\n"));
        }
        for side in ["client", "server"] {
            header.push_str(&format!(
                "duo_status {case}_case_{side}({prefix}_{side}_{state}_t endpoint, struct transcript *transcript);\n"
            ));
        }
        lists[usize::from(is_at_home)].push_str(&format!(" X({case}, {prefix}, {state})"));
    }
    header.push_str(&lists.concat());
    header.push_str("\n\n#endif\n");
    std::fs::write(generated.join("case.h"), header).expect("it can be written");
    sources.push(shared.join("transcript.c"));
    sources.push(repository().join("tests/remote/remote.c"));
    let objects = tls_objects(Watch::Address, &generated);
    let program = Program {
        objects: &objects,
        ..quiet(Watch::Address, &sources, &includes, &generated)
    };
    program
        .link()
        .unwrap_or_else(|complaint| panic!("{complaint}"))
}

/// The server of many sessions at once, built once in a run of the tests.
pub fn load() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let proto = repository().join("protocols/pingpong.proto");
        let generated = generate_with("net-load", &[proto], &["--remote"]);
        let mut sources = sources_in(&generated);
        sources.push(repository().join("tests/remote/load.c"));
        let includes = [generated.clone()];
        let objects = tls_objects(Watch::Plain, &generated);
        let program = Program {
            objects: &objects,
            ..quiet(Watch::Plain, &sources, &includes, &generated)
        };
        let program = program.link();
        program.unwrap_or_else(|complaint| panic!("{complaint}"))
    };
    BUILT.get_or_init(build).clone()
}

/// A service whose servers are found with NATS, and its clients, built once in a run of the tests.
pub fn desk() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let protos = ["tests/wire/versions.proto", "protocols/bank.proto"];
        let protos = protos.map(|proto| repository().join(proto));
        let generated = generate_with("net-desk", &protos, &["--remote"]);
        // Functions without a prototype.
        let shown = "#pragma GCC diagnostic ignored \"-Wmissing-prototypes\"\n";
        let shown = format!("{shown}{}", shown_of_nats("c"));
        std::fs::write(generated.join("shown.c"), shown).expect("it can be written");
        let mut sources = sources_in(&generated);
        sources.extend(sources_in(&runtime().join("nats")));
        sources.push(repository().join("tests/remote/desk.c"));
        let includes = [generated.clone()];
        let program = Program {
            objects: &[PathBuf::from("-lnats")],
            ..quiet(Watch::Address, &sources, &includes, &generated)
        };
        let program = program.link();
        program.unwrap_or_else(|complaint| {
            panic!(
                "{complaint}\nnats/nats.h: apt-get install -y --no-install-recommends libnats-dev"
            )
        })
    };
    BUILT.get_or_init(build).clone()
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
