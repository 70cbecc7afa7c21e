//! The formatter: what it makes of ugly files, that it changes nothing but the layout, and the command that runs it.

mod command;
mod random;

use crate::support::choices::Choices;
use crate::support::repository;
use crate::support::rust::protocols_in;
use duologue::source::{SourceId, Sources};
use duologue::syntax::format::{
    Difference, Layout, Unformatted, WIDTH, format, format_with, lay_out,
};
use duologue::syntax::{ast, parse};
use duologue_grammar::Tree;
use random::{Gaps, Writer, joined};
use std::fs;

fn source(text: &str) -> SourceId {
    Sources::default().add("test.proto", text)
}

fn parsed(text: &str) -> ast::File {
    let (file, errors) = parse(source(text), text);
    assert!(errors.is_empty(), "{text}\n{errors:?}");
    file
}

fn formatted(text: &str) -> String {
    let new = format(source(text), text);
    new.unwrap_or_else(|error| {
        panic!(
            "{error:?}\n--- text\n{text}\n--- layout\n{}",
            lay_out(&Tree::of(text))
        )
    })
}

/// The tree as text, without positions.
fn tree(text: &str) -> String {
    let shown = format!("{:?}", parsed(text));
    let mut parts = shown.split("Span {");
    let mut tree = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        tree += part.split_once('}').expect("a span ends").1;
    }
    tree
}

/// The lines of all comments without the whitespace around them, and everything else without whitespace, commas and semicolons.
fn comments_and_words(text: &str) -> (Vec<String>, String) {
    let mut comments = Vec::new();
    let mut words = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let mut length = letter.len_utf8();
        if rest.starts_with("//") {
            length = rest.find('\n').unwrap_or(rest.len());
            comments.push(rest[..length].trim().to_owned());
        } else if rest.starts_with("/*") {
            let mut depth = 0;
            length = 0;
            loop {
                let here = &rest[length..];
                let step = if here.starts_with("/*") {
                    1
                } else {
                    -i32::from(here.starts_with("*/"))
                };
                depth += step;
                length += if step == 0 {
                    here.chars().next().map_or(0, char::len_utf8)
                } else {
                    2
                };
                if depth == 0 {
                    break;
                }
            }
            comments.extend(rest[..length].lines().map(|line| line.trim().to_owned()));
        } else if let Some(string) = rest.strip_prefix('"') {
            length = string.find('"').expect("a string ends") + 2;
            words += &rest[..length];
        } else if !letter.is_whitespace() && !",;\u{feff}".contains(letter) {
            words.push(letter);
        }
        rest = &rest[length..];
    }
    (comments, words)
}

/// Formats a text and checks everything that is promised of the result.
fn check(text: &str) -> String {
    let new = formatted(text);
    assert_eq!(
        tree(text),
        tree(&new),
        "--- text\n{text}\n--- layout\n{new}"
    );
    let (old_parts, new_parts) = (comments_and_words(text), comments_and_words(&new));
    assert_eq!(old_parts, new_parts, "--- text\n{text}\n--- layout\n{new}");
    assert_eq!(new, formatted(&new), "formatted twice:\n{text}");
    assert!(
        new.is_empty() || new.ends_with('\n') && !new.ends_with("\n\n"),
        "{new:?}"
    );
    assert!(!new.starts_with(['\n', '\u{feff}']), "{new:?}");
    assert!(!new.contains("\n\n\n") && !new.contains('\r'), "{new:?}");
    let trailing = new.lines().find(|line| line.ends_with([' ', '\t']));
    assert_eq!(trailing, None, "{new}");
    new
}

#[test]
fn ugly_files_and_what_becomes_of_them() {
    insta::glob!("../format", "*.proto", |path| {
        let text = fs::read_to_string(path).expect("it can be read");
        insta::assert_snapshot!(check(&text));
    });
}

#[test]
fn our_protocols_are_formatted() {
    for folder in ["protocols", "tests/example/protocols"] {
        for path in protocols_in(folder) {
            let text = fs::read_to_string(path).expect("it can be read");
            assert_eq!(text, check(&text), "run `duologue fmt {folder}`");
        }
    }
}

#[test]
fn protocols_of_others_keep_their_meaning() {
    for path in ["2012", "literature"]
        .map(|folder| protocols_in(&format!("tests/corpus/{folder}")))
        .concat()
    {
        check(&fs::read_to_string(path).expect("it can be read"));
    }
}

#[test]
fn random_files_keep_their_words_comments_and_meaning() {
    let mut with_comments = 0;
    for seed in 0..700 {
        let mut writer = Writer::new(seed);
        writer.file();
        let text = joined(&writer.words, Gaps::Comments, &mut writer.choices);
        with_comments += usize::from(!comments_and_words(&text).0.is_empty());
        check(&text);
    }
    assert!(
        with_comments > 500,
        "only {with_comments} files have comments"
    );
}

