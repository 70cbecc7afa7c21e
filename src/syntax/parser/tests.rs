//! Compares the parser with the grammar that defines the language, and checks that a token that is missing hides no other state.

use super::{Parsed, parse};
use crate::source::Sources;
use crate::syntax::ast::{File, ItemKind, State};
use crate::syntax::outline::FaultKind;
use crate::syntax::tree::{Kind, Node};
use pest::Parser as _;
use pest::iterators::Pair;
use std::collections::BTreeMap;
use std::path::Path;

/// The parser that pest makes of the grammar.
mod definition {
    #![allow(missing_docs)]

    #[derive(pest_derive::Parser)]
    #[grammar = "grammar/duologue.pest"]
    pub struct Grammar;
}

use definition::{Grammar, Rule};

/// A node: how deep it is, what it is, and where it begins and ends.
type Shape = (usize, String, usize, usize);

/// The nodes of the tree, in order.
fn shapes(parsed: &Parsed<'_>) -> Vec<Shape> {
    let mut found = Vec::new();
    let mut open: Vec<(usize, Node<'_>)> = vec![(0, parsed.tree.root())];
    while let Some((depth, node)) = open.pop() {
        let name = format!("{:?}", node.kind());
        let range = node.range();
        if node.kind() != Kind::File {
            found.push((depth, name, range.start, range.end));
        }
        let parts: Vec<Node<'_>> = node.parts().collect();
        open.extend(parts.into_iter().rev().map(|part| (depth + 1, part)));
    }
    found
}

/// `kw_type` as `KwType`
fn camel(rule: Rule) -> String {
    let name = format!("{rule:?}");
    let parts = name.split('_').map(|part| {
        let (first, rest) = part.split_at(1);
        first.to_ascii_uppercase() + rest
    });
    parts.collect()
}

/// The nodes of pest's tree, in order. The parser has no items around protocols.
fn defined(parsed: &Parsed<'_>, pair: Pair<'_, Rule>) -> Vec<Shape> {
    let mut found = Vec::new();
    let mut open = vec![(0, pair)];
    while let Some((depth, pair)) = open.pop() {
        let place = pair.as_span();
        let rule = pair.as_rule();
        let mut parts: Vec<_> = pair.into_inner().collect();
        let mut name = camel(rule);
        let last = parts.last().map(Pair::as_rule);
        if rule == Rule::item && last == Some(Rule::protocol) {
            name = camel(Rule::protocol);
            let inner = parts.pop().map(Pair::into_inner);
            parts.extend(inner.into_iter().flatten());
        }
        if !matches!(rule, Rule::file | Rule::EOI) {
            let end = without_trivia(parsed, place.start(), place.end());
            found.push((depth, name, place.start(), end));
        }
        open.extend(parts.into_iter().rev().map(|part| (depth + 1, part)));
    }
    found
}

/// Where a pair ends without the whitespace and comments at its end, which pest includes if its last part is optional.
fn without_trivia(parsed: &Parsed<'_>, start: usize, end: usize) -> usize {
    let all = &parsed.tokens.all;
    let mut after = all.partition_point(|token| token.range().start < end);
    let mut end = end;
    while after > 0 && end > start {
        let token = all[after - 1];
        if !token.is_trivia() || token.range().end != end {
            break;
        }
        end = token.range().start;
        after -= 1;
    }
    end
}

/// Whether the package is before the imports and these are before the declarations, which the parser leaves to a later stage.
fn is_ordered(parsed: &Parsed<'_>) -> bool {
    let ranks = parsed.tree.root().parts().map(|node| match node.kind() {
        Kind::Package => 0,
        Kind::Import => 1,
        _ => 2,
    });
    let ranks: Vec<u8> = ranks.collect();
    ranks.is_sorted() && ranks.iter().filter(|rank| **rank == 0).count() < 2
}

/// Compares both parsers. Returns whether they accept the text.
fn compare(text: &str) -> bool {
    let parsed = parse(text);
    let is_deep = |kind| matches!(kind, FaultKind::DeepNesting | FaultKind::DeepComment);
    if parsed
        .outline
        .faults
        .iter()
        .any(|fault| is_deep(fault.kind))
    {
        // The grammar has no limit.
        return false;
    }
    let is_accepted = parsed.problems.is_empty() && is_ordered(&parsed);
    match Grammar::parse(Rule::file, text) {
        Ok(mut pairs) => {
            assert!(is_accepted, "{:?} in\n{text}", parsed.problems);
            let file = pairs.next().expect("a file");
            let (found, expected) = (shapes(&parsed), defined(&parsed, file));
            let differs = found
                .iter()
                .zip(&expected)
                .find(|(one, two)| !same(one, two));
            assert!(
                differs.is_none() && found.len() == expected.len(),
                "{differs:?} in\n{text}"
            );
        }
        Err(error) => assert!(!is_accepted, "{error} in\n{text}"),
    }
    is_accepted
}

/// Empty bounds are nowhere in particular.
fn same(one: &Shape, two: &Shape) -> bool {
    let is_empty = |shape: &Shape| shape.1 == "Bounds" && shape.2 == shape.3;
    one == two || one.0 == two.0 && is_empty(one) && is_empty(two)
}

/// All protocols of a folder of the repository and of the folders in it.
fn texts(folder: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).expect("a folder");
        let mut paths: Vec<_> = entries
            .map(|entry| entry.expect("an entry").path())
            .collect();
        paths.sort();
        for path in paths {
            let is_built = ["target", "node_modules"]
                .iter()
                .any(|name| path.ends_with(name));
            if path.is_dir() && !path.is_symlink() && !is_built {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "proto") {
                // Some of the texts are not UTF-8 on purpose.
                texts.extend(std::fs::read_to_string(path));
            }
        }
    }
    texts
}

