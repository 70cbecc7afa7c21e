//! Findings as a JUnit report: one test case for each file, so that files without findings are listed as checked.

use duologue::diagnostic::{Diagnostic, Level};
use duologue::report::short;
use duologue::source::Sources;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The findings as JUnit XML; ends with a line break.
#[must_use]
pub fn junit(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let mut found: BTreeMap<_, Vec<&Diagnostic>> = BTreeMap::new();
    for diagnostic in diagnostics
        .iter()
        .filter(|found| found.level != Level::Allow)
    {
        let of_source = found.entry(diagnostic.primary.span.source).or_default();
        of_source.push(diagnostic);
    }
    let (mut cases, mut failures) = (String::new(), 0);
    for (id, source) in sources.iter() {
        let found = found.remove(&id).unwrap_or_default();
        let (errors, warnings): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|found| found.level == Level::Deny);
        let lines = |found: &[&Diagnostic]| {
            let lines = found.iter().map(|found| short(found, sources));
            escaped(&lines.collect::<Vec<_>>().join("\n"))
        };
        let mut content = String::new();
        if let Some(first) = errors.first() {
            failures += 1;
            let (message, lines) = (attribute(&first.message), lines(&errors));
            let _ = writeln!(
                content,
                "            <failure message=\"{message}\" type=\"{}\">{lines}</failure>",
                attribute(first.rule)
            );
        }
        if !warnings.is_empty() {
            let lines = lines(&warnings);
            let _ = writeln!(content, "            <system-out>{lines}</system-out>");
        }
        let name = attribute(source.name());
        let _ = match content.as_str() {
            "" => writeln!(
                cases,
                "        <testcase name=\"{name}\" classname=\"duologue\"/>"
            ),
            content => writeln!(
                cases,
                "        <testcase name=\"{name}\" classname=\"duologue\">\n{content}        </testcase>"
            ),
        };
    }
    let tests = sources.iter().count();
    let (failed, none) = (format!("failures=\"{failures}\""), "errors=\"0\"");
    let counts = format!("tests=\"{tests}\" skipped=\"0\"");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"duologue\" {counts} {failed} {none}>\n    \
         <testsuite name=\"duologue check\" {counts} {none} {failed}>\n{cases}    </testsuite>\n</testsuites>\n"
    )
}

/// A text in an element. Characters that XML does not have are left out.
fn escaped(text: &str) -> String {
    let is_in_xml = |letter: &char| !matches!(letter, '\0'..='\u{8}' | '\u{b}'..='\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    let text: String = text.chars().filter(is_in_xml).collect();
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('\r', "&#13;")
}

/// A text in quotation marks, in which parsers replace line breaks and tabs unless they are escaped.
fn attribute(text: &str) -> String {
    let text = escaped(text).replace('"', "&quot;");
    text.replace('\n', "&#10;").replace('\t', "&#9;")
}
