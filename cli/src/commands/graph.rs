//! `duologue graph`: protocols as graphs of their states.

use crate::args::named::{Named, find_state, select};
use crate::args::{Sources, TEMPLATE};
use crate::terminal::Terminal;
use clap::{Args, ValueEnum};
use duologue::graph::diagram;
use duologue::graph::promela::promela;
use duologue::protocol::Protocol;
use duologue::source;
use duologue_project::{Failure, Outcome};
use duologue_site::picture::{self, Layout, MOST_ARROWS, MOST_STATES, TooLarge};
use std::path::PathBuf;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue graph bank.proto#bank --format svg > bank.svg
                                      a picture, for light and dark pages
  duologue graph bank.proto#bank/connected --format svg > connected.svg
                                      a state with the states nearest to it
  duologue graph bank.proto | dot -Tpng > bank.png
                                      the same, drawn by Graphviz
  duologue graph bank.proto bank --format mermaid
                                      the same for a Markdown page
  duologue graph bank.proto bank --format promela > bank.pml
  spin -run bank.pml                  a model, verified by SPIN
";

/// Draw the states of protocols as a graph.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Graph {
    /// A protocol file, or - for standard input; FILE#PROTOCOL names a protocol in it, and FILE#PROTOCOL/STATE a state, which svg
    /// shows with the states nearest to it
    file: PathBuf,
    /// The protocol; by default all protocols of the file, which only dot can show together
    protocol: Option<String>,
    /// The language: svg, a picture, dot for Graphviz, mermaid for Markdown, or promela, a model for SPIN
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
    /// A picture
    Svg,
    /// For Markdown on GitHub and elsewhere
    Mermaid,
    /// For the model checker SPIN
    Promela,
}

impl Graph {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let mut named = Named::parse(&self.file);
        named.protocol = self.protocol.or(named.protocol);
        let state = named.take_state();
        if state.is_some() && !matches!(self.format, Language::Svg) {
            let words = "only `--format svg` draws a state with the states nearest to it";
            return Err(Failure::Usage(words.to_owned()));
        }
        let compiled = named.compile(self.sources, terminal)?;
        let checked = compiled.checked.as_ref().ok_or(Failure::Findings)?;
        let selected = select(checked, named.protocol.as_deref())?;
        let whole = match self.format {
            Language::Dot => None,
            Language::Svg => Some("picture"),
            Language::Mermaid => Some("diagram"),
            Language::Promela => Some("model"),
        };
        if let (Some(what), [first, _, ..]) = (whole, &selected[..]) {
            let name = &checked.program().protocol(*first).name;
            let file = named.file.display();
            let words = format!("a {what} shows one protocol: name it, as in {file}#{name}");
            return Err(Failure::Usage(words));
        }
        for id in selected {
            let protocol = checked.program().protocol(id);
            terminal.print(match self.format {
                Language::Svg => draw(protocol, &compiled.sources, state.as_deref())?,
                Language::Dot => diagram::dot(protocol, &compiled.sources),
                Language::Mermaid => diagram::mermaid(protocol, &compiled.sources),
                Language::Promela => promela(protocol),
            })?;
        }
        Ok(())
    }
}

/// A protocol, or a state of it with those nearest to it, as SVG.
fn draw(
    protocol: &Protocol,
    sources: &source::Sources,
    state: Option<&str>,
) -> Result<String, Failure> {
    let picture = match state {
        Some(state) => picture::surroundings(protocol, sources, find_state(protocol, state)?),
        None => picture::whole(protocol, sources).map_err(|TooLarge { states, arrows }| {
            let (name, first) = (&protocol.name, &protocol.start().name);
            let file = sources.get(name.span.source).name();
            Failure::Usage(format!(
                "`{name}` has {states} states and {arrows} arrows, and a picture at most {MOST_STATES} and {MOST_ARROWS}; name a state, as in \
                 {file}#{name}/{first}, to draw the states nearest to it, or use `--format dot` and Graphviz"
            ))
        })?,
    };
    Ok(picture::svg(&picture, &Layout::of(&picture)))
}
