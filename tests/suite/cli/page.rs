//! `docs/cli.md` is what `--help` prints, as tables.

use crate::support::is_current;
use crate::support::program::{Scratch, run};
use std::collections::BTreeSet;

const COMMANDS: [&str; 22] = [
    "",
    "check",
    "gen",
    "fmt",
    "explain",
    "dual",
    "graph",
    "doc",
    "breaking",
    "fingerprint",
    "model",
    "play",
    "talk",
    "attack",
    "trace",
    "top",
    "robots",
    "robots report",
    "robots bytes",
    "lsp",
    "completions",
    "man",
];

const HEAD: &str = "# The command line

This page is what `--help` prints; a test compares the two. An option that several commands have is described at the first of them.
";

/// Whether the line is the first one of an entry: of an option, an argument, a command or an exit code.
fn begins(line: &str, title: &str) -> bool {
    let text = line.trim_start();
    match line.len() - text.len() {
        2 if title == "Exit codes" => text.starts_with(|first: char| first.is_ascii_digit()),
        2 => true,
        6 => text.starts_with("--"),
        _ => false,
    }
}

/// The entries below a title, each with its description.
fn entries(title: &str, lines: &[&str]) -> Vec<(String, String)> {
    let mut entries: Vec<(String, String)> = Vec::new();
    for line in lines {
        if begins(line, title) {
            let (name, text) = (line.trim().split_once("  ")).unwrap_or((line.trim(), ""));
            entries.push((name.to_owned(), text.trim().to_owned()));
        } else {
            let (_, text) = entries.last_mut().expect("an entry was begun");
            *text = format!("{text} {}", line.trim()).trim().to_owned();
        }
    }
    entries
}

/// What `-h` prints after the usage: a row for each entry, except for options that `shown` has, which are named at the end.
fn table(help: &str, shown: &mut BTreeSet<(String, String)>) -> String {
    let mut rows = String::new();
    let mut known = Vec::new();
    for paragraph in help.split("\n\n") {
        let lines: Vec<&str> = paragraph.lines().collect();
        let (title, lines) = lines.split_first().expect("a paragraph has lines");
        let title = title.trim_end_matches(':');
        let mut group = String::new();
        for (name, text) in entries(title, lines) {
            let is_option = name.starts_with('-');
            if is_option && !shown.insert((name.clone(), text.clone())) {
                let long = name.split(' ').find(|word| word.starts_with("--"));
                known.push(format!("`{}`", long.expect("each option has a long name")));
                continue;
            }
            let [name, text] = [name, text].map(|text| text.replace('|', "\\|"));
            group += &format!("| `{name}` | {text} |\n");
        }
        if !group.is_empty() && !["Arguments", "Commands", "Options"].contains(&title) {
            rows += &format!("| *{title}* | |\n");
        }
        rows += &group;
    }
    if !known.is_empty() {
        rows += &format!("| *as above* | {} |\n", known.join(" "));
    }
    format!("| | |\n| --- | --- |\n{rows}")
}

/// The examples, each on a line with its description as a comment.
fn examples(lines: &str) -> String {
    let mut examples: Vec<(&str, String)> = Vec::new();
    for line in lines.lines() {
        let text = line.trim();
        // A word alone is the rest of a description.
        if line.starts_with("   ") || !text.contains(' ') {
            let (_, description) = examples.last_mut().expect("an example was begun");
            *description = format!("{description} {text}").trim().to_owned();
        } else {
            let (command, description) = text.split_once("  ").unwrap_or((text, ""));
            examples.push((command, description.trim().to_owned()));
        }
    }
    let line = |(command, description): &(&str, String)| match description.is_empty() {
        true => format!("{command}\n"),
        false => format!("{command}  # {description}\n"),
    };
    examples.iter().map(line).collect()
}

#[test]
fn the_page_of_the_command_line_is_what_help_prints() {
    let scratch = Scratch::new("cli-page");
    let mut page = HEAD.to_owned();
    let mut shown = BTreeSet::new();
    for command in COMMANDS {
        let help = |option: &str| {
            let output = run(scratch.duologue(&format!("{command} {option}")), b"");
            let text = String::from_utf8(output.stdout).expect("help is UTF-8");
            let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
            lines.join("\n")
        };
        // The long form has all of the description, and needs three lines for each option.
        let (long, short) = (help("--help"), help("-h"));
        let (about, _) = long.split_once("\nUsage: ").expect("it shows the usage");
        let (_, rest) = short.split_once("\nUsage: ").expect("it shows the usage");
        let (usage, rest) = rest.split_once("\n\n").unwrap_or((rest, ""));
        let (about, lines) = about.split_once("\nExamples:\n").unwrap_or((about, ""));
        page += &format!(
            "\n## {}\n\n{}\n",
            format!("duologue {command}").trim(),
            about.trim()
        );
        if !lines.is_empty() {
            page += &format!("\n```sh\n{}```\n", examples(lines.trim_end()));
        }
        let usage: Vec<&str> = usage.split_whitespace().collect();
        page += &format!("\nUsage: `{}`\n", usage.join(" "));
        let rows = table(rest, &mut shown);
        if rows.lines().count() > 3 {
            page += &format!("\n{rows}");
        }
    }
    is_current("docs/cli.md", &page);
}
