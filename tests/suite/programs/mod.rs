//! Random programs: every target generates code for whatever `check` accepts, and every compiler accepts that code without a
//! warning.
//!
//! The seed is different in each run, and printed. Programs are numbered consecutively from it, and a failure shows the programs
//! that it names, each with the settings that run it alone: `DUOLOGUE_SEED=NUMBER DUOLOGUE_PROGRAMS=1`. `DUOLOGUE_PROGRAMS=COUNT`
//! makes COUNT programs instead of 200.

mod generator;
mod words;

use crate::support::c::{self, Compiler};
use crate::support::choices::Choices;
use crate::support::rust::{self, Edition};
use crate::support::scala::{Scala, sources_in};
use crate::support::succeed;
use generator::{Generator, RandomProgram};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// Programs in a run, unless `DUOLOGUE_PROGRAMS` says otherwise.
const PROGRAMS: usize = 200;

/// A program that `check` accepts, with generated code in all languages below its folder.
struct Written {
    seed: u64,
    /// The name of its folder, and a part of the name of each of its packages.
    mark: String,
    folder: PathBuf,
    program: RandomProgram,
}

fn seed() -> u64 {
    match std::env::var("DUOLOGUE_SEED") {
        Ok(text) => text.parse().expect("DUOLOGUE_SEED is a number"),
        Err(_) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            now.map_or(0, |now| u64::from(now.subsec_nanos()))
        }
    }
}

fn count() -> usize {
    let count = std::env::var("DUOLOGUE_PROGRAMS");
    count.map_or(PROGRAMS, |text| {
        text.parse().expect("DUOLOGUE_PROGRAMS is a number")
    })
}

/// The programs, written once for all languages.
fn written() -> &'static [Written] {
    static WRITTEN: OnceLock<Vec<Written>> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        let seed = seed();
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
        let _ = fs::remove_dir_all(&root);
        let mut programs = Vec::new();
        let mut tries = 0;
        while programs.len() < count() {
            let seed = seed.wrapping_add(tries);
            let mark = format!("r{seed}");
            let program = Generator::new(seed, &mark).program();
            programs.extend(write(seed, &root.join(&mark), mark, program));
            tries += 1;
            let enough = programs.len() as u64 * 4 + 40;
            assert!(
                tries < enough,
                "`check` accepts only {} of {tries} programs",
                programs.len()
            );
        }
        // Written directly, because the test harness hides output while a test passes.
        let said = format!(
            "random programs: DUOLOGUE_SEED={seed}, and `check` accepts {} of {tries}\n",
            programs.len()
        );
        let _ = std::io::Write::write_all(&mut std::io::stderr(), said.as_bytes());
        programs
    })
}

/// A failure of a compiler, and the programs that it names.
fn shown(failure: &str) -> String {
    let is_named = |written: &&Written| failure.contains(&format!("/{}/", written.mark));
    let named: Vec<&Written> = written().iter().filter(is_named).collect();
    let mut text = failure.to_owned();
    writeln!(text, "\n{} programs are named", named.len())
        .expect("writing to a string cannot fail");
    for written in named.iter().take(3) {
        text.push_str(&source(written.seed, &written.folder, &written.program));
    }
    text
}

/// A program, and the settings that run it alone.
fn source(seed: u64, folder: &Path, program: &RandomProgram) -> String {
    let mut text = format!(
        "\n{}: DUOLOGUE_SEED={seed} DUOLOGUE_PROGRAMS=1\n",
        folder.display()
    );
    for (name, file) in &program.files {
        write!(text, "---- {name}\n{file}").expect("writing to a string cannot fail");
    }
    text
}

fn save(path: PathBuf, text: &str) {
    fs::create_dir_all(path.parent().expect("files are in folders"))
        .expect("the target folder can be written");
    fs::write(path, text).expect("the target folder can be written");
}

