//! Whether two texts have the same content: the same tree except for positions, the same tokens, and the same comments.

use super::super::ast::{
    Entry, Field, File, Import, Instance, Item, ItemKind, LevelAttribute, Mapping, Message,
    Parameter, Protocol, State, Type, TypeKind, Variant,
};
use super::super::tokens::{Token, TokenKind, lex};
use crate::diagnostic::Level;
use crate::name::Name;
use crate::protocol::{Accepted, Direction, Limit, Side};
use crate::source::Span;

/// Equal except for positions in the source.
pub trait Same {
    fn same(&self, other: &Self) -> bool;
}

/// Compares field by field; a field that is added to the tree has to be listed here.
macro_rules! same {
    ($($name:ident { $($field:ident),* $(; $($place:ident),*)? })*) => {$(
        impl Same for $name {
            fn same(&self, other: &$name) -> bool {
                let $name { $($field,)* $($($place: _,)*)? } = self;
                $($field.same(&other.$field))&&*
            }
        }
    )*};
}

same! {
    File { docs, package, imports, items, orphans, misplaced_docs, is_opaque; broken_words, words }
    Import { path; span }
    Item { docs, name, kind }
    Instance { accepts, protocol, arguments; head }
    Protocol { levels, dual_of, accepts, at_most, states, is_broken; head, span }
    Accepted { side, fingerprint; span }
    LevelAttribute { rule, level, is_alone; removal }
    State { docs, levels, at_most, within, name, direction, parameters, may_lack_parameters, messages; direction_span, span }
    Parameter { name, bounds }
    Message { docs, levels, at_most, name, entries, next; next_span }
    Entry { name, ty }
    Field { docs, name, ty }
    Variant { docs, name, entries }
    Mapping { target, name, from, drop; span }
    Type { kind, most; span }
    Limit { most; span }
}

impl Same for ItemKind {
    fn same(&self, other: &ItemKind) -> bool {
        use ItemKind::{Alias, Enum, ExternBound, ExternType, Struct};
        match (self, other) {
            (Alias(one), Alias(two)) => one.same(two),
            (Struct(one), Struct(two)) => one.same(two),
            (Enum(one), Enum(two)) => one.same(two),
            (ExternType(one, in_one), ExternType(two, in_two)) => {
                one.same(two) && in_one.same(in_two)
            }
            (ExternBound(one), ExternBound(two)) => one.same(two),
            (ItemKind::Instance(one), ItemKind::Instance(two)) => one.same(two),
            (ItemKind::Protocol(one), ItemKind::Protocol(two)) => one.same(two),
            _ => false,
        }
    }
}

impl Same for TypeKind {
    fn same(&self, other: &TypeKind) -> bool {
        use TypeKind::{List, Option, Path, Tuple};
        match (self, other) {
            (List(one), List(two)) | (Option(one), Option(two)) => one.same(two),
            (Tuple(one), Tuple(two)) => one.same(two),
            (Path(one, of_one), Path(two, of_two)) => one.same(two) && of_one.same(of_two),
            _ => false,
        }
    }
}

impl Same for Name {
    fn same(&self, other: &Name) -> bool {
        self.text() == other.text()
    }
}

/// Positions may differ; their number may not.
impl Same for Span {
    fn same(&self, _: &Span) -> bool {
        true
    }
}

macro_rules! plain {
    ($($name:ty),*) => {$(
        impl Same for $name {
            fn same(&self, other: &$name) -> bool {
                self == other
            }
        }
    )*};
}

plain!(
    bool,
    u64,
    [u8; 16],
    String,
    Box<str>,
    Level,
    Direction,
    Side
);

impl<T: Same> Same for Box<T> {
    fn same(&self, other: &Box<T>) -> bool {
        T::same(self, other)
    }
}

impl<T: Same> Same for Option<T> {
    fn same(&self, other: &Option<T>) -> bool {
        match (self, other) {
            (Some(one), Some(two)) => one.same(two),
            (None, None) => true,
            _ => false,
        }
    }
}

impl<T: Same> Same for Vec<T> {
    fn same(&self, other: &Vec<T>) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(one, two)| one.same(two))
    }
}

impl<A: Same, B: Same> Same for (A, B) {
    fn same(&self, other: &(A, B)) -> bool {
        self.0.same(&other.0) && self.1.same(&other.1)
    }
}

/// Whether two texts have the same comments in the same order, except for whitespace where their lines begin and end.
pub fn same_comments(one: &str, two: &str) -> bool {
    comment_lines(one).eq(comment_lines(two))
}

fn comment_lines(text: &str) -> impl Iterator<Item = &str> {
    let is_comment =
        |token: &Token| matches!(token.kind, TokenKind::LineComment | TokenKind::BlockComment);
    let comments = lex(text).filter(is_comment);
    comments.flat_map(|comment| comment.text(text).split('\n').map(str::trim))
}

/// Whether two texts have the same tokens in the same order, except for commas and semicolons.
pub fn same_words(one: &str, two: &str) -> bool {
    let is_word = |token: &Token| {
        let is_separator = matches!(token.kind, TokenKind::Sign(b',' | b';'));
        !token.is_trivia() && !is_separator
    };
    let words = |text| {
        let tokens = lex(text).filter(is_word);
        tokens.map(move |token| token.text(text))
    };
    words(one).eq(words(two))
}
