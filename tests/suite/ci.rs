//! The CI kit: every command that it runs exists, and the page shows what the program prints.

use crate::support::program::{Scratch, run};
use crate::support::repository;
use serde_json::Value;
use std::fs;

/// The commands that a file runs, without their arguments.
fn commands(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim);
    let called = lines.filter_map(|line| {
        let line = line.strip_prefix("- ").unwrap_or(line);
        let line = line
            .strip_prefix("run: ")
            .or(line.strip_prefix("entry: "))
            .unwrap_or(line);
        line.strip_prefix("duologue ")
    });
    called
        .filter_map(|words| words.split_whitespace().next())
        .collect()
}

#[test]
fn every_command_exists() {
    let scratch = Scratch::new("ci-commands");
    for name in ["action.yml", ".pre-commit-hooks.yaml", "docs/ci.md"] {
        let text = fs::read_to_string(repository().join(name)).expect("the file is there");
        let commands = commands(&text);
        assert!(!commands.is_empty(), "{name} runs nothing");
        for command in commands {
            let output = run(scratch.duologue(&format!("{command} --help")), b"");
            assert!(
                output.status.success(),
                "{name} calls `duologue {command}`, which is not a command"
            );
        }
    }
}

/// The block after a marker: where its text starts and ends.
fn block(page: &str, marker: &str) -> (usize, usize) {
    let at = page
        .find(marker)
        .unwrap_or_else(|| panic!("the page has a block `{marker}`"));
    let open = at + page[at..].find("```").expect("a block follows its marker");
    let start = open + page[open..].find('\n').expect("a block has lines") + 1;
    (
        start,
        start + page[start..].find("```").expect("a block is closed"),
    )
}

#[test]
fn the_page_shows_what_is_printed() {
    let path = repository().join("docs/ci.md");
    let mut page = fs::read_to_string(&path).expect("the page is there");
    let written = page.clone();
    let scratch = Scratch::new("ci-page");
    let (start, end) = block(&page, "<!-- file: protocols/light.proto -->");
    scratch.write("protocols/light.proto", &page[start..end]);
    let print = |format: &str| {
        let output = run(
            scratch.duologue(&format!("check protocols --format {format}")),
            b"",
        );
        String::from_utf8(output.stdout).expect("reports are UTF-8")
    };
    let sarif: Value = serde_json::from_str(&print("sarif")).expect("a JSON document");
    let first = serde_json::to_string_pretty(&sarif["runs"][0]["results"][0]).expect("JSON") + "\n";
    for (marker, text) in [
        ("--format sarif, the first result -->", first),
        ("--format github -->", print("github")),
    ] {
        let (start, end) = block(&page, marker);
        page.replace_range(start..end, &text);
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &page).expect("the page can be written");
    }
    assert!(
        written == page || std::env::var_os("UPDATE_DOCS").is_some(),
        "regenerate docs/ci.md with UPDATE_DOCS=1 cargo test"
    );
}
