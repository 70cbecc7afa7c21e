//! `duologue explain`: the rules, the page of a rule, a file or protocol at a glance with what is guaranteed, or a state.

mod guarantee;
mod overview;
mod rules;
mod state;

use crate::args::levels::unknown;
use crate::args::named::Named;
use crate::args::{Shape, Sources, TEMPLATE};
use crate::terminal::{GOOD, QUIET, Terminal, styled};
use clap::Args;
use duologue::check::rule;
use duologue::files::has_protocol_extension;
use duologue::pages;
use duologue_project::{Failure, Outcome};
use std::path::PathBuf;

const EXAMPLES: &str = "  duologue explain                    all rules, their levels, and where these are set
  duologue explain -D all             the levels that `duologue check -D all` would use
  duologue explain stuck-state        what the rule requires, a wrong protocol and a right one
  duologue explain bank.proto         a file: what it declares, its protocols with their states
  duologue explain bank.proto#bank > bank.md
                                      a protocol, and what makes sure of each guarantee, as a page
  duologue explain bank.proto#bank/connected
                                      a state: the ways here and out, what each side may do, and what breaks without it
";

/// The page for errors in a configuration, which is not a rule for protocols.
const CONFIGURATION: &str = pages::CONFIGURATION;

/// The page for findings of plugins.
const PLUGINS: &str = pages::PLUGINS;

/// The page for findings in logs of sessions.
const TRACING: &str = pages::TRACING;

/// The names of findings in logs of sessions.
const TRACES: [&str; 5] = [
    "trace",
    "trace-channel",
    "trace-line",
    "trace-message",
    "trace-unfinished",
];

/// Explain a rule, a file, a protocol with what is guaranteed, or a state
///
/// Without a topic: all errors and rules, with the level in force and where it is set. Of a rule: why it exists, what breaks it, and how to
/// satisfy it. Of a file: what it declares, and each protocol with its states. Of a protocol: also what is guaranteed, for each language: by the
/// checker, the compiler, the runtime or nobody. Of a state: the shortest ways from the start and to the end, what each side may do, what that is called in generated code, and what breaks if
/// the state is removed.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Explain {
    /// A rule's name, as shown in brackets in a finding; a protocol file, or - for standard input; FILE#PROTOCOL, or
    /// FILE#PROTOCOL/STATE
    topic: Option<PathBuf>,
    /// How the rules, the guarantees or a state are printed: human or json
    #[arg(long, default_value = "human", value_name = "STYLE")]
    format: Shape,
    #[command(flatten)]
    sources: Sources,
}

impl Explain {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let Some(topic) = self.topic else {
            return rules::run(self.format, self.sources, terminal);
        };
        let name = topic.to_string_lossy();
        let page = match rule(&name) {
            Some(rule) => rule.page,
            None if name == "configuration" => CONFIGURATION,
            None if name == "plugin" => PLUGINS,
            None if TRACES.contains(&&*name) => TRACING,
            None if name == "-" || name.contains('#') || has_protocol_extension(&topic) => {
                let mut named = Named::parse(&topic);
                let (shape, sources) = (self.format, self.sources);
                return match named.take_state() {
                    Some(state) => state::run(&named, &state, shape, sources, terminal),
                    None => overview::run(&named, shape, sources, terminal),
                };
            }
            None => return Err(Failure::Usage(unknown(&name))),
        };
        let page: String = page.lines().map(shown).collect();
        terminal.print(page)
    }
}

/// A line of the page, which is Markdown, with headings and fences styled.
fn shown(line: &str) -> String {
    let style = match line {
        line if line.starts_with('#') => GOOD,
        line if line.starts_with("```") => QUIET,
        _ => return format!("{line}\n"),
    };
    styled(style, line) + "\n"
}
