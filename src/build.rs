//! Generation from a `build.rs`: checked protocols become Rust modules in `OUT_DIR`, and Cargo learns when to do it again.
//!
//! In `main` of `build.rs`:
//!
//! ```no_run
//! duologue::build::compile("protocols/bank.proto");
//! ```
//!
//! In the program:
//!
//! ```text
//! mod protocols {
//!     include!(concat!(env!("OUT_DIR"), "/mod.rs"));
//! }
//! use protocols::bank;
//! ```
//!
//! Generated code calls the runtime, so the package depends on `duologue-runtime` under the name `duologue`.

use crate::check::RULES;
use crate::compile::{Compilation, Input, Request};
use crate::diagnostic::Level;
use crate::files::{Disk, OutputError, Outputs, Tree, protocol_files};
use crate::report::{self, Look};
use crate::target::{self, Options, Target};
use std::collections::BTreeSet;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

/// Generates Rust for one protocol file, whose path is relative to the package, as [`Builder::generate`] does.
pub fn compile(protocol: impl AsRef<Path>) {
    Builder::new().protocol(protocol).generate();
}

/// What to generate, and how.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    root: PathBuf,
    takes_all: bool,
    protocols: Vec<PathBuf>,
    import_dirs: Vec<PathBuf>,
    out_dir: Option<PathBuf>,
    levels: Vec<(String, Level)>,
    options: Options,
}

/// What a successful generation did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The generated files.
    pub outputs: Vec<PathBuf>,
    /// The protocol files that were read, imported ones included.
    pub inputs: Vec<PathBuf>,
    /// What is doubtful about the protocols, each as the command line shows it.
    pub warnings: Vec<String>,
}

/// Why nothing was generated. Its `Debug` form is its `Display` form, so that `unwrap` in a build script stays readable.
pub struct Error {
    message: String,
}

