//! Every error and rule, with the level in force and where it is set.

use crate::args::config::Config;
use crate::args::{Shape, Sources};
use crate::terminal::{ERROR, NAME, QUIET, Terminal, WARNING, print_json, styled};
use duologue::check::{Rule, WARNINGS, every_rule};
use duologue::diagnostic::Level;
use duologue_project::Outcome;
use serde::Serialize;
use std::path::PathBuf;

/// A rule with its level in force.
#[derive(Serialize)]
struct Line {
    rule: &'static str,
    level: &'static str,
    set: String,
    summary: &'static str,
}

/// Lists them for a run in this directory.
pub fn run(shape: Shape, sources: Sources, terminal: &Terminal) -> Outcome {
    let config = sources.config(&[PathBuf::from(".")], terminal)?;
    let levels = sources.levels()?;
    let lines: Vec<Line> = every_rule()
        .map(|rule| line(rule, &config, &levels))
        .collect();
    match shape {
        Shape::Json => print_json(&lines, terminal),
        Shape::Human => terminal.print(table(&lines)),
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
        level: level.map_or("error", Level::word),
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
