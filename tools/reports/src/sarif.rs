//! Findings as SARIF 2.1.0, for GitHub code scanning and other tools.

use super::record::{LabeledRange, Range, Record, Repair, records};
use duologue::check::{Rule, every_rule};
use duologue::diagnostic::{Diagnostic, Level};
use duologue::source::Sources;
use serde_sarif::sarif::{
    ArtifactChange, ArtifactContent, ArtifactLocation, CodeFlow, Fix, Location, Message,
    MultiformatMessageString, PhysicalLocation, Region, Replacement, ReportingConfiguration,
    ReportingDescriptor, Result, ResultLevel, Run, Sarif, ThreadFlow, ThreadFlowLocation, Tool,
    ToolComponent,
};
use std::collections::BTreeMap;

/// The findings as SARIF; ends with a line break. It describes every rule, whether it was broken or not. A dialogue becomes a
/// code flow, which viewers show step by step.
#[must_use]
pub fn sarif(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let driver = ToolComponent::builder()
        .name("duologue")
        .version(env!("CARGO_PKG_VERSION"))
        .semantic_version(env!("CARGO_PKG_VERSION"))
        .rules(every_rule().map(descriptor).collect::<Vec<_>>())
        .build();
    let results = records(diagnostics, sources)
        .iter()
        .map(result)
        .collect::<Vec<_>>();
    let run = Run::builder()
        .tool(Tool::builder().driver(driver).build())
        .results(results)
        .column_kind("unicodeCodePoints")
        .build();
    let document = Sarif::builder()
        .schema("https://json.schemastore.org/sarif-2.1.0.json")
        .version("2.1.0")
        .runs(vec![run])
        .build();
    serde_json::to_string_pretty(&document).expect("names and texts can be written as JSON") + "\n"
}

fn descriptor(rule: &Rule) -> ReportingDescriptor {
    let text = |text: &str| MultiformatMessageString::builder().text(text).build();
    let help = MultiformatMessageString::builder()
        .text(rule.page)
        .markdown(rule.page)
        .build();
    let level = match rule.default {
        None | Some(Level::Deny) => "error",
        Some(Level::Warn) => "warning",
        Some(Level::Allow) => "none",
    };
    ReportingDescriptor::builder()
        .id(rule.name)
        .name(rule.name)
        .short_description(text(rule.summary))
        .help(help)
        .default_configuration(ReportingConfiguration::builder().level(level).build())
        .build()
}

fn result(record: &Record) -> Result {
    let level = if record.level == "error" {
        ResultLevel::Error
    } else {
        ResultLevel::Warning
    };
    let rule = every_rule().position(|rule| rule.name == record.rule);
    let fingerprints = BTreeMap::from([(
        "duologueFingerprint/v1".to_owned(),
        record.fingerprint.clone(),
    )]);
    let fixes = record
        .fixes
        .iter()
        .filter(|fix| !fix.edits.is_empty())
        .map(fix);
    let mut words = record.message.clone();
    for line in record
        .notes
        .iter()
        .chain(record.fixes.iter().map(|fix| &fix.title))
    {
        words += "\n";
        words += line;
    }
    let mut result = Result::builder()
        .rule_id(record.rule)
        .level(level)
        .message(Message::builder().text(words).build())
        .locations(vec![location(&record.primary)])
        .partial_fingerprints(fingerprints)
        .build();
    result.rule_index = rule.and_then(|index| i64::try_from(index).ok());
    result.related_locations = some(record.related.iter().map(location).collect());
    result.fixes = some(fixes.collect());
    if !record.dialogue.is_empty() {
        let steps = record.dialogue.iter().map(|step| {
            ThreadFlowLocation::builder()
                .location(location(step))
                .build()
        });
        let thread = ThreadFlow::builder()
            .locations(steps.collect::<Vec<_>>())
            .build();
        result.code_flows = Some(vec![CodeFlow::builder().thread_flows(vec![thread]).build()]);
    }
    result
}

fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

fn artifact(path: &str) -> ArtifactLocation {
    ArtifactLocation::builder().uri(uri(path)).build()
}

/// A path as a relative URI reference: characters that a URI does not allow are escaped.
fn uri(path: &str) -> String {
    let mut text = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text += &format!("%{byte:02X}");
        }
    }
    text
}

fn location(place: &LabeledRange) -> Location {
    let mut location = Location::builder().build();
    location.physical_location = place.file.as_ref().map(|file| {
        let mut physical = PhysicalLocation::builder()
            .artifact_location(artifact(file))
            .build();
        physical.region = (!place.is_old).then(|| region(&place.range));
        physical
    });
    if !place.label.is_empty() {
        location.message = Some(Message::builder().text(place.label.as_str()).build());
    }
    location
}

fn region(range: &Range) -> Region {
    let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    Region::builder()
        .start_line(number(range.start.line))
        .start_column(number(range.start.column))
        .end_line(number(range.end.line))
        .end_column(number(range.end.column))
        .build()
}

fn fix(repair: &Repair) -> Fix {
    let changes = repair.edits.iter().map(|edit| {
        let replacement = Replacement::builder()
            .deleted_region(region(&edit.range))
            .inserted_content(ArtifactContent::builder().text(edit.text.as_str()).build())
            .build();
        ArtifactChange::builder()
            .artifact_location(artifact(edit.file.as_ref().unwrap_or(&edit.path)))
            .replacements(vec![replacement])
            .build()
    });
    Fix::builder()
        .description(Message::builder().text(repair.title.as_str()).build())
        .artifact_changes(changes.collect::<Vec<_>>())
        .build()
}
