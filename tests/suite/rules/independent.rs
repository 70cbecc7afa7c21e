//! Two mistakes in one file: both are reported.

use super::{fixtures, one};
use crate::support::repository;
use duologue::check::RULES;
use duologue::compile::Compilation;
use duologue::protocol::Builtin;
use std::collections::BTreeSet;

/// A fixture that is one file without imports, and the lines on which its rule is broken.
struct Fixture {
    rule: &'static str,
    name: String,
    text: String,
    names: BTreeSet<String>,
    found: BTreeSet<(usize, &'static str)>,
}

fn found(compilation: &Compilation) -> BTreeSet<(usize, &'static str)> {
    let found = compilation.diagnostics.iter().map(|found| {
        let span = found.primary.span;
        let source = compilation.sources.get(span.source);
        (source.position(span.start as usize).line, found.rule)
    });
    found.collect()
}

/// The names that a file declares outside of protocols.
fn declared(compilation: &Compilation) -> BTreeSet<String> {
    let program = &compilation.program;
    let types = program.types.iter();
    let types = types.filter(|ty| ty.is_declared);
    let protocols = program.protocols.iter().map(|protocol| &protocol.name);
    let instances = program.instances.iter().map(|instance| &instance.name);
    let bounds = program.bounds.iter().map(|bound| &bound.name);
    let names = types.map(|ty| &ty.name).chain(protocols);
    let names = names.chain(instances).chain(bounds);
    names.map(|name| name.text().to_owned()).collect()
}

/// Whether two fixtures can be in one file: the second does not declare what the first lacks, and if the names are the mistake, they stay.
fn fit(first: &Fixture, second: &Fixture) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|letter| !is_word(letter));
        words.map(str::to_owned).collect()
    };
    let lacks = |one: &Fixture, name: &String| !one.names.contains(name);
    let taken = words(&first.text);
    let mut met = second.names.iter().filter(|name| taken.contains(*name));
    let is_about_names = ["target-clash", "clashing-names"].contains(&second.rule);
    let is_renamed = words(&second.text)
        .iter()
        .any(|word| first.names.contains(word));
    !(met.any(|name| lacks(first, name)) || is_about_names && is_renamed)
}

/// The text with other names for those that another text declares too.
fn renamed(text: &str, taken: &BTreeSet<String>) -> String {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_word) {
        let end = rest[at..].find(|letter| !is_word(letter));
        let end = end.map_or(rest.len(), |length| at + length);
        result += &rest[..end];
        if taken.contains(&rest[at..end]) {
            result += "_too";
        }
        rest = &rest[end..];
    }
    result + rest
}

/// What one finding may hide of a second one in another declaration, with the reason.
const HIDDEN: &[(&str, &[&str], &str)] = &[
    (
        "syntax",
        &["syntax", "misplaced-documentation"],
        "the parser goes on at the next declaration that it recognizes",
    ),
    (
        "syntax",
        &[
            "undeclared-type",
            "unknown-state",
            "target-clash",
            "unused-suppression",
            "unused-declaration",
            "unusable-acceptance",
        ],
        "what cannot be read may have declared or used the name",
    ),
    (
        "duplicate-name, type-argument-count, unknown-bound, unknown-protocol, unknown-side, unknown-state, empty-protocol, \
         unresolved-import, unusable-limit",
        &["unused-declaration", "unusable-acceptance"],
        "a name may be used, and mean something else, where another one could not be resolved",
    ),
    (
        "missing-direction, recursive-type, expanding-recursion, clashing-names",
        &[
            "target-clash",
            "unused-suppression",
            "clashing-names",
            "unused-declaration",
        ],
        "the targets cannot spell the names",
    ),
    (
        "missing-direction",
        &["unusable-acceptance"],
        "a type may contain an endpoint of a protocol that is not known",
    ),
    (
        "duplicate-name",
        &["target-clash"],
        "both names are spelled alike in every target",
    ),
    (
        "undeclared-type",
        &["undeclared-type"],
        "a name that is not declared is reported once",
    ),
    (
        "recursive-type, expanding-recursion",
        &[
            "deep-type",
            "unusable-limit",
            "expanding-recursion",
            "not-dual",
            "unusable-acceptance",
        ],
        "types of infinite size have no depth, no limits and no duals",
    ),
];

fn may_hide(first: &str, second: &str) -> bool {
    let of = |rules: &str, rule: &str| rules.split(", ").any(|known| known == rule);
    let mut reasons = HIDDEN.iter();
    reasons.any(|(hiding, hidden, _)| of(hiding, first) && hidden.contains(&second))
}

/// Each fixture that is one file without a head, and does not take the name of a built-in type or leave a comment open.
fn single_files() -> Vec<Fixture> {
    let mut all = Vec::new();
    for rule in RULES {
        for (case, texts, inputs) in fixtures(&repository().join("tests/fail").join(rule.name)) {
            let Ok(text) = String::from_utf8(texts.bytes(&inputs[0]).to_vec()) else {
                continue;
            };
            let is_alone = texts.names().len() == 1;
            let heads = ["import ", "package ", "//!"];
            let has_head = heads.iter().any(|head| text.contains(head));
            let compilation = one(&text);
            let names = declared(&compilation);
            let is_own = |name: &String| Builtin::named(name).is_none();
            if is_alone && !has_head && case != "unclosed_comment" && names.iter().all(is_own) {
                all.push(Fixture {
                    rule: rule.name,
                    name: format!("{}/{case}", rule.name),
                    names,
                    found: found(&compilation)
                        .into_iter()
                        .filter(|(_, found)| *found == rule.name)
                        .collect(),
                    text,
                });
            }
        }
    }
    all
}

/// One in sixteen pairs of fixtures, every fixture among them.
#[test]
fn each_of_two_independent_mistakes_is_reported() {
    both_are_reported(16);
}

#[test]
#[ignore = "nightly: syntax"]
fn each_of_all_independent_mistakes_is_reported() {
    both_are_reported(1);
}

/// Tries each pair of fixtures whose numbers have a sum that `step` divides.
fn both_are_reported(step: usize) {
    let all = single_files();
    assert!(all.len() > 100, "only {} fixtures", all.len());
    let mut hidden = Vec::new();
    for (number, first) in all.iter().enumerate() {
        for (other, second) in all.iter().enumerate() {
            if !(number + other).is_multiple_of(step) || !fit(first, second) {
                continue;
            }
            let text = first.text.clone() + &renamed(&second.text, &first.names);
            let together = found(&one(&text));
            let lines = first.text.lines().count();
            let below = second
                .found
                .iter()
                .map(|(line, rule)| (line + lines, *rule));
            let pairs = [(first.rule, second.rule), (second.rule, first.rule)];
            let is_hidden =
                |(_, rule): &(usize, &str)| pairs.iter().any(|(by, _)| may_hide(by, rule));
            let wanted = first.found.iter().copied().chain(below);
            let missing: Vec<_> = wanted
                .filter(|wanted| !together.contains(wanted) && !is_hidden(wanted))
                .collect();
            if !missing.is_empty() {
                hidden.push(format!("{} with {}: {missing:?}", first.name, second.name));
            }
        }
    }
    assert!(
        hidden.is_empty(),
        "{} pairs:\n{}",
        hidden.len(),
        hidden.join("\n")
    );
}
