//! Arguments that several commands share.

pub mod config;
pub mod levels;
pub mod named;
pub mod protoc;
pub mod renamed;

use crate::output::answer::Answer;
use crate::output::progress;
use crate::output::reports::{self, Reports};
use crate::terminal::Terminal;
use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use config::Config;
use duologue::check::CheckedProgram;
use duologue::compile::{Compilation, Request};
use duologue::diagnostic::Level;
use duologue::files::Disk;
use duologue::languages::{Attribute, Options, ScalaVersion};
use duologue::repair;
use duologue::report;
use duologue_project::{Failure, Outcome, inputs, repository};
use levels::Levels;
use std::path::PathBuf;

/// The parts of a help text, in their order.
pub const TEMPLATE: &str = "{about-with-newline}\n\x1b[1;32mExamples:\x1b[0m\n\
     {before-help}{usage-heading} {usage}\n\n{all-args}{after-help}\n";

/// A number of seconds, from 1 to this many.
pub fn seconds(most: u64) -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(1..=most)
}

/// A checked program and its texts.
pub type Checked = (CheckedProgram, duologue::source::Sources);

/// Import directories, configuration, reports and rule levels.
#[derive(Debug, Default, Args)]
pub struct Sources {
    /// Also look for imports in this directory; may be given more than once
    #[arg(short = 'I', long = "import-dir", aliases = ["proto_path", "proto-path", "import-path"], value_name = "DIR")]
    import_dirs: Vec<PathBuf>,
    #[command(flatten)]
    config: config::Choice,
    #[command(flatten)]
    pub reports: Reports,
    #[command(flatten)]
    levels: Levels,
    #[arg(skip)]
    leaves_out_unreadable: bool,
}

/// How findings look.
#[derive(Debug, Args)]
pub struct Style {
    /// How findings are printed: human, short, json, sarif, junit or github
    #[arg(long, default_value = "human", value_name = "STYLE")]
    pub format: Format,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// With the source lines they refer to
    Human,
    /// One per line: path:line:column: level[rule]: message
    Short,
    /// One JSON document
    Json,
    /// One SARIF 2.1.0 document
    Sarif,
    /// One JUnit document
    Junit,
    /// Workflow commands, which GitHub shows as annotations
    Github,
}

/// For people or for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    Human,
    Json,
}

/// The role of findings in the output of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Findings {
    /// They are its result.
    Product,
    /// They are shown along with its result.
    Aside,
    /// They are shown only if they prevent its result.
    Reason,
}

impl Sources {
    /// The program and its texts. Findings are printed only if it has errors.
    pub fn checked(
        self,
        paths: &[PathBuf],
        options: Options,
        terminal: &Terminal,
    ) -> Result<Checked, Failure> {
        let check = |request: &Request| Ok((progress::check(request, terminal)?, ()));
        let (format, findings) = (Format::Human, Findings::Reason);
        let sources = self.leaving_out_unreadable();
        let (compiled, ()) =
            sources.compile_by(check, paths, options, format, findings, terminal)?;
        let checked = compiled.checked.ok_or(Failure::Findings)?;
        Ok((checked, compiled.sources))
    }

    /// The configuration that applies to these inputs.
    pub fn config(&self, paths: &[PathBuf], terminal: &Terminal) -> Result<Config, Failure> {
        self.config.read(paths, terminal)
    }

    /// The levels of rules that the command line sets.
    pub fn levels(self) -> Result<Vec<(String, Level)>, Failure> {
        self.levels.checked()
    }

    /// Checks the files that can be read. If there are others, fails only after the findings have been printed.
    pub fn leaving_out_unreadable(self) -> Sources {
        Sources {
            leaves_out_unreadable: true,
            ..self
        }
    }

    /// Like [`Sources::compile`], but checks with the given function.
    pub fn compile_by<T: Answer>(
        self,
        check: impl FnOnce(&Request) -> Result<(Compilation, T), Failure>,
        paths: &[PathBuf],
        options: Options,
        format: Format,
        findings: Findings,
        terminal: &Terminal,
    ) -> Result<(Compilation, T), Failure> {
        let levels = self.levels.checked()?;
        if let Some(missing) = self.import_dirs.iter().find(|path| !path.is_dir()) {
            bail_usage!("`-I {}`: there is no such directory", missing.display());
        }
        let config = self.config.read(paths, terminal)?;
        let defaults = config.levels();
        let import_dirs = [self.import_dirs, config.import_dirs].concat();
        let exclude = &config.exclude;
        let found = match self.leaves_out_unreadable {
            true => inputs::find_readable(paths, &import_dirs, exclude)?,
            false => inputs::find(paths, &import_dirs, exclude)?,
        };
        found.tell_skipped(terminal)?;
        let inputs::Found {
            inputs,
            mut unreadable,
            ..
        } = found;
        let mut request = Request::default();
        request.inputs = inputs;
        request.import_dirs = import_dirs;
        request.defaults = defaults;
        request.levels = levels;
        request.options = options;
        let (mut compilation, answer) = check(&request)?;
        compilation.sources.locate(repository::located);
        if format == Format::Json || self.reports.has_json() {
            repair::verify(&request, &Disk, &mut compilation).map_err(inputs::failure)?;
        }
        format.print(&compilation, &answer, findings, terminal)?;
        self.reports.write(&compilation, &answer, terminal)?;
        match unreadable.pop() {
            None => Ok((compilation, answer)),
            Some(last) => {
                unreadable.iter().for_each(|words| terminal.complain(words));
                Err(Failure::Environment(last))
            }
        }
    }
}

