//! What may be written at a position, from the tree of the text before it.

use super::symbols::{IsMeant, ItemKind, tree};
use duologue_grammar::{KEYWORDS, Kind, Leaf, Node, Tree};
use std::ops::Range;

/// Whether a word has a meaning of its own somewhere. No rename produces one.
pub fn is_keyword(word: &str) -> bool {
    matches!(word, "client" | "server") || KEYWORDS.iter().any(|keyword| keyword == word)
}

/// What may be written at a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Nothing that could be proposed.
    Nothing,
    /// An item.
    Item,
    /// `type` or `bound`, after `extern`.
    External,
    /// The path of an import; the text between the quotes before the position.
    Path(String),
    /// The name of an attribute.
    Attribute,
    /// A rule.
    Rule,
    /// A protocol.
    Protocol,
    /// A generic protocol, after `proto! name =`.
    Generic,
    /// `client` or `server`.
    Side,
    /// A state of the protocol with this name.
    StateOf(String),
    /// A unit of sizes.
    Size,
    /// A unit of durations.
    Duration,
    /// The name of a state, or the end of the protocol.
    State,
    /// `send` or `recv`.
    Direction,
    /// A bound.
    Bound,
    /// The name of a message.
    Message,
    /// The state that follows a message, or `!`.
    Next,
    /// A type.
    Type,
    /// A language, in a mapping.
    Language,
}

impl Expected {
    /// Which declarations of other files it can be, if any.
    pub fn declared(&self) -> Option<IsMeant> {
        match self {
            Expected::Type => Some(|kind| kind.is_type() || kind == ItemKind::Protocol),
            Expected::Protocol | Expected::Generic => Some(|kind| kind == ItemKind::Protocol),
            Expected::Bound => Some(|kind| kind == ItemKind::ExternBound),
            _ => None,
        }
    }
}

/// What may be written at a position, and what it replaces.
#[derive(Clone, Debug)]
pub struct Context {
    /// What is expected.
    pub expected: Expected,
    /// The word that the position is in or after.
    pub word: Range<usize>,
    /// The start of the item that contains the position.
    pub item: usize,
}

/// What may be written at a position.
pub fn context(text: &str, offset: usize) -> Context {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    // A rule has hyphens.
    let rule = around(text, offset, |byte| is_part(byte) || *byte == b'-');
    let mut word = around(text, offset, is_part);
    if word.start == offset {
        // A word before which something is written stays.
        word.end = offset;
    }
    let (mut expected, mut item) = expected_after(&text[..rule.start]);
    match &mut expected {
        Expected::Rule => word = rule,
        Expected::Path(path) => {
            let start = rule.start - path.len();
            path.push_str(&text[rule.start..offset]);
            let end = text[offset..].find(['"', '\r', '\n']);
            word = start..offset + end.unwrap_or(text.len() - offset);
        }
        _ if rule.start < word.start => (expected, item) = expected_after(&text[..word.start]),
        _ => {}
    }
    Context {
        expected,
        word,
        item,
    }
}

/// The bytes of a kind around a position.
fn around(text: &str, offset: usize, is_part: impl Fn(&u8) -> bool) -> Range<usize> {
    let (before, after) = text.as_bytes().split_at(offset);
    let start = before.iter().rev().take_while(|byte| is_part(byte));
    let end = after.iter().take_while(|byte| is_part(byte));
    offset - start.count()..offset + end.count()
}

/// What may be written after a text, and where the item begins that the text ends in. What the grammar misses where the text ends
/// is what may be written there.
fn expected_after(text: &str) -> (Expected, usize) {
    let tree = tree(text);
    if let Some(leaf) = tree.leaves().last()
        && let Some(expected) = within(&tree, leaf)
    {
        return (expected, 0);
    }
    let Some(last) = tree.count().checked_sub(1).map(|last| tree.place(last)) else {
        return (Expected::Item, 0);
    };
    let end = last.end;
    let Some(item) = tree.root().children().last() else {
        return (Expected::Item, 0);
    };
    let start = item.children().find(|part| part.kind() != Kind::attribute);
    let start = start.map_or(item.range().start, |part| part.range().start);
    let mut errors = item.all().filter(|node| node.kind().is_error());
    let Some(error) = errors.find(|error| error.range().end == end) else {
        // A complete item.
        return (Expected::Item, start);
    };
    let last = &text[last];
    let expected = match error.range().is_empty() {
        true => missing(item, error, last),
        false => after_error(item, error, last),
    };
    (expected, start)
}

