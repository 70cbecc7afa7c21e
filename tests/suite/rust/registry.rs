//! Without the feature `registry` the runtime has no code for it: the compiler removes what the feature's attribute is on.

use crate::support::repository;
use crate::tidy::{files, relative};
use std::fs;

const FEATURE: &str = "#[cfg(feature = \"registry\")]";

/// What only the feature has, and where it is: there the whole module has the attribute.
const NAMES: &[&str] = &[
    "note_use(",
    "note_observed_use(",
    "Usage",
    "Owner",
    ".used(",
    "run_as(",
];
const MODULES: &[&str] = &[
    "runtime/rust/src/ring/usage.rs",
    "runtime/rust/src/typed/owned.rs",
    "runtime/rust/src/typed/registry/usage.rs",
];

/// The lines of a text without what has the attribute: one item or statement each, up to where its brackets are closed again.
fn without_feature(text: &str) -> Vec<&str> {
    let mut kept = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != FEATURE {
            kept.push(line);
            continue;
        }
        let mut depth = 0;
        for line in lines.by_ref() {
            let count = |of: &[char]| line.matches(of).count();
            depth += count(&['(', '[', '{']);
            depth -= count(&[')', ']', '}']);
            let is_attribute = line.trim_start().starts_with("#[");
            if depth == 0 && !is_attribute && line.ends_with([';', ',', '}']) {
                break;
            }
        }
    }
    kept
}

#[test]
fn without_its_feature_a_registry_has_no_code() {
    assert!(repository().join(MODULES[0]).exists());
    let mut removed = 0;
    for file in files("runtime/rust/src/") {
        let name = relative(&file);
        if MODULES.contains(&name.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&file).expect("it can be read");
        let kept = without_feature(&text);
        removed += text.lines().count() - kept.len();
        for line in kept {
            let code = line.split("//").next().unwrap_or_default();
            let found = NAMES.iter().find(|name| code.contains(**name));
            assert!(found.is_none(), "{name} needs {FEATURE} here: {line}");
        }
    }
    // Uses, hooks and what they call.
    assert!(removed > 60, "{removed} lines are the feature's");
    for module in ["ring/mod.rs", "typed/mod.rs", "typed/registry/mod.rs"] {
        let text = fs::read_to_string(repository().join("runtime/rust/src").join(module));
        let text = text.expect("it can be read");
        let kept = without_feature(&text).join("\n");
        assert!(
            !kept.contains("mod usage;") && !kept.contains("mod owned;"),
            "{module}"
        );
    }
}
