//! The grammars and extensions in `tools/editors/` and the pictures of editors.

mod programs;
mod tree_sitter;
pub mod vscode;

use crate::support::repository;
use std::collections::BTreeMap;
use std::fs;

/// The lines of a picture without whitespace. Each part of a line is a `<text>` with its height and its text.
fn lines(picture: &str) -> Vec<String> {
    let mut lines: BTreeMap<u32, String> = BTreeMap::new();
    for part in picture.split("<text ").skip(1) {
        let (_, after) = part.split_once("y=\"").expect("a height");
        let (height, _) = after.split_once('"').expect("a height");
        let (_, text) = part.split_once('>').expect("a text");
        let (text, _) = text.split_once("</text>").expect("the end of the text");
        let line = lines.entry(height.parse().expect("a number")).or_default();
        line.extend(text.split_whitespace());
    }
    let plain = |line: &String| {
        let marks = [
            ("&#x27;", "'"),
            ("&quot;", "\""),
            ("&lt;", "<"),
            ("&gt;", ">"),
        ];
        let text = marks
            .iter()
            .fold(line.clone(), |line, (mark, sign)| line.replace(mark, sign));
        text.replace("&amp;", "&")
    };
    lines.values().map(plain).collect()
}

/// They show the example as it is in the repository, except for the mistake that the language server finds in some of them.
#[test]
fn the_pictures_of_editors_show_the_bank() {
    let bank = fs::read_to_string(repository().join("protocols/bank.proto"));
    let bank = bank.expect("the example is there");
    let page = fs::read_to_string(repository().join("docs/editors.md")).expect("the page is there");
    for editor in ["nvim", "vim", "emacs", "kakoune"] {
        let name = format!("editors/{editor}.svg");
        assert!(
            page.contains(&format!("({name})")),
            "{name} is not in the page"
        );
        let picture = fs::read_to_string(repository().join("docs").join(&name));
        let shown = lines(&picture.expect("the picture is there"));
        let shown: Vec<String> = shown
            .iter()
            .map(|line| line.replace("withdrawl_response", "withdrawal_response"))
            .collect();
        for line in bank.lines() {
            let flat: String = line.split_whitespace().collect();
            assert!(
                shown.iter().any(|shown| shown.contains(&flat)),
                "{name} does not show `{line}`: take a new picture"
            );
        }
    }
}

/// A branch would change the grammar of an extension that is already installed.
#[test]
fn the_extension_for_zed_names_a_commit() {
    let file = fs::read_to_string(repository().join("tools/editors/zed/extension.toml"));
    let file = file.expect("the extension is there");
    let revisions = file
        .lines()
        .filter_map(|line| line.strip_prefix("rev = \"")?.strip_suffix('"'));
    let revisions: Vec<&str> = revisions.collect();
    let is_commit =
        |name: &&str| name.len() == 40 && name.bytes().all(|digit| digit.is_ascii_hexdigit());
    assert!(
        revisions.len() == 1 && revisions.iter().all(is_commit),
        "{revisions:?}"
    );
}
