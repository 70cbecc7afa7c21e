//! Explains failed parses.

use super::declared::DeclaredNames;
use crate::diagnostic::Diagnostic;
use crate::name::nearest;
use crate::source::{SourceId, Span};
use duologue_grammar::{Kind, Tree};
use std::ops::Range;

/// A part of a text, of which one error is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Package,
    Import,
    Item,
    /// The head of a protocol.
    Header,
    State,
    /// What is between two items.
    Outside,
}

/// A state, which is expected after a bracket that closes its protocol too early.
pub const STATE: &str = "state";

/// A name or a number, among what is expected.
pub const NAME: &str = "_";

/// A part of a text that does not fit.
#[derive(Debug)]
pub struct Failure {
    /// What it should have been.
    pub part: Part,
    /// The numbers of its tokens.
    pub tokens: Range<usize>,
    /// The token that does not fit.
    pub at: usize,
    /// What would have fitted, separated by spaces.
    pub expected: String,
}

/// Says what is wrong with a part of a text that does not fit.
pub fn explain(
    source: SourceId,
    tree: &Tree<'_>,
    failure: &Failure,
    declared: &DeclaredNames<'_>,
) -> Diagnostic {
    let Range { start: first, end } = failure.tokens;
    let base = tree.place(first).start;
    let at = failure.at.min(end);
    // What is missing at the end of a part is missing before the next token.
    let end_of_piece = match at < end {
        true => tree.place(end - 1).end,
        false => tree.place(end).start,
    };
    let piece = &tree.text[base..end_of_piece];
    let in_piece = |place: Range<usize>| place.start - base..place.end - base;
    let mut here = match at < end {
        true => in_piece(tree.place(at)),
        false => piece.len()..piece.len(),
    };
    let mut last = match at > first {
        true => in_piece(tree.place(at - 1)),
        false => 0..0,
    };
    // If a string is expected, its first backslash is what does not fit.
    let is_escaped = tree
        .token(at)
        .is_some_and(|token| token.kind() == Kind::bad_string);
    if is_escaped
        && failure.expected.contains('"')
        && let Some(backslash) = piece[here.clone()].find('\\')
    {
        last = here.clone();
        here = here.start + backslash..here.start + backslash + 1;
    }
    let context = Context {
        source,
        base,
        part: failure.part,
        piece,
        found: &piece[here.clone()],
        following: tree.word(end),
        before: &piece[last.clone()],
        is_first: at == first,
        here,
        last,
        expected: failure.expected.split(' ').collect(),
        declared,
        tree,
        first,
        at,
        end,
    };
    context.special().unwrap_or_else(|| context.general())
}

/// A parse that failed: where, on what, and what surrounds it. Positions are in the part that did not parse.
pub(super) struct Context<'a> {
    source: SourceId,
    /// Where the part begins in the text.
    base: usize,
    pub(super) part: Part,
    pub(super) piece: &'a str,
    /// The token that does not fit.
    pub(super) found: &'a str,
    /// Where it is in the part.
    pub(super) here: Range<usize>,
    /// The token before it.
    pub(super) before: &'a str,
    /// Where that one is in the part.
    pub(super) last: Range<usize>,
    /// The token after the part.
    following: &'a str,
    /// Whether nothing precedes the token that does not fit.
    pub(super) is_first: bool,
    expected: Vec<&'a str>,
    pub(super) declared: &'a DeclaredNames<'a>,
    tree: &'a Tree<'a>,
    /// The numbers of the first token of the part, of the one that does not fit, and of the one after the part.
    first: usize,
    at: usize,
    end: usize,
}

impl<'a> Context<'a> {
    pub(super) fn expects(&self, sign: &str) -> bool {
        self.expected.contains(&sign)
    }

    /// Whether a name or a number could have been written.
    pub(super) fn expects_name(&self) -> bool {
        self.expects(NAME)
    }

    /// Whether nothing more could have been written.
    pub(super) fn expects_nothing(&self) -> bool {
        self.expected == [""]
    }

