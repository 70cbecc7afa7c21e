//! The Rust target: the generated code, and the programs that use it.

use crate::support::rust::{
    Edition, GROUPS, checked, clippy, generate, host, output, protocols_in, rustc, rustfmt,
    scratch, tool,
};
use crate::support::{cargo, edit, repository, succeed, target_pages};
use duologue::languages::{self, Options, Target};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

mod attributes;
mod docs;
mod registry;
mod runtime;

/// A library that includes a group's tree, as strict as a library can be.
fn library(name: &str, folder: &Path, options: &Options) -> String {
    let program = generate(&protocols_in(name), options, &folder.join("tree"));
    format!(
        "//! A library.\n#![forbid(unsafe_code)]\n#![deny(warnings, missing_docs, unreachable_pub)]\n\
         /// What the protocols expect of the program.\npub mod host {{\n    #![allow(missing_docs)]\n{}}}\n\
         /// Generated.\npub mod protocols {{\n    #[allow(unused_imports, clippy::wildcard_imports)]\n    use crate::host::*;\n    \
         include!(\"{}/tree/mod.rs\");\n}}\n",
        host(program.program()),
        folder.display()
    )
}

/// Compiles a text without producing anything.
fn check(mut compiler: Command, kind: &str, folder: &Path, text: &str) -> Result<String, String> {
    let path = folder.join("program.rs");
    fs::write(&path, text).expect("the target folder can be written");
    compiler.args(["--crate-type", kind, "--emit", "metadata", "--out-dir"]);
    succeed(compiler.arg(folder).arg(&path))
}

#[test]
fn everything_that_passes_the_checks_compiles_without_a_warning() {
    for (number, name) in GROUPS.into_iter().enumerate() {
        let folder = scratch(&format!("compiles-{number}"));
        for edition in [Edition::E2021, Edition::E2024] {
            // Robots need no other syntax in one edition than in the other.
            let mut options = Options::default();
            options.robots = edition == Edition::E2024;
            let text = library(name, &folder, &options);
            check(clippy(edition), "lib", &folder, &text)
                .unwrap_or_else(|failure| panic!("{name}: {failure}"));
        }
    }
}

