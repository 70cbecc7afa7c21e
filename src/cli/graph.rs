//! `duologue graph`: protocols as graphs of their states.

use super::args::{Findings, Format, Sources};
use super::named::{Named, select};
use super::terminal::Terminal;
use super::{Failure, Outcome, TEMPLATE};
use clap::{Args, ValueEnum};
use duologue::diagram;
use duologue::promela::promela;
use duologue::target::Options;
use std::path::PathBuf;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue graph bank.proto | dot -Tsvg > bank.svg
                                      a picture, drawn by Graphviz
  duologue graph bank.proto bank --format mermaid
                                      the same for a Markdown page
  duologue graph bank.proto bank --format promela > bank.pml
  spin -run bank.pml                  a model, verified by SPIN
";

/// Draw the states of protocols as a graph.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Graph {
    /// A protocol file, or - for standard input; FILE#PROTOCOL names a protocol in it
    file: PathBuf,
    /// The protocol; by default all protocols of the file, which only dot can show together
    protocol: Option<String>,
    /// The language: dot for Graphviz, mermaid for Markdown, or promela, a model for SPIN
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
    /// For the model checker SPIN
    Promela,
}

impl Graph {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let mut named = Named::parse(&self.file);
        named.protocol = self.protocol.or(named.protocol);
        let files = [named.file];
        let options = Options::default();
        let compiled =
            self.sources
                .compile(&files, options, Format::Human, Findings::Reason, terminal)?;
        let checked = compiled.checked.as_ref().ok_or(Failure::Findings)?;
        let selected = select(checked, named.protocol.as_deref())?;
        let whole = match self.format {
            Language::Dot => None,
            Language::Mermaid => Some("diagram"),
            Language::Promela => Some("model"),
        };
        if let (Some(what), [first, _, ..]) = (whole, &selected[..]) {
            let name = &checked.program().protocol(*first).name;
            let file = files[0].display();
            let words = format!("a {what} shows one protocol: name it, as in {file}#{name}");
            return Err(Failure::Usage(words));
        }
        for id in selected {
            let protocol = checked.program().protocol(id);
            terminal.print(match self.format {
                Language::Dot => diagram::dot(protocol, &compiled.sources),
                Language::Mermaid => diagram::mermaid(protocol, &compiled.sources),
                Language::Promela => promela(protocol),
            })?;
        }
        Ok(())
    }
}
