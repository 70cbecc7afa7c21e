//! The runtime built for a device: small code, no allocator, no threads. What runs on Cortex-M is in `cortex_m`.

use super::{generate, generate_with, quiet};
use crate::support::c::{Compiler, Program, Watch, runtime, scratch, sources_in};
use crate::support::{repository, succeed};
use std::path::PathBuf;
use std::process::Command;

pub const BARE: [&str; 5] = [
    "-Os",
    "-ffunction-sections",
    "-fdata-sections",
    "-DDUO_NO_MALLOC",
    "-DDUO_NO_THREADS",
];

/// Symbols that a device does not have.
const MISSING: &str = "malloc calloc aligned_alloc free syscall sched_yield clock_gettime eventfd read write abort \
     __tls_get_addr";

/// A program of `tests/firmware`.
pub struct Example {
    /// Its protocol, without the extension.
    pub protocol: &'static str,
    pub source: &'static str,
    options: &'static [&'static str],
    /// What it prints.
    pub transcript: &'static str,
}

pub const TELLER: Example = Example {
    protocol: "teller",
    source: "main.c",
    options: &[],
    transcript: "500 cents\n1000 cents\n1500 cents\n",
};

/// Its messages have text and lists.
pub const BANK: Example = Example {
    protocol: "bank",
    source: "bank.c",
    options: &["--c-inline-bounds"],
    transcript: "holk: +200 +300 (the third) +400 -250\n",
};

impl Example {
    /// Generates the code for its protocol.
    pub fn generate(&self, name: &str) -> PathBuf {
        let proto = format!("tests/firmware/{}.proto", self.protocol);
        generate_with(name, &[repository().join(proto)], self.options)
    }

    /// Whether a program of the page uses its protocol: there its sessions are in the program's memory.
    pub fn is_in(&self, program: &str) -> bool {
        program.contains(&format!("{}_session_memory_t", self.protocol))
    }
}

/// The runtime without sessions between processes: a device has only one process.
pub fn sources_of_a_device() -> [PathBuf; 1] {
    [runtime().join("src/duologue.c")]
}

#[test]
fn devices_without_an_allocator_have_dialogues() {
    for example in [TELLER, BANK] {
        let name = format!("firmware-{}", example.protocol);
        let generated = example.generate(&name);
        let program = repository().join("tests/firmware").join(example.source);
        let sources = [sources_in(&generated), vec![program]].concat();
        for compiler in Compiler::all() {
            for (watch, flags) in [(Watch::Plain, &BARE[..]), (Watch::Address, &BARE[1..])] {
                let folder = scratch(&format!("{name}-{compiler:?}-{watch:?}"));
                let program = Program {
                    compiler,
                    watch,
                    sources: &sources,
                    objects: &[],
                    includes: std::slice::from_ref(&generated),
                    flags,
                    runtime: flags,
                    folder: &folder,
                };
                let said = program
                    .run()
                    .unwrap_or_else(|complaint| panic!("{complaint}"));
                assert_eq!(said, example.transcript);
            }
        }
    }
}

#[test]
fn a_device_needs_little() {
    let folder = scratch("firmware-size");
    let sources = sources_of_a_device();
    let runtime = Program {
        compiler: Compiler::Gcc,
        watch: Watch::Plain,
        sources: &sources,
        objects: &[],
        includes: &[],
        flags: &BARE,
        runtime: &[],
        folder: &folder,
    };
    let objects = runtime
        .objects()
        .unwrap_or_else(|complaint| panic!("{complaint}"));
    let undefined =
        succeed(Command::new("nm").arg("-u").args(&objects)).expect("nm comes with gcc");
    for symbol in undefined
        .lines()
        .map(|line| line.trim_start_matches([' ', 'U', 'w']))
    {
        assert!(
            !MISSING.split_whitespace().any(|missing| missing == symbol)
                && !symbol.starts_with("pthread"),
            "a device has no {symbol}"
        );
    }
    let sizes = succeed(Command::new("size").arg("--totals").args(&objects));
    let sizes = sizes.expect("size comes with gcc");
    println!("{sizes}");
    let totals = sizes.lines().last().expect("there are totals");
    let total: Vec<u64> = totals
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let (text, variables) = (total[0], total[1] + total[2]);
    assert!(text <= 16 << 10, "the runtime has {text} bytes of code");
    assert!(
        variables <= 256,
        "the runtime has {variables} bytes of variables"
    );
}

