//! A test that does not run says so, with a reason from which it follows what runs it.

use super::{files, relative};
use crate::support::repository;
use std::collections::BTreeSet;
use std::fs;

/// The sources in a language, each with its path.
fn sources(ending: &str) -> Vec<(String, String)> {
    let folders = ["src", "cli", "tools", "tests", "runtime"];
    let paths = folders.into_iter().flat_map(files);
    paths
        .filter(|path| path.extension().is_some_and(|end| end == ending))
        .map(|path| {
            let text = fs::read_to_string(&path).expect("it can be read");
            (relative(&path), text)
        })
        .collect()
}

fn script(name: &str) -> String {
    fs::read_to_string(repository().join(".ci").join(name)).expect("the script is there")
}

/// The parts of `.ci/nightly`.
fn parts(nightly: &str) -> BTreeSet<&str> {
    let functions = nightly.lines().filter_map(|line| line.strip_suffix("() {"));
    functions
        .map(|name| {
            let part = name.strip_prefix("part_");
            part.unwrap_or_else(|| panic!("the function {name} hides what is called so"))
        })
        .collect()
}

#[test]
fn each_ignored_test_is_run_by_a_script() {
    let (run, nightly) = (script("run"), script("nightly"));
    assert!(run.contains("\nignored '(with|slow: ).*'"), "{run}");
    let parts = parts(&nightly);
    let mut with_tests = BTreeSet::new();
    for (path, text) in sources("rs") {
        let attributes = text.lines().map(str::trim_start);
        for attribute in attributes.filter(|line| line.starts_with("#[ignore")) {
            let reason = attribute
                .strip_prefix("#[ignore = \"")
                .and_then(|rest| rest.strip_suffix("\"]"));
            let reason = reason.unwrap_or_else(|| panic!("{path}: {attribute} has no reason"));
            let part = reason.strip_prefix("nightly: ");
            let is_known = match part {
                Some(part) => parts.contains(part),
                None => reason.starts_with("with ") || reason.starts_with("slow: "),
            };
            assert!(is_known, "{path}: no script runs `{reason}`");
            // The scripts select them there.
            assert!(path.starts_with("tests/suite/"), "{path}: {attribute}");
            with_tests.extend(part.map(str::to_owned));
        }
    }
    let selected = nightly.split("ignored 'nightly: ").skip(1);
    let selected = selected.filter_map(|rest| rest.split('\'').next());
    let selected: BTreeSet<String> = selected.map(str::to_owned).collect();
    assert_eq!(
        selected, with_tests,
        "what .ci/nightly runs, and what there is"
    );
}

/// The lines of each test, without the outermost indentation.
fn bodies(text: &str) -> Vec<Vec<&str>> {
    let mut bodies = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(indentation) = line.strip_suffix("#[test]") else {
            continue;
        };
        let end = format!("{indentation}}}");
        let body = lines.by_ref().take_while(|line| *line != end);
        let body = body.skip_while(|line| !line.ends_with('{')).skip(1);
        let inside = format!("{indentation}    ");
        bodies.push(
            body.map(|line| line.strip_prefix(&inside).unwrap_or(line))
                .collect(),
        );
    }
    bodies
}

/// Whether a test may end before it has tested anything: a block of its own has nothing but `return`, or all of it is in one `if`.
fn may_pass_at_once(body: &[&str]) -> bool {
    let returns = ["    return;", "    return Ok(());"];
    let gives_up = body.windows(3).any(|lines| {
        lines[0].ends_with('{') && returns.contains(&lines[1]) && lines[2].starts_with('}')
    });
    let is_outer = |line: &&&str| !line.is_empty() && !line.starts_with(' ');
    let outer: Vec<&&str> = body.iter().filter(is_outer).collect();
    let is_one_if = matches!(outer[..], [first, last] if first.starts_with("if ") && *last == "}");
    gives_up || is_one_if
}

#[test]
fn no_test_returns_early_and_passes() {
    let mut read = 0;
    for (path, text) in sources("rs") {
        for body in bodies(&text) {
            read += 1;
            assert!(!may_pass_at_once(&body), "{path}:\n{}", body.join("\n"));
        }
    }
    assert!(read > 500, "tests are not found");
    let of = |body: &'static str| may_pass_at_once(&body.lines().collect::<Vec<_>>());
    assert!(of("if !is_there() {\n    return;\n}\nassert!(works());"));
    assert!(of(
        "let Some(tool) = tool() else {\n    return Ok(());\n};\nuse(tool);"
    ));
    assert!(of("if is_there() {\n    assert!(works());\n}"));
    assert!(!of(
        "if is_child() {\n    act();\n    return;\n}\nassert!(works());"
    ));
    assert!(!of("if a() {\n    b();\n} else {\n    c();\n}"));
    for ending in ["scala", "java"] {
        for (path, text) in sources(ending) {
            for word in ["assumeTrue", "assumeThat", "@Ignore"] {
                assert!(!text.contains(word), "{path} has {word}");
            }
        }
    }
}
