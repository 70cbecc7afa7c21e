//! The script of the pages, in Node and in Chromium.

use super::examples;
use crate::support::program::Scratch;
use crate::support::{is_named, repository, succeed};
use insta::assert_snapshot;
use std::fs;
use std::process::Command;

fn write(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    for file in examples() {
        scratch.write(&format!("site/{}", file.path), file.text);
    }
    scratch
}

/// The logic of the stepper: every message of every example, and the transcripts of the conversations.
#[test]
fn the_stepper_plays_every_example() {
    if !is_named("node") {
        return;
    }
    let scratch = write("doc-node");
    let mut node = Command::new("node");
    node.arg(repository().join("tests/doc/stepper.js"))
        .arg(scratch.path("site"))
        .arg(repository().join("tests/run"));
    let said =
        succeed(&mut node).unwrap_or_else(|failure| panic!("{failure}\napt-get install -y nodejs"));
    let mut numbers = said.split(|letter: char| !letter.is_ascii_digit());
    let mut number = || numbers.find_map(|word| word.parse::<usize>().ok());
    assert_eq!(number(), Some(19), "{said}");
    assert!(
        number().is_some_and(|transcripts| transcripts >= 10),
        "{said}"
    );
    assert!(number().is_some_and(|moves| moves > 10_000), "{said}");
}

/// The page itself, from a file and without a network.
#[test]
fn the_stepper_works_in_a_browser() {
    if !is_named("chromium") {
        return;
    }
    let scratch = write("doc-chromium");
    let page = scratch.read("site/bank.html");
    let clicks = fs::read_to_string(repository().join("tests/doc/clicks.js")).expect("it is there");
    scratch.write("site/clicks.js", clicks);
    let end = "</head>";
    let script = format!("<script src=\"clicks.js\" defer></script>\n{end}");
    scratch.write("site/clicks.html", page.replace(end, &script));
    let mut chromium = Command::new("chromium");
    let profile = format!("--user-data-dir={}", scratch.path("profile").display());
    chromium
        .args(["--headless", "--no-sandbox", "--disable-gpu", &profile])
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .args(["--virtual-time-budget=20000", "--dump-dom"])
        .arg(format!(
            "file://{}",
            scratch.path("site/clicks.html").display()
        ));
    let dump = succeed(&mut chromium)
        .unwrap_or_else(|failure| panic!("{failure}\napt-get install -y chromium"));
    let seen = dump.split_once("<pre id=\"seen\">");
    let (_, seen) = seen.unwrap_or_else(|| panic!("the script did not end: {dump}"));
    let seen = seen.split_once("</pre>").expect("it is closed").0;
    assert!(!seen.contains("failed:"), "{seen}");
    assert_snapshot!("clicks_in_a_browser", seen.trim());
}