/// Code that needs an allocator is rejected when it is compiled, with the reason; code that does not need one compiles.
#[test]
fn what_needs_an_allocator_is_refused_by_its_header() {
    let folder = repository().join("protocols");
    let wishes = [
        (
            "bank",
            "bank",
            Some("bank: message `login` of state `login` has text in `username`. "),
        ),
        (
            "oneshot",
            "oneshot_bytes",
            Some("oneshot_bytes: message `send` of state `Oneshot` has bytes in `value`. "),
        ),
        (
            "stream",
            "numbers",
            Some("numbers: the run of messages in state `Stream` has no bound. "),
        ),
        ("pingpong", "pingpong", None),
    ];
    for (proto, name, refusal) in wishes {
        let proto = folder.join(format!("{proto}.proto"));
        let text = format!("#include \"{name}.h\"\nint main(void) {{ return 0; }}\n");
        match (compiles_without_allocator(name, &proto, &text), refusal) {
            (Ok(()), None) => {}
            (Ok(()), Some(_)) => panic!("{name} compiles without an allocator"),
            (Err(complaint), None) => panic!("{complaint}"),
            (Err(complaint), Some(refusal)) => {
                assert!(complaint.contains(refusal), "{complaint}");
                assert!(complaint.contains("DUO_NO_MALLOC"), "{complaint}");
            }
        }
    }
    let proto = folder.join("pingpong.proto");
    let complaint = compiles_without_allocator("begins", &proto, BEGINS);
    let complaint = complaint.expect_err("the session has no memory");
    assert!(complaint.contains("_init_in"), "{complaint}");
}

const BEGINS: &str = r#"
#include "pingpong.h"

int main(void)
{
    pingpong_server_ping_t server;
    pingpong_client_ping_t client;
    return pingpong_init(&server, &client) == DUO_OK ? 0 : 1;
}
"#;

/// Compiles a program of the protocols in `proto`.
fn compiles_without_allocator(name: &str, proto: &PathBuf, text: &str) -> Result<(), String> {
    let test = format!("firmware-refused-{name}");
    let generated = generate(&test, std::slice::from_ref(proto));
    let source = generated.join("user.c");
    std::fs::write(&source, text).expect("it can be written");
    for compiler in Compiler::all() {
        let program = Program {
            compiler,
            flags: &BARE[3..],
            ..quiet(
                Watch::Plain,
                std::slice::from_ref(&source),
                std::slice::from_ref(&generated),
                &generated,
            )
        };
        program.objects()?;
    }
    Ok(())
}

/// Two processes can run on two processors, and this runtime has no atomic operations, so no side can be attached.
#[cfg(target_os = "linux")]
#[test]
fn there_are_no_sessions_between_processes_without_threads() {
    let proto = repository().join("protocols/pingpong.proto");
    let generated = generate_with("firmware-processes", &[proto], &["--c-shm"]);
    let main = generated.join("main.c");
    std::fs::write(&main, ATTACH).expect("it can be written");
    let sources = sources_in(&generated);
    let flags = ["-DDUO_NO_THREADS"];
    let program = Program {
        flags: &flags,
        runtime: &flags,
        ..quiet(
            Watch::Plain,
            &sources,
            std::slice::from_ref(&generated),
            &generated,
        )
    };
    program
        .run()
        .unwrap_or_else(|complaint| panic!("{complaint}"));
}

const ATTACH: &str = r#"
#include <errno.h>

#include "pingpong_shm.h"

void duo_idle(void) { }
uint64_t duo_clock(void) { return 0; }

int main(void)
{
    int region;
    pingpong_client_ping_t client;
    if (duo_shm_create(0, &region) != DUO_SYSTEM || errno != ENOSYS) return 1;
    if (pingpong_client_attach(region, NULL, &client) != DUO_SYSTEM || errno != ENOSYS) return 2;
    return client.sends.session == NULL ? 0 : 3;
}
"#;
