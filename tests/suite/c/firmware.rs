//! The runtime built for a device: small code, no allocator, no threads. With `firmware` in `DUOLOGUE_TEST_WITH`, also
//! on Cortex-M.

use super::{generate, generate_with, quiet};
use crate::support::c::{C_WARNINGS, Compiler, Program, Watch, runtime, scratch, sources_in};
use crate::support::program::path_with_compiler;
use crate::support::{is_named, is_tested, repository, succeed};
use std::path::{Path, PathBuf};
use std::process::Command;

const BARE: [&str; 5] = [
    "-Os",
    "-ffunction-sections",
    "-fdata-sections",
    "-DDUO_NO_MALLOC",
    "-DDUO_NO_THREADS",
];

/// Symbols that a device does not have.
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

/// What the program prints.
const TRANSCRIPT: &str = "500 cents\n1000 cents\n1500 cents\n";

/// The runtime without sessions between processes: a device has only one process.
fn sources_of_a_device() -> Vec<PathBuf> {
    let is_of_processes = |name: &str| {
        name.starts_with("shm") || name.starts_with("net") || ["wire", "utf8"].contains(&name)
    };
    let mut sources = sources_in(&runtime().join("src"));
    sources.retain(|source| {
        let name = source.file_stem().expect("it is a file");
        !is_of_processes(&name.to_string_lossy())
    });
    sources
}

#[test]
fn a_device_without_an_allocator_has_a_dialogue() {
    if !is_tested("c") {
        return;
    }
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
            runtime: flags,
            folder: &folder,
        };
        let said = program
            .run()
            .unwrap_or_else(|complaint| panic!("{complaint}"));
        assert_eq!(said, TRANSCRIPT);
    }
}

#[test]
fn a_device_needs_little() {
    if !is_tested("c") {
        return;
    }
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
    assert!(text <= 16 << 10, "the runtime has {text} bytes of code");
    assert!(
        variables <= 256,
        "the runtime has {variables} bytes of variables"
    );
}

