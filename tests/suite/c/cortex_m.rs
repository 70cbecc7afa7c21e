//! Sessions on Cortex-M, in QEMU.

use super::firmware::{BANK, BARE, TELLER, sources_of_a_device};
use crate::support::c::{C_WARNINGS, runtime, scratch, sources_in};
use crate::support::program::path_with_compiler;
use crate::support::{repository, succeed, target_pages, tool_of};
use std::path::{Path, PathBuf};
use std::process::Command;

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
    tool_of(
        name,
        "gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm",
    )
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
        flags: &[&str],
        generated: &Path,
        runtime: &[PathBuf],
    ) -> PathBuf {
        let folder = repository().join("tests/firmware");
        let name = format!(
            "{}{optimization}{}-{program}.elf",
            self.core,
            flags.concat()
        );
        let linked = generated.join(name);
        let mut gcc = self.compiler(optimization);
        gcc.args(flags);
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
        self.attempt(program)
            .unwrap_or_else(|complaint| panic!("{complaint}"))
    }

    fn attempt(&self, program: &Path) -> Result<String, String> {
        device_tool("qemu-system-arm");
        let mut qemu = Command::new("timeout");
        qemu.args(["60", "qemu-system-arm", "-M", self.machine]);
        qemu.args(["-nographic", "-monitor", "none", "-serial", "none"]);
        qemu.args(["-semihosting-config", "enable=on,target=native", "-kernel"]);
        succeed(qemu.arg(program))
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

/// The names of a program's functions and variables.
fn symbols(program: &Path) -> Vec<String> {
    let symbols = succeed(
        device_tool("arm-none-eabi-nm")
            .arg("--format=just-symbols")
            .arg(program),
    );
    let symbols = symbols.expect("it is a program");
    symbols.lines().map(str::to_owned).collect()
}

/// Text and lists with bounds need no allocator, and neither does anything else in the program once nothing is printed.
fn check_silent_bank(board: &Board, generated: &Path, runtime: &[PathBuf]) {
    let program = board.link("-Os", BANK.source, &["-DSILENT"], generated, runtime);
    for symbol in symbols(&program) {
        let plain = symbol.replace("_no_malloc", "");
        let allocates = ["alloc", "sbrk", "_free_r"];
        let is_allocator = allocates.iter().any(|word| plain.contains(word));
        assert!(
            !is_allocator && plain != "free" && plain != "duo_release",
            "{}: the program has {symbol}",
            board.core
        );
    }
    assert_eq!(board.run(&program), "", "{}", board.core);
    let (flash, ram) = flash_and_ram(&program);
    println!("{:15}{:9}{flash:11}{:20}{ram:6}", board.core, "silent", "");
    // The emulator reports what the program finds wrong.
    let wrong = ["-DSILENT", "-DWRONG"];
    let program = board.link("-Os", BANK.source, &wrong, generated, runtime);
    assert!(board.attempt(&program).is_err(), "{}", board.core);
}

/// The sessions of the host on every core: linking them needs no additions, and they print the same.
#[test]
#[ignore = "with qemu-system-arm"]
fn sessions_on_cortex_m() {
    println!(
        "bytes:                        flash   without a session   RAM   without    session memory"
    );
    for board in &BOARDS {
        let name = format!("firmware-{}", board.core);
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
        for example in [TELLER, BANK] {
            let generated = example.generate(&format!("{name}-{}", example.protocol));
            let program = board.link("-Os", example.source, &[], &generated, &runtime);
            assert_eq!(board.run(&program), example.transcript, "{}", board.core);
            let bare = board.link("-Os", "bare.c", &[], &generated, &runtime);
            assert_eq!(board.run(&bare), TELLER.transcript, "{}", board.core);
            let (flash, ram) = flash_and_ram(&program);
            let (bare_flash, bare_ram) = flash_and_ram(&bare);
            let session = size_of(&program, "memory");
            println!(
                "{:15}{:9}{flash:11}{bare_flash:20}{ram:6}{bare_ram:10}{session:18}",
                board.core, example.protocol
            );
            assert!(flash - bare_flash <= 16 << 10, "{}", board.core);
            assert!(ram - bare_ram - session <= 512, "{}", board.core);
            if example.protocol == BANK.protocol {
                check_silent_bank(board, &generated, &runtime);
            }
        }
    }
}

/// The other side runs in an interrupt handler, by the rule of the page; built for size, and with the code of the headers inlined.
#[test]
#[ignore = "with qemu-system-arm"]
fn a_session_with_an_interrupt_handler() {
    for board in &BOARDS {
        for optimization in ["-Os", "-O2"] {
            let name = format!("firmware-interrupt-{}{optimization}", board.core);
            let generated = TELLER.generate(&name);
            let runtime = board.runtime(optimization, &scratch(&format!("{name}-runtime")));
            let program = board.link(optimization, "interrupt.c", &[], &generated, &runtime);
            assert_eq!(
                board.run(&program),
                TELLER.transcript,
                "{}{optimization}",
                board.core
            );
        }
    }
}

/// The page's commands, run unchanged.
#[test]
#[ignore = "with qemu-system-arm"]
fn the_recipe_for_a_device() {
    let page = target_pages("c");
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
    assert!(said.ends_with(BANK.transcript), "{said}");
}