    /// The signs and keywords that could have been written, in the order of a report.
    fn signs(&self) -> Vec<&'a str> {
        let signs = self.expected.iter().copied();
        let mut signs: Vec<&str> = signs.filter(|sign| !matches!(*sign, NAME | "")).collect();
        signs.sort_unstable();
        signs.dedup();
        signs
    }

    pub(super) fn error(&self, message: impl Into<String>) -> Diagnostic {
        self.error_at(self.here.clone(), message)
    }

    pub(super) fn error_at(&self, at: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error("syntax", self.span(at), message)
    }

    /// A range of the piece as a span of the text.
    pub(super) fn span(&self, at: Range<usize>) -> Span {
        Span::new(self.source, self.base + at.start, self.base + at.end)
    }

    /// The token that does not fit.
    pub(super) fn found_span(&self) -> Span {
        self.span(self.here.clone())
    }

    /// The end of the token before the one that does not fit.
    pub(super) fn end_of_last(&self) -> Span {
        self.span(self.last.end..self.last.end)
    }

    /// The position of the token `count` tokens after the one that does not fit; the end of the part if there is none.
    pub(super) fn ahead(&self, count: usize) -> Range<usize> {
        if count == 0 {
            return self.here.clone();
        }
        match self.at + count < self.end {
            true => self.place(self.at + count),
            false => self.piece.len()..self.piece.len(),
        }
    }

    /// The token `count` tokens after the one that does not fit; empty if there is none.
    pub(super) fn token_ahead(&self, count: usize) -> &'a str {
        &self.piece[self.ahead(count)]
    }

    fn place(&self, number: usize) -> Range<usize> {
        let place = self.tree.place(number);
        place.start - self.base..place.end - self.base
    }

    /// Where the tokens of the part are, in order.
    pub(super) fn all(&self) -> impl Iterator<Item = Range<usize>> {
        (self.first..self.end).map(|number| self.place(number))
    }

    /// The tokens of the part, in order.
    pub(super) fn words(&self) -> impl Iterator<Item = &'a str> {
        (self.first..self.end).map(|number| self.tree.word(number))
    }

    fn general(&self) -> Diagnostic {
        let choices = self.choices();
        let expected = match choices.as_slice() {
            [] => return self.error(format!("{} is not expected here", self.what_is_found())),
            [only] => only.clone(),
            [first @ .., last] => format!("{} or {last}", first.join(", ")),
        };
        let error = self.error(format!(
            "expected {expected}, found {}",
            self.what_is_found()
        ));
        let keywords = self.signs().into_iter().filter(|sign| sign.len() > 2);
        match nearest(self.found, keywords) {
            Some(near) => error.fix(
                format!("did you mean `{near}`?"),
                self.found_span(),
                near,
                false,
            ),
            None => error,
        }
    }

    /// What could be written here, in words. Tokens that would continue a type are left out if others are expected too.
    fn choices(&self) -> Vec<String> {
        let mut choices = Vec::new();
        let is_type = self.expects_name() && self.expects("[");
        if is_type {
            choices.push("a type".to_owned());
        } else if self.expects_name() {
            choices.push("a name".to_owned());
        }
        let goes_on = |sign: &str| matches!(sign, "?" | "::" | "<" | ":" | "+");
        let signs: Vec<&str> = self
            .signs()
            .into_iter()
            .filter(|sign| !is_type || !matches!(*sign, "(" | "[" | "~"))
            .collect();
        let only_going_on = signs.iter().all(|sign| goes_on(sign));
        let signs = signs
            .into_iter()
            .filter(|sign| only_going_on || !goes_on(sign));
        choices.extend(signs.map(|sign| format!("`{sign}`")));
        choices
    }

    pub(super) fn what_is_found(&self) -> String {
        match self.found {
            "" if self.following.is_empty() => "the end of the file".to_owned(),
            "" => format!("`{}`", self.following),
            found if found.chars().all(|letter| letter.is_control()) => {
                format!("the control character {}", found.escape_default())
            }
            found => format!("`{found}`"),
        }
    }
}
