//! `duologue explain`: the page of a rule, or a state of a protocol.

mod state;

use crate::args::{Shape, Sources};
use crate::levels::unknown;
use crate::terminal::{GOOD, QUIET, Terminal, styled};
use crate::vocabulary::TEMPLATE;
use clap::Args;
use duologue::check::rule;
use duologue::files::has_protocol_extension;
use duologue::pages;
use duologue_project::{Failure, Outcome};
use std::path::Path;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue explain stuck-state        what the rule requires, a wrong protocol and a right one
  duologue rules                      the names of all rules
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

/// Explain a rule, or a state of a protocol
///
/// Of a rule: why it exists, what breaks it, and how to satisfy it. Of a state: the shortest ways from the start and to the end, what
/// each side may do, what that is called in generated code, and what breaks if the state is removed.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Explain {
    /// A rule's name, as shown in brackets in a finding, or FILE#PROTOCOL/STATE
    topic: String,
    /// How a state is explained: human or json
    #[arg(
        long,
        value_enum,
        default_value = "human",
        hide_possible_values = true,
        value_name = "STYLE"
    )]
    format: Shape,
    #[command(flatten)]
    sources: Sources,
}

impl Explain {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        if self.topic.contains('#') {
            return state::run(&self.topic, self.format, self.sources, terminal);
        }
        let page = match rule(&self.topic) {
            Some(rule) => rule.page,
            None if self.topic == "configuration" => CONFIGURATION,
            None if self.topic == "plugin" => PLUGINS,
            None if TRACES.contains(&self.topic.as_str()) => TRACING,
            None if has_protocol_extension(Path::new(&self.topic)) => {
                return Err(Failure::Usage(format!(
                    "to explain a state, write {}#PROTOCOL/STATE",
                    self.topic
                )));
            }
            None => return Err(Failure::Usage(unknown(&self.topic))),
        };
        let page: String = page.lines().map(shown).collect();
        terminal.print(page)?;
        Ok(())
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
