//! Code generation from a `build.rs`: turns checked protocols into Rust modules in `OUT_DIR`, and tells Cargo when to run it
//! again.
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
//! Generated code calls the runtime, so the package must depend on `duologue-runtime` under the name `duologue`.

use crate::check::{RULES, WARNINGS};
use crate::compile::{Compilation, Input, Request};
use crate::diagnostic::Level;
use crate::files::{Disk, OutputError, Outputs, Tree, protocol_files};
use crate::languages::{self, Attribute, AttributeError, Options, Target};
use crate::report::{self, RenderOptions};
use std::collections::BTreeSet;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

/// Generates Rust for one protocol file, as [`Builder::generate`] does. The path is relative to the package.
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
    /// Errors in derives and attributes.
    misspelled: Vec<String>,
}

/// The result of a successful generation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The generated files.
    pub outputs: Vec<PathBuf>,
    /// The protocol files that were read, including imported ones.
    pub inputs: Vec<PathBuf>,
    /// The warnings, each formatted as the command line prints it.
    pub warnings: Vec<String>,
    /// The `.proto` files below the root that were skipped, because they are files of Protocol Buffers.
    pub skipped: Vec<PathBuf>,
}

/// Why nothing was generated. The `Debug` form is the same as the `Display` form, so that `unwrap` in a build script prints a
/// readable message.
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

impl From<AttributeError> for Error {
    fn from(error: AttributeError) -> Error {
        Error::new(error.to_string())
    }
}

impl From<OutputError> for Error {
    fn from(error: OutputError) -> Error {
        Error::new(error.to_string())
    }
}

impl Builder {
    /// A builder with nothing to generate yet. Relative paths are relative to the package, wherever Cargo is started.
    #[must_use]
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Sets the directory that holds the protocol files. Paths given to [`protocol`](Builder::protocol) are relative to it, and
    /// it is searched for imports.
    #[must_use]
    pub fn root(mut self, directory: impl Into<PathBuf>) -> Builder {
        self.root = directory.into();
        self
    }

    /// Generates code for every `.duo` and `.proto` file below the root, except for files of Protocol Buffers.
    #[must_use]
    pub fn all(mut self) -> Builder {
        self.takes_all = true;
        self
    }

    /// Generates code for one protocol file. All files of a package belong in one builder, because their names are checked
    /// against each other.
    #[must_use]
    pub fn protocol(mut self, path: impl AsRef<Path>) -> Builder {
        self.protocols.push(path.as_ref().to_path_buf());
        self
    }

    /// Searches this directory for imports too.
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

    /// Also generates what sessions between processes need: encoders and fingerprints. The packages `duologue-net` and
    /// `duologue-shm` use them.
    #[must_use]
    pub fn remote(mut self) -> Builder {
        self.options.remote = true;
        self
    }

    /// Also generates robots, which play a side of a protocol in tests.
    #[must_use]
    pub fn robots(mut self) -> Builder {
        self.options.robots = true;
        self
    }

    /// Sets the module that has the types no protocol file declares, such as `crate::host`. The default is the module that
    /// includes the generated code.
    #[must_use]
    pub fn rust_host(mut self, path: impl Into<String>) -> Builder {
        self.options.rust.host = Some(path.into());
        self
    }

    /// Derives traits for every declared struct and enum: one trait, such as `serde::Serialize`, or several separated by
    /// commas. `Debug`, `Clone`, `PartialEq`, `Eq`, `PartialOrd`, `Ord` and `Hash` are derived wherever the fields allow it, and
    /// cannot be added.
    #[must_use]
    pub fn derive(self, traits: impl AsRef<str>) -> Builder {
        self.derive_for(".", traits)
    }

    /// Derives traits for the structs and enums that the path selects.
    ///
    /// A path is the name of a type in its protocol file, preceded by its package if the file has one: `acme.account`. The name of a
    /// package selects all types in it, and `.` selects all types. A path that selects nothing is an error.
    #[must_use]
    pub fn derive_for(self, path: impl Into<String>, traits: impl AsRef<str>) -> Builder {
        self.add(Attribute::derive(path, traits.as_ref()))
    }

    /// Adds an attribute, such as `#[serde(deny_unknown_fields)]`, to the structs and enums that the path selects. Paths are
    /// those of [`derive_for`](Builder::derive_for).
    #[must_use]
    pub fn type_attribute(self, path: impl Into<String>, attribute: impl AsRef<str>) -> Builder {
        self.add(Attribute::on_type(path, attribute.as_ref()))
    }

