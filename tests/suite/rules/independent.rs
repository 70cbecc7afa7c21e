//! Two mistakes in one file: both are reported.

use super::{fixtures, one};
use crate::support::repository;
use duologue::check::RULES;
use duologue::compile::Compilation;
use duologue::protocol::{Builtin, Definition};
use std::collections::BTreeSet;

/// A fixture that is one file without imports, and what is found in it: the rules, by line.
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
    let types = types.filter(|ty| !matches!(ty.definition, Definition::Undeclared));
    let protocols = program.protocols.iter().map(|protocol| &protocol.name);
    let instances = program.instances.iter().map(|instance| &instance.name);
    let bounds = program.bounds.iter().map(|bound| &bound.name);
    let names = types.map(|ty| &ty.name).chain(protocols);
    let names = names.chain(instances).chain(bounds);
    names.map(|name| name.text().to_owned()).collect()
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
            "target-clash",
            "unused-suppression",
            "unused-declaration",
        ],
        "what cannot be read may have declared or used the name",
    ),
    (
        "duplicate-name, type-argument-count, unknown-bound, unknown-protocol, unknown-side, unknown-state, empty-protocol, \
         unresolved-import",
        &["unused-declaration"],
        "a name may be used where another one could not be resolved",
    ),
    (
        "missing-direction, recursive-type, expanding-recursion, clashing-names",
        &["target-clash", "unused-suppression", "clashing-names"],
        "the targets cannot spell the names",
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
                    found: found(&compilation),
                    text,
                });
            }
        }
    }
    all
}

#[test]
fn each_of_two_independent_mistakes_is_reported() {
    let all = single_files();
    assert!(all.len() > 100, "only {} fixtures", all.len());
    let mut hidden = Vec::new();
    for first in &all {
        for second in &all {
            let taken = first.names.union(&second.names).cloned().collect();
            let text = first.text.clone() + &renamed(&second.text, &taken);
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
            // One finding for each name that is not declared is enough.
            if !missing.is_empty() && first.name != second.name {
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
