//! How a finding is shown, with excerpts of its texts.

use crate::support::choices::Choices;
use duologue::diagnostic::Diagnostic;
use duologue::report::{RenderOptions, full, short};
use duologue::source::{SourceId, Sources, Span};
use insta::assert_snapshot;

fn one(text: &str) -> (Sources, SourceId) {
    let mut sources = Sources::default();
    let id = sources.add("bank.proto", text);
    (sources, id)
}

fn place(id: SourceId, text: &str, words: &str) -> Span {
    let start = text.find(words).expect("the words are in the text");
    Span::new(id, start, start + words.len())
}

const BANK: &str = "proto! bank {\n    login:send {\n        login(str) -> conected,\n        quit -> !\n    }\n    connected:send { quit -> ! }\n}\n";

fn misspelled(sources: &Sources, id: SourceId) -> Diagnostic {
    let text = sources.get(id).text();
    let wrong = place(id, text, "conected");
    Diagnostic::error(
        "unknown-state",
        wrong,
        "there is no state `conected` in `bank`",
    )
    .label("not a state of `bank`")
    .related(place(id, text, "connected"), "a state with a similar name")
    .note("states are looked up in their own protocol only")
    .help("declare the state")
    .fix("did you mean `connected`?", wrong, "connected")
}

#[test]
fn frames_can_be_drawn_with_lines() {
    let (sources, id) = one(BANK);
    let mut options = RenderOptions::default();
    options.is_unicode = true;
    assert_snapshot!(full(&misspelled(&sources, id), &sources, options));
}

#[test]
fn styles_add_nothing_but_escape_codes() {
    let (sources, id) = one(BANK);
    let mut styled = RenderOptions::default();
    styled.is_styled = true;
    let text = full(&misspelled(&sources, id), &sources, styled);
    assert!(text.contains("\u{1b}["));
    let plain = strip_escapes(&text);
    assert_eq!(
        plain,
        full(
            &misspelled(&sources, id),
            &sources,
            RenderOptions::default()
        )
    );
}

fn strip_escapes(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |so_far, piece| {
        let (_, rest) = piece.split_once('m').expect("a style ends with m");
        so_far + rest
    })
}

#[test]
fn far_places_and_other_files_are_shown_apart() {
    let filler = "    // nothing to see here, only room between two places\n".repeat(2000);
    let text = format!("proto! a {{\n{filler}}}\nproto! a {{ }}\n");
    let mut sources = Sources::default();
    let id = sources.add("a.proto", text.as_str());
    let other = sources.add("b.proto", "proto! a { }");
    let last = Span::new(id, text.len() - 6, text.len() - 5);
    let finding = Diagnostic::error("duplicate-name", last, "`a` is declared three times")
        .related(Span::new(id, 7, 8), "first here")
        .related(Span::new(other, 7, 8), "and here");
    assert_snapshot!(full(&finding, &sources, RenderOptions::default()));
}

#[test]
fn a_long_line_is_cut_and_its_columns_are_right() {
    let text = format!(
        "{}oops{}",
        "word ".repeat(1_000_000),
        " word".repeat(1_000_000)
    );
    let (sources, id) = one(&text);
    let finding = Diagnostic::syntax(place(id, &text, "oops"), "what is this?").label("this");
    let shown = full(
        &finding.help("leave it out"),
        &sources,
        RenderOptions::default(),
    );
    assert_snapshot!(shown);
}

#[test]
fn unusual_texts_keep_their_lines() {
    let texts = [
        ("", 0..0),
        ("a\n", 2..2),
        ("a", 1..1),
        ("\ta -> b\r\n\tc", 6..7),
        ("caf\u{e9} \u{4e16}\u{754c} -> x", 13..15),
        ("a\nb\nc\n", 0..5),
        ("\u{1b}[31mred\u{202e}", 5..8),
    ];
    let shown = texts.map(|(text, range)| {
        let (sources, id) = one(text);
        let place = Span::new(id, range.start, range.end);
        full(
            &Diagnostic::syntax(place, "here").label("this"),
            &sources,
            RenderOptions::default(),
        )
    });
    assert_snapshot!(shown.join("\n\n"));
}

#[test]
fn no_place_makes_it_fail() {
    let mut dice = Choices::new(2012);
    let pieces = [
        "a",
        "\n",
        "\r\n",
        "\t",
        "\u{e9}",
        "\u{4e16}",
        "\u{1f600}",
        " ",
        "\u{0}",
        "\r",
        "long word ",
    ];
    for round in 0..1500 {
        let mut sources = Sources::default();
        let mut ids = Vec::new();
        for name in ["a.proto", "b.proto"] {
            let pieces = (0..dice.below(60)).map(|_| pieces[dice.below(pieces.len())]);
            let text = pieces
                .collect::<String>()
                .repeat(if round % 50 == 0 { 200 } else { 1 });
            ids.push(sources.add(name, text));
        }
        let place = |dice: &mut Choices| {
            let id = ids[dice.below(2)];
            let beyond = sources.get(id).text().len() + 3;
            let (start, end) = (dice.below(beyond), dice.below(beyond));
            Span::new(id, start, end)
        };
        let mut finding = Diagnostic::syntax(place(&mut dice), "message").label("label");
        for _ in 0..dice.below(4) {
            finding = finding.related(place(&mut dice), "other");
        }
        for _ in 0..dice.below(3) {
            let text = ["", "x", "two\nlines\n", "\u{e9}"][dice.below(4)];
            finding = finding.fix("repair", place(&mut dice), text).safe(true);
        }
        let mut options = RenderOptions::default();
        options.is_unicode = round % 2 == 0;
        options.width = dice.below(200);
        assert!(full(&finding, &sources, options).contains("error[syntax]: message"));
        assert!(short(&finding, &sources).contains(": error[syntax]: message"));
    }
}
