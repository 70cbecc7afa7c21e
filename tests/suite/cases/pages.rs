//! The pages of the documentation: their examples are as right or wrong as the pages say.

use crate::support::texts::{compile_texts, findings, fired};
use crate::support::{repository, stem};
use crate::tidy::files;

/// A code block: the file name after ` ```proto `, or `main.proto`, and the text.
type Block = (String, String);

/// The `proto` blocks below a heading of a page, or of the whole page if there is no heading.
fn blocks(page: &str, below: Option<&str>) -> Vec<Block> {
    let mut found = Vec::new();
    let mut is_below = below.is_none();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let code = lines.by_ref().take_while(|line| *line != "```");
            let text: String = code.map(|line| format!("{line}\n")).collect();
            let name = info
                .strip_prefix("proto")
                .filter(|_| is_below)
                .map(str::trim);
            if let Some(name) = name {
                let name = if name.is_empty() { "main.proto" } else { name };
                found.push((name.to_owned(), text));
            }
        } else if let Some(heading) = line.strip_prefix("## ") {
            is_below = below.is_none_or(|below| below == heading);
        }
    }
    found
}

/// The rules that the blocks fire together; the one called `main.proto` is compiled.
fn fired_by(page: &str, blocks: &[Block]) -> (Vec<&'static str>, String) {
    let mut texts: Vec<_> = blocks
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_bytes()))
        .collect();
    texts.sort_by_key(|(name, _)| *name != "main.proto");
    let main = texts.first().map(|(name, _)| *name);
    assert_eq!(main, Some("main.proto"), "{page} needs a `proto` block");
    let compilation = compile_texts(&texts);
    (fired(&compilation), findings(&compilation))
}

fn read(path: &str) -> String {
    let path = repository().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names and texts of all rule pages.
fn rule_pages() -> Vec<(String, String)> {
    let names = files("docs/rules").into_iter();
    let names = names.map(|path| stem(&path).to_owned());
    let page = |name: String| (name.clone(), read(&format!("docs/rules/{name}.md")));
    names.map(page).collect()
}

#[test]
fn every_rule_page_shows_what_is_wrong_and_what_is_right() {
    // Rules that compare two versions of a protocol are fired by `breaking`, not by a check of one text.
    let compares = |name: &str| {
        name.starts_with("incompatible-with-")
            || ["protocol-removed", "unsound-acceptance"].contains(&name)
    };
    for (name, page) in rule_pages().into_iter().filter(|(name, _)| !compares(name)) {
        // These would fill the page: `tests/fail` has them.
        if !["too-many-messages", "too-many-values"].contains(&name.as_str()) {
            let (wrong, report) = fired_by(&name, &blocks(&page, Some("Wrong")));
            assert_eq!(wrong, [name.as_str()], "{name}, wrong:\n{report}");
        }
        let (right, report) = fired_by(&name, &blocks(&page, Some("Right")));
        assert_eq!(right, [""; 0], "{name}, right:\n{report}");
    }
}

#[test]
fn every_rule_page_has_the_same_sections() {
    for (name, page) in rule_pages() {
        let headings: Vec<_> = page
            .lines()
            .filter(|line| line.starts_with('#') && !line.starts_with("#["))
            .collect();
        assert_eq!(
            headings,
            [&format!("# {name}"), "## Why", "## Wrong", "## Right"],
            "{name}"
        );
        let sentence = page.lines().nth(2).unwrap_or_default();
        assert!(
            sentence.ends_with('.') && page.lines().nth(3) == Some(""),
            "{name}: one sentence, on one line"
        );
    }
}

#[test]
fn every_example_of_the_language_page_is_clean() {
    let examples = blocks(&read("docs/language.md"), None);
    assert!(
        examples.len() >= 15,
        "only {} examples were found",
        examples.len()
    );
    for (_, text) in examples {
        let imported = |name: &str, ty: &str| (name.to_owned(), format!("type {ty} = str;"));
        let files = [
            ("main.proto".to_owned(), text.clone()),
            imported("types.proto", "article"),
            imported("shared/money.proto", "coin"),
        ];
        let (rules, report) = fired_by("language.md", &files);
        assert_eq!(rules, [""; 0], "{text}\n{report}");
    }
}
