//! The list of mutants follows the code that it changes.

use crate::support::repository;
use std::collections::BTreeSet;
use std::fs;

#[test]
fn each_mutant_changes_one_place() {
    let list = fs::read_to_string(repository().join("tests/mutants/mutants.toml"));
    let list: toml::Table = list
        .expect("the list is there")
        .parse()
        .expect("it is TOML");
    let mut names = BTreeSet::new();
    for mutant in list["mutant"].as_array().expect("a list of tables") {
        let text = |key: &str| mutant[key].as_str().expect("a text");
        let name = text("name");
        assert!(names.insert(name), "there are two mutants {name}");
        let code = fs::read_to_string(repository().join(text("file")));
        let code = code.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            code.matches(text("before")).count(),
            1,
            "{name} does not apply"
        );
        assert_ne!(text("before"), text("after"), "{name} changes nothing");
    }
    assert!(names.len() >= 80, "only {} mutants", names.len());
}
