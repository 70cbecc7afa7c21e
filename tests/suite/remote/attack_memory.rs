//! `duologue attack --listen shm:/NAME`: both sides hold in memory that two processes share, and servers with a mistake are found.

#![cfg(target_os = "linux")]

use super::RegionName;
use super::attack_clients::Attack;
use super::programs::Language;
use crate::support::c::{Compiler, runtime};
use crate::support::program::{Scratch, run};
use crate::support::{repository, succeed};
use std::path::Path;
use std::process::Command;
use std::thread;

/// Attacks both sides.
fn holds(language: Language) {
    let all = "hello,frame,control,payload,turn,cut,legal";
    for (case, protocol, side, own, kinds) in [
        (
            "word_count",
            "word_count.proto#word_count",
            "server",
            "client",
            all,
        ),
        (
            "word_count",
            "word_count.proto#word_count",
            "client",
            "server",
            all,
        ),
        ("bank", "bank.proto", "server", "client", all),
        // Its server sends numbers of 8 bytes only, and any 8 bytes are one.
        (
            "bank",
            "bank.proto",
            "client",
            "server",
            "hello,frame,control,turn,cut,legal",
        ),
        ("telemetry", "telemetry.proto", "server", "client", all),
        ("telemetry", "telemetry.proto", "client", "server", all),
    ] {
        let name = RegionName::new();
        let attack = Attack {
            case,
            protocol,
            address: &name.address(),
            options: &format!("--timeout 30 --as {own}"),
            kinds,
        };
        attack.holds(language, side);
    }
}

#[test]
fn both_sides_in_rust_hold() {
    holds(Language::Rust);
}

#[test]
fn both_sides_in_c_hold() {
    holds(Language::C);
}

/// What the server of `tests/remote/flawed.c` serves.
const PROTOCOL: &str =
    "proto! notes { open:send { put(flag: bool) -> open, finish(flag: bool) -> ! } }\n";

/// Attacks this server with a flaw. Returns what was found, as text, and the exit code.
fn against(program: &Path, flaw: &str, options: &str) -> (String, Option<i32>) {
    let scratch = Scratch::with(&format!("attack-memory-{flaw}"), &[("p.proto", PROTOCOL)]);
    let output = run(scratch.duologue("fingerprint p.proto"), b"");
    let printed = String::from_utf8_lossy(&output.stdout);
    let digits = printed.split_whitespace().nth(1).expect("it is printed");
    let name = RegionName::new();
    let address = name.address();
    let file = address.replace("shm:", "/dev/shm");
    let mut command = scratch.duologue(&format!("attack p.proto --as client {options} --listen"));
    command.args([&address, "--"]).arg(program);
    command.args([&file, digits, flaw]);
    let output = run(command, b"");
    let printed = [output.stdout, output.stderr].concat();
    (
        String::from_utf8_lossy(&printed).into_owned(),
        output.status.code(),
    )
}

#[test]
fn each_flaw_of_a_server_in_memory_is_found() {
    let folder = crate::support::c::scratch("attack-memory");
    let program = folder.join("flawed");
    let mut compiler = Compiler::Gcc.command(false);
    compiler.arg("-I").arg(runtime().join("src"));
    compiler.arg(repository().join("tests/remote/flawed.c"));
    let compiled = succeed(compiler.arg("-o").arg(&program));
    compiled.unwrap_or_else(|complaint| panic!("{complaint}"));
    let program = &program;
    // Some of them take all the time that a server gets, so they run at once.
    thread::scope(|scope| {
        for (flaw, kind, words) in [
            (
                "head",
                "hello",
                "131072 lines\n  sent      at 12: 00000200\n  expected  to end the session\n  observed  signal 7 has",
            ),
            ("tag", "frame", "observed  it takes it as the last message"),
            ("bool", "payload", "`put`: 2 for a `bool`"),
            (
                "left",
                "control",
                "observed  it does not end the session in time",
            ),
            ("death", "cut", "a process that ends between messages"),
            ("crash", "frame", "observed  signal 6 has ended the program"),
        ] {
            scope.spawn(move || {
                let options = format!("--timeout 5 --findings 1 --only {kind}");
                let (printed, code) = against(program, flaw, &options);
                assert_eq!(code, Some(1), "{flaw}: {printed}");
                assert!(printed.contains(words), "{flaw}: {printed}");
            });
        }
        let (printed, code) = against(program, "none", "--timeout 30");
        assert_eq!(code, Some(0), "{printed}");
        assert!(printed.ends_with(" 0 findings\n"), "{printed}");
    });
}

/// The attacker's layout of shared memory is that of the runtime in C.
#[test]
fn the_layout_of_shared_memory_is_that_of_the_runtime() {
    use duologue::attack::memory as layout;
    let mut text = "#include \"shm.h\"\n".to_owned();
    let side = |field: &str| format!("offsetof(duo_shm_side, {field})");
    let hello =
        |field: &str| format!("offsetof(duo_shm_side, hello) + offsetof(duo_shm_hello, {field})");
    let head = |field: &str| format!("offsetof(duo_shm_head, {field})");
    for (expression, value) in [
        (
            "DUO_SHM_MAGIC".to_owned(),
            u64::from_le_bytes(layout::MAGIC),
        ),
        ("DUO_SHM_VERSION".to_owned(), layout::VERSION.into()),
        (head("version"), layout::VERSION_AT),
        (head("lines"), layout::LINES_AT),
        (head("bytes"), layout::BYTES_AT),
        (head("sides[0]"), layout::SIDES_AT[0]),
        (head("sides[1]"), layout::SIDES_AT[1]),
        ("sizeof(duo_shm_head)".to_owned(), layout::HEAD),
        ("sizeof(duo_shm_line)".to_owned(), layout::LINE),
        ("DUO_SHM_CELLS * 8".to_owned(), layout::CELLS as u64),
        (side("flags"), layout::FLAGS),
        (side("processor"), layout::PROCESSOR),
        (side("lines_taken"), layout::LINES_FINISHED),
        (side("bytes_taken"), layout::BYTES_FINISHED),
        (hello("state"), layout::STATE),
        (hello("verdict"), layout::VERDICT),
        (hello("has_barrier"), layout::BARRIER),
        (hello("largest"), layout::LARGEST),
        (hello("fingerprint"), layout::FINGERPRINT),
        ("DUO_SHM_ASLEEP".to_owned(), layout::ASLEEP.into()),
        ("DUO_SHM_LEFT".to_owned(), layout::LEFT.into()),
        ("DUO_SHM_DONE".to_owned(), layout::DONE.into()),
        ("DUO_SHM_COUNT_SHIFT".to_owned(), layout::COUNT_SHIFT),
        ("DUO_SHM_FULL".to_owned(), layout::FULL),
        ("DUO_SHM_LONG".to_owned(), layout::LONG),
        ("DUO_SHM_MORE".to_owned(), layout::MORE),
        ("DUO_SHM_TAG_SHIFT".to_owned(), layout::TAG_SHIFT),
    ] {
        text += &format!("static_assert(({expression}) == UINT64_C({value}), \"{value}\");\n");
    }
    let scratch = Scratch::with("attack-layout", &[("layout.c", &text)]);
    let runtime = repository().join("runtime/c");
    let mut compiler = Command::new("gcc");
    compiler.args(["-std=c11", "-D_GNU_SOURCE", "-fsyntax-only", "-I"]);
    compiler
        .arg(runtime.join("include"))
        .arg("-I")
        .arg(runtime.join("src"));
    compiler.arg(scratch.path("layout.c"));
    let output = run(compiler, b"");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}
