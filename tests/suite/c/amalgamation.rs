//! The runtime as two files, and that its sources can be one file.

use super::generate_with;
use super::programs::{CASES, case_header};
use crate::support::c::{Compiler, files_in, parts_of_runtime, runtime, scratch, sources_in};
use crate::support::{repository, succeed, tool_of};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The configurations of the runtime, as arguments of the compiler.
const CONFIGURATIONS: [&[&str]; 8] = [
    &["-O2"],
    &["-Os"],
    &["-O2", "-DDUO_NO_MALLOC"],
    &["-O2", "-DDUO_NO_THREADS"],
    &["-O2", "-DDUO_NO_MALLOC", "-DDUO_NO_THREADS"],
    &["-O2", "-DDUO_CHECKED"],
    &["-O2", "-DDUO_NO_FUTEX"],
    &["-O2", "-DDUO_NO_MEMBARRIER"],
];

/// Writes both files with a generator of CMake, and returns their texts: the header, then the source.
fn amalgamate(folder: &Path, generator: &str) -> [String; 2] {
    let build = folder.join(format!("build with {generator}"));
    let mut configure = tool_of("cmake", "cmake");
    configure.arg("-S").arg(runtime()).arg("-B").arg(&build);
    succeed(configure.args(["-G", generator])).expect("the runtime is configured");
    let mut write = tool_of("cmake", "cmake");
    write.arg("--build").arg(&build);
    succeed(write.args(["--target", "amalgamation"])).expect("the files are written");
    ["duologue.h", "duologue.c"]
        .map(|name| fs::read_to_string(build.join(name)).expect("it was written"))
}

/// Puts both files into a folder.
fn place(files: &[String; 2], folder: &Path) -> PathBuf {
    fs::write(folder.join("duologue.h"), &files[0]).expect("it can be written");
    let source = folder.join("duologue.c");
    fs::write(&source, &files[1]).expect("it can be written");
    source
}

/// Sessions over sockets, and what builds on them, are not in the two files.
fn is_in_two_files(file: &&PathBuf) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let folder = file.parent().expect("it is in a folder");
    let is_of_sockets =
        ["transport", "core", "remote", "listen"].map(|part| folder.ends_with(part));
    !is_of_sockets.contains(&true)
        && !["net", "tls", "nats", "health", "robots"]
            .iter()
            .any(|part| name.starts_with(part))
}

#[test]
fn the_sources_are_one_translation_unit() {
    let folder = scratch("one-unit");
    let mut all = "#define _GNU_SOURCE\n".to_owned();
    for source in sources_in(&runtime().join("src"))
        .iter()
        .filter(is_in_two_files)
    {
        all += &format!("#include \"{}\"\n", source.display());
    }
    let unit = folder.join("all.c");
    fs::write(&unit, all).expect("it can be written");
    for configuration in CONFIGURATIONS {
        let mut compile = Compiler::Gcc.command(false);
        compile.args(configuration).arg("-fsyntax-only").arg(&unit);
        if let Err(complaint) = succeed(&mut compile) {
            panic!("two files of runtime/c/src declare the same name:\n{complaint}");
        }
    }
}

#[test]
#[ignore = "nightly: recipes"]
fn two_files_are_the_runtime() {
    let folder = scratch("amalgamation");
    tool_of("ninja", "ninja-build");
    let files = amalgamate(&folder, "Unix Makefiles");
    assert!(files == amalgamate(&folder, "Ninja"), "it is reproducible");
    let license = fs::read_to_string(repository().join("LICENSE-MIT")).expect("it is there");
    let words = |text: &str| {
        text.replace('*', "")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    for text in &files {
        let (top, rest) = text.split_once("*/").expect("it begins with a comment");
        assert!(words(top).contains(&words(&license)), "{top}");
        let here = repository().to_str().expect("paths are text");
        assert!(!rest.contains("#line") && !text.contains(here));
        let ours = rest.lines().filter(|line| line.starts_with("#include \""));
        assert!(
            ours.into_iter()
                .all(|line| line == "#include \"duologue.h\"")
        );
    }
    let includes = runtime().join("include");
    let headers = [
        files_in(&includes, "h"),
        files_in(&includes.join("duologue"), "h"),
    ];
    for (text, parts) in [
        (&files[0], headers.concat()),
        (&files[1], parts_of_runtime()),
    ] {
        for part in parts.iter().filter(is_in_two_files) {
            let name = part.strip_prefix(runtime()).expect("it is in the runtime");
            let mark = format!("\n/* {} */\n", name.display());
            assert_eq!(text.matches(&mark).count(), 1, "{}", name.display());
        }
    }
    let source = place(&files, &folder);
    let generated = generate_with(
        "amalgamation-generated",
        &[repository().join("protocols/bank.proto")],
        &["--c-shm"],
    );
    let object = folder.join("duologue.o");
    for compiler in Compiler::all() {
        for configuration in CONFIGURATIONS {
            let mut compile = compiler.strict(false);
            compile.args(configuration).arg("-c").arg(&source);
            if let Err(complaint) = succeed(compile.arg("-o").arg(&object)) {
                panic!("{compiler:?}, {configuration:?}:\n{complaint}");
            }
        }
        let program = folder.join("header.cpp");
        fs::write(
            &program,
            "#include \"duologue.h\"\n#include \"bank_shm.h\"\n",
        )
        .expect("it can be written");
        let mut compile = compiler.strict(true);
        compile.arg("-I").arg(&generated).arg("-I").arg(&folder);
        succeed(compile.arg("-fsyntax-only").arg(&program)).expect("the header is C++ too");
    }
}

/// Each conversation is compiled by one command, in a folder that has both files and what was generated.
#[test]
#[ignore = "nightly: recipes"]
fn conversations_need_nothing_but_two_files() {
    let files = amalgamate(&scratch("amalgamation-run"), "Unix Makefiles");
    let shared = repository().join("tests/suite/support/c");
    for (case, room, flags) in [
        ("bank", None, "-DDUO_CHECKED"),
        ("stream", None, "-Os"),
        ("bank", Some(0), "-O2"),
        ("stream", Some(4096), "-O2"),
    ] {
        let &(_, prefix, state) = CASES
            .iter()
            .find(|(name, ..)| *name == case)
            .expect("it is a case");
        let proto = repository().join(format!("protocols/{case}.proto"));
        let folder = generate_with("amalgamation-case", &[proto], &["--c-shm"]);
        place(&files, &folder);
        fs::write(
            folder.join("case.h"),
            case_header(case, prefix, state, room),
        )
        .expect("it can be written");
        let own = repository().join("tests/run").join(case);
        let program = folder.join("program");
        let mut compile = Compiler::Gcc.strict(false);
        compile.args(["-O2", "-D_POSIX_C_SOURCE=200809L", "-pthread", flags]);
        compile.arg("-I").arg(&folder).arg("-I").arg(&shared);
        compile.args([own.join("client.c"), own.join("server.c")]);
        compile.args(["transcript.c", "pair.c"].map(|name| shared.join(name)));
        compile.args(sources_in(&folder));
        let compiled = succeed(compile.arg("-o").arg(&program));
        let written = compiled.and_then(|_| succeed(&mut Command::new(&program)));
        let written = written.unwrap_or_else(|complaint| panic!("{case}, {room:?}:\n{complaint}"));
        let expected = fs::read_to_string(own.join("expected.txt")).expect("it is there");
        assert_eq!(written, expected, "{case}, {room:?}");
    }
}
