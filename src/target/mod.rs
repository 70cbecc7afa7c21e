//! The languages Duologue generates. This is the only module that matches on [`Target`]; each target has its own folder.

pub mod c;
pub mod rust;
pub mod scala;
mod spelling;

use crate::check::{CheckedProgram, Scope};
use crate::protocol::Program;

/// A language Duologue generates.
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

    /// The extensions of the files it writes.
    #[must_use]
    pub fn endings(self) -> &'static [&'static str] {
        match self {
            Target::Rust => &["rs"],
            Target::C => &["h", "c"],
            Target::Scala => &["scala"],
        }
    }
}

/// What the user can configure in generated code.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Rust: the module in which undeclared types are found, such as `crate::host`; without it, the module that includes the
    /// generated tree.
    pub rust_host: Option<String>,
    /// Scala: the package for files without `package`; without it, `protocols`.
    pub scala_package: Option<String>,
    /// C: a prefix for every declared name.
    pub c_prefix: Option<String>,
    /// C: also generate what sessions between processes need.
    pub c_shm: bool,
    /// Also generate what sessions over byte streams need: how payloads are encoded, and fingerprints. Protocols that cannot
    /// leave the process are generated without it, with a note that says why.
    pub remote: bool,
    /// The requested targets. Names that clash in a requested target are an error. If none is requested, clashes in any target
    /// are warnings.
    pub targets: Vec<Target>,
    /// C: the size in bytes of the ring of a protocol with unbounded runs; the ring may be a little larger. Without it, the
    /// runtime's `DUO_RING` applies.
    pub c_ring: Option<u32>,
}

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// The path relative to the target's output directory, with `/` as the separator.
    pub path: String,
    /// The whole text, which ends with a line break.
    pub text: String,
}

impl OutputFile {
    /// A file with this text. All texts stay in memory until the last one is generated, so spare capacity is released.
    fn new(path: String, mut text: String) -> OutputFile {
        text.shrink_to_fit();
        OutputFile { path, text }
    }
}

/// What a target generated.
#[derive(Debug, Default)]
pub struct Generated {
    /// The files, ordered by path. No path occurs twice.
    pub files: Vec<OutputFile>,
    /// Notes for the user in whole sentences, such as that a generic protocol has no named instance.
    pub notes: Vec<String>,
}

/// Generates code for a checked program in a target language. This cannot fail: the rules have rejected everything that could go
/// wrong.
#[must_use]
pub fn generate(checked: &CheckedProgram, target: Target, options: &Options) -> Generated {
    match target {
        Target::Rust => rust::generate(checked, options),
        Target::C => c::generate(checked, options),
        Target::Scala => scala::generate(checked, options),
    }
}

/// Passes on, scope by scope, the names that could clash among those that the targets will declare for a program. The targets are
/// the requested ones or, if none is requested, all of them.
pub fn spellings(program: &Program, options: &Options, hand_over: &mut dyn FnMut(Scope)) {
    let is_asked = !options.targets.is_empty();
    for target in Target::ALL {
        if !is_asked || options.targets.contains(&target) {
            let names = Names::ThatCouldClash;
            declarations(program, target, options, names, &mut |scope| {
                hand_over(Scope { is_asked, ..scope });
            });
        }
    }
}

/// Which names of a target to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Every name that generated code declares.
    All,
    /// Only names that could be equal to another one.
    ThatCouldClash,
}

/// Passes on, scope by scope, the names that a target will declare for a program.
pub fn declarations(
    program: &Program,
    target: Target,
    options: &Options,
    names: Names,
    hand_over: &mut dyn FnMut(Scope),
) {
    match target {
        Target::Rust => rust::spellings(program, options, names, hand_over),
        Target::C => c::spellings(program, options, names, hand_over),
        Target::Scala => scala::spellings(program, options, names, hand_over),
    }
}