/// Patterns without `..` have to name every field.
#[test]
fn fields_have_the_names_of_entries_if_all_entries_have_names() {
    const PROTOCOL: &str = "
        type money = u8;
        enum problem { none, some(money), named(next: u8, self: str), mixed(first: u8, money) }
        proto! fields {
            start:send<T> {
                words(type: T, Self: str, next: [T], SomeName: u8) -> start<T>,
                one(value: problem) -> asked,
                money(money) -> start<T>,
                mixed(first: u8, money) -> start<T>,
                same(u8, u8) -> start<T>,
                last(next: u8) -> !,
                quit -> !
            }
            asked:recv { answer(to: str) -> start<str> }
        }";
    const PROGRAM: &str = "
        pub fn start<T>(message: fields::Start<T>) {
            match message {
                fields::Start::Words { r#type: _, self_: _, next_: _, some_name: _, next: _ } => {}
                fields::Start::One { value, next: _ } => match value {
                    Problem::None => {}
                    Problem::Some(_) => {}
                    Problem::Named { next: _, self_: _ } => {}
                    Problem::Mixed(_, _) => {}
                },
                fields::Start::Money(_, _) | fields::Start::Mixed(_, _, _) => {}
                fields::Start::Same(_, _, _) | fields::Start::Last { next_: _ } => {}
                fields::Start::Quit => {}
            }
        }
        pub fn asked(fields::Asked::Answer { to: _, next: _ }: fields::Asked) {}";
    let folder = scratch("fields");
    let path = folder.join("fields.proto");
    fs::write(&path, PROTOCOL).expect("the target folder can be written");
    for remote in [false, true] {
        let mut options = Options::default();
        options.remote = remote;
        generate(std::slice::from_ref(&path), &options, &folder.join("tree"));
        let module = folder.join("tree/mod.rs");
        let text = format!("include!(\"{}\");\n{PROGRAM}", module.display());
        check(rustc(Edition::E2024), "lib", &folder, &text)
            .unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn generated_code_needs_a_runtime_of_its_format() {
    let folder = scratch("format");
    let text = library("protocols", &folder, &Options::default());
    edit(&folder.join("tree/pingpong.rs"), "FORMAT_1", "FORMAT_0");
    let failure = check(rustc(Edition::E2024), "lib", &folder, &text)
        .expect_err("the runtime has another format");
    assert!(failure.contains("FORMAT_0"), "{failure}");
}

#[test]
fn a_program_may_keep_its_modules_private() {
    let folder = scratch("private");
    let text = library("protocols", &folder, &Options::default());
    let text = text.replace("pub mod protocols", "mod protocols") + "fn main() {}\n";
    let text = text.replace(
        "pub mod host {",
        "mod host {\n    #![allow(dead_code, unreachable_pub)]",
    );
    check(clippy(Edition::E2024), "bin", &folder, &text)
        .unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn types_of_the_host_may_live_anywhere() {
    let mut options = Options::default();
    options.rust.host = Some("crate::host".to_owned());
    let folder = scratch("host");
    let text =
        library("tests/names", &folder, &options).replace("use crate::host::*;", "mod _none {}");
    check(rustc(Edition::E2024), "lib", &folder, &text)
        .unwrap_or_else(|failure| panic!("{failure}"));
}

/// The page of a receiver links to the messages, and every link leads somewhere.
#[test]
fn rustdoc_leads_from_a_receiver_to_its_messages() {
    let folder = scratch("rustdoc");
    let text = library("protocols", &folder, &Options::default());
    // A lint that a module allows is not reported.
    for file in protocols_in("protocols") {
        let name = file.file_stem().expect("a file").to_string_lossy();
        let path = folder.join(format!("tree/{name}.rs"));
        if let Ok(text) = fs::read_to_string(&path) {
            fs::write(&path, text.replace("    rustdoc::all,\n", "")).expect("it can be written");
        }
    }
    fs::write(folder.join("program.rs"), text).expect("it can be written");
    let mut rustdoc = tool("rustdoc", "rustup toolchain install stable");
    rustdoc.args(rustc(Edition::E2024).get_args());
    rustdoc.args([
        "-Drustdoc::broken_intra_doc_links",
        "--crate-name",
        "program",
        "--out-dir",
    ]);
    rustdoc
        .arg(folder.join("doc"))
        .arg(folder.join("program.rs"));
    succeed(&mut rustdoc).unwrap_or_else(|failure| panic!("{failure}"));
    let page = folder.join("doc/program/protocols/bank/client/type.LoginResponse.html");
    let page = fs::read_to_string(page).expect("it is documented");
    for message in ["Ok", "Invalid"] {
        let link = format!("href=\"../enum.LoginResponse.html#variant.{message}\"");
        assert!(page.contains(&link), "{link}");
    }
}

#[test]
fn rustfmt_leaves_generated_files_as_they_are() {
    for (number, name) in GROUPS.into_iter().enumerate() {
        let folder = scratch(&format!("formatted-{number}"));
        let mut options = Options::default();
        (options.remote, options.robots) = (true, true);
        generate(&protocols_in(name), &options, &folder);
        let found = output(rustfmt().arg(folder.join("mod.rs")));
        let text = String::from_utf8_lossy(&found.stdout);
        assert!(found.status.success() && text.is_empty(), "{name}: {text}");
    }
}

#[test]
fn equal_input_gives_equal_files() {
    for name in GROUPS {
        let inputs = protocols_in(name);
        let text =
            || languages::generate(&checked(&inputs), Target::Rust, &Options::default()).files;
        assert_eq!(text(), text());
    }
}

#[test]
fn source_and_module() {
    for name in ["stream", "oneshot", "relay", "future"] {
        let path = repository().join(format!("protocols/{name}.proto"));
        let mut shown = fs::read_to_string(&path).expect("the protocol is in the repository");
        for file in languages::generate(&checked(&[path]), Target::Rust, &Options::default()).files
        {
            shown += &format!("\n======== {}\n{}", file.path, file.text);
        }
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("rust@{name}"), shown);
        });
    }
}

/// What a misuse program expects: its one error, in the words of the compiler, and what else the compiler says.
fn expectations(text: &str) -> (&str, Vec<&str>) {
    let mut expected = text.lines().filter_map(|line| line.strip_prefix("//~ "));
    let error = expected
        .next()
        .expect("a misuse program says which error it expects");
    (error, expected.collect())
}

#[test]
fn misuse_does_not_compile_for_the_stated_reason_and_no_other() {
    let folder = scratch("misuse");
    let protocols = ["bank", "type_switch", "stream"];
    let paths = protocols.map(|name| repository().join(format!("protocols/{name}.proto")));
    generate(&paths, &Options::default(), &folder.join("tree"));
    let programs =
        fs::read_dir(repository().join("tests/misuse/rust")).expect("there are programs");
    let mut count = 0;
    for program in programs {
        let path = program.expect("the folder can be read").path();
        let text = fs::read_to_string(&path).expect("the folder holds programs");
        let (error, notes) = expectations(&text);
        // After the program, so that it has the lines that are reported.
        let complete = text.clone() + "mod protocols { include!(env!(\"PROTOCOLS\")); }\n";
        let source = folder.join(path.file_name().expect("it is a file"));
        fs::write(&source, complete).expect("the target folder can be written");
        let mut compiler = rustc(Edition::E2024);
        compiler.env("PROTOCOLS", folder.join("tree/mod.rs"));
        compiler
            .args(["-Adead_code", "-Aunused_variables", "--emit", "metadata"])
            .arg("--out-dir")
            .arg(&folder)
            .arg(&source);
        let found = output(&mut compiler);
        let said = String::from_utf8_lossy(&found.stderr);
        let is_heading = |line: &&str| line.starts_with("error") || line.starts_with("warning");
        let headings = said.lines().filter(is_heading);
        let headings: Vec<&str> = headings
            .filter(|line| !line.contains("aborting due to"))
            .collect();
        assert_eq!(headings, [error], "{}: {said}", path.display());
        for note in notes {
            assert!(
                said.contains(note),
                "{}: {note:?} is missing from {said}",
                path.display()
            );
        }
        count += 1;
    }
    assert!(count >= 10, "only {count} programs were found");
}

/// The programs in a page: the blocks of Rust, each with the module that the page leaves out, and with a `main`.
fn programs_in(page: &str) -> Vec<String> {
    let blocks = page.split("```rust\n").skip(1);
    let blocks = blocks.filter_map(|behind| behind.split("```").next());
    let complete = |block: &str| {
        let protocols = match block.contains("mod protocols") {
            true => "",
            false => "mod protocols {\n    include!(env!(\"PROTOCOLS\"));\n}\n",
        };
        let (allowed, main) = match block.contains("fn main()") {
            true => ("", ""),
            false => ("#![allow(dead_code)]\n", "fn main() {}\n"),
        };
        [allowed, protocols, block, main].concat()
    };
    blocks.map(complete).collect()
}

#[test]
fn the_programs_of_the_page_run() {
    let page = target_pages("rust");
    let folder = scratch("page");
    let mut paths = protocols_in("protocols");
    generate(&paths, &Options::default(), &folder.join("all"));
    // This one needs a type of the program; all others are complete.
    paths.retain(|path| !path.ends_with("work_queue.proto"));
    generate(&paths, &Options::default(), &folder.join("most"));
    let programs = programs_in(&page);
    assert!(
        programs.len() >= 8,
        "the page has only {} programs",
        programs.len()
    );
    let alone = programs.iter().filter(|program| !needs_crates(program));
    for (number, program) in alone.enumerate() {
        let source = folder.join(format!("program{number}.rs"));
        let tree = if program.contains("work_queue") {
            "all"
        } else {
            "most"
        };
        let text = program.replace(
            "concat!(env!(\"OUT_DIR\"), \"/mod.rs\")",
            "env!(\"PROTOCOLS\")",
        );
        fs::write(&source, text).expect("the target folder can be written");
        let mut compiler = rustc(Edition::E2024);
        compiler.env("PROTOCOLS", folder.join(tree).join("mod.rs"));
        compiler
            .args(["-Dwarnings", "--out-dir"])
            .arg(&folder)
            .arg(&source);
        succeed(&mut compiler).unwrap_or_else(|failure| panic!("program {number}: {failure}"));
        let binary = folder.join(format!("program{number}{}", std::env::consts::EXE_SUFFIX));
        succeed(&mut Command::new(binary))
            .unwrap_or_else(|failure| panic!("program {number}: {failure}"));
    }
}

/// Whether a program of the page uses crates other than the runtime. The tests of the package `conversations` run it.
fn needs_crates(program: &str) -> bool {
    let lines = [
        "anyhow",
        "duologue_net",
        "duologue_shm",
        "futures_util",
        "tokio",
    ]
    .map(|name| format!("\nuse {name}::"));
    lines.iter().any(|line| program.contains(line))
}

/// The program that has both sides of every conversation that can leave its process.
pub fn remote_program() -> Command {
    program_of_tests("remote")
}

/// Writes certificates for the tests of TLS, in any language. `tests/conversations/src/certificates.rs` says which.
pub fn write_certificates(folder: &Path) {
    succeed(program_of_tests("certificates").arg(folder))
        .unwrap_or_else(|failure| panic!("{failure}"));
}

/// The program with many sessions at once.
pub fn load_program() -> Command {
    program_of_tests("load")
}

/// A service whose servers are found with NATS, and its clients.
pub fn desk_program() -> Command {
    program_of_tests("desk")
}

/// The job queue in `tests/services`.
pub fn jobs_program() -> Command {
    program_of_tests("jobs")
}

/// The program of `docs/tracing.md`, which records sessions.
pub fn recorded_program() -> Command {
    program_of_tests("recorded")
}

/// A program of the packages `conversations`, `jobs` and `desk`. All are built once in a run of the tests.
fn program_of_tests(name: &str) -> Command {
    static BUILT: OnceLock<Result<String, String>> = OnceLock::new();
    let build = || {
        let mut cargo = cargo();
        cargo.current_dir(repository());
        // Cargo builds the programs of a package with its tests: as `cargo test --workspace` has done, with the same features.
        cargo.args([
            "build",
            "--quiet",
            "--locked",
            "--workspace",
            "--bin",
            "desk",
        ]);
        cargo.args(["--test", "main", "--test", "jobs_tests"]);
        succeed(&mut cargo)
    };
    if let Err(failure) = BUILT.get_or_init(build) {
        panic!("{failure}");
    }
    let target = Path::new(env!("CARGO_BIN_EXE_duologue")).parent();
    Command::new(target.expect("programs are in a folder").join(name))
}
