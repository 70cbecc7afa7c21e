//! The languages Duologue writes. The only room that matches on [`Target`]; a target is one folder with the same three files.

pub mod c;
pub mod rust;
pub mod scala;
mod spelling;

use crate::check::{CheckedProgram, Scope};
use crate::protocol::Program;

/// A language Duologue writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// Rust, edition 2021 and newer.
    Rust,
    /// C11, also valid as C++17.
    C,
    /// Scala 2.13 and 3.
    Scala,
}

impl Target {
    /// All targets, in the order in which they are listed to users.
    pub const ALL: [Target; 3] = [Target::Rust, Target::C, Target::Scala];

    /// The name as users write it in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Target::Rust => "rust",
            Target::C => "c",
            Target::Scala => "scala",
        }
    }

    /// The endings of the files it writes.
    #[must_use]
    pub fn endings(self) -> &'static [&'static str] {
        match self {
            Target::Rust => &["rs"],
            Target::C => &["h", "c"],
            Target::Scala => &["scala"],
        }
    }
}

/// What the user can choose about generated code.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Rust: the module in which undeclared types are found, such as `crate::host`; without it, the module that includes the
    /// generated tree.
    pub rust_host: Option<String>,
    /// Scala: the package for files without `package`; without it, `protocols`.
    pub scala_package: Option<String>,
    /// C: put before every declared name.
    pub c_prefix: Option<String>,
    /// C: also write what sessions between processes need.
    pub c_shm: bool,
    /// C: bytes of the ring of a protocol whose runs have no bound, or a little more; without it, the runtime's `DUO_RING`.
    pub c_ring: Option<u32>,
}

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// Where it goes, relative to the target's output directory, with `/`.
    pub path: String,
    /// The whole text; ends with a line break.
    pub text: String,
}

impl OutputFile {
    /// A file with this text. All texts are kept until all are there, so none keeps room that it does not need.
    fn new(path: String, mut text: String) -> OutputFile {
        text.shrink_to_fit();
        OutputFile { path, text }
    }
}

/// What a target wrote.
#[derive(Debug, Default)]
pub struct Generated {
    /// The files, ordered by path, no path twice.
    pub files: Vec<OutputFile>,
    /// What the user should know, such as a generic protocol for which no instance is named; whole sentences.
    pub notes: Vec<String>,
}

/// Writes a checked program in a target language. Cannot fail: what could go wrong was a rule.
#[must_use]
pub fn generate(checked: &CheckedProgram, target: Target, options: &Options) -> Generated {
    match target {
        Target::Rust => rust::generate(checked, options),
        Target::C => c::generate(checked, options),
        Target::Scala => scala::generate(checked, options),
    }
}

/// Hands over, scope by scope, every name that the targets will declare for a program.
pub fn spellings(program: &Program, options: &Options, hand_over: &mut dyn FnMut(Scope)) {
    for target in Target::ALL {
        match target {
            Target::Rust => rust::spellings(program, options, hand_over),
            Target::C => c::spellings(program, options, hand_over),
            Target::Scala => scala::spellings(program, options, hand_over),
        }
    }
}