impl Error {
    fn new(message: impl Into<String>) -> Error {
        let message = message.into();
        Error { message }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

impl From<OutputError> for Error {
    fn from(error: OutputError) -> Error {
        Error::new(error.to_string())
    }
}

impl Builder {
    /// Nothing to generate yet. Relative paths are relative to the package, wherever Cargo is started.
    #[must_use]
    pub fn new() -> Builder {
        Builder::default()
    }

    /// The directory that holds the protocol files. Paths of [`protocol`](Builder::protocol) are relative to it, and imports are
    /// looked for in it.
    #[must_use]
    pub fn root(mut self, directory: impl Into<PathBuf>) -> Builder {
        self.root = directory.into();
        self
    }

    /// Generates for every `.proto` file below the root.
    #[must_use]
    pub fn all(mut self) -> Builder {
        self.takes_all = true;
        self
    }

    /// Generates for one protocol file. All files of a package belong into one builder, because names are compared between them.
    #[must_use]
    pub fn protocol(mut self, path: impl AsRef<Path>) -> Builder {
        self.protocols.push(path.as_ref().to_path_buf());
        self
    }

    /// Looks for imports in this directory too.
    #[must_use]
    pub fn import_dir(mut self, directory: impl Into<PathBuf>) -> Builder {
        self.import_dirs.push(directory.into());
        self
    }

    /// Writes into this directory instead of `OUT_DIR`, for generated code that is checked in.
    #[must_use]
    pub fn out_dir(mut self, directory: impl Into<PathBuf>) -> Builder {
        self.out_dir = Some(directory.into());
        self
    }

    /// The module that has the types no protocol file declares, such as `crate::host`; without it, the module that includes the
    /// generated code.
    #[must_use]
    pub fn rust_host(mut self, path: impl Into<String>) -> Builder {
        self.options.rust_host = Some(path.into());
        self
    }

    /// Sets the level of a rule, or of all with the name `all`; the later call wins. `duologue.toml` is not read, since it may lie
    /// outside of the package.
    #[must_use]
    pub fn level(mut self, rule: impl Into<String>, level: Level) -> Builder {
        self.levels.push((rule.into(), level));
        self
    }

    /// Generates, and tells Cargo which files matter. Errors and warnings in the protocols are shown by Cargo as they stand;
    /// an error fails the build when the build script is over.
    pub fn generate(&self) {
        match self.try_generate() {
            Ok(report) => {
                for warning in &report.warnings {
                    instruct("warning", warning);
                }
            }
            Err(error) => instruct("error", &error.message),
        }
    }

    /// As [`generate`](Builder::generate), but hands over errors and warnings instead of showing them. Tells Cargo which files
    /// matter in either case.
    ///
    /// # Errors
    /// An error in the protocols, or a file that cannot be read or written.
    pub fn try_generate(&self) -> Result<Report, Error> {
        let package = package()?;
        let out_dir = match &self.out_dir {
            Some(directory) => package.join(directory),
            None => variable("OUT_DIR")?,
        };
        let mut watched = Watched::new();
        let request = self.request(&package, &mut watched)?;
        let compiled = crate::compile::compile(&request, &Disk).map_err(|unreadable| {
            watched.missing(&unreadable.path);
            let path = unreadable.path.display();
            Error::new(format!("cannot read {path}: {}", unreadable.error))
        });
        if let Ok(compiled) = &compiled {
            watched.all_of(compiled);
        }
        watched.tell();
        let compiled = compiled?;
        let look = Look::default();
        let findings = compiled.diagnostics.iter();
        let findings = findings.map(|found| report::full(found, &compiled.sources, look));
        let Some(checked) = &compiled.checked else {
            return Err(Error::new(findings.collect::<Vec<_>>().join("\n\n")));
        };
        let generated = target::generate(checked, Target::Rust, &self.options);
        let outputs = Outputs::plan(vec![Tree {
            target: Target::Rust,
            directory: out_dir,
            files: generated.files,
        }])?;
        outputs.refuse_foreign()?;
        outputs.write(&[])?;
        Ok(Report {
            outputs: outputs.files.into_iter().map(|file| file.path).collect(),
            warnings: findings.collect(),
            inputs: compiled.files_read,
        })
    }

    fn request(&self, package: &Path, watched: &mut Watched) -> Result<Request, Error> {
        let known = |name: &str| name == "all" || RULES.iter().any(|rule| rule.name == name);
        if let Some((name, _)) = self.levels.iter().find(|(name, _)| !known(name)) {
            return Err(Error::new(format!("there is no rule `{name}`")));
        }
        let has_root = !self.root.as_os_str().is_empty();
        if self.takes_all && !has_root {
            let words = "`all` needs to know with `root` in which directory the protocol files lie";
            return Err(Error::new(words));
        }
        let root = package.join(&self.root);
        let mut inputs: Vec<PathBuf> = self.protocols.iter().map(|path| root.join(path)).collect();
        if self.takes_all {
            watched.add(&root);
            let found = protocol_files(&root).map_err(|(path, error)| {
                let path = path.display();
                Error::new(format!("cannot look for protocol files in {path}: {error}"))
            })?;
            inputs.extend(found);
        }
        if inputs.is_empty() {
            let words = if self.takes_all {
                format!("no .proto files under {}", root.display())
            } else {
                "nothing to generate: name a file with `protocol`, or all with `root` and `all`"
                    .to_owned()
            };
            return Err(Error::new(words));
        }
        let own_root = has_root.then_some(root);
        let import_dirs = self
            .import_dirs
            .iter()
            .map(|directory| package.join(directory));
        Ok(Request {
            inputs: inputs.into_iter().map(Input::Path).collect(),
            import_dirs: own_root.into_iter().chain(import_dirs).collect(),
            defaults: Vec::new(),
            levels: self.levels.clone(),
            options: Options {
                targets: vec![Target::Rust],
                ..self.options.clone()
            },
        })
    }
}

/// The paths whose change makes Cargo run the build script again.
///
/// Only paths that exist: Cargo takes a missing one for changed in every build. A path that was looked for in vain is watched
/// through its directory, but never one that holds the build's own output.
struct Watched {
    out_dir: Option<PathBuf>,
    paths: BTreeSet<PathBuf>,
}

impl Watched {
    fn new() -> Watched {
        Watched {
            out_dir: env::var_os("OUT_DIR").map(PathBuf::from),
            paths: BTreeSet::new(),
        }
    }

    fn add(&mut self, path: &Path) {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let holds_output = |out_dir: &PathBuf| out_dir.starts_with(absolute);
        if path.exists() && !self.out_dir.as_ref().is_some_and(holds_output) {
            self.paths.insert(path.to_path_buf());
        }
    }

    fn missing(&mut self, path: &Path) {
        let directory = path
            .ancestors()
            .skip(1)
            .find(|directory| directory.exists());
        if let Some(directory) = directory {
            self.add(directory);
        }
    }

    fn all_of(&mut self, compiled: &Compilation) {
        for path in &compiled.files_read {
            self.add(path);
        }
        for path in &compiled.files_missed {
            self.missing(path);
        }
    }

    /// The build script itself needs no word: Cargo runs it again when it has compiled it again.
    fn tell(&self) {
        for path in &self.paths {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
}

/// The package that is built, as a prefix for relative paths: empty where build scripts run, so that reports show short paths.
fn package() -> Result<PathBuf, Error> {
    let package = variable("CARGO_MANIFEST_DIR")?;
    match env::current_dir() {
        Ok(here) if here == package => Ok(PathBuf::new()),
        _ => Ok(package),
    }
}

fn variable(name: &str) -> Result<PathBuf, Error> {
    let missing = || {
        Error::new(format!(
            "{name} is not set; duologue::build is for build scripts"
        ))
    };
    env::var_os(name).map(PathBuf::from).ok_or_else(missing)
}

/// Hands a text to Cargo, line by line: it shows each line as it stands.
fn instruct(kind: &str, text: &str) {
    for line in text.lines() {
        println!("cargo::{kind}={line}");
    }
}
