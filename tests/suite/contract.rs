//! The contract of the runtimes in `runtime/contract.toml`, and the table of the faults of sessions between processes: every test that they
//! name exists. `runtime/README.md` shows the contract.

use crate::support::{is_current, repository};
use std::fmt::Write as _;
use std::fs;
use toml::{Table, Value};

const LANGUAGES: [(&str, &str); 3] = [("rust", "Rust"), ("c", "C"), ("scala", "Scala")];

#[test]
fn every_promise_links_to_a_test_that_exists() {
    assert!(
        links("runtime/README.md") > 400,
        "the contract has lost its links"
    );
}

/// `UPDATE_DOCS=1 cargo test` writes the page.
#[test]
fn the_page_shows_the_contract() {
    let contract = repository().join("runtime/contract.toml");
    let contract = fs::read_to_string(contract).expect("it is there");
    let contract: Table = contract.parse().expect("it is TOML");
    let page = fs::read_to_string(repository().join("runtime/README.md")).expect("it is there");
    let (introduction, _) = page.split_once("## Operations\n").expect("it has them");
    let entries = |kind: &str| contract[kind].as_array().expect("a list");
    let sections = |kind: &str| entries(kind).iter().map(section_of).collect::<String>();
    let text = |key: &str| contract[key].as_str().expect("a text");
    let shown = format!(
        "{introduction}## Operations\n\n{}## Owners\n\n{}\n\n{}## Reasons\n\n{}\n\n{}",
        sections("operation"),
        text("owners"),
        sections("owner"),
        text("reasons"),
        table(entries("reason"))
    );
    is_current("runtime/README.md", &shown);
}

fn string<'v>(entry: &'v Value, key: &str) -> &'v str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// What a language promises, with links to its tests.
fn claims(claims: &Value) -> String {
    let mut text = String::new();
    for claim in claims.as_array().expect("a list") {
        let says = string(claim, "says");
        if !text.is_empty() && !says.starts_with([',', ';', '.', ')']) {
            text.push(' ');
        }
        text.push_str(says);
        let tests = claim.get("tests").and_then(Value::as_array);
        let links: Vec<String> = tests.into_iter().flatten().map(link).collect();
        let links = links.join(", ");
        match (links.is_empty(), says.is_empty()) {
            (true, _) => {}
            (false, true) => text.push_str(&links),
            (false, false) => write!(text, " ({links})").expect("a string takes everything"),
        }
    }
    text
}

/// A test is a path and a name.
fn link(test: &Value) -> String {
    let test = test.as_str().expect("a path and a name");
    let (path, name) = test.split_once(": ").expect("a path and a name");
    let path = match path.strip_prefix("runtime/") {
        Some(path) => path.to_owned(),
        None => format!("../{path}"),
    };
    format!("[test]({path} \"{name}\")")
}

fn section_of(entry: &Value) -> String {
    let mut text = format!("### {}\n\n", string(entry, "name"));
    let promise = string(entry, "promise");
    if !promise.is_empty() {
        let (first, rest) = promise.split_at(1);
        let end = if promise.ends_with('.') { "" } else { "." };
        write!(text, "{}{rest}{end}\n\n", first.to_uppercase()).expect("a string takes everything");
    }
    for (key, name) in LANGUAGES {
        if let Some(list) = entry.get(key) {
            writeln!(text, "- **{name}**: {}", claims(list)).expect("a string takes everything");
        }
    }
    text.trim_end().to_owned() + "\n\n"
}

fn table(entries: &[Value]) -> String {
    let mut text = "| reason | Rust | C | Scala |\n| --- | --- | --- | --- |\n".to_owned();
    for entry in entries {
        let cells = LANGUAGES.map(|(key, _)| entry.get(key).map(claims).unwrap_or_default());
        let row = cells.join(" | ");
        writeln!(text, "| {} | {row} |", string(entry, "name")).expect("a string takes everything");
    }
    text
}

#[test]
fn every_fault_links_to_a_test_that_exists() {
    assert!(
        links("tests/remote/README.md") > 80,
        "the table has lost its links"
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
