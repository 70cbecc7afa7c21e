//! Findings as annotations of a GitHub workflow run, and as the summary of its job.

use super::record::{LabeledRange, Record, records};
use duologue::diagnostic::Diagnostic;
use duologue::relation::{Outcome, Verdict};
use duologue::source::Sources;
use std::fmt::Write;

/// One workflow command for each finding, the most severe first: GitHub shows only the first ten of a level.
#[must_use]
pub fn annotations(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let mut records = records(diagnostics, sources);
    records.sort_by_key(|record| record.level);
    let mut text = String::new();
    for record in &records {
        let LabeledRange { range, .. } = &record.primary;
        let mut place = String::new();
        if let Some(file) = &record.primary.file {
            place += &format!("file={},", property(file));
            if !record.primary.is_old {
                place += &format!("line={},endLine={},", range.start.line, range.end.line);
                // GitHub does not support columns for a range over several lines: it interprets them as columns of the first
                // line.
                if range.start.line == range.end.line {
                    let [start, end] = [range.start.column, range.end.column];
                    place += &format!("col={start},endColumn={end},");
                }
            }
        }
        let (level, rule) = (record.level, property(record.rule));
        let _ = writeln!(
            text,
            "::{level} {place}title={rule}::{}",
            data(&words(record))
        );
    }
    text
}

/// The workflow command for an error that is about a line of a file.
#[must_use]
#[doc(hidden)]
pub fn annotation(file: &str, line: usize, title: &str, words: &str) -> String {
    let (file, words) = (property(file), data(words));
    format!("::error file={file},line={line},title={title}::{words}\n")
}

/// A Markdown table of all findings, for `$GITHUB_STEP_SUMMARY`; empty if there are none.
#[must_use]
pub fn summary(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let mut records = records(diagnostics, sources);
    if records.is_empty() {
        return String::new();
    }
    records.sort_by_key(|record| record.level);
    let mut text = format!(
        "### Duologue: {}\n\n",
        duologue::report::summary(diagnostics, sources.len())
    );
    text += "| level | rule | where | what |\n| --- | --- | --- | --- |\n";
    for record in &records {
        let start = &record.primary.range.start;
        let _ = writeln!(
            text,
            "| {} | `{}` | {}:{}:{} | {} |",
            record.level,
            record.rule,
            cell(&record.primary.path),
            start.line,
            start.column,
            cell(&record.message),
        );
    }
    text
}

/// A Markdown table of the verdict on each protocol, for `$GITHUB_STEP_SUMMARY`; empty if there are none.
#[must_use]
#[doc(hidden)]
pub fn verdicts(verdicts: &[Verdict]) -> String {
    if verdicts.is_empty() {
        return String::new();
    }
    let mut text = "### Duologue: which side first?\n\n".to_owned();
    text += "| protocol | verdict | old clients, new servers | new clients, old servers | why |\n";
    text += "| --- | --- | --- | --- | --- |\n";
    for verdict in verdicts {
        let [old_client, new_client] = match verdict.outcome {
            Outcome::Added | Outcome::Removed => ["", ""],
            Outcome::Kept {
                old_client,
                new_client,
                ..
            } => [old_client, new_client]
                .map(|is_sound| if is_sound { "sound" } else { "**unsound**" }),
        };
        let mut reason = verdict.reason.clone();
        if let Some(wire) = &verdict.wire {
            let between = format!("between processes neither side may accept the other: {wire}");
            reason = match reason.as_str() {
                "" => between,
                reason => format!("{reason}; {between}"),
            };
        }
        let _ = writeln!(
            text,
            "| `{}` | {} | {old_client} | {new_client} | {} |",
            verdict.name,
            verdict.outcome.words(),
            cell(&reason),
        );
    }
    text + "\n"
}

fn words(record: &Record) -> String {
    let mut words = record.message.clone();
    for note in &record.notes {
        words += "\n";
        words += note;
    }
    for fix in &record.fixes {
        words += "\nhelp: ";
        words += &fix.title;
    }
    words
}

/// Escapes the text of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Escapes a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace(['\r', '\n'], " ")
        .replace('<', "&lt;")
}
