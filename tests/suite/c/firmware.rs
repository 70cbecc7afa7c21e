//! The shim as a device has it: small code, no allocator, no threads.

use super::generate;
use crate::support::c::{Compiler, Program, Watch, runtime, scratch, sources_in};
use crate::support::{repository, succeed};
use std::process::Command;

const BARE: [&str; 5] = [
    "-Os",
    "-ffunction-sections",
    "-fdata-sections",
    "-DDUO_NO_MALLOC",
    "-DDUO_NO_THREADS",
];

/// What a device does not have.
const MISSING: [&str; 12] = [
    "malloc",
    "calloc",
    "aligned_alloc",
    "free",
    "syscall",
    "sched_yield",
    "clock_gettime",
    "eventfd",
    "read",
    "write",
    "abort",
    "__tls_get_addr",
];

#[test]
fn a_device_without_an_allocator_has_a_dialogue() {
    let proto = repository().join("tests/firmware/teller.proto");
    let generated = generate("firmware", std::slice::from_ref(&proto));
    let sources = [
        sources_in(&generated),
        vec![repository().join("tests/firmware/main.c")],
    ]
    .concat();
    for (watch, flags) in [(Watch::Plain, &BARE[..]), (Watch::Address, &BARE[1..])] {
        let folder = scratch(&format!("firmware-{watch:?}"));
        let program = Program {
            compiler: Compiler::Gcc,
            watch,
            sources: &sources,
            objects: &[],
            includes: std::slice::from_ref(&generated),
            flags,
            shim: flags,
            folder: &folder,
        };
        let said = program
            .run()
            .unwrap_or_else(|complaint| panic!("{complaint}"));
        assert_eq!(said, "500 cents\n1000 cents\n1500 cents\n");
    }
}

#[test]
fn a_device_needs_little() {
    let folder = scratch("firmware-size");
    // A device has no other processes.
    let is_of_processes = |name: &str| name.starts_with("shm") || ["wire", "utf8"].contains(&name);
    let mut sources = sources_in(&runtime().join("src"));
    sources.retain(|source| {
        let name = source.file_stem().expect("it is a file");
        !is_of_processes(&name.to_string_lossy())
    });
    let shim = Program {
        compiler: Compiler::Gcc,
        watch: Watch::Plain,
        sources: &sources,
        objects: &[],
        includes: &[],
        flags: &BARE,
        shim: &[],
        folder: &folder,
    };
    let objects = shim
        .objects()
        .unwrap_or_else(|complaint| panic!("{complaint}"));
    let undefined =
        succeed(Command::new("nm").arg("-u").args(&objects)).expect("nm comes with gcc");
    for symbol in undefined
        .lines()
        .map(|line| line.trim_start_matches([' ', 'U', 'w']))
    {
        assert!(
            !MISSING.contains(&symbol) && !symbol.starts_with("pthread"),
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
    assert!(text <= 16 << 10, "the shim has {text} bytes of code");
    assert!(
        variables <= 256,
        "the shim has {variables} bytes of variables"
    );
}
