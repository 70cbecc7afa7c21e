//! First mistakes of newcomers from other languages and from the literature, and the diagnostics they get.

use crate::rules::fixtures;
use crate::support::repository;
use duologue::report::{RenderOptions, full, summary};

/// Every mistake is found, and its first message says what to write instead.
#[test]
fn first_attempts_get_the_repair() {
    let folder = repository().join("tests/beginners");
    let cases = fixtures(&folder);
    assert!(cases.len() >= 50, "only {} cases", cases.len());
    let mut without_help = Vec::new();
    for (case, texts, inputs) in cases {
        let compilation = texts.compile_some(inputs, &[]);
        let found = &compilation.diagnostics;
        let reports = found
            .iter()
            .map(|found| full(found, &compilation.sources, RenderOptions::default()));
        let mut report = reports.collect::<Vec<_>>().join("\n\n");
        report.push_str("\n\n");
        report += &summary(found, compilation.sources.len());
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(&folder);
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(case.as_str(), report));
        if found.first().is_none_or(|first| first.helps.is_empty()) {
            without_help.push(case);
        }
    }
    assert!(without_help.is_empty(), "no help: {without_help:?}");
}
