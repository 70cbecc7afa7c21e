//! `duologue graph`: a protocol as a picture.

use super::args::{Findings, Format, Sources};
use super::dual::select;
use super::terminal::Terminal;
use super::{Failure, Outcome, TEMPLATE};
use clap::{Args, ValueEnum};
use duologue::diagram;
use duologue::target::Options;
use std::path::PathBuf;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue graph bank.proto | dot -Tsvg > bank.svg
                                      a picture, drawn by Graphviz
  duologue graph bank.proto bank --format mermaid
                                      the same for a Markdown page
";

/// Draw the states of protocols as a graph.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Graph {
    /// A protocol file, or - for standard input
    file: PathBuf,
    /// The protocol; without it, all of the file
    protocol: Option<String>,
    /// In which language the picture is described: dot, for Graphviz, or mermaid, for Markdown
    #[arg(
        long,
        value_enum,
        default_value = "dot",
        hide_possible_values = true,
        value_name = "LANGUAGE"
    )]
    format: Language,
    #[command(flatten)]
    sources: Sources,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Language {
    /// For Graphviz
    Dot,
    /// For Markdown on GitHub and elsewhere
    Mermaid,
}

impl Graph {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let files = [self.file];
        let options = Options::default();
        let compiled =
            self.sources
                .compile(&files, options, Format::Human, Findings::Reason, terminal)?;
        let checked = compiled.checked.as_ref().ok_or(Failure::Findings)?;
        for id in select(checked, self.protocol.as_deref())? {
            let protocol = checked.program().protocol(id);
            terminal.print(match self.format {
                Language::Dot => diagram::dot(protocol, &compiled.sources),
                Language::Mermaid => diagram::mermaid(protocol, &compiled.sources),
            })?;
        }
        Ok(())
    }
}
