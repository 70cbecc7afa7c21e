//! Random programs: whatever `check` lets through, every target writes, and every compiler takes without a warning. They run where
//! `DUOLOGUE_TEST_WITH` names `programs`.
//!
//! `DUOLOGUE_PROGRAMS=COUNT` makes another number of programs than 200, `DUOLOGUE_SEED=SEED` others, with `time` for a seed from the
//! clock. The seed is printed, and a failure names the folder of the program.

mod generator;

use crate::support::c::{self, Compiler};
use crate::support::rust::{self, Edition};
use crate::support::scala::{Scala, sources_in};
use crate::support::{is_named, succeed};
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
/// The seed, unless `DUOLOGUE_SEED` says otherwise. A run of the tests is the same each time.
const SEED: u64 = 20_121_123;

/// A program that `check` accepts, and that was written in all languages below its folder.
struct Written {
    mark: String,
    folder: PathBuf,
    program: RandomProgram,
}

fn seed() -> u64 {
    match std::env::var("DUOLOGUE_SEED") {
        Ok(text) if text == "time" => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            now.map_or(0, |now| now.as_secs())
        }
        Ok(text) => text
            .parse()
            .expect("DUOLOGUE_SEED is a number, or the word `time`"),
        Err(_) => SEED,
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
        println!("random programs: DUOLOGUE_SEED={seed}");
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
        let _ = fs::remove_dir_all(&root);
        let mut programs = Vec::new();
        let mut tries = 0;
        while programs.len() < count() {
            let mark = format!("r{tries}");
            let seed = seed.wrapping_mul(1_000_003).wrapping_add(tries);
            let program = Generator::new(seed, &mark).program();
            programs.extend(write(&root.join(&mark), mark, program));
            tries += 1;
            let enough = programs.len() as u64 * 4 + 40;
            assert!(
                tries < enough,
                "`check` accepts only {} of {tries} programs",
                programs.len()
            );
        }
        println!("{} of {tries} programs pass the checks", programs.len());
        programs
    })
}

/// Checks a program and writes it in all languages; nothing if `check` reports a mistake.
fn write(folder: &Path, mark: String, program: RandomProgram) -> Option<Written> {
    let save = |path: PathBuf, text: &str| {
        fs::create_dir_all(path.parent().expect("files lie in folders"))
            .expect("the target folder can be written");
        fs::write(path, text).expect("the target folder can be written");
    };
    for (name, text) in &program.files {
        save(folder.join(name), text);
    }
    let duologue = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_duologue"));
        command.current_dir(folder).args(arguments);
        command.args(program.files.iter().map(|(name, _)| name));
        command.args(["--quiet", "-A", "all"]);
        let output = command.output().expect("the compiler was built");
        let said = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        (output.status.code(), said)
    };
    let all = [
        "--rust",
        "rust",
        "--c",
        "c",
        "--scala",
        "scala",
        "--c-shm",
        "--scala-package",
        &mark,
    ];
    let (code, said) = duologue(&[&["gen"][..], &all].concat());
    match code {
        Some(0) => {}
        // A random program may be wrong; then that is reported, and nothing is written.
        Some(1) => {
            assert!(said.contains("error["), "{}: {said}", folder.display());
            assert!(!folder.join("rust").exists(), "{}", folder.display());
            fs::remove_dir_all(folder).expect("it was just written");
            return None;
        }
        Some(_) | None => panic!("{}: {code:?}\n{said}", folder.display()),
    }
    let mut files = BTreeSet::new();
    for host in &program.hosts {
        let file = folder.join("c").join(format!("{}_host.h", host.file));
        let mut text = fs::read_to_string(&file).unwrap_or_default();
        writeln!(text, "typedef int {};", host.name).expect("a text takes all");
        save(file.clone(), &text);
        files.insert(file);
        let package = match host.package.as_str() {
            "" => mark.clone(),
            package => package.to_owned(),
        };
        let name = rust::camel(&host.name);
        save(
            folder.join("scala").join(format!("{name}Host.scala")),
            &format!("package {package}\n\nfinal class {name}\n"),
        );
    }
    Some(Written {
        mark,
        folder: folder.to_owned(),
        program,
    })
}

/// What the program around the generated code supplies, in C.
const C_HOST: &str = "#ifndef HOST_VALUE\n#define HOST_VALUE\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\
    struct host_value;\nvoid host_value_free(struct host_value *value);\n#ifdef __cplusplus\n}\n#endif\n#endif\n";

#[test]
fn random_programs_compile_in_rust() {
    if !is_named("programs") {
        return;
    }
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
                writeln!(host, "{derives} pub struct {name};").expect("a text takes all");
            }
        }
        writeln!(
            text,
            "/// A program.\npub mod {} {{\n#[allow(missing_docs)]\nmod host {{ {host} }}\n\
             #[allow(unused_imports)]\nuse host::*;\ninclude!(\"{}/rust/mod.rs\");\n}}",
            written.mark,
            written.folder.display()
        )
        .expect("a text takes all");
    }
    let path = folder.join("programs.rs");
    fs::write(&path, text).expect("the target folder can be written");
    for edition in [Edition::E2021, Edition::E2024] {
        let mut compiler = rust::clippy(edition);
        compiler.args(["--crate-type", "lib", "--emit", "metadata", "--out-dir"]);
        succeed(compiler.arg(&folder).arg(&path)).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn random_programs_compile_in_c() {
    if !is_named("programs") {
        return;
    }
    let folder = c::scratch("programs");
    fs::write(folder.join("host_value.h"), C_HOST).expect("the folder is ours");
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let compile = || {
        while let Some(written) = written().get(next.fetch_add(1, Ordering::Relaxed)) {
            let generated = written.folder.join("c");
            // Sources one by one, and all headers together.
            let headers = c::files_in(&generated, "h").into_iter();
            let all = headers.map(|header| format!("#include \"{}\"\n", header.display()));
            let together = folder.join(format!("{}.c", written.mark));
            fs::write(&together, all.collect::<String>()).expect("the folder is ours");
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
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn compile_in(scala: Scala) {
    if !is_named("programs") {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("programs-classes")
        .join(scala.name());
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let host = folder.join("HostValue.scala");
    fs::write(&host, "package hosts\n\nfinal class HostValue\n")
        .expect("the target folder can be written");
    let mut sources = vec![host];
    for written in written() {
        sources.extend(sources_in(&written.folder.join("scala")));
    }
    scala
        .compile(&sources, &[scala.runtime()], &folder.join("classes"))
        .unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn random_programs_compile_in_scala_3() {
    compile_in(Scala::Three);
}

#[test]
fn random_programs_compile_in_scala_2() {
    compile_in(Scala::Two);
}
