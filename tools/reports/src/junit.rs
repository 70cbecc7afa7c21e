//! Findings as a JUnit report: one test case for each file, so that files without findings are listed as checked.

use duologue::diagnostic::{Diagnostic, Level};
use duologue::report::short;
use duologue::source::Sources;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::collections::BTreeMap;

/// The findings as JUnit XML; ends with a line break.
#[must_use]
pub fn junit(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let mut found: BTreeMap<_, Vec<&Diagnostic>> = BTreeMap::new();
    for diagnostic in diagnostics
        .iter()
        .filter(|found| found.level != Level::Allow)
    {
        found
            .entry(diagnostic.primary.span.source)
            .or_default()
            .push(diagnostic);
    }
    let mut suite = TestSuite::new("duologue check");
    for (id, source) in sources.iter() {
        let found = found.remove(&id).unwrap_or_default();
        let (errors, warnings): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|found| found.level == Level::Deny);
        let lines = |found: &[&Diagnostic]| {
            let lines = found.iter().map(|found| short(found, sources));
            lines.collect::<Vec<_>>().join("\n")
        };
        let status = match errors.first() {
            None => TestCaseStatus::success(),
            Some(first) => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status
                    .set_type(first.rule)
                    .set_message(first.message.clone())
                    .set_description(lines(&errors));
                status
            }
        };
        let mut case = TestCase::new(source.name(), status);
        case.set_classname("duologue");
        if !warnings.is_empty() {
            case.set_system_out(lines(&warnings));
        }
        suite.add_test_case(case);
    }
    let mut report = Report::new("duologue");
    report.add_test_suite(suite);
    report
        .to_string()
        .expect("a report in memory can be written")
}
