//! `duologue rules`: every error and rule, with the level in force and where it is set.

use crate::args::Shape;
use crate::config::{self, Config};
use crate::levels::Levels;
use crate::terminal::{ERROR, NAME, QUIET, Terminal, WARNING, styled};
use crate::vocabulary::TEMPLATE;
use clap::Args;
use duologue::check::{Rule, WARNINGS, every_rule};
use duologue::diagnostic::Level;
use duologue_project::Outcome;
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue rules                      all rules, their levels, and where they are set
  duologue rules -D all               the levels that `duologue check -D all` would use
  duologue rules --format json        the same as JSON, for programs
";

/// List all errors and rules, with the level in force and where it is set.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Rules {
    /// The files or directories whose configuration is used
    #[arg(default_value = ".", hide_default_value = true)]
    paths: Vec<PathBuf>,
    /// How the list is printed: human or json
    #[arg(
        long,
        value_enum,
        default_value = "human",
        hide_possible_values = true,
        value_name = "STYLE"
    )]
    format: Shape,
    #[command(flatten)]
    config: config::Choice,
    #[command(flatten)]
    levels: Levels,
}

/// A rule with its level in force.
#[derive(Serialize)]
struct Line {
    rule: &'static str,
    level: &'static str,
    set: String,
    summary: &'static str,
}

impl Rules {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let levels = self.levels.checked()?;
        let config = self.config.read(&self.paths, terminal)?;
        let lines: Vec<Line> = every_rule()
            .map(|rule| line(rule, &config, &levels))
            .collect();
        let text = match self.format {
            Shape::Json => {
                serde_json::to_string_pretty(&lines).expect("names can be written as JSON") + "\n"
            }
            Shape::Human => table(&lines),
        };
        terminal.print(text)?;
        Ok(())
    }
}

fn line(rule: &'static Rule, config: &Config, levels: &[(String, Level)]) -> Line {
    let named = |name: &str| name == rule.name || name == "all";
    let by_project = config.levels.iter().rev().find(|(name, ..)| named(name));
    let (mut level, mut set) = match (rule.default, by_project) {
        (None, _) => (None, "always".to_owned()),
        (_, Some((_, level, line))) => (Some(*level), format!("{}:{line}", config.path)),
        (default, None) => (default, "default".to_owned()),
    };
    for (name, by_run) in levels {
        let is_meant = named(name) || name == WARNINGS && level == Some(Level::Warn);
        if level.is_some() && is_meant {
            (level, set) = (Some(*by_run), "command line".to_owned());
        }
    }
    Line {
        rule: rule.name,
        level: match level {
            None => "error",
            Some(Level::Allow) => "allow",
            Some(Level::Warn) => "warn",
            Some(Level::Deny) => "deny",
        },
        set,
        summary: rule.summary,
    }
}

fn table(lines: &[Line]) -> String {
    let name_width = lines.iter().map(|line| line.rule.len()).max().unwrap_or(0);
    let set_width = lines.iter().map(|line| line.set.len()).max().unwrap_or(0);
    let mut table = String::new();
    for line in lines {
        let style = match line.level {
            "allow" => QUIET,
            "warn" => WARNING,
            _ => ERROR,
        };
        let name = styled(NAME, format_args!("{:name_width$}", line.rule));
        let level = styled(style, format_args!("{:5}", line.level));
        let set = styled(QUIET, format_args!("{:set_width$}", line.set));
        table += &format!("{name}  {level}  {set}  {}\n", line.summary);
    }
    table
}
