//! Findings as SARIF 2.1.0, for GitHub code scanning and other tools.

use super::record::{LabeledRange, Range, Record, Repair, records};
use duologue::check::{Rule, every_rule};
use duologue::diagnostic::{Diagnostic, Level};
use duologue::source::Sources;
use serde_json::{Value, json};

/// The findings as SARIF; ends with a line break. It describes every rule, whether it was broken or not. A dialogue becomes a
/// code flow, which viewers show step by step.
#[must_use]
pub fn sarif(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let records = records(diagnostics, sources);
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "duologue",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": every_rule().map(descriptor).collect::<Value>(),
            } },
            "results": records.iter().map(result).collect::<Value>(),
            "columnKind": "unicodeCodePoints",
        }],
    });
    format!("{document:#}\n")
}

fn descriptor(rule: &Rule) -> Value {
    let level = match rule.default {
        None | Some(Level::Deny) => "error",
        Some(Level::Warn) => "warning",
        Some(Level::Allow) => "none",
    };
    json!({
        "id": rule.name,
        "name": rule.name,
        "shortDescription": { "text": rule.summary },
        "help": { "text": rule.page, "markdown": rule.page },
        "defaultConfiguration": { "level": level },
    })
}

fn result(record: &Record) -> Value {
    let titles = record.fixes.iter().map(|fix| &fix.title);
    let words = [&record.message].into_iter().chain(&record.notes);
    let words: Vec<&str> = words.chain(titles).map(String::as_str).collect();
    let mut result = json!({
        "ruleId": record.rule,
        "level": record.level,
        "message": { "text": words.join("\n") },
        "locations": [location(&record.primary)],
        "partialFingerprints": { "duologueFingerprint/v1": record.fingerprint },
    });
    if let Some(index) = every_rule().position(|rule| rule.name == record.rule) {
        result["ruleIndex"] = index.into();
    }
    if !record.related.is_empty() {
        result["relatedLocations"] = record.related.iter().map(location).collect();
    }
    let fixes = record.fixes.iter().filter(|fix| !fix.edits.is_empty());
    let fixes: Vec<Value> = fixes.map(fix).collect();
    if !fixes.is_empty() {
        result["fixes"] = fixes.into();
    }
    if !record.dialogue.is_empty() {
        let steps = record.dialogue.iter();
        let steps: Value = steps
            .map(|step| json!({ "location": location(step) }))
            .collect();
        result["codeFlows"] = json!([{ "threadFlows": [{ "locations": steps }] }]);
    }
    result
}

/// A path as a relative URI reference: characters that a URI does not allow are escaped.
fn artifact(path: &str) -> Value {
    let mut uri = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri += &format!("%{byte:02X}");
        }
    }
    json!({ "uri": uri })
}

fn location(place: &LabeledRange) -> Value {
    let mut location = json!({});
    if let Some(file) = &place.file {
        location["physicalLocation"] = json!({ "artifactLocation": artifact(file) });
        if !place.is_old {
            location["physicalLocation"]["region"] = region(&place.range);
        }
    }
    if !place.label.is_empty() {
        location["message"] = json!({ "text": place.label });
    }
    location
}

fn region(range: &Range) -> Value {
    json!({
        "startLine": range.start.line,
        "startColumn": range.start.column,
        "endLine": range.end.line,
        "endColumn": range.end.column,
    })
}

fn fix(repair: &Repair) -> Value {
    let changes = repair.edits.iter().map(|edit| {
        json!({
            "artifactLocation": artifact(edit.file.as_ref().unwrap_or(&edit.path)),
            "replacements": [{
                "deletedRegion": region(&edit.range),
                "insertedContent": { "text": edit.text },
            }],
        })
    });
    json!({
        "description": { "text": repair.title },
        "artifactChanges": changes.collect::<Value>(),
    })
}
