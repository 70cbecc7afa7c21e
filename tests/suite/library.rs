//! Functions of the compiler that rules and tools share.

use crate::support::program::Scratch;
use duologue::check::{Levels, Location, Scope, Spelled, check, rule};
use duologue::diagnostic::{Edit, Level};
use duologue::endpoint::waiting_states;
use duologue::files;
use duologue::name::{Slip, nearest, slip};
use duologue::protocol::Program;
use duologue::source::{Sources, Span};
use duologue::syntax::is_protocol_buffers;
use std::ops::Range;
use std::sync::Arc;
use std::{fs, io};

#[test]
fn positions_count_characters_from_one() {
    let mut sources = Sources::default();
    let id = sources.add("a.proto", "ab\n\u{e9}x\n");
    let at = |offset| {
        let position = sources.get(id).position(offset);
        (position.line, position.column)
    };
    assert_eq!(at(0), (1, 1));
    assert_eq!(at(3), (2, 1));
    assert_eq!(at(5), (2, 2));
    assert_eq!(at(99), (3, 1));
}

#[test]
fn places_far_into_a_line_are_counted_too() {
    let mut sources = Sources::default();
    let text = format!("ab\n{}\nc", "\u{e9}xyz".repeat(1000));
    let id = sources.add("a.proto", text.clone());
    let source = sources.get(id);
    for (offset, _) in text.char_indices().chain([(text.len(), 'c')]) {
        let before = &text[..offset];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let place = source.position(offset);
        assert_eq!(place.line, before.matches('\n').count() + 1);
        assert_eq!(place.column, text[start..offset].chars().count() + 1);
        assert_eq!(source.line(offset).start, start);
    }
    assert_eq!(source.line(5), 3..text.len() - 1);
}

/// What an edit replaces in a text.
fn replaced(text: &str, place: Range<usize>, new: &str) -> Range<usize> {
    let mut sources = Sources::default();
    let id = sources.add("a.proto", text);
    let edit = Edit::new(Span::new(id, place.start, place.end), new);
    edit.place(&sources).range()
}

#[test]
fn a_removal_takes_its_lines_along_if_nothing_else_is_there() {
    let place = |start, end, new: &str| replaced("one\n  two\nthree four\n", start..end, new);
    assert_eq!(place(6, 9, ""), 3..9);
    assert_eq!(place(0, 3, ""), 0..4);
    assert_eq!(place(6, 9, "2"), 6..9);
    assert_eq!(place(10, 15, ""), 10..15);
    assert_eq!(place(6, 6, ""), 6..6);
}

#[test]
fn a_removal_before_a_closing_bracket_takes_the_blank_line_before_it_along() {
    let text = "p {\n    a\n\n    b\n}\n\n    c\n\nd\n";
    let place = |start, end| replaced(text, start..end, "");
    assert_eq!(place(15, 16), 9..16);
    assert_eq!(place(24, 25), 18..25);
    // Between two blank lines, and at the beginning.
    assert_eq!(place(4, 18), 3..18);
    let place = |start, end| replaced("a\r\n\r\nb\r\n\r\nc\r\n", start..end, "");
    assert_eq!(place(5, 6), 1..6);
    assert_eq!(place(0, 1), 0..5);
}

#[test]
fn files_of_either_language_are_told_apart() {
    let foreign = [
        "syntax = \"proto3\";",
        "// proto! p {}\nedition = \"2023\";\npackage a;",
        "package a.b;\nimport \"x.proto\";\nmessage m { optional string a = 1; }",
        "package a;\nservice s { rpc get(m) returns (m); }",
        "import public \"x.proto\";",
        "package a;\noption java_package = \"a.b\";",
        "extend google.protobuf.FileOptions { string a = 1; }",
        "package a;\n/* e */ enum e { A = 0; B = 1; }",
    ];
    for text in foreign {
        assert!(is_protocol_buffers(text), "{text}");
    }
    let own = [
        "",
        "{}}}}",
        "package a.b;\nimport \"x.proto\";",
        "type option = u8;\nstruct message { syntax: u8 }\nenum service { edition, extend(u8) }",
        "proto! message { option:send { syntax -> ! } }",
        "message m { a: str }\nproto! p { s:send { m -> ! } }",
        "message m { a: str }\n#[allow(x)] proto! p { s:send { m -> ! } }",
        "extern type date { rust = \"a\"; }",
        "enum e { a, b(u8) }\ntype t = e;",
        "struct a { x: u8 }\nenum b { c = 1 }",
    ];
    for text in own {
        assert!(!is_protocol_buffers(text), "{text}");
    }
}

/// States 0 to 9 are a chain that leads to state 10, which leads to itself and to state 11.
#[test]
fn a_sender_may_wait_on_a_cycle_and_after_many_messages() {
    let states: Vec<usize> = (0..12).collect();
    let run = |state: usize| {
        let next: &[usize] = match state {
            0..10 => &[1],
            10 => &[0, 1],
            _ => &[],
        };
        next.iter().map(move |step| state + step)
    };
    let first = |always_fit| {
        let waits = waiting_states(12, &states, always_fit, run);
        assert!(waits.is_sorted());
        waits.iter().position(|waits| *waits)
    };
    assert_eq!(
        (first(u32::MAX), first(8), first(1)),
        (Some(10), Some(8), Some(1))
    );
}

fn setting(name: &str, level: Level) -> (String, Level) {
    (name.to_owned(), level)
}

