//! The Rust toolchain as the tests call it: the compiler itself, without Cargo, so that a program is built in a moment.

use super::{files_in, repository, succeed};
use duologue::check::CheckedProgram;
use duologue::compile::{Input, Request, compile};
use duologue::files::Disk;
use duologue::languages::{self, Options, Target};
use duologue::protocol::Program;
use duologue::source::Sources;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The edition that the compiler assumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edition {
    E2021,
    E2024,
}

impl Edition {
    fn name(self) -> &'static str {
        match self {
            Edition::E2021 => "2021",
            Edition::E2024 => "2024",
        }
    }
}

/// A folder for what the Rust tests write, empty.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("rust")
        .join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// The folders from which everything is generated somewhere in these tests, in groups that can be generated together.
pub const GROUPS: [&str; 6] = [
    "protocols",
    "tests/corpus/2012",
    "tests/corpus/literature",
    "tests/names",
    "tests/nasty",
    "tests/payloads",
];

/// The protocol files of a folder, in order.
pub fn protocols_in(folder: &str) -> Vec<PathBuf> {
    let paths = files_in(&repository().join(folder), "proto");
    assert!(!paths.is_empty(), "{folder} has no protocols");
    paths
}

/// A checked program with its texts.
pub struct Checked {
    pub program: CheckedProgram,
    pub sources: Sources,
}

/// Checks protocols, which must have no errors.
pub fn checked(inputs: &[PathBuf]) -> CheckedProgram {
    checked_with_sources(inputs).program
}

/// Checks protocols, which must have no errors, and keeps their texts.
pub fn checked_with_sources(inputs: &[PathBuf]) -> Checked {
    let mut request = Request::default();
    request.inputs = inputs.iter().cloned().map(Input::Path).collect();
    let compilation = compile(&request, &Disk).unwrap_or_else(|error| panic!("{error:?}"));
    let program = compilation.checked;
    Checked {
        program: program.unwrap_or_else(|| panic!("{:#?}", compilation.diagnostics)),
        sources: compilation.sources,
    }
}

/// Generates Rust code for protocols below a folder; returns what was compiled.
pub fn generate(inputs: &[PathBuf], options: &Options, out: &Path) -> CheckedProgram {
    let checked = checked(inputs);
    for file in languages::generate(&checked, Target::Rust, options).files {
        let path = out.join(&file.path);
        fs::create_dir_all(path.parent().expect("files are in folders"))
            .expect("the target folder can be written");
        fs::write(path, file.text).expect("the target folder can be written");
    }
    checked
}

/// What the module that includes the tree has to supply, in the simplest form that generated code accepts.
pub fn host(program: &Program) -> String {
    let mut text = String::new();
    let mut names = BTreeSet::new();
    for ty in &program.types {
        if ty.is_host("rust") && names.insert(camel(ty.name.text())) {
            let name = camel(ty.name.text());
            text += "    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]\n";
            text += &format!("    pub struct {name};\n");
        }
    }
    for bound in program
        .bounds
        .iter()
        .filter(|bound| bound.mappings.get("rust").is_none())
    {
        let name = camel(bound.name.text());
        text += &format!("    pub trait {name} {{}}\n    impl<T> {name} for T {{}}\n");
    }
    text
}

/// A name as Rust spells types.
pub fn camel(name: &str) -> String {
    let words = name.split('_').filter(|word| !word.is_empty());
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    words.map(capital).collect()
}

/// The runtime as a library, built once in a run of the tests.
pub fn runtime() -> &'static Path {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let library = scratch("runtime").join("libduologue_runtime.rlib");
        let mut rustc = compile_runtime(&library);
        rustc.arg("-O");
        succeed(&mut rustc).map(|_| library)
    });
    built
        .as_deref()
        .unwrap_or_else(|failure| panic!("{failure}"))
}

/// A compiler command that builds the runtime with its default features as this library. It lists the configuration names that the
/// runtime may query, so any other name is an error.
pub fn compile_runtime(library: &Path) -> Command {
    let mut rustc = tool("rustc", "rustup toolchain install stable");
    rustc.args(
        "--edition 2021 --crate-type rlib -Dwarnings --crate-name duologue_runtime".split(' '),
    );
    let features = r#""futures", "membarrier", "pool", "registry", "tracing""#;
    for allowed in [
        "cfg(test, duologue_loom, duologue_tsan)".to_owned(),
        "cfg(duologue_without, values(any()))".to_owned(),
        format!("cfg(feature, values({features}))"),
    ] {
        rustc.args(["--check-cfg", &allowed]);
    }
    rustc.arg("-o");
    rustc
        .arg(library)
        .arg(repository().join("runtime/rust/src/lib.rs"));
    rustc
}

/// The compiler, with the runtime available under the name that generated code uses.
pub fn rustc(edition: Edition) -> Command {
    let mut rustc = tool("rustc", "rustup toolchain install stable");
    let runtime = runtime();
    let folder = runtime.parent().expect("a file is in a folder");
    rustc.args(["--edition", edition.name(), "--color", "never", "--extern"]);
    rustc
        .arg(format!("duologue={}", runtime.display()))
        .arg("-L")
        .arg(folder);
    rustc
}

/// The same with clippy's lints.
pub fn clippy(edition: Edition) -> Command {
    let mut clippy = tool("clippy-driver", "rustup component add clippy");
    clippy.args(rustc(edition).get_args());
    clippy.args(["-Wclippy::all", "-Wclippy::pedantic"]);
    clippy
}

/// The formatter, as a check.
pub fn rustfmt() -> Command {
    let mut rustfmt = tool("rustfmt", "rustup component add rustfmt");
    rustfmt.args(["--check", "--edition", "2024", "--color", "never"]);
    rustfmt
}

/// The output of a command, whether or not it succeeds.
pub fn output(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// A tool of the toolchain that runs these tests.
pub fn tool(name: &str, remedy: &str) -> Command {
    let command = match std::env::var_os(name.to_uppercase().replace('-', "_")) {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(name),
    };
    let known = Command::new(&command).arg("--version").output();
    assert!(
        known.is_ok_and(|output| output.status.success()),
        "{name} is not installed: {remedy}"
    );
    Command::new(command)
}
