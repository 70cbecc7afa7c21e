//! The contract table of the runtimes: every test that it links to exists.

use crate::support::repository;
use std::fs;

#[test]
fn every_cell_links_to_a_test_that_exists() {
    let runtime = repository().join("runtime");
    let page = fs::read_to_string(runtime.join("README.md")).expect("the page is there");
    let links: Vec<&str> = page.split("([test](").skip(1).collect();
    assert!(links.len() > 20, "the table has lost its links");
    for link in links {
        let link = link.split("\")").next().expect("a link is closed");
        let (path, name) = link.split_once(" \"").expect("a link names its test");
        let text = fs::read_to_string(runtime.join(path))
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        let declared = [
            format!("fn {name}("),
            format!("static void {name}("),
            format!("test(\"{name}\")"),
        ];
        assert!(
            declared.iter().any(|words| text.contains(words)),
            "{path} has no test `{name}`"
        );
    }
}
