//! `duologue check`: all errors and rules.

use crate::args::{Choices, Findings, Sources, Style, TEMPLATE};
use crate::fix::{self, Fixed};
use crate::output::progress;
use crate::output::protocol_table::overview;
use crate::terminal::{GOOD, Terminal, styled};
use clap::Args;
use duologue::compile::Request;
use duologue::diagnostic::Level;
use duologue::report::{self, counted};
use duologue_project::{Failure, Outcome};
use std::path::PathBuf;

const EXAMPLES: &str =
    "  duologue check                      every .duo and .proto file below this directory
  duologue check bank.proto -v        and show its states and its capacity
  duologue check --fix protocols      and fix what can be fixed without changing the meaning
  duologue check -D all -A never-ends protocols
                                      treat every rule but one as an error
  git show HEAD:bank.proto | duologue check -
                                      a file from standard input
";

/// Check protocols: report every error, and every rule that is broken.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Check {
    /// Files, directories, or - for standard input
    #[arg(default_value = ".", hide_default_value = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// First apply the suggested fixes that do not change the meaning; comments and layout are preserved
    #[arg(long)]
    fix: bool,
    #[command(flatten)]
    style: Style,
    #[command(flatten)]
    sources: Sources,
    #[command(flatten)]
    choices: Choices,
}

impl Check {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let choices = self.choices.into();
        let (format, product) = (self.style.format, Findings::Product);
        let by = |request: &Request| match self.fix {
            true => fix::fix(request),
            false => Ok((progress::check(request, terminal)?, Fixed::default())),
        };
        let sources = self.sources.leaving_out_unreadable();
        let (compiled, fixed) =
            sources.compile_by(by, &self.paths, choices, format, product, terminal)?;
        if fixed.repairs > 0 {
            let problems = counted(fixed.repairs, "problem");
            let files = counted(fixed.files, "file");
            let done = styled(GOOD, "fixed");
            terminal.tell(format_args!("{done}: {problems} in {files}\n"))?;
        }
        let Some(checked) = &compiled.checked else {
            terminal.tell(report::summary(&compiled.diagnostics, compiled.sources.len()) + "\n")?;
            return Err(Failure::Findings);
        };
        if terminal.verbose {
            terminal.tell(overview(checked, usize::MAX, terminal))?;
        }
        if compiled.diagnostics.iter().any(|d| d.level != Level::Allow) {
            terminal.tell(report::summary(&compiled.diagnostics, compiled.sources.len()) + "\n")?;
        } else {
            let protocols = counted(checked.protocols().count(), "protocol");
            let files = counted(compiled.sources.len(), "file");
            let sound = styled(GOOD, "sound");
            terminal.tell(format_args!("{sound}: {protocols} in {files}\n"))?;
        }
        Ok(())
    }
}
