//! Findings as one JSON document. Within version 1 fields are only added.

use super::record::{Record, records};
use crate::diagnostic::{Diagnostic, Level};
use crate::source::Sources;
use serde::Serialize;

#[derive(Serialize)]
struct Document {
    version: u32,
    tool: Tool,
    diagnostics: Vec<Record>,
    summary: Summary,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct Summary {
    errors: usize,
    warnings: usize,
    files: usize,
}

/// The findings as JSON; ends with a line break.
#[must_use]
pub fn json(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let at = |level| {
        diagnostics
            .iter()
            .filter(|found| found.level == level)
            .count()
    };
    let document = Document {
        version: 1,
        tool: Tool {
            name: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
        },
        diagnostics: records(diagnostics, sources),
        summary: Summary {
            errors: at(Level::Deny),
            warnings: at(Level::Warn),
            files: sources.len(),
        },
    };
    serde_json::to_string_pretty(&document).expect("names and texts can be written as JSON") + "\n"
}
