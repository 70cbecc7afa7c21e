//! Findings as one JSON document. Within version 1, fields are only added.

use super::record::{Record, records};
use duologue::diagnostic::{Diagnostic, Level};
use duologue::relation::{Outcome, Verdict};
use duologue::source::Sources;
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a, T> {
    version: u32,
    tool: Tool,
    diagnostics: Vec<Record>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocols: Option<Vec<Protocol<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traces: Option<&'a T>,
    summary: Summary,
}

/// A protocol in two versions.
#[derive(Serialize)]
struct Protocol<'a> {
    name: &'a str,
    verdict: &'static str,
    reason: &'a str,
    /// Why, between processes, neither side may accept the other version, although one may if messages are compared by name.
    wire: Option<&'a str>,
    /// For a protocol that is in both versions, which clients can talk to which servers.
    sound: Option<Clients>,
}

#[derive(Serialize)]
struct Clients {
    old_client: Servers,
    new_client: Servers,
}

#[derive(Serialize)]
struct Servers {
    old_server: bool,
    new_server: bool,
}

impl Protocol<'_> {
    fn of(verdict: &Verdict) -> Protocol<'_> {
        let sound = match verdict.outcome {
            Outcome::Added | Outcome::Removed => None,
            Outcome::Kept {
                old_client,
                new_client,
                ..
            } => Some(Clients {
                old_client: Servers {
                    old_server: true,
                    new_server: old_client,
                },
                new_client: Servers {
                    old_server: new_client,
                    new_server: true,
                },
            }),
        };
        Protocol {
            name: &verdict.name,
            verdict: verdict.outcome.word(),
            reason: &verdict.reason,
            wire: verdict.wire.as_deref(),
            sound,
        }
    }
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
    document::<()>(diagnostics, sources, None, None)
}

/// The findings of a comparison of versions as JSON, with the verdict on each protocol; ends with a line break.
#[must_use]
pub fn json_of_versions(
    diagnostics: &[Diagnostic],
    sources: &Sources,
    verdicts: &[Verdict],
) -> String {
    document::<()>(diagnostics, sources, Some(verdicts), None)
}

/// The findings in logs as JSON, with what the sessions were; ends with a line break.
#[must_use]
pub fn json_of_traces(
    diagnostics: &[Diagnostic],
    sources: &Sources,
    traces: &impl Serialize,
) -> String {
    document(diagnostics, sources, None, Some(traces))
}

fn document<T: Serialize>(
    diagnostics: &[Diagnostic],
    sources: &Sources,
    verdicts: Option<&[Verdict]>,
    traces: Option<&T>,
) -> String {
    let at = |level| {
        diagnostics
            .iter()
            .filter(|found| found.level == level)
            .count()
    };
    let document = Document {
        version: 1,
        tool: Tool {
            name: "duologue",
            version: env!("CARGO_PKG_VERSION"),
        },
        diagnostics: records(diagnostics, sources),
        protocols: verdicts.map(|verdicts| verdicts.iter().map(Protocol::of).collect()),
        traces,
        summary: Summary {
            errors: at(Level::Deny),
            warnings: at(Level::Warn),
            files: sources.len(),
        },
    };
    serde_json::to_string_pretty(&document).expect("names and texts can be written as JSON") + "\n"
}
