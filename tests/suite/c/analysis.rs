//! Static analysis of the runtime and of the code generated from `protocols/`: by the analyzers of gcc and
//! clang, and by cppcheck.

use super::firmware::BANK;
use super::{generate, generate_with, hosts, protocols};
use crate::support::c::{Compiler, parts_of_runtime, runtime, scratch, sources_in};
use crate::support::{succeed, target_pages, tool_of};
use std::path::PathBuf;
use std::process::Command;

/// The sources to analyze, and the folders of their headers.
fn everything(test: &str) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let generated = generate(test, &protocols());
    let mut sources = parts_of_runtime();
    sources.push(runtime().join("src/net_health.c"));
    sources.extend(sources_in(&runtime().join("tls")));
    sources.extend(sources_in(&generated));
    let mut includes = hosts();
    includes.push(generated);
    (sources, includes)
}

/// Runs a compiler on each source.
fn check(test: &str, compiler: Compiler, flags: &[&str]) {
    let (sources, includes) = everything(test);
    let mut command = compiler.command(false);
    command.current_dir(scratch(&format!("{test}-objects")));
    command.args(flags).arg("-c").args(sources);
    for folder in &includes {
        command.arg("-I").arg(folder);
    }
    if let Err(complaint) = succeed(&mut command) {
        panic!("{complaint}");
    }
}

#[test]
#[ignore = "slow: the analyzer of gcc"]
fn gcc_finds_nothing() {
    check("analyzed-gcc", Compiler::Gcc, &["-O1", "-fanalyzer"]);
}

/// Programs that use generated code: those of the page, at optimization levels that inline the headers differently.
#[test]
fn gcc_finds_nothing_in_programs() {
    let page = target_pages("c");
    let generated = generate_with(
        "analyzed-programs",
        &protocols(),
        &["--c-shm", "--remote", "--c-events", "--robots"],
    );
    let device = BANK.generate("analyzed-device");
    let includes = [vec![generated.clone()], hosts()].concat();
    let mut sources = Vec::new();
    for (number, program) in page.split("\n```c\n").skip(1).enumerate() {
        let (text, _) = program.split_once("\n```").expect("the block ends");
        // The compiler searches the folder of the source first.
        let folder = match BANK.is_in(text) {
            true => &device,
            false => &generated,
        };
        let record = match text.contains("duologue/record.h") {
            true => "#define DUO_RECORD\n",
            false => "",
        };
        let source = folder.join(format!("program{number}.c"));
        std::fs::write(&source, format!("{record}{text}")).expect("it can be written");
        sources.push(source);
    }
    for level in ["-O1", "-O3"] {
        let mut command = Compiler::Gcc.command(false);
        command.current_dir(&generated);
        command.args([level, "-fanalyzer", "-c"]).args(&sources);
        // Some blocks have only functions.
        command.args(["-Wno-unused-function", "-fkeep-static-functions"]);
        for folder in &includes {
            command.arg("-I").arg(folder);
        }
        if let Err(complaint) = succeed(&mut command) {
            panic!("{complaint}");
        }
    }
}

#[test]
#[ignore = "nightly: clang"]
fn clang_finds_nothing() {
    let flags = ["--analyze", "-Xclang", "-analyzer-werror"];
    check("analyzed-clang", Compiler::Clang, &flags);
}

#[test]
#[ignore = "with cppcheck"]
fn cppcheck_finds_nothing() {
    let (sources, includes) = everything("analyzed-cppcheck");
    let mut command: Command = tool_of("cppcheck", "cppcheck");
    command.args(["--quiet", "--std=c11", "--error-exitcode=1"]);
    command.args(["--enable=warning,performance,portability"]);
    // cppcheck does not have the macros that compilers predefine.
    command.args(["-D__linux__", "-D__GNUC__=12", "-D__x86_64__"]);
    command.arg("-D__BYTE_ORDER__=__ORDER_LITTLE_ENDIAN__");
    command.arg("-I").arg(runtime().join("include"));
    for folder in includes {
        command.arg("-I").arg(folder);
    }
    if let Err(complaint) = succeed(command.args(sources)) {
        panic!("{complaint}");
    }
}
