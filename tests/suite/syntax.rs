//! Any text has a tree whose leaves are the text, and damage to one token hides no state, neither from the compiler nor from editors.

use crate::support::choices::Choices;
use crate::tidy::files;
use duologue::source::Sources;
use duologue::syntax::ast::{File, ItemKind, State};
use duologue::syntax::parse;
use duologue_grammar::Tree;
use duologue_lsp::answer::outline;
use std::collections::BTreeMap;
use std::fs;

/// All protocols of a folder of the repository and of the folders in it, except those that are not UTF-8 on purpose.
pub fn texts(folder: &str) -> Vec<String> {
    let paths = files(folder).into_iter();
    let paths = paths.filter(|path| path.extension().is_some_and(|ending| ending == "proto"));
    paths
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect()
}

/// The tokens, the comments and the whitespace of a text. Fails if they are not the text.
pub fn leaves(text: &str) -> Vec<&str> {
    let tree = Tree::of(text);
    let mut leaves = Vec::new();
    let mut last = 0;
    let space = |last: usize, next: usize, leaves: &mut Vec<_>| {
        let space = text.get(last..next).expect("leaves are in order");
        let is_space = |letter| matches!(letter, ' ' | '\t' | '\r' | '\n' | '\u{feff}');
        assert!(space.chars().all(is_space), "{space:?} in\n{text}");
        leaves.extend(Some(space).filter(|space| !space.is_empty()));
    };
    for leaf in tree.leaves() {
        space(last, leaf.range().start, &mut leaves);
        assert!(!leaf.range().is_empty(), "{leaf:?} in\n{text}");
        leaves.push(&text[leaf.range()]);
        last = leaf.range().end;
    }
    space(last, text.len(), &mut leaves);
    leaves
}

/// The errors of a text that it finds itself, and whether the tree has any.
fn errors(text: &str) -> (usize, bool) {
    let source = Sources::default().add("a.proto", "");
    let (_, errors) = parse(source, text);
    let tree = Tree::of(text);
    (errors.len(), tree.root().is_broken())
}

/// Checks texts with one or two edits of their tokens.
fn edited(rounds: usize, seed: u64) {
    let mut random = Choices::new(seed);
    let all: Vec<String> = ["protocols", "tests"]
        .iter()
        .flat_map(|folder| texts(folder))
        .collect();
    let all: Vec<&String> = all.iter().filter(|text| text.len() < 4000).collect();
    let mut accepted = 0;
    for _ in 0..rounds {
        let text = all[random.below(all.len())];
        let mut parts = leaves(text);
        for _ in 0..1 + random.below(2) {
            if parts.is_empty() {
                break;
            }
            let at = random.below(parts.len());
            match random.below(5) {
                0 => drop(parts.remove(at)),
                1 => parts.insert(at, random.piece()),
                2 => parts[at] = random.piece(),
                3 => parts.insert(at, parts[random.below(parts.len())]),
                _ => {
                    let other = random.below(parts.len());
                    parts.swap(at, other);
                }
            }
        }
        let text = parts.concat();
        leaves(&text);
        let (errors, is_broken) = errors(&text);
        assert!(errors > 0 || !is_broken, "no error in\n{text}");
        let _ = outline(&text);
        accepted += usize::from(errors == 0);
    }
    assert!(accepted * 20 > rounds, "{accepted}");
}

#[test]
fn the_leaves_of_a_tree_are_the_text() {
    let mut texts = texts("protocols");
    texts.extend(self::texts("tests"));
    assert!(texts.len() > 400);
    for text in &texts {
        leaves(text);
        let (errors, is_broken) = errors(text);
        assert!(errors > 0 || !is_broken, "no error in\n{text}");
    }
    edited(400, 0x2012_0912);
}

#[test]
#[ignore = "nightly: syntax"]
fn the_leaves_of_many_changed_trees_are_the_text() {
    edited(50_000, 0x1912_2012);
}

/// The states of a file, also those of protocols without a name.
fn states(file: &File) -> Vec<&State> {
    let items = file.items.iter().flat_map(|item| {
        let ItemKind::Protocol(protocol) = &item.kind else {
            return &[][..];
        };
        protocol.states.as_slice()
    });
    items.chain(&file.orphans).collect()
}

/// The names of the states of a text, with how many messages they have.
fn named(text: &str) -> Vec<(String, usize)> {
    let source = Sources::default().add("a.proto", "");
    let (file, _) = parse(source, text);
    let states = states(&file).into_iter();
    states
        .map(|state| (state.name.text().to_owned(), state.messages.len()))
        .collect()
}

