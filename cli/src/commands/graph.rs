//! `duologue graph`: protocols as graphs of their states.

use crate::args::named::{Named, find_state, select};
use crate::args::{Sources, TEMPLATE};
use crate::commands::robots::read;
use crate::terminal::Terminal;
use clap::{Args, ValueEnum};
use duologue::fingerprint::Fingerprint;
use duologue::graph::promela::promela;
use duologue::graph::{Step, diagram};
use duologue::protocol::{Program, Protocol, ProtocolId};
use duologue::relation::View;
use duologue::source;
use duologue_project::{Failure, Outcome};
use duologue_site::picture::{self, Layout, MOST_ARROWS, MOST_STATES, Picture, TooLarge};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "  duologue graph bank.proto#bank --format svg > bank.svg
                                      a picture, for light and dark pages
  duologue graph bank.proto#bank/connected --format svg > connected.svg
                                      a state with the states nearest to it
  duologue graph bank.proto --format svg --coverage coverage.json > bank.svg
                                      messages that no robot has sent are red and dashed
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
    #[arg(long, default_value = "dot", value_name = "LANGUAGE")]
    format: Language,
    /// Mark the messages that robots have neither sent nor received, by a file with their coverage; only with svg
    #[arg(long, value_name = "FILE")]
    coverage: Option<PathBuf>,
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
            bail_usage!("only `--format svg` draws a state with the states nearest to it");
        }
        if self.coverage.is_some() && !matches!(self.format, Language::Svg) {
            bail_usage!("only `--format svg` shows coverage");
        }
        let (checked, sources) = named.compile(self.sources, terminal)?;
        let selected = select(&checked, named.protocol.as_deref())?;
        let whole = match self.format {
            Language::Dot => None,
            Language::Svg => Some("picture"),
            Language::Mermaid => Some("diagram"),
            Language::Promela => Some("model"),
        };
        if let (Some(what), [first, _, ..]) = (whole, &selected[..]) {
            let name = &checked.program().protocol(*first).name;
            let file = named.file.display();
            bail_usage!("a {what} shows one protocol: name it, as in {file}#{name}");
        }
        for id in selected {
            let protocol = checked.program().protocol(id);
            terminal.print(match self.format {
                Language::Svg => {
                    let mut picture = draw(protocol, &sources, state.as_deref())?;
                    if let Some(path) = &self.coverage {
                        let seen = seen(checked.program(), id, path)?;
                        picture.mark_missing(|step| !seen.contains(&step));
                    }
                    picture::svg(&picture, &Layout::of(&picture))
                }
                Language::Dot => diagram::dot(protocol, &sources),
                Language::Mermaid => diagram::mermaid(protocol, &sources),
                Language::Promela => promela(protocol),
            })?;
        }
        Ok(())
    }
}

/// The messages that a coverage of robots has seen of a protocol.
fn seen(program: &Program, id: ProtocolId, path: &Path) -> Result<Vec<Step>, Failure> {
    let protocol = program.protocol(id);
    let name = program.full_name(protocol.file, protocol.name.text());
    let own = || Fingerprint::of(View::of(program, id)).to_string();
    let fingerprint = (!protocol.is_generic()).then(own);
    let mut seen: Option<Vec<Step>> = None;
    read(path, |coverage| {
        if coverage.protocol != name {
            return Ok(());
        }
        if fingerprint
            .as_ref()
            .is_some_and(|own| *own != coverage.fingerprint)
        {
            return Err(format!(
                "this is the coverage of another version of `{name}`"
            ));
        }
        let seen = seen.get_or_insert_default();
        for found in coverage
            .transitions
            .iter()
            .filter(|it| it.sent > 0 || it.received > 0)
        {
            // A state of an instance has its type arguments in its name.
            let state = found.state.split('<').next().unwrap_or_default();
            let states = protocol
                .state_ids()
                .filter(|id| protocol.state(*id).name.text() == state);
            seen.extend(states.flat_map(|state| {
                let messages = protocol.state(state).messages.iter().enumerate();
                let own = messages.filter(|(_, message)| message.name.text() == found.message);
                own.map(move |(message, _)| Step { state, message })
            }));
        }
        Ok(())
    })?;
    let path = path.display();
    seen.ok_or_else(|| environment!("{path}: there is no coverage of `{name}`"))
}

/// A protocol, or a state of it with those nearest to it.
fn draw(
    protocol: &Protocol,
    sources: &source::Sources,
    state: Option<&str>,
) -> Result<Picture, Failure> {
    Ok(match state {
        Some(state) => picture::surroundings(protocol, sources, find_state(protocol, state)?),
        None => picture::whole(protocol, sources).map_err(|TooLarge { states, arrows }| {
            let (name, first) = (&protocol.name, &protocol.start().name);
            let file = sources.get(name.span.source).name();
            usage!(
                "`{name}` has {states} states and {arrows} arrows, and a picture at most {MOST_STATES} and {MOST_ARROWS}; name a state, as in \
                 {file}#{name}/{first}, to draw the states nearest to it, or use `--format dot` and Graphviz"
            )
        })?,
    })
}