#[test]
fn the_parser_accepts_what_the_grammar_defines() {
    let mut accepted = 0;
    let mut rejected = 0;
    for text in texts("protocols").iter().chain(&texts("tests")) {
        match compare(text) {
            true => accepted += 1,
            false => rejected += 1,
        }
    }
    assert!(accepted > 200 && rejected > 50, "{accepted} {rejected}");
}

/// Marsaglia's generator: the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).expect("below a usize")
    }
}

/// What an edit inserts: everything that means something in the language, and what is no token of it.
const WORDS: &[&str] = &[
    ",",
    ";",
    "?",
    "~",
    "::",
    ":",
    "+",
    "=",
    "!",
    "->",
    "#",
    "-",
    ".",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "a",
    "send",
    "type",
    "package",
    "proto",
    "extern bound b;",
    "extern type t: ;",
    "from \"x\"",
    "5",
    "5ms",
    "#[within(5 s)]",
    "<5>",
    "; 7",
    "\"x\\y\"",
    "\"",
    "/* /* */ */",
    "/*",
    "// x\n",
    "\u{feff}",
    "\u{a0}",
    "\u{2192}",
    "\u{f6}",
    "\u{c}",
    "\0",
    "(u8, u16,)",
    "#[allow(a-b, c - d)]",
    "x: :y",
    "<T: , U: A B + C>",
];

#[test]
fn the_parser_agrees_with_the_grammar_on_changed_texts() {
    let mut random = Random(0x2012_0912);
    let all = [
        "protocols",
        "tests/beginners",
        "tests/corpus",
        "tests/fail/syntax",
    ];
    let all: Vec<String> = all.iter().flat_map(|folder| texts(folder)).collect();
    let all: Vec<&String> = all.iter().filter(|text| text.len() < 4000).collect();
    let mut accepted = 0;
    for _ in 0..6000 {
        let text = all[random.below(all.len())];
        let parsed = parse(text);
        let mut tokens: Vec<&str> = parsed.tokens.all.iter().map(|at| at.text(text)).collect();
        for _ in 0..1 + random.below(2) {
            if tokens.is_empty() {
                break;
            }
            let at = random.below(tokens.len());
            match random.below(5) {
                0 => drop(tokens.remove(at)),
                1 => tokens.insert(at, WORDS[random.below(WORDS.len())]),
                2 => tokens[at] = WORDS[random.below(WORDS.len())],
                3 => tokens.insert(at, tokens[random.below(tokens.len())]),
                _ => {
                    let other = random.below(tokens.len());
                    tokens.swap(at, other);
                }
            }
        }
        accepted += usize::from(compare(&tokens.concat()));
    }
    assert!(accepted > 450, "{accepted}");
}

