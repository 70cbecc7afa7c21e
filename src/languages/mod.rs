//! The languages Duologue generates. Each target is an entry of a table and has its own folder.

mod aliases;
pub mod c;
mod limits;
#[doc(hidden)]
pub mod public_names;
mod robots;
pub mod rust;
pub mod scala;
mod spelling;

pub use c::COptions;
pub use rust::{Attribute, AttributeError, RustOptions, check_attributes};
pub use scala::{ScalaOptions, ScalaVersion};

use crate::check::{CheckedProgram, Scope};
use crate::protocol::{Definition, LANGUAGES, Program, Type};
use public_names::PublicNames;
use std::path::Path;

/// Lines of code are at most this long where they can be broken.
const WIDTH: usize = 100;

/// A language Duologue generates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Target {
    /// Rust, edition 2021 and newer.
    Rust,
    /// C11, also valid as C++17.
    C,
    /// Scala 2.13 and 3.
    Scala,
}

/// What the compiler needs to know about a target.
struct TargetSpec {
    target: Target,
    /// The extensions of the files it writes.
    endings: &'static [&'static str],
    /// The options by which protoc would take its output directory.
    protoc_options: [&'static str; 2],
    spellings: fn(&Program, &Options, &mut dyn FnMut(Scope)),
    public_names: fn(&Program, &Options) -> PublicNames,
    usage: Usage,
    runtime: fn(&Options) -> String,
}

/// The line with which a program uses a file. The second path, and those of which the function says whether they are
/// generated as well, are relative to the output directory, which is the first.
type Usage = fn(&Path, &Path, &dyn Fn(&Path) -> bool) -> Option<String>;

/// All targets, in the order of [`LANGUAGES`].
const TARGETS: [TargetSpec; LANGUAGES.len()] = [
    TargetSpec {
        target: Target::Rust,
        endings: &["rs"],
        protoc_options: ["rust_out", "rust-out"],
        spellings: rust::spellings,
        public_names: rust::public_names,
        usage: rust::usage,
        runtime: rust::runtime,
    },
    TargetSpec {
        target: Target::C,
        endings: &["h", "c"],
        protoc_options: ["c_out", "c-out"],
        spellings: c::spellings,
        public_names: c::public_names,
        usage: c::usage,
        runtime: c::runtime,
    },
    TargetSpec {
        target: Target::Scala,
        endings: &["scala"],
        protoc_options: ["scala_out", "scala-out"],
        spellings: scala::spellings,
        public_names: scala::public_names,
        usage: scala::usage,
        runtime: scala::runtime,
    },
];

impl Target {
    /// All targets, in the order in which they are listed to users.
    pub const ALL: [Target; LANGUAGES.len()] = {
        let mut all = [Target::Rust; LANGUAGES.len()];
        let mut index = 0;
        while index < all.len() {
            all[index] = TARGETS[index].target;
            assert!(all[index] as usize == index, "the order of the variants");
            index += 1;
        }
        all
    };

    fn spec(self) -> &'static TargetSpec {
        &TARGETS[self as usize]
    }

    /// The name as users write it in options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        LANGUAGES[self as usize].word
    }

    /// The name of the language.
    #[must_use]
    pub fn title(self) -> &'static str {
        LANGUAGES[self as usize].title
    }

    /// The extensions of the files it writes.
    #[must_use]
    pub fn endings(self) -> &'static [&'static str] {
        self.spec().endings
    }

    /// The options by which protoc would take its output directory, without `--`.
    #[must_use]
    pub fn protoc_options(self) -> [&'static str; 2] {
        self.spec().protoc_options
    }

    /// The line with which a program uses a generated file, if programs refer to it at all. `path` is relative to `directory`,
    /// the target's output directory, and so are the paths of which `is_generated` says whether they are generated as well.
    #[must_use]
    pub fn usage(
        self,
        directory: &Path,
        path: &Path,
        is_generated: &dyn Fn(&Path) -> bool,
    ) -> Option<String> {
        let name = path.file_stem()?.to_str()?;
        if name.to_ascii_lowercase().ends_with("types") {
            return None;
        }
        (self.spec().usage)(directory, path, is_generated)
    }

    /// What a program that uses generated code has to depend on.
    #[must_use]
    pub fn runtime(self, options: &Options) -> String {
        (self.spec().runtime)(options)
    }
}

/// What the user can configure in generated code.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// For Rust alone.
    pub rust: RustOptions,
    /// For C alone.
    pub c: COptions,
    /// For Scala alone.
    pub scala: ScalaOptions,
    /// Also generate what sessions over byte streams and, in Rust, in shared memory need: how payloads are encoded, and
    /// fingerprints. Protocols that cannot leave the process are generated without it, with a note that says why.
    pub remote: bool,
    /// Also generate robots, which play one side of a protocol in tests.
    pub robots: bool,
    /// The requested targets. Names that clash in a requested target are an error. If none is requested, clashes in any target
    /// are warnings.
    pub targets: Vec<Target>,
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
#[non_exhaustive]
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
            (target.spec().spellings)(program, options, &mut |scope| {
                hand_over(Scope { is_asked, ..scope });
            });
        }
    }
}

/// For each declared type, whether its values can hold endpoints or, if those count too, it is one that only the program knows or its values
/// can hold one of these.
fn holders(program: &Program, host_counts: bool) -> Vec<bool> {
    program.settle(false, |known, id| {
        let holds = |part: &Type| {
            matches!(part, Type::Endpoint(_))
                || matches!(part, Type::Named(used) if known[used.index()])
        };
        let definition = &program.ty(id).definition;
        let mut parts = definition.parts().into_iter();
        host_counts && matches!(definition, Definition::Extern(..))
            || parts.any(|ty| ty.any(&holds))
    })
}

/// The names in a target's generated code that programs use.
#[doc(hidden)]
#[must_use]
pub fn public_names(program: &Program, target: Target, options: &Options) -> PublicNames {
    (target.spec().public_names)(program, options)
}