/// The previous layout of a text has no influence, except for blank lines and bodies that were on one line.
#[test]
fn only_the_tokens_decide_the_layout() {
    for seed in 0..150 {
        let mut writer = Writer::new(seed);
        writer.file();
        let one = writer.words.join("\n");
        let two = writer.words.join(" \t\r\n\t  ");
        assert_eq!(check(&one), check(&two));
        let tight = joined(&writer.words, Gaps::Tight, &mut Choices::new(seed));
        let blanks = joined(&writer.words, Gaps::Blanks, &mut Choices::new(seed));
        let words = |text: &str| comments_and_words(&check(text)).1;
        assert_eq!(words(&tight), words(&blanks));
    }
}

/// A line is too long only if it contains no list that could be broken.
#[test]
fn lines_fit_where_they_can() {
    let mut broken = 0;
    for seed in 0..400 {
        let mut writer = Writer::new(seed);
        writer.file();
        let new = check(&writer.words.join("\n"));
        for line in new.lines() {
            let inside = line.trim_end_matches(['(', '<']);
            broken += usize::from(inside != line && !line.starts_with("proto!"));
            let has_list = inside.replace("()", "").contains(['(', '<']);
            let is_long = line.chars().count() > WIDTH;
            assert!(!is_long || !has_list, "seed {seed}: {line}");
        }
    }
    assert!(broken > 50, "only {broken} lists are broken");
}

#[test]
fn a_layout_that_changes_more_is_refused() {
    let text =
        "proto! p {\n  a:send { m(~str) -> b, /* c */ n -> ! } // d\n b:recv { m(x: u8) -> a } }\n";
    let faults: [(Layout, Difference); 8] = [
        (|tree| lay_out(tree).replace('~', ""), Difference::Words),
        (
            |tree| lay_out(tree).replace("a:send", "a:recv"),
            Difference::Words,
        ),
        (
            |tree| lay_out(tree).replace("m(x: u8)", "m(u8: x)"),
            Difference::Words,
        ),
        (
            |tree| lay_out(tree).replace("/* c */ ", ""),
            Difference::Comments,
        ),
        (
            |tree| lay_out(tree).replace("// d", "// e"),
            Difference::Comments,
        ),
        (
            |tree| lay_out(tree).replace("// d", "/// d"),
            Difference::Comments,
        ),
        (|tree| lay_out(tree).replace("b,", "b"), Difference::Invalid),
        (|_| String::new(), Difference::Words),
    ];
    for (number, (layout, expected)) in faults.into_iter().enumerate() {
        match format_with(source(text), text, layout) {
            Err(Unformatted::Refused(difference)) => assert_eq!(difference, expected, "{number}"),
            other => panic!("{number}: {other:?}"),
        }
    }
    // The same words and comments, but the documentation has moved to the other state.
    let text = "proto! p {\n    /// Doc.\n    a:send { m -> b }\n    b:recv { m -> a }\n}\n";
    let moved = |tree: &Tree<'_>| {
        let text = tree.text.replace("/// Doc.\n    ", "");
        text.replace("    b:recv", "    /// Doc.\n    b:recv")
    };
    match format_with(source(text), text, moved) {
        Err(Unformatted::Refused(difference)) => assert_eq!(difference, Difference::Tree),
        other => panic!("{other:?}"),
    }
}

/// Nesting as deep as is allowed, and lists far longer than a line.
#[test]
fn large_and_deep_texts() {
    let deep = format!("type a = {}u8{};", "[".repeat(60), "]".repeat(60));
    check(&deep);
    let tuple = format!("type a = {}u8{};", "(b, ".repeat(60), ")".repeat(60));
    check(&tuple);
    let entries = vec!["x: u8"; 20_000].join(",");
    check(&format!("proto! p {{ s:send {{ m({entries}) -> ! }} }}"));
    let comments = "// c\n".repeat(20_000);
    check(&format!(
        "{comments}proto! p {{ {comments} s:send {{ m -> ! {comments}, {comments} }} }}"
    ));
    let state = "s:send{m(u8)->s,n->!}";
    check(&format!("proto! p {{ {} }}", state.repeat(5_000)));
}

#[test]
fn the_page_about_the_layout_shows_it() {
    let page = fs::read_to_string(repository().join("docs/fmt.md")).expect("it is there");
    let example = page.split("```proto\n").nth(1).expect("an example");
    let example = example.split("```").next().unwrap_or_default();
    assert_eq!(check(example), example);
}
