//! What an answer contains.

use crate::doc;
use duologue::compile::Compilation;
use duologue::diagnostic::Level;
use duologue::report::{self, RenderOptions};
use serde::Serialize;

/// An answer. Every field that a command does not have is left out.
#[derive(Default, Serialize)]
pub struct Answer {
    /// Whether there are no errors.
    pub ok: bool,
    /// The findings as `--format json` prints them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub report: String,
    /// The findings for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What `graph` or `model` prints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<doc::Playable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<&'static str>,
}

/// A file that was generated or formatted.
#[derive(Serialize)]
pub struct File {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<&'static str>,
    pub path: String,
    pub text: String,
}

/// The findings of a compilation, as JSON and for people.
pub fn findings(compiled: &Compilation) -> Answer {
    let (found, sources) = (&compiled.diagnostics, &compiled.sources);
    let options = RenderOptions::default();
    let shown = found
        .iter()
        .map(|found| report::full(found, sources, options) + "\n\n");
    Answer {
        ok: !found.iter().any(|found| found.level == Level::Deny),
        report: duologue_reports::json(found, sources),
        text: shown.collect(),
        ..Answer::default()
    }
}
