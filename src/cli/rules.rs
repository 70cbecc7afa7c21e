//! `duologue rules`: every error and rule, with the level in force.

use super::levels::Levels;
use super::terminal::{ERROR, NAME, QUIET, Terminal, WARNING, styled};
use super::{Outcome, TEMPLATE};
use clap::Args;
use duologue::check::{RULES, Rule};
use duologue::diagnostic::Level;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue rules                      all rules and their levels
  duologue rules -D all               the levels with which `duologue check -D all` would run
";

/// List all errors and rules, with the level in force.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Rules {
    #[command(flatten)]
    levels: Levels,
}

impl Rules {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let levels = self.levels.checked()?;
        let width = RULES.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
        let mut table = String::new();
        for rule in RULES.iter() {
            let name = styled(NAME, format_args!("{:width$}", rule.name));
            let level = level(rule, &levels);
            table += &format!("{name}  {level}  {}\n", rule.summary);
        }
        terminal.print(table)?;
        Ok(())
    }
}

/// The level in force in a column of its own, with a star if it is not the rule's own.
fn level(rule: &Rule, levels: &[(String, Level)]) -> String {
    let Some(default) = rule.default else {
        return styled(ERROR, format_args!("{:6}", "error"));
    };
    let named = |name: &str| name == rule.name || name == "all";
    let set = levels.iter().rev().find(|(name, _)| named(name));
    let level = set.map_or(default, |(_, level)| *level);
    let star = if level == default { "" } else { "*" };
    let (style, word) = match level {
        Level::Allow => (QUIET, "allow"),
        Level::Warn => (WARNING, "warn"),
        Level::Deny => (ERROR, "deny"),
    };
    styled(style, format_args!("{:6}", format!("{word}{star}")))
}
