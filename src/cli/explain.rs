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

/// The page of what is wrong with a configuration, which is no rule of protocols.
const CONFIGURATION: &str = include_str!("../../docs/configuration.md");

/// Explain a rule: why it is there, what breaks it, what keeps it.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Explain {
    /// The name in brackets in a finding
    rule: String,
}

impl Explain {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let page = match rule(&self.rule) {
            Some(rule) => rule.page,
            None if self.rule == "configuration" => CONFIGURATION,
            None => return Err(Failure::Usage(unknown(&self.rule))),
        };
        let page: String = page.lines().map(shown).collect();
        terminal.print(page)?;
        Ok(())
    }
}

/// A line of the page, which is Markdown, with its headings and fences toned.
fn shown(line: &str) -> String {
    let style = match line {
        line if line.starts_with('#') => GOOD,
        line if line.starts_with("```") => QUIET,
        _ => return format!("{line}\n"),
    };
    styled(style, line) + "\n"
}