/// The names of the states that an editor shows.
fn shown(text: &str) -> Vec<(String, usize)> {
    use duologue_lsp::answer::ItemKind;
    let items = outline(text);
    let nested = items.iter().flat_map(|item| &item.children);
    let states = items
        .iter()
        .chain(nested)
        .filter(|item| item.kind == ItemKind::State);
    states
        .map(|state| (state.name.clone(), state.children.len()))
        .collect()
}

/// How often each name occurs.
fn counted<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for name in names {
        *counted.entry(name.to_owned()).or_default() += 1;
    }
    counted
}

/// What is done to a token.
#[derive(Clone, Copy, Debug)]
enum Damage {
    /// It is missing.
    Missing,
    /// It is there twice.
    Double,
    /// This is directly before it.
    Before(&'static str),
    /// This is in its place.
    Other(&'static str),
}

/// Each with how many of 998 damaged states keep their names at least, and how many of 4,339 other states may be lost.
const DAMAGES: [(Damage, usize, usize); 8] = [
    (Damage::Missing, 948, 0),
    (Damage::Double, 998, 0),
    (Damage::Before("\u{f6}"), 899, 0),
    (Damage::Before(" \u{201c} "), 998, 0),
    (Damage::Other("~"), 948, 0),
    (Damage::Other("x"), 948, 0),
    // These open and close more than the token did.
    (Damage::Other("{"), 948, 2),
    (Damage::Other("}"), 948, 10),
];

#[test]
fn damage_hides_no_other_state() {
    let source = Sources::default().add("a.proto", "");
    let texts = texts("protocols");
    for (damage, names, losses) in DAMAGES {
        let (mut kept, mut shown_kept) = (0, 0);
        let mut lost = Vec::new();
        for text in &texts {
            let (file, errors) = parse(source, text);
            assert!(errors.is_empty());
            let all = states(&file);
            for token in Tree::of(text).tokens() {
                let place = token.range();
                let (before, own, after) = (&text[..place.start], token.text(), &text[place.end..]);
                let changed = match damage {
                    Damage::Missing => format!("{before} {after}"),
                    Damage::Double => format!("{before}{own} {own}{after}"),
                    Damage::Before(other) => format!("{before}{other}{own}{after}"),
                    Damage::Other(other) => format!("{before} {other} {after}"),
                };
                let is_in = |state: &&&State| {
                    let range = state.span.range();
                    range.start <= place.start && place.end <= range.end
                };
                let other = all.iter().filter(|state| !is_in(state));
                let other = counted(other.map(|state| state.name.text()));
                for (found, kept) in [
                    (named(&changed), &mut kept),
                    (shown(&changed), &mut shown_kept),
                ] {
                    let left = counted(found.iter().map(|(name, _)| name.as_str()));
                    for (name, count) in &other {
                        if left.get(name).is_none_or(|found| found < count) {
                            lost.push(format!(
                                "{name}: {damage:?} at {own} in line {}",
                                before.lines().count()
                            ));
                        }
                    }
                    if let Some(state) = all.iter().find(is_in) {
                        let before = other.get(state.name.text()).copied().unwrap_or(0);
                        let after = left.get(state.name.text()).copied().unwrap_or(0);
                        *kept += usize::from(after > before);
                    }
                }
            }
        }
        assert!(
            lost.len() <= 2 * losses,
            "{}: {}",
            lost.len(),
            lost.join("\n")
        );
        assert!(
            kept >= names && shown_kept >= names,
            "{damage:?}: {kept} {shown_kept}"
        );
    }
}

#[test]
fn a_foreign_character_belongs_to_the_name_that_it_touches() {
    for (head, name) in [
        ("a\u{2039}\u{e9}>", "a\u{2039}\u{e9}"),
        ("a \u{201c}", "a"),
        ("a \u{201c} :send", "a"),
        ("a\u{201c}", "a"),
        ("gr\u{f6}\u{df}e:send", "gr\u{f6}\u{df}e"),
        ("\u{e9}a:send", "\u{e9}a"),
        ("\u{e9}a", "\u{e9}a"),
        ("\u{201c}a", "a"),
        ("\u{201c} a:recv", "a"),
        ("#[within(5 s)] \u{e9}a:send", "\u{e9}a"),
        ("#[within(5 s)] a\u{e9}:send", "a\u{e9}"),
    ] {
        let text = format!("proto! p {{ {head} {{ m -> ! }} b {{ n -> ! }} }}");
        let expected = [(name.to_owned(), 1), ("b".to_owned(), 1)];
        assert_eq!(named(&text), expected, "{text}");
        assert_eq!(shown(&text), expected, "{text}");
    }
}

#[test]
fn a_state_without_messages_leaves_the_next_one_alone() {
    for next in ["b:send", "b", "b:recv<T>"] {
        let text = format!("proto! p {{\n a:send\n {next} {{ m -> ! }}\n}}");
        let expected = [("a".to_owned(), 0), ("b".to_owned(), 1)];
        assert_eq!(named(&text), expected, "{text}");
        assert_eq!(shown(&text), expected, "{text}");
    }
}

/// Texts that begin in each way and go on with one kind of tokens.
fn repeated(count: usize, begins: &[&str], units: &[&str]) {
    for begin in begins {
        for unit in units {
            let text = format!("{begin}{}", unit.repeat(count));
            leaves(&text);
            errors(&text);
            let _ = outline(&text);
        }
    }
}

const BEGINS: &[&str] = &[
    "",
    "proto! p { a:send { m(",
    "proto! p { a:send { ",
    "proto! p { ",
    "enum e { ",
    "type t = ",
    "#[",
];

const UNITS: &[&str] = &[
    "{",
    "}",
    "(",
    "[",
    "<",
    ">",
    "a ",
    "a(",
    "a{",
    "a:",
    "a:send ",
    "a:send{",
    "a {b(",
    "#",
    "#[a(",
    "#[a(b)] ",
    "->",
    "a->b,",
    ",",
    ";",
    "a::",
    "?",
    "~",
    "\"a",
    "/*",
    "/* */",
    "//\n",
    "\u{f6}",
    "\u{a0}",
    "proto!",
    "proto! a{",
    "proto!a=",
    "struct a{",
    "extern type a{",
    "a=\"b\" ",
    "(a:",
    "[u8;",
    "-",
    "|",
    "a.",
    "}\na:send {",
    "! ",
];

/// If anything were read again and again, the long ones would not end.
#[test]
fn hostile_texts_are_read_once() {
    repeated(30, BEGINS, UNITS);
    let begins = ["proto! p { a:send { m(", "type t = "];
    repeated(10_000, &begins, &["(", "<", "/*"]);
    repeated(10_000, &["proto! p { "], &["a ", "{", "a {b("]);
    repeated(40_000, &[""], &["; a "]);
}

#[test]
#[ignore = "nightly: syntax"]
fn long_hostile_texts_are_read_once() {
    repeated(20_000, BEGINS, UNITS);
}

#[test]
fn brackets_and_comments_nest_64_deep() {
    let source = Sources::default().add("a.proto", "");
    let messages = |text: &str| -> Vec<String> {
        let (_, errors) = parse(source, text);
        errors.into_iter().map(|error| error.message).collect()
    };
    for (open, close) in [("[", "]"), ("(u8, ", ")"), ("t<", ">")] {
        let nested = |depth: usize| {
            let (open, close) = (open.repeat(depth), close.repeat(depth));
            format!("type t = {open}u8{close};\nproto! p {{ a:send {{ m -> ! }} }}\n")
        };
        assert!(messages(&nested(63)).is_empty(), "{open}");
        for depth in [65, 1000, 30_000] {
            assert_eq!(
                messages(&nested(depth)),
                ["this is nested too deeply"],
                "{open} {depth}"
            );
        }
    }
    let comment = |depth: usize| format!("{}{}\n", "/*".repeat(depth), "*/".repeat(depth));
    assert!(messages(&comment(64)).is_empty());
    for depth in [65, 30_000] {
        assert_eq!(
            messages(&comment(depth)),
            ["comments are nested too deeply"],
            "{depth}"
        );
    }
    for operator in ["?", "~"] {
        let operators = operator.repeat(30_000);
        let text = match operator {
            "?" => format!("type t = u8{operators};\n"),
            _ => format!("type t = {operators}u8;\n"),
        };
        assert_eq!(messages(&text), ["this is nested too deeply"], "{operator}");
    }
}

#[test]
fn independent_mistakes_in_a_state_are_all_reported() {
    let source = Sources::default().add("a.proto", "");
    let text = "proto! p {\n a:send { m(str u8) -> a, n = ! }\n b:send { m -> a n -> a\n c:recv { m -> a }\n}\n";
    let (_, errors) = parse(source, text);
    let messages: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
    let expected = [
        "a named entry is written `name: type`",
        "expected `->`, found `=`",
        "messages are separated by commas",
        "expected `}` before the next state, found `c`",
    ];
    assert_eq!(messages, expected);
}
