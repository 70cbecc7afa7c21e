//! A finding as data, shared by all machine-readable reports.

use duologue::diagnostic::{Diagnostic, Label, Level};
use duologue::source::{Sources, Span};
use serde::Serialize;
use std::collections::HashMap;

/// A finding with its locations resolved. Lines and columns count from 1, columns are in characters, and ends are exclusive.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Record {
    /// The rule's name.
    pub rule: &'static str,
    /// `error` or `warning`.
    pub level: &'static str,
    /// One sentence.
    pub message: String,
    /// The location to repair, with its label.
    #[serde(flatten)]
    pub primary: LabeledRange,
    /// The other locations involved.
    pub related: Vec<LabeledRange>,
    /// Reasons and background.
    pub notes: Vec<String>,
    /// Repairs, including those without edits.
    pub fixes: Vec<Repair>,
    /// The shortest dialogue that shows the finding.
    pub dialogue: Vec<LabeledRange>,
    /// Equal for the same finding in two versions of a text, even if lines have moved: derived from rule, path and message.
    pub fingerprint: String,
}

/// A range of a text with a label.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct LabeledRange {
    /// The file.
    pub path: String,
    /// The file as other programs know it, if there is one.
    #[serde(skip)]
    pub file: Option<String>,
    /// Whether the range is in an older version of the file.
    #[serde(skip)]
    pub is_old: bool,
    /// The range.
    pub range: Range,
    /// The label; may be empty.
    pub label: String,
}

/// A range of a text.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Range {
    /// The first character.
    pub start: Point,
    /// The character after the last.
    pub end: Point,
}

/// A position in a text.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Point {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// In bytes from the start of the file.
    pub byte: usize,
}

/// A repair.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Repair {
    /// What to do, in words.
    pub title: String,
    /// `safe` if the edits keep the meaning, `unsafe` if a person should review them, `manual` if there are no edits.
    pub applicability: &'static str,
    /// The edits.
    pub edits: Vec<Replacement>,
}

/// A new text for a range.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Replacement {
    /// The file.
    pub path: String,
    /// The file as other programs know it, if there is one.
    #[serde(skip)]
    pub file: Option<String>,
    /// The range that is replaced.
    pub range: Range,
    /// The new text.
    pub text: String,
}

/// The findings that are shown, as data, in their order.
#[must_use]
pub fn records(diagnostics: &[Diagnostic], sources: &Sources) -> Vec<Record> {
    let mut met: HashMap<(&str, String, &str), usize> = HashMap::new();
    let shown = diagnostics
        .iter()
        .filter(|found| found.level != Level::Allow);
    let records = shown.map(|found| {
        let place = |label: &Label| place(label, sources);
        let source = sources.get(found.primary.span.source);
        let path = source.file().unwrap_or(source.name()).to_owned();
        let count = met
            .entry((found.rule, path.clone(), &found.message))
            .or_default();
        let fingerprint = fingerprint(found.rule, &path, &found.message, *count);
        *count += 1;
        Record {
            rule: found.rule,
            level: level(found.level),
            message: found.message.clone(),
            primary: place(&found.primary),
            related: found.related.iter().map(place).collect(),
            notes: found.notes.clone(),
            fixes: found
                .helps
                .iter()
                .map(|help| repair(help, sources))
                .collect(),
            dialogue: found.dialogue.iter().map(place).collect(),
            fingerprint,
        }
    });
    records.collect()
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Deny => "error",
        Level::Warn | Level::Allow => "warning",
    }
}

fn fingerprint(rule: &str, path: &str, message: &str, count: usize) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [rule, path, message, &count.to_string()] {
        hasher.update(part.as_bytes());
        hasher.update(&[0]);
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

fn place(label: &Label, sources: &Sources) -> LabeledRange {
    let source = sources.get(label.span.source);
    LabeledRange {
        path: source.name().to_owned(),
        file: source.file().map(str::to_owned),
        is_old: source.is_old(),
        range: range(label.span, sources),
        label: label.text.clone(),
    }
}

/// The range of a span.
pub fn range(span: Span, sources: &Sources) -> Range {
    let point = |byte: u32| {
        let byte = byte as usize;
        let source = sources.get(span.source);
        let position = source.position(byte);
        Point {
            line: position.line,
            column: position.column,
            byte: source.byte_in_file(byte),
        }
    };
    Range {
        start: point(span.start),
        end: point(span.end),
    }
}

fn repair(help: &duologue::diagnostic::Help, sources: &Sources) -> Repair {
    let edits = help.edits.iter().map(|edit| {
        let source = sources.get(edit.span.source);
        Replacement {
            path: source.name().to_owned(),
            file: source.file().map(str::to_owned),
            range: range(edit.span, sources),
            text: edit.text.clone(),
        }
    });
    Repair {
        title: help.text.clone(),
        applicability: match (help.edits.is_empty(), help.is_safe) {
            (true, _) => "manual",
            (false, true) => "safe",
            (false, false) => "unsafe",
        },
        edits: edits.collect(),
    }
}