fn level_of(levels: &Levels, name: &str) -> Level {
    levels.of(rule(name).expect("a rule"), Location::outside())
}

#[test]
fn a_later_setting_wins_and_errors_have_no_level() {
    let run = [
        setting("stuck-state", Level::Allow),
        setting("all", Level::Deny),
        setting("never-ends", Level::Warn),
        setting("syntax", Level::Allow),
    ];
    let levels = Levels::new(&[setting("stuck-state", Level::Warn)], &run);
    let of = |name| level_of(&levels, name);
    assert_eq!(of("stuck-state"), Level::Deny);
    assert_eq!(of("never-ends"), Level::Warn);
    assert_eq!(of("syntax"), Level::Deny);
}

/// `warnings` changes what is set before it or elsewhere, and a later setting excepts a rule from it.
#[test]
fn warnings_are_the_rules_that_would_be_reported_and_not_fail() {
    let project = [
        setting("missing-docs", Level::Warn),
        setting("unused-import", Level::Allow),
    ];
    let run = [
        setting("equivalent-states", Level::Warn),
        setting("warnings", Level::Deny),
        setting("stuck-state", Level::Warn),
        setting("unused-declaration", Level::Allow),
    ];
    let levels = Levels::new(&project, &run);
    let of = |name| level_of(&levels, name);
    let denied = ["cannot-finish", "missing-docs", "equivalent-states"];
    assert_eq!(denied.map(of), [Level::Deny; 3]);
    assert_eq!(of("unused-import"), Level::Allow);
    assert_eq!(of("unbounded-run"), Level::Allow);
    assert_eq!(of("stuck-state"), Level::Warn);
    assert_eq!(of("unused-declaration"), Level::Allow);
}

/// The messages about two names of one scope, each a spelling with its origin.
fn messages(ignores_case: bool, names: [(&str, (usize, usize)); 2]) -> Vec<String> {
    let mut sources = Sources::default();
    let source = sources.add("a.proto", "abcdefghijklmnopqrstuvwxyz");
    let spell = |_: &Program, hand_over: &mut dyn FnMut(Scope)| {
        for (spelling, origin) in names {
            let name = Spelled {
                spelling: spelling.to_owned(),
                origin: Span::new(source, origin.0, origin.1),
                what: format!("the {spelling}"),
            };
            // One place, in two scopes.
            hand_over(Scope {
                target: "C",
                place: "the program".to_owned(),
                ignores_case,
                is_asked: true,
                names: vec![name],
            });
        }
    };
    let found = check(&Arc::default(), &[], Levels::default(), &spell).diagnostics;
    let told = found.iter().map(|found| {
        let at = found.primary.span.start;
        format!("{at}: {} ({} labels)", found.message, found.related.len())
    });
    told.collect()
}

#[test]
fn equal_spellings_clash_where_they_are_declared_together() {
    let clash = |ignores_case, names| messages(ignores_case, names);
    let (early, late) = ((1, 2), (5, 6));
    assert_eq!(
        clash(false, [("init", early), ("init", late)]),
        ["5: two names become `init` in C (1 labels)"]
    );
    assert_eq!(
        clash(false, [("init", late), ("init", early)]),
        ["5: two names become `init` in C (1 labels)"]
    );
    assert!(clash(false, [("init", early), ("Init", late)]).is_empty());
    assert_eq!(
        clash(true, [("init", early), ("Init", late)]),
        ["5: two names become `Init` in C (1 labels)"]
    );
}

#[test]
fn a_slip_is_one_letter_inside_a_word() {
    assert_eq!(slip("monye", "money"), Some(Slip::Typing));
    assert_eq!(slip("acount", "account"), Some(Slip::Typing));
    assert_eq!(slip("strng", "string"), Some(Slip::Letter));
    assert_eq!(slip("booleen", "boolean"), Some(Slip::Replaced));
    for other in ["accounts", "account1", "accoutn_", "a_ccount", "account"] {
        assert_eq!(slip(other, "account"), None);
    }
}

#[test]
fn only_near_names_are_proposed() {
    assert_eq!(
        nearest("conected", ["connected", "login"]),
        Some("connected")
    );
    assert_eq!(nearest("Connected", ["connected"]), Some("connected"));
    assert_eq!(nearest("quit", ["login", "deposit"]), None);
}

#[test]
fn short_names_are_near_to_nothing() {
    assert_eq!(nearest("b", ["a"]), None);
    assert_eq!(nearest("s2", ["s1"]), None);
    assert_eq!(nearest("B", ["b"]), Some("b"));
    assert_eq!(nearest("snd", ["send"]), Some("send"));
}

#[cfg(unix)]
#[test]
fn files_keep_their_permissions_and_change_together() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::with("library-files", &[("one", "a longer text")]);
    let [one, missing] = ["one", "missing"].map(|name| scratch.path(name));
    fs::set_permissions(&one, PermissionsExt::from_mode(0o600)).expect("it is ours");
    let both = [(&one, "new"), (&missing, "new")];
    let (path, error) = files::replace(&both).expect_err("a file is missing");
    assert_eq!(
        (path, error.kind()),
        (missing.clone(), io::ErrorKind::NotFound)
    );
    assert_eq!(scratch.read("one"), "a longer text");
    files::replace(&both[..1]).expect("it can be written");
    assert_eq!(scratch.read("one"), "new");
    let mode = fs::metadata(&one)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}
