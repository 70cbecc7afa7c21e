//! Errors and rules: every fixture in `tests/fail/` fires exactly the rule of its folder.

mod duality;
mod growth;
mod independent;
mod scale;

use crate::support::texts::Texts;
use crate::support::{repository, stem};
use crate::tidy::files;
use duologue::check::{RULES, rule};
use duologue::compile::Compilation;
use duologue::diagnostic::Level;
use duologue::report::{RenderOptions, full, short, summary};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn one(text: &str) -> Compilation {
    Texts::default().with("a.proto", text).compile()
}

fn rules(compilation: &Compilation) -> Vec<&'static str> {
    let found = compilation.diagnostics.iter();
    found.map(|diagnostic| diagnostic.rule).collect()
}

fn short_report(compilation: &Compilation) -> String {
    let found = compilation.diagnostics.iter();
    let lines = found.map(|diagnostic| short(diagnostic, &compilation.sources) + "\n");
    lines.collect()
}

/// The fixtures of a rule: `case.proto`, or a folder `case/` of which `main.proto` is compiled, or all files without one.
pub fn fixtures(rule: &Path) -> Vec<(String, Texts, Vec<PathBuf>)> {
    let entries = fs::read_dir(rule).expect("the folder of a rule can be read");
    let paths: BTreeSet<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    let mut found = Vec::new();
    for path in paths {
        let stem = stem(&path).to_owned();
        if path.is_dir() {
            let mut texts = Texts::default();
            for entry in fs::read_dir(&path).expect("the folder of a case can be read") {
                let file = entry.expect("an entry").path();
                let name = file.file_name().expect("a name").to_string_lossy();
                texts = texts.with(&name, fs::read(&file).expect("a fixture can be read"));
            }
            let main = PathBuf::from("main.proto");
            let inputs = if texts.has(&main) {
                vec![main]
            } else {
                texts.names()
            };
            found.push((stem, texts, inputs));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "proto")
        {
            let name = format!("{stem}.proto");
            let text = fs::read(&path).expect("a fixture can be read");
            let texts = Texts::default().with(&name, text);
            found.push((stem, texts, vec![name.into()]));
        }
    }
    found
}

#[test]
fn each_fixture_fires_the_rule_of_its_folder_and_no_other() {
    let fail = repository().join("tests/fail");
    let mut wrong = Vec::new();
    for rule in RULES {
        let folder = fail.join(rule.name);
        let mut cases = fixtures(&folder);
        assert!(
            !cases.is_empty(),
            "there is no fixture in tests/fail/{}",
            rule.name
        );
        for (case, texts, inputs) in cases.drain(..) {
            let compilation = texts.compile_some(inputs, &[]);
            let reports = compilation.diagnostics.iter();
            let reports =
                reports.map(|found| full(found, &compilation.sources, RenderOptions::default()));
            let mut report = reports.collect::<Vec<_>>().join("\n\n");
            report.push_str("\n\n");
            report += &summary(&compilation.diagnostics, compilation.sources.len());
            let settings = {
                let mut settings = insta::Settings::clone_current();
                settings.set_snapshot_path(&folder);
                settings.set_prepend_module_to_snapshot(false);
                settings.set_omit_expression(true);
                settings
            };
            settings.bind(|| insta::assert_snapshot!(case.as_str(), report));
            let fired: BTreeSet<&str> = rules(&compilation).into_iter().collect();
            if fired != BTreeSet::from([rule.name]) {
                wrong.push(format!("{}/{case}: {fired:?}", rule.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_folder_is_a_rule_with_a_page() {
    let fail = fs::read_dir(repository().join("tests/fail")).expect("the folder can be read");
    for entry in fail {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy();
        let rule = rule(&name).unwrap_or_else(|| panic!("tests/fail/{name} is not a rule"));
        assert!(
            rule.page.starts_with(&format!("# {name}\n")),
            "the page of {name}"
        );
    }
    for page in files("docs/rules") {
        let name = stem(&page);
        assert!(
            rule(name).is_some(),
            "docs/rules/{name}.md explains no rule"
        );
    }
}

#[test]
fn a_level_on_a_page_is_the_default() {
    for rule in RULES {
        let level = match rule.default {
            None => continue,
            Some(Level::Allow) => "allow",
            Some(Level::Warn) => "warn",
            Some(Level::Deny) => "deny",
        };
        let line = format!("Level: {level}.");
        assert!(
            rule.page.contains(&line),
            "docs/rules/{}.md: {line}",
            rule.name
        );
    }
}

#[test]
fn all_independent_errors_of_all_files_are_reported_in_order() {
    let texts = Texts::default()
        .with("b.proto", "proto! b {\n  s:send { m -> t, x(u8 -> ! }\n}\nproto! c { s:send { m -> t } }\n")
        .with(
            "a.proto",
            "import \"missing.proto\";\ntype t = t;\nproto! a {\n  s:send<T: nope> { m -> u }\n  r { m -> !, n -> ! }\n}\n\
             proto! d { s:send { one -> two } two:recv { } three:recv { m -> ! } }\n",
        );
    insta::assert_snapshot!(short_report(&texts.compile()));
}

#[test]
fn what_is_broken_is_reported_once_and_not_where_it_is_used() {
    let broken = "proto! broken {\n  one:send { m -> nowhere, n(u8) -> two }\n  two:recv { m - > ! }\n  three:send { }\n}\n";
    let user = "import \"broken.proto\";\n\
                proto! user { s:send { take(broken::client::two) -> s, give([broken::server::one]) -> ! } }\n\
                #[dual_of(broken)] proto! mirror { one:recv { m -> ! } }\n";
    let texts = Texts::default()
        .with("broken.proto", broken)
        .with("user.proto", user);
    insta::assert_snapshot!(short_report(&texts.compile()));
}

#[test]
fn a_missing_import_is_one_error() {
    let text = "import \"types.proto\";\n\
                proto! bank { s:send { deposit(money) -> s, give(printer::client::idle) -> ! } }\n\
                proto! numbers = stream<money>;\n";
    assert_eq!(rules(&one(text)), ["unresolved-import"]);
}

#[test]
fn levels_are_set_from_the_outside_in_and_by_the_run() {
    let text = "#[allow(unreachable-state)]\n\
                proto! a {\n  s:send { m -> ! }\n  t:send { m -> t, n -> ! }\n\
                #[deny(unreachable-state)]\n  u:send { m -> u, n -> ! }\n}\n\
                #[deny(all)] #[allow(verbose-terminal, missing-docs, unbounded-run)]\n\
                proto! b {\n  s:send { m -> d, n(host) -> s }\n  d { }\n}\n";
    let found = one(text);
    let shown = |found: &Compilation| -> Vec<(&str, Level)> {
        found
            .diagnostics
            .iter()
            .map(|found| (found.rule, found.level))
            .collect()
    };
    let denied = [
        ("unreachable-state", Level::Deny),
        ("undeclared-type", Level::Deny),
    ];
    assert_eq!(shown(&found), denied);
    assert!(found.checked.is_none());
    let texts = Texts::default().with("a.proto", text);
    let warned = ["unreachable-state", "verbose-terminal"].map(|name| (name, Level::Warn));
    let levels = [[("all", Level::Allow)].as_slice(), &warned].concat();
    let warned = texts.compile_some(vec!["a.proto".into()], &levels);
    let names = ["unreachable-state", "unreachable-state", "verbose-terminal"];
    assert_eq!(shown(&warned), names.map(|name| (name, Level::Warn)));
    assert!(warned.checked.is_some());
}
