//! Machine-readable reports: their structure, their escaping, and that the exit code does not depend on them.

use crate::support::program::Scratch;
use crate::support::sarif::keeps_to_schema;
use insta::assert_snapshot;
use serde_json::Value;
use std::fs;

/// An error with a second location and a fix, a warning, and a file name that every format has to escape.
const WRONG: &str = "proto! bank {\n    login:send { login(str) -> conected }\n    connected:recv { ok -> ! }\n}\n\
                     proto! twice { a:send { stop -> over } over { } }\nproto! twice { a:send { stop -> ! } }\n";

fn scratch(name: &str) -> Scratch {
    Scratch::with(
        name,
        &[
            ("a, b% 100.proto", WRONG),
            ("good.proto", "proto! good { a:send { stop -> ! } }\n"),
        ],
    )
}

#[test]
fn several_reports_in_addition_to_the_text() {
    let scratch = scratch("report-several");
    let summary = scratch.path("summary.md");
    let mut command = scratch.duologue(
        "check . --format short --report sarif=a.sarif --report junit=b.xml --report json=c.json",
    );
    command
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", &summary);
    let output = command.output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_snapshot!("several-stdout", text(&output.stdout));
    assert_snapshot!("several-stderr", text(&output.stderr));
    assert_snapshot!(
        "job-summary",
        fs::read_to_string(summary).expect("a summary was written")
    );
    let read = |name: &str| fs::read_to_string(scratch.path(name)).expect("the report was written");
    assert!(read("b.xml").contains("<testsuites"));
    let found: Value = serde_json::from_str(&read("c.json")).expect("a JSON document");
    let sarif: Value = serde_json::from_str(&read("a.sarif")).expect("a JSON document");
    assert_eq!(
        found["diagnostics"].as_array().map(Vec::len),
        sarif["runs"][0]["results"].as_array().map(Vec::len)
    );
}

#[test]
fn sarif_keeps_to_its_schema() {
    let scratch = scratch("report-sarif");
    let output = scratch
        .duologue("check . --format sarif")
        .output()
        .expect("it runs");
    let document: Value = serde_json::from_slice(&output.stdout).expect("a JSON document");
    assert_eq!(output.status.code(), Some(1));
    keeps_to_schema(&document);
    let run = &document["runs"][0];
    assert_snapshot!(
        "sarif-results",
        serde_json::to_string_pretty(&run["results"]).expect("JSON")
    );
    let rules = run["tool"]["driver"]["rules"]
        .as_array()
        .expect("all rules are described");
    assert_eq!(rules.len(), duologue::check::every_rule().count());
}