/// The states of a file, also those of protocols without a name.
fn states(file: &File) -> Vec<&State> {
    let items = file.items.iter().flat_map(|item| match &item.kind {
        ItemKind::Protocol(protocol) => protocol.states.as_slice(),
        _ => &[],
    });
    items.chain(&file.orphans).collect()
}

/// How often each name occurs.
fn counted<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for name in names {
        *counted.entry(name.to_owned()).or_default() += 1;
    }
    counted
}

#[test]
fn damage_hides_no_other_state() {
    let source = Sources::default().add("a.proto", "");
    let (mut others, mut own, mut kept) = (0, 0, 0);
    let mut lost = Vec::new();
    for text in texts("protocols") {
        let (file, errors) = crate::syntax::parse(source, &text);
        assert!(errors.is_empty());
        let parsed = parse(&text);
        for number in 0..parsed.tokens.len() {
            let place = parsed.tokens.place(number);
            // The token is missing, or there is a foreign character before it, which touches it or not.
            let damages = [
                (" ", place.end),
                ("\u{f6}", place.start),
                (" \u{201c} ", place.start),
            ];
            for (with, from) in damages {
                let is_in = |state: &&&State| {
                    let range = state.span.range();
                    range.start <= place.start && place.end <= range.end
                };
                let all = states(&file);
                let changed = format!("{}{with}{}", &text[..place.start], &text[from..]);
                let (left, _) = crate::syntax::parse(source, &changed);
                let left = counted(states(&left).iter().map(|state| state.name.text()));
                let other = all.iter().filter(|state| !is_in(state));
                let other = counted(other.map(|state| state.name.text()));
                for (name, count) in &other {
                    others += count;
                    if left.get(name).is_none_or(|found| found < count) {
                        let line = text[..place.start].lines().count();
                        lost.push(format!(
                            "{name} with `{with}` at {} in line {line}",
                            &text[place.clone()]
                        ));
                    }
                }
                if let Some(state) = all.iter().find(is_in) {
                    own += 1;
                    let before = other.get(state.name.text()).copied().unwrap_or(0);
                    let after = left.get(state.name.text()).copied().unwrap_or(0);
                    kept += usize::from(after > before);
                }
            }
        }
    }
    assert!(
        lost.is_empty(),
        "{} of {others}: {}",
        lost.len(),
        lost.join("\n")
    );
    // Without its name a state has none; a few other tokens make another word its name.
    assert!(others > 12_000 && own > 2700, "{others} {own}");
    assert!(kept * 10 > own * 8, "{kept} of {own}");
    println!("{others} other states, {own} damaged states, {kept} of them with their names");
}

/// The names of the states of a text, with how many messages they have.
fn named(text: &str) -> Vec<(String, usize)> {
    let source = Sources::default().add("a.proto", "");
    let (file, _) = crate::syntax::parse(source, text);
    let states = states(&file).into_iter();
    states
        .map(|state| (state.name.text().to_owned(), state.messages.len()))
        .collect()
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
    }
}

#[test]
fn a_state_without_messages_leaves_the_next_one_alone() {
    for next in ["b:send", "b", "b:recv<T>"] {
        let text = format!("proto! p {{\n a:send\n {next} {{ m -> ! }}\n}}");
        let expected = [("a".to_owned(), 0), ("b".to_owned(), 1)];
        assert_eq!(named(&text), expected, "{text}");
    }
}
