//! The contract table of the runtimes, and that of the faults of sessions between processes: every test that they link to exists.

use crate::support::repository;
use std::fs;

#[test]
fn every_cell_links_to_a_test_that_exists() {
    assert!(
        links("runtime/README.md") > 240,
        "the table has lost its links"
    );
}

#[test]
fn every_fault_links_to_a_test_that_exists() {
    assert!(
        links("tests/remote/README.md") > 80,
        "the table has lost its links"
    );
}

#[test]
fn every_owner_and_reason_links_to_a_test_that_exists() {
    assert!(
        links("docs/runtime.md") > 28,
        "the tables have lost their links"
    );
}

/// Checks the links of this page; returns how many there are.
fn links(page: &str) -> usize {
    let path = repository().join(page);
    let folder = path.parent().expect("it is in a folder");
    let page = fs::read_to_string(&path).expect("the page is there");
    let links: Vec<&str> = page.split("[test](").skip(1).collect();
    for link in &links {
        let link = link.split("\")").next().expect("a link is closed");
        let (path, name) = link.split_once(" \"").expect("a link names its test");
        let text =
            fs::read_to_string(folder.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(declares(path, &text, name), "{path} has no test `{name}`");
    }
    links.len()
}

/// Whether the file has a test of this name, which is run: in Rust a function that the harness finds or a macro makes, in C one that is
/// called, in Scala a case of a suite, or several whose names begin so.
fn declares(path: &str, text: &str, name: &str) -> bool {
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    match path.rsplit('.').next() {
        Some("rs") => {
            let is_marked = |(before, _): (&str, &str)| {
                let attributes = before.trim_end_matches("async ").lines().rev();
                let attributes = attributes.map(str::trim).skip_while(|line| line.is_empty());
                attributes
                    .take_while(|line| line.starts_with("#["))
                    .any(|line| line.contains("test"))
            };
            let function = format!("fn {name}(");
            text.split_once(&function).is_some_and(is_marked)
                || text.contains(&format!(" {name}: "))
        }
        Some("c") => {
            let uses = words.iter().filter(|word| **word == name).count();
            text.contains(&format!("static void {name}(")) && uses > 1
        }
        _ => [")", " +"]
            .iter()
            .any(|more| text.contains(&format!("test(\"{name}\"{more}"))),
    }
}
