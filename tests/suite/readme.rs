//! The README: its protocol and error are what the program reads and prints, and its client is that of the page on
//! Rust, which is compiled and run. Its picture is compared in `pictures`.

use crate::support::program::{Scratch, run};
use crate::support::repository;
use std::fs;

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The texts of all blocks in a language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("\n```{language}\n");
    let behind = page.split(open.as_str()).skip(1);
    behind
        .map(|text| text.split("```").next().expect("a split has a first part"))
        .collect()
}

/// Lines without leading whitespace.
fn flush(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim_start().to_owned() + "\n");
    lines.collect()
}

#[test]
fn the_client_is_that_of_the_page() {
    let readme = read("README.md");
    let programs = blocks(&readme, "rust");
    let page = flush(&read("docs/targets/rust.md"));
    assert!(!programs.is_empty(), "the README has a client");
    for program in programs {
        assert!(
            page.contains(&flush(program)),
            "docs/targets/rust.md does not have:\n{program}"
        );
    }
}

#[test]
fn the_protocol_is_current() {
    let readme = read("README.md");
    let bank = read("protocols/bank.proto");
    assert_eq!(blocks(&readme, "proto").first(), Some(&bank.as_str()));
}

#[test]
fn the_error_is_what_is_printed() {
    let readme = read("README.md");
    let wrong = read("protocols/bank.proto").replace("ok -> connected", "ok -> conected");
    let scratch = Scratch::with("readme-error", &[("bank.proto", &wrong)]);
    let printed = run(scratch.duologue("check bank.proto --ascii"), b"");
    let printed = String::from_utf8_lossy(&printed.stdout)
        .trim_end()
        .to_owned()
        + "\n";
    assert!(
        blocks(&readme, "text").contains(&printed.as_str()),
        "the README does not show:\n{printed}"
    );
}

/// The first page is read to its end, and leads to a few others.
#[test]
fn the_page_is_short() {
    let readme = read("README.md");
    assert!(readme.lines().count() <= 150);
    assert!(readme.matches("](").count() <= 10);
}