    /// Adds an attribute, such as `#[serde(default)]`, to fields of structs and variants of enums: to the one that the path
    /// names, such as `acme.account.balance`, to all in the type or package that it names, or to all if the path is `.`.
    #[must_use]
    pub fn field_attribute(self, path: impl Into<String>, attribute: impl AsRef<str>) -> Builder {
        self.add(Attribute::on_member(path, attribute.as_ref()))
    }

    fn add(mut self, attribute: Result<Attribute, AttributeError>) -> Builder {
        match attribute {
            Ok(attribute) => self.options.rust.attributes.push(attribute),
            Err(error) => self.misspelled.push(error.to_string()),
        }
        self
    }

    /// Sets the level of a rule, of every rule if the name is `all`, or of those that would warn if it is `warnings`. A later call overrides an earlier one. `duologue.toml` is
    /// not read, since it may be outside the package.
    #[must_use]
    pub fn level(mut self, rule: impl Into<String>, level: Level) -> Builder {
        self.levels.push((rule.into(), level));
        self
    }

    /// Generates the code, and tells Cargo which files it depends on. Cargo shows errors and warnings in the protocols unchanged;
    /// an error fails the build once the build script has finished.
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

    /// Like [`generate`](Builder::generate), but returns errors and warnings instead of showing them. Tells Cargo which files the
    /// code depends on in either case.
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
        let mut skipped = Vec::new();
        let request = self.request(&package, &mut watched, &mut skipped)?;
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
        let options = RenderOptions::default();
        let findings = compiled.diagnostics.iter();
        let findings = findings.map(|found| report::full(found, &compiled.sources, options));
        let Some(checked) = &compiled.checked else {
            return Err(Error::new(findings.collect::<Vec<_>>().join("\n\n")));
        };
        languages::check_attributes(checked.program(), &self.options.rust.attributes)?;
        let generated = languages::generate(checked, Target::Rust, &self.options);
        let tree = Tree::of_target(Target::Rust, out_dir, generated.files);
        let outputs = Outputs::plan(vec![tree])?;
        outputs.refuse_foreign()?;
        outputs.write(&[])?;
        Ok(Report {
            outputs: outputs.files.into_iter().map(|file| file.path).collect(),
            warnings: findings.collect(),
            inputs: compiled.files_read,
            skipped,
        })
    }

    fn request(
        &self,
        package: &Path,
        watched: &mut Watched,
        skipped: &mut Vec<PathBuf>,
    ) -> Result<Request, Error> {
        if !self.misspelled.is_empty() {
            return Err(Error::new(self.misspelled.join("\n")));
        }
        let known = |name: &str| {
            ["all", WARNINGS].contains(&name) || RULES.iter().any(|rule| rule.name == name)
        };
        if let Some((name, _)) = self.levels.iter().find(|(name, _)| !known(name)) {
            return Err(Error::new(format!("there is no rule `{name}`")));
        }
        let has_root = !self.root.as_os_str().is_empty();
        if self.takes_all && !has_root {
            let words = "`all` needs the directory of the protocol files: set it with `root`";
            return Err(Error::new(words));
        }
        let root = package.join(&self.root);
        let mut inputs: Vec<PathBuf> = self.protocols.iter().map(|path| root.join(path)).collect();
        if self.takes_all {
            watched.add(&root);
            let found = protocol_files(&root).map_err(|(path, error)| {
                let path = path.display();
                Error::new(format!("cannot search {path} for protocol files: {error}"))
            })?;
            // A file may become one of this language.
            found.skipped.iter().for_each(|path| watched.add(path));
            inputs.extend(found.protocols);
            *skipped = found.skipped;
        }
        if inputs.is_empty() {
            let words = if self.takes_all {
                format!(
                    "no protocol files under {}: their names end in .proto or .duo",
                    root.display()
                )
            } else {
                "nothing to generate: add a file with `protocol`, or all with `root` and `all`"
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
/// Holds only paths that exist: Cargo treats a missing path as changed in every build. A path at which no file was found is
/// watched through its nearest existing directory, but never one that holds the build's own output.
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

    /// The build script itself need not be listed: Cargo runs it again whenever it has recompiled it.
    fn tell(&self) {
        for path in &self.paths {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
}

/// The directory of the package, as a prefix for relative paths. It is empty if it is the current directory, as in a build
/// script, so that reports show short paths.
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

/// Passes a text to Cargo line by line; Cargo shows each line unchanged.
fn instruct(kind: &str, text: &str) {
    for line in text.lines() {
        println!("cargo::{kind}={line}");
    }
}