impl Format {
    /// Prints a result for people, which only accompanies findings for programs.
    pub fn accompany(self, text: String, terminal: &Terminal) -> Outcome {
        match self == Format::Human {
            true => terminal.print(text),
            false => terminal.tell(text),
        }
    }

    fn print(
        self,
        compilation: &Compilation,
        answer: &dyn Answer,
        findings: Findings,
        terminal: &Terminal,
    ) -> Result<(), Failure> {
        let say = |text: String| match findings {
            Findings::Product => terminal.print(text),
            Findings::Aside | Findings::Reason => terminal.insist(text),
        };
        if findings == Findings::Reason && compilation.checked.is_some() {
            return Ok(());
        }
        let (found, sources) = (&compilation.diagnostics, &compilation.sources);
        match self {
            Format::Human => {
                let options = terminal.render_options();
                for diagnostic in found {
                    say(report::full(diagnostic, sources, options) + "\n\n")?;
                }
            }
            Format::Short => {
                for diagnostic in found {
                    say(report::short(diagnostic, sources) + "\n")?;
                }
            }
            Format::Json => say(reports::json(compilation, answer))?,
            Format::Sarif => say(duologue_reports::sarif(found, sources))?,
            Format::Junit => say(duologue_reports::junit(found, sources))?,
            Format::Github => say(duologue_reports::github_annotations(found, sources))?,
        }
        Ok(())
    }
}

/// The options for generated code that its public names depend on.
#[derive(Debug, Args)]
#[command(next_help_heading = "Generated code")]
pub struct Names {
    /// Scala: the package for files without `package` [default: protocols]
    #[arg(long, value_name = "NAME")]
    scala_package: Option<String>,
    /// C: add this prefix to every name
    #[arg(long, value_name = "PREFIX")]
    c_prefix: Option<String>,
}

/// The options for generated code.
#[derive(Debug, Args)]
#[command(next_help_heading = "Generated code")]
pub struct Choices {
    #[command(flatten)]
    names: Names,
    /// Rust: the module that defines types that no protocol file declares, such as crate::host
    #[arg(long, value_name = "PATH")]
    rust_host: Option<String>,
    /// Rust: also derive these traits, such as serde::Serialize, for every declared struct and enum
    #[arg(long, value_name = "TRAITS", value_parser = |traits: &str| Attribute::derive(".", traits))]
    rust_derive: Vec<Attribute>,
    /// Also generate encoders and fingerprints, for sessions over sockets and, in Rust, in shared memory
    #[arg(long)]
    remote: bool,
    /// Also generate robots, which play one side of a protocol in tests
    #[arg(long)]
    robots: bool,
    /// Scala: generate for this version alone, with its enums and opaque types [default: for 2.13 and 3] [possible values: 3]
    #[arg(long, value_name = "VERSION", value_parser = ["3"])]
    scala_version: Option<String>,
    /// C: also generate what sessions in shared memory need
    #[arg(long)]
    c_shm: bool,
    /// C: the buffer size of a session whose protocol has unbounded runs [default: 65536, or 8192 on 32-bit targets]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(..=1 << 30))]
    c_ring: Option<u32>,
    /// C: store text, bytes and lists that have a bound in their message, so that they need no allocator
    #[arg(long)]
    c_inline_bounds: bool,
    /// C: also generate endpoints in any state and a dispatcher with callbacks, for event loops
    #[arg(long)]
    c_events: bool,
}

impl From<Names> for Options {
    fn from(names: Names) -> Options {
        let mut options = Options::default();
        options.c.prefix = names.c_prefix;
        options.scala.package = names.scala_package;
        options
    }
}

impl From<Choices> for Options {
    fn from(choices: Choices) -> Options {
        let mut options = Options::from(choices.names);
        options.rust.host = choices.rust_host;
        options.rust.attributes = choices.rust_derive;
        options.c.shm = choices.c_shm;
        options.c.ring = choices.c_ring;
        options.c.inline_bounds = choices.c_inline_bounds;
        options.c.events = choices.c_events;
        options.scala.version = match choices.scala_version {
            Some(_) => ScalaVersion::Three,
            None => ScalaVersion::Cross,
        };
        options.remote = choices.remote;
        options.robots = choices.robots;
        options
    }
}