/// Checks a program and writes it in all languages; nothing if `check` reports a mistake.
fn write(seed: u64, folder: &Path, mark: String, program: RandomProgram) -> Option<Written> {
    for (name, text) in &program.files {
        save(folder.join(name), text);
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_duologue"));
    command.current_dir(folder).arg("gen");
    command.args(program.files.iter().map(|(name, _)| name));
    command.args(["--rust", "rust", "--c", "c", "--scala", "scala"]);
    command.args(["--scala-package", &mark]);
    // In one process, between processes over sockets, in shared memory, and both.
    let remote: &[&str] = match seed % 4 {
        0 => &[],
        1 => &["--remote"],
        2 => &["--c-shm"],
        _ => &["--c-shm", "--remote"],
    };
    command.args(remote);
    if seed.is_multiple_of(3) {
        command.arg("--c-inline-bounds");
    }
    if seed.is_multiple_of(2) {
        command.arg("--c-events");
    }
    command.args(
        program
            .c_prefix
            .iter()
            .flat_map(|prefix| ["--c-prefix", prefix]),
    );
    command.args(["--quiet", "-A", "all"]);
    let output = command.output().expect("the compiler was built");
    let said = String::from_utf8_lossy(&output.stderr);
    // A random program may be wrong; then that is reported, and nothing is written.
    let is_reported = said.contains("error[") && !folder.join("rust").exists();
    match output.status.code() {
        Some(0) => {}
        Some(1) if is_reported => {
            fs::remove_dir_all(folder).expect("it was just written");
            return None;
        }
        code => panic!("{code:?}\n{said}{}", source(seed, folder, &program)),
    }
    supply(folder, &mark, &program);
    if seed.is_multiple_of(2) {
        for_scala_3(folder, &mark, &program, remote);
    }
    Some(Written {
        seed,
        mark,
        folder: folder.to_owned(),
        program,
    })
}

/// Writes a program for Scala 3 alone.
fn for_scala_3(folder: &Path, mark: &str, program: &RandomProgram, remote: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_duologue"));
    command.current_dir(folder).arg("gen");
    command.args(program.files.iter().map(|(name, _)| name));
    command.args(["--scala", SCALA_3, "--scala-version", "3"]);
    command.args(["--scala-package", mark]).args(remote);
    succeed(command.args(["--quiet", "-A", "all"])).unwrap_or_else(|failure| panic!("{failure}"));
}

/// The folder with a program for Scala 3 alone.
const SCALA_3: &str = "scala-3";

/// Declares in C and in Scala what the program has to supply.
fn supply(folder: &Path, mark: &str, program: &RandomProgram) {
    for host in &program.hosts {
        if host.in_c {
            let file = folder.join("c").join(format!("{}_host.h", host.file));
            let text = fs::read_to_string(&file).unwrap_or_default();
            save(file, &format!("{text}typedef int {};\n", host.name));
        }
        let package = match host.package.as_str() {
            "" => mark,
            package => package,
        };
        let name = rust::camel(&host.name);
        // Keywords may be parts of packages.
        let package: Vec<String> = package.split('.').map(scala_segment).collect();
        save(
            folder.join("scala").join(format!("{name}Host.scala")),
            &format!("package {}\n\nfinal class {name}\n", package.join(".")),
        );
    }
}

/// A part of a package name in Scala, as the compiler writes it.
fn scala_segment(segment: &str) -> String {
    match segment {
        "_root_" => "_root__".to_owned(),
        "package" => "package_".to_owned(),
        other => format!("`{other}`"),
    }
}

/// What the program around the generated code supplies, in C.
const C_HOST: &str = "#ifndef ZZ_VALUE\n#define ZZ_VALUE\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\
    struct zz_value;\nvoid zz_value_free(struct zz_value *value);\n#ifdef __cplusplus\n}\n#endif\n#endif\n";

#[test]
#[ignore = "slow: random programs"]
fn random_programs_compile_in_rust() {
    let folder = rust::scratch("programs");
    let derives = "#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]";
    let mut text = format!(
        "//! Random programs.\n#![forbid(unsafe_code)]\n#![deny(warnings, missing_docs)]\n\
         /// What mappings name.\n{derives}\npub struct HostValue;\n"
    );
    for written in written() {
        let mut host = String::new();
        let mut names = BTreeSet::new();
        for ty in &written.program.hosts {
            let name = rust::camel(&ty.name);
            if names.insert(name.clone()) {
                writeln!(host, "{derives} pub struct {name};")
                    .expect("writing to a string cannot fail");
            }
        }
        writeln!(
            text,
            "/// A program.\npub mod {} {{\n#[allow(dead_code, missing_docs)]\nmod supplied {{ {host} }}\n\
             #[allow(unused_imports, clippy::wildcard_imports)]\nuse supplied::*;\ninclude!(\"{}/rust/mod.rs\");\n}}",
            written.mark,
            written.folder.display()
        )
        .expect("writing to a string cannot fail");
    }
    let path = folder.join("programs.rs");
    fs::write(&path, text).expect("the target folder can be written");
    for edition in [Edition::E2021, Edition::E2024] {
        let mut compiler = rust::clippy(edition);
        compiler.args(["--crate-type", "lib", "--emit", "metadata", "--out-dir"]);
        succeed(compiler.arg(&folder).arg(&path))
            .unwrap_or_else(|failure| panic!("{}", shown(&failure)));
    }
}

#[test]
#[ignore = "slow: random programs"]
fn random_programs_compile_in_c() {
    let folder = c::scratch("programs");
    fs::write(folder.join("zz_value.h"), C_HOST).expect("it can be written");
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let compile = || {
        while let Some(written) = written().get(next.fetch_add(1, Ordering::Relaxed)) {
            let generated = written.folder.join("c");
            // Sources one by one, and all headers together.
            let headers = c::files_in(&generated, "h").into_iter();
            let all = headers.map(|header| format!("#include \"{}\"\n", header.display()));
            let together = folder.join(format!("{}.c", written.mark));
            fs::write(
                &together,
                c::LIBRARIES.to_owned() + &all.collect::<String>(),
            )
            .expect("it can be written");
            let mut sources = c::sources_in(&generated);
            sources.push(together);
            for compiler in Compiler::all() {
                for cpp in [false, true] {
                    let mut command = compiler.command(cpp);
                    command.arg("-fsyntax-only").arg("-I").arg(&generated);
                    command.arg("-I").arg(&folder);
                    command.args(["-x", if cpp { "c++" } else { "c" }]);
                    if let Err(failure) = succeed(command.args(&sources)) {
                        let failure = format!("{}: {failure}", written.folder.display());
                        failures.lock().expect("no worker panics").push(failure);
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(compile);
        scope.spawn(compile);
    });
    let failures = failures.into_inner().expect("no worker panics");
    assert!(failures.is_empty(), "{}", shown(&failures.join("\n")));
}

fn compile_in(scala: Scala) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("programs-classes")
        .join(scala.name());
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let host = folder.join("HostValue.scala");
    fs::write(&host, "package hosts\n\nfinal class HostValue\n")
        .expect("the target folder can be written");
    let mut sources = vec![host];
    for written in written() {
        let alone = written.folder.join(SCALA_3);
        let is_alone = scala == Scala::Three && alone.exists();
        // What the program supplies is not in a folder of a package.
        let both = written.folder.join("scala");
        let is_supplied = |source: &PathBuf| source.parent() == Some(&both);
        let all = sources_in(&both).into_iter();
        sources.extend(all.filter(|source| !is_alone || is_supplied(source)));
        if is_alone {
            sources.extend(sources_in(&alone));
        }
    }
    scala
        .compile(&sources, &[scala.runtime()], &folder.join("classes"))
        .unwrap_or_else(|failure| panic!("{}", shown(&failure)));
}

#[test]
#[ignore = "slow: random programs"]
fn random_programs_compile_in_scala_3() {
    compile_in(Scala::Three);
}

#[test]
#[ignore = "slow: random programs"]
fn random_programs_compile_in_scala_2() {
    compile_in(Scala::Two);
}
