//! `duologue explain`: the page of a rule.

use super::levels::unknown;
use super::terminal::{GOOD, QUIET, Terminal, styled};
use super::{Failure, Outcome, TEMPLATE};
use clap::Args;
use duologue::check::rule;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue explain stuck-state        what the rule requires, a wrong protocol and a right one
  duologue rules                      the names of all rules
";

/// The page for errors in a configuration, which is not a rule for protocols.
const CONFIGURATION: &str = include_str!("../../docs/configuration.md");

/// The page for findings of plugins.
const PLUGINS: &str = include_str!("../../docs/plugins.md");

/// Explain a rule: why it exists, what breaks it, and how to satisfy it.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Explain {
    /// The rule's name, as shown in brackets in a finding
    rule: String,
}

impl Explain {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let page = match rule(&self.rule) {
            Some(rule) => rule.page,
            None if self.rule == "configuration" => CONFIGURATION,
            None if self.rule == "plugin" => PLUGINS,
            None => return Err(Failure::Usage(unknown(&self.rule))),
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
