//! Findings as one JSON document. Within version 1, fields are only added.

use super::record::records;
use duologue::diagnostic::{Diagnostic, Level};
use duologue::relation::{Outcome, Verdict};
use duologue::source::Sources;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The findings as JSON; ends with a line break.
#[must_use]
pub fn json(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    document(diagnostics, sources, None)
}

/// The findings of a comparison of versions as JSON, with the verdict on each protocol; ends with a line break.
#[must_use]
pub fn json_of_versions(
    diagnostics: &[Diagnostic],
    sources: &Sources,
    verdicts: &[Verdict],
) -> String {
    let protocols: Value = verdicts.iter().map(protocol).map(Value::from).collect();
    document(diagnostics, sources, Some(("protocols", protocols)))
}

/// The findings in logs as JSON, with what the sessions were; ends with a line break.
#[must_use]
pub fn json_of_traces(
    diagnostics: &[Diagnostic],
    sources: &Sources,
    traces: &impl Serialize,
) -> String {
    document(diagnostics, sources, Some(("traces", json!(traces))))
}

fn document(diagnostics: &[Diagnostic], sources: &Sources, more: Option<(&str, Value)>) -> String {
    let at = |level| {
        let found = diagnostics.iter().filter(|found| found.level == level);
        found.count()
    };
    let mut members = object! {
        "version": 1,
        "tool": object! { "name": "duologue", "version": env!("CARGO_PKG_VERSION") },
        "diagnostics": json!(records(diagnostics, sources)),
    };
    members.extend(more.map(|(name, value)| (name.to_owned(), value)));
    let document = object! {
        members;
        "summary": object! {
            "errors": at(Level::Deny),
            "warnings": at(Level::Warn),
            "files": sources.len(),
        },
    };
    serde_json::to_string_pretty(&document).expect("names and texts can be written as JSON") + "\n"
}

/// A protocol in two versions.
fn protocol(verdict: &Verdict) -> Map<String, Value> {
    // For a protocol that is in both versions, which clients can talk to which servers.
    let sound = match verdict.outcome {
        Outcome::Added | Outcome::Removed => None,
        Outcome::Kept {
            old_client,
            new_client,
            ..
        } => Some(object! {
            "old_client": object! { "old_server": true, "new_server": old_client },
            "new_client": object! { "old_server": new_client, "new_server": true },
        }),
    };
    object! {
        "name": verdict.name.as_str(),
        "verdict": verdict.outcome.word(),
        "reason": verdict.reason.as_str(),
        // Why, between processes, neither side may accept the other version, although one may if messages are compared by name.
        "wire": verdict.wire.as_deref(),
        "sound": sound,
    }
}