/// What may be written after a text that ends within a comment or a string.
fn within(tree: &Tree<'_>, last: Leaf) -> Option<Expected> {
    let rest = &tree.text[last.range().start..];
    match last.kind {
        Kind::open_comment | Kind::deep_comment => Some(Expected::Nothing),
        _ if rest.contains('\n') => None,
        Kind::line_comment => Some(Expected::Nothing),
        Kind::open_string => {
            let before = tree.count().checked_sub(2).map(|before| tree.word(before));
            Some(match before {
                Some("import") => Expected::Path(rest[1..].to_owned()),
                _ => Expected::Nothing,
            })
        }
        _ => None,
    }
}

/// What may be written where a node is missing, after the token `last`.
fn missing(item: Node<'_>, error: Node<'_>, last: &str) -> Expected {
    let (outer, before) = item.around(error);
    match (outer.kind(), before.map(Node::kind)) {
        (Kind::attribute, Some(Kind::lbracket)) => Expected::Attribute,
        (Kind::attribute, Some(kind)) => in_attribute(outer, kind),
        (Kind::item, _) => Expected::Item,
        (Kind::path, _) => {
            let names: Vec<Node<'_>> = outer
                .parts()
                .filter(|part| part.kind() == Kind::ident)
                .collect();
            match names.as_slice() {
                [_] => Expected::Side,
                [.., protocol, _] => Expected::StateOf(protocol.text().to_owned()),
                [] => Expected::Nothing,
            }
        }
        (Kind::instance, Some(Kind::equals)) => Expected::Generic,
        (Kind::external, Some(Kind::bounds))
        | (Kind::parameters, Some(Kind::parameter))
        | (Kind::bounds, _)
            if matches!(last, ":" | "+") =>
        {
            Expected::Bound
        }
        (Kind::external, Some(Kind::lbrace | Kind::mapping)) => Expected::Language,
        (Kind::protocol | Kind::bad_protocol, Some(Kind::lbrace | Kind::lparen | Kind::state)) => {
            Expected::State
        }
        (Kind::direction, _) => Expected::Direction,
        (Kind::state, Some(Kind::lbrace | Kind::comma | Kind::bad_message)) => Expected::Message,
        (Kind::state, Some(Kind::attribute)) => Expected::State,
        (Kind::message, Some(Kind::attribute)) => Expected::Message,
        (Kind::message, Some(Kind::arrow)) => Expected::Next,
        _ if takes_type(outer.kind())
            && matches!(last, "=" | ":" | "(" | "[" | "<" | "," | "~") =>
        {
            Expected::Type
        }
        _ => Expected::Nothing,
    }
}

/// Whether a type may be in such a node.
fn takes_type(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::alias
            | Kind::arguments
            | Kind::entry
            | Kind::field
            | Kind::list
            | Kind::payload
            | Kind::tuple
    )
}

/// What may be written after tokens that do not fit, of which `last` is the last.
fn after_error(item: Node<'_>, error: Node<'_>, last: &str) -> Expected {
    match error.kind() {
        Kind::stray_tokens if last == "extern" => Expected::External,
        Kind::stray_tokens | Kind::stray_semicolon | Kind::bad_item
            if matches!(last, ";" | "}") =>
        {
            Expected::Item
        }
        Kind::bad_head | Kind::bad_state if last == ":" => Expected::Direction,
        _ if last == "->" => Expected::Next,
        _ if matches!(last, ")" | "]") => Expected::Nothing,
        Kind::bad_message | Kind::bad_separator if matches!(last, ",") => Expected::Message,
        Kind::bad_close | Kind::wrong_close => Expected::State,
        _ => {
            let (outer, before) = item.around(error);
            match (outer.kind(), before) {
                (Kind::attribute, Some(before)) => in_attribute(outer, before.kind()),
                (outer, _)
                    if takes_type(outer) && matches!(last, "(" | "[" | "<" | "," | ":" | "~") =>
                {
                    Expected::Type
                }
                _ => Expected::Nothing,
            }
        }
    }
}

/// What may be written in the parentheses of an attribute, after a part of a kind.
fn in_attribute(attribute: Node<'_>, before: Kind) -> Expected {
    let name = attribute.child(Kind::ident).map_or("", Node::text);
    let is_start = matches!(before, Kind::lparen | Kind::comma);
    let is_open = attribute.child(Kind::lparen).is_some() && before != Kind::rparen;
    match name {
        "allow" | "warn" | "deny" if is_start => Expected::Rule,
        "dual_of" if is_start => Expected::Protocol,
        "accepts" if before == Kind::lparen => Expected::Side,
        "at_most" if is_open => Expected::Size,
        "within" if is_open => Expected::Duration,
        _ => Expected::Nothing,
    }
}
