//! Arguments that several commands share.

use super::levels::Levels;
use super::reports::{self, Reports};
use super::terminal::Terminal;
use super::{Failure, config, inputs};
use clap::{Args, ValueEnum};
use duologue::compile::{Compilation, Request, compile};
use duologue::files::Disk;
use duologue::relation::Verdict;
use duologue::report;
use duologue::target::Options;
use std::path::PathBuf;

/// Where protocols come from and what is thought of them.
#[derive(Debug, Args)]
pub struct Sources {
    /// Look for imports in this directory too; may be given more than once
    #[arg(short = 'I', long = "import-dir", aliases = ["proto_path", "proto-path", "import-path"], value_name = "DIR")]
    import_dirs: Vec<PathBuf>,
    #[command(flatten)]
    config: config::Choice,
    #[command(flatten)]
    reports: Reports,
    #[command(flatten)]
    levels: Levels,
}

/// How findings look.
#[derive(Debug, Args)]
pub struct Style {
    /// How findings are printed: human, short, json, sarif, junit or github
    #[arg(
        long,
        value_enum,
        default_value = "human",
        hide_possible_values = true,
        value_name = "STYLE"
    )]
    pub format: Format,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// With the lines they are about
    Human,
    /// One per line: path:line:column: level[rule]: message
    Short,
    /// One JSON document
    Json,
    /// One SARIF 2.1.0 document
    Sarif,
    /// One JUnit document
    Junit,
    /// Workflow commands, as GitHub reads annotations
    Github,
}

/// What findings are to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Findings {
    /// Its product.
    Product,
    /// Worth telling along with the product.
    Aside,
    /// Worth telling only if they keep it from its product.
    Reason,
}

/// What a way to check finds out beside findings.
pub trait Answer {
    /// Where versions were compared, the verdict on each protocol, for the reports that have a place for it.
    fn verdicts(&self) -> Option<&[Verdict]> {
        None
    }
}

impl Answer for () {}

impl Sources {
    /// Reads and checks what `paths` name, and prints what was found.
    pub fn compile(
        self,
        paths: &[PathBuf],
        options: Options,
        format: Format,
        findings: Findings,
        terminal: &Terminal,
    ) -> Result<Compilation, Failure> {
        let check = |request: &Request| {
            let compilation = compile(request, &Disk).map_err(|unreadable| {
                let path = unreadable.path.display();
                Failure::Environment(format!("cannot read {path}: {}", unreadable.error))
            })?;
            Ok((compilation, ()))
        };
        let (compilation, ()) =
            self.compile_by(check, paths, options, format, findings, terminal)?;
        Ok(compilation)
    }

    /// As [`Sources::compile`], with the way to check that is given.
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
        let config = self.config.read(paths, terminal)?;
        let defaults = config.levels();
        let import_dirs = [self.import_dirs, config.import_dirs].concat();
        let inputs = inputs::find(paths, &import_dirs)?;
        let request = Request {
            inputs,
            import_dirs,
            defaults,
            levels,
            options,
        };
        let (compilation, answer) = check(&request)?;
        let verdicts = answer.verdicts();
        format.print(&compilation, verdicts, findings, terminal)?;
        self.reports.write(&compilation, verdicts, terminal)?;
        Ok((compilation, answer))
    }
}

impl Format {
    fn print(
        self,
        compilation: &Compilation,
        verdicts: Option<&[Verdict]>,
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
                let look = terminal.look();
                for diagnostic in found {
                    say(report::full(diagnostic, sources, look) + "\n\n")?;
                }
            }
            Format::Short => {
                for diagnostic in found {
                    say(report::short(diagnostic, sources) + "\n")?;
                }
            }
            Format::Json => say(reports::json(compilation, verdicts))?,
            Format::Sarif => say(report::sarif(found, sources))?,
            Format::Junit => say(report::junit(found, sources))?,
            Format::Github => say(report::github_annotations(found, sources))?,
        }
        Ok(())
    }
}

/// What the user can choose about generated code.
#[derive(Debug, Args)]
#[command(next_help_heading = "Generated code")]
pub struct Choices {
    /// Rust: the module that has the types no protocol file declares, such as crate::host
    #[arg(long, value_name = "PATH")]
    rust_host: Option<String>,
    /// Scala: the package for files without `package` [default: protocols]
    #[arg(long, value_name = "NAME")]
    scala_package: Option<String>,
    /// C: put this before every name
    #[arg(long, value_name = "PREFIX")]
    c_prefix: Option<String>,
    /// C: also write, for each protocol, what sessions between processes need
    #[arg(long)]
    c_shm: bool,
    /// C: the size of the buffer of a session whose protocol has runs without bound [default: 65536, on 32 bits 8192]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(..=1 << 30))]
    c_ring: Option<u32>,
}

impl From<Choices> for Options {
    fn from(choices: Choices) -> Options {
        Options {
            rust_host: choices.rust_host,
            scala_package: choices.scala_package,
            c_prefix: choices.c_prefix,
            c_shm: choices.c_shm,
            targets: Vec::new(),
            c_ring: choices.c_ring,
        }
    }
}