/// Code that needs an allocator is rejected when it is compiled, with the reason; code that does not need one compiles.
#[test]
fn what_needs_an_allocator_is_refused_by_its_header() {
    if !is_tested("c") {
        return;
    }
    let folder = repository().join("protocols");
    let wishes = [
        (
            "bank",
            "bank",
            Some("bank: message `login` of state `login` has text. "),
        ),
        (
            "oneshot",
            "oneshot_bytes",
            Some("oneshot_bytes: message `send` of state `Oneshot` has bytes. "),
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
    if !is_tested("c") {
        return;
    }
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
    if (duo_shm_create(0, &region) != DUO_OK) return 1;
    if (pingpong_client_attach(region, NULL, &client) != DUO_SYSTEM || errno != ENOSYS) return 2;
    return client.sends.session == NULL ? 0 : 3;
}
"#;

/// A core, the QEMU machine that has it, and the addresses of that machine's code and data memory.
struct Board {
    core: &'static str,
    machine: &'static str,
    flash: &'static str,
    ram: &'static str,
}

/// QEMU has no Cortex-M0+. Its code is ARMv6-M, which the micro:bit's Cortex-M0 executes as well.
const BOARDS: [Board; 4] = [
    Board {
        core: "cortex-m0plus",
        machine: "microbit",
        flash: "0",
        ram: "0x20000000",
    },
    Board {
        core: "cortex-m3",
        machine: "mps2-an385",
        flash: "0",
        ram: "0x20000000",
    },
    Board {
        core: "cortex-m4",
        machine: "mps2-an386",
        flash: "0",
        ram: "0x20000000",
    },
    // Its core starts in the secure state, which sees the memories at these addresses.
    Board {
        core: "cortex-m33",
        machine: "mps2-an505",
        flash: "0x10000000",
        ram: "0x38000000",
    },
];

/// Everything that the runtime calls on a device: functions of the program, of the C library, and of the compiler's arithmetic
/// support.
const CALLED: [&str; 8] = [
    "duo_",
    "memcpy",
    "memset",
    "memcmp",
    "strlen",
    "__aeabi_",
    "__gnu_thumb1_",
    "_GLOBAL_OFFSET_TABLE_",
];

/// A tool of GCC's cross toolchain, or QEMU.
fn device_tool(name: &str) -> Command {
    let mut asked = Command::new(name);
    let is_there = asked.arg("--version").output().is_ok();
    assert!(
        is_there,
        "{name} is not installed: apt-get install -y --no-install-recommends gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm"
    );
    Command::new(name)
}

impl Board {
    /// A compiler command for the board, with all warnings.
    fn compiler(&self, optimization: &str) -> Command {
        let mut gcc = device_tool("arm-none-eabi-gcc");
        gcc.arg(format!("-mcpu={}", self.core)).arg("-mthumb");
        gcc.args(C_WARNINGS.split(' ')).arg(optimization);
        gcc.args(&BARE[1..])
            .arg("-I")
            .arg(runtime().join("include"));
        gcc
    }

    /// The objects of the runtime.
    fn runtime(&self, optimization: &str, folder: &Path) -> Vec<PathBuf> {
        let compiled = sources_of_a_device().into_iter().map(|source| {
            let name = source.file_stem().expect("it is a file").to_owned();
            let object = folder.join(name).with_extension("o");
            let mut gcc = self.compiler(optimization);
            succeed(gcc.arg("-c").arg(&source).arg("-o").arg(&object))
                .unwrap_or_else(|complaint| panic!("{complaint}"));
            object
        });
        compiled.collect()
    }

    /// Links a program of `tests/firmware`.
    fn link(
        &self,
        optimization: &str,
        program: &str,
        generated: &Path,
        runtime: &[PathBuf],
    ) -> PathBuf {
        let folder = repository().join("tests/firmware");
        let linked = generated.join(format!("{}{optimization}-{program}.elf", self.core));
        let mut gcc = self.compiler(optimization);
        gcc.args([
            "-nostartfiles",
            "--specs=nano.specs",
            "--specs=rdimon.specs",
        ]);
        gcc.arg(format!("-Wl,--defsym=flash={}", self.flash));
        gcc.arg(format!("-Wl,--defsym=ram={}", self.ram));
        gcc.arg("-Wl,--gc-sections")
            .arg("-T")
            .arg(folder.join("device.ld"));
        gcc.arg("-I").arg(generated).arg(folder.join("start.c"));
        gcc.arg(folder.join(program)).args(sources_in(generated));
        succeed(gcc.args(runtime).arg("-o").arg(&linked))
            .unwrap_or_else(|complaint| panic!("{complaint}"));
        linked
    }

    /// Runs a program and returns what it prints; it must exit with status 0 within a minute.
    fn run(&self, program: &Path) -> String {
        device_tool("qemu-system-arm");
        let mut qemu = Command::new("timeout");
        qemu.args(["60", "qemu-system-arm", "-M", self.machine]);
        qemu.args(["-nographic", "-monitor", "none", "-serial", "none"]);
        qemu.args(["-semihosting-config", "enable=on,target=native", "-kernel"]);
        succeed(qemu.arg(program)).unwrap_or_else(|complaint| panic!("{complaint}"))
    }
}

/// Flash (code and initial values of variables) and RAM (variables), in bytes.
fn flash_and_ram(program: &Path) -> (u64, u64) {
    let sizes = succeed(device_tool("arm-none-eabi-size").arg(program)).expect("it is a program");
    let row = sizes.lines().nth(1).expect("there is a row");
    let numbers: Vec<u64> = row
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    (numbers[0] + numbers[1], numbers[1] + numbers[2])
}

/// The size of a variable.
fn size_of(program: &Path, variable: &str) -> u64 {
    let symbols = succeed(
        device_tool("arm-none-eabi-nm")
            .arg("--print-size")
            .arg(program),
    );
    let symbols = symbols.expect("it is a program");
    let words = symbols
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let size = words
        .filter(|words| words.last() == Some(&variable))
        .find_map(|words| u64::from_str_radix(words[1], 16).ok());
    size.expect("the program has the variable")
}

/// The host's session on every core: linking it needs no additions, and it prints the same.
#[test]
fn sessions_on_cortex_m() {
    if !is_named("firmware") {
        return;
    }
    let proto = repository().join("tests/firmware/teller.proto");
    println!("bytes:               flash   without a session   RAM   without    session memory");
    for board in &BOARDS {
        let name = format!("firmware-{}", board.core);
        let generated = generate(&name, std::slice::from_ref(&proto));
        let runtime = board.runtime("-Os", &scratch(&format!("{name}-runtime")));
        let undefined = succeed(device_tool("arm-none-eabi-nm").arg("-u").args(&runtime))
            .expect("they are objects");
        let symbols = undefined
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("U "));
        for symbol in symbols {
            let is_known = CALLED.iter().any(|start| symbol.starts_with(start));
            assert!(is_known, "{}: a device has no {symbol}", board.core);
        }
        let program = board.link("-Os", "main.c", &generated, &runtime);
        let bare = board.link("-Os", "bare.c", &generated, &runtime);
        assert_eq!(board.run(&program), TRANSCRIPT, "{}", board.core);
        assert_eq!(board.run(&bare), TRANSCRIPT, "{}", board.core);
        let (flash, ram) = flash_and_ram(&program);
        let (bare_flash, bare_ram) = flash_and_ram(&bare);
        let session = size_of(&program, "memory");
        println!(
            "{:15}{flash:11}{bare_flash:20}{ram:6}{bare_ram:10}{session:18}",
            board.core
        );
        assert!(flash - bare_flash <= 16 << 10, "{}", board.core);
        assert!(ram - bare_ram - session <= 256, "{}", board.core);
    }
}

/// The other side runs in an interrupt handler, by the rule of the page; built for size, and with the code of the headers inlined.
#[test]
fn a_session_with_an_interrupt_handler() {
    if !is_named("firmware") {
        return;
    }
    let proto = repository().join("tests/firmware/teller.proto");
    for board in &BOARDS {
        for optimization in ["-Os", "-O2"] {
            let name = format!("firmware-interrupt-{}{optimization}", board.core);
            let generated = generate(&name, std::slice::from_ref(&proto));
            let runtime = board.runtime(optimization, &scratch(&format!("{name}-runtime")));
            let program = board.link(optimization, "interrupt.c", &generated, &runtime);
            assert_eq!(
                board.run(&program),
                TRANSCRIPT,
                "{}{optimization}",
                board.core
            );
        }
    }
}

/// The page's commands, run unchanged.
#[test]
fn the_recipe_for_a_device() {
    if !is_named("firmware") {
        return;
    }
    let page = std::fs::read_to_string(repository().join("docs/targets/c.md"));
    let page = page.expect("the page is there");
    let (_, section) = page
        .split_once("\n## Without an allocator\n")
        .expect("the page has the section");
    let (_, block) = section
        .split_once("```sh\n")
        .expect("the section has commands");
    let (commands, _) = block.split_once("```").expect("a block is closed");
    let folder = scratch("firmware-recipe");
    for part in ["runtime", "tests"] {
        std::os::unix::fs::symlink(repository().join(part), folder.join(part))
            .expect("it can be written");
    }
    let mut shell = Command::new("timeout");
    shell.args(["300", "sh", "-e", "-c", commands]);
    shell.current_dir(&folder).env("PATH", path_with_compiler());
    let said = succeed(&mut shell).unwrap_or_else(|complaint| panic!("{complaint}"));
    assert!(said.ends_with(TRANSCRIPT), "{said}");
}
