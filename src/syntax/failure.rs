//! Explains failed parses.

use super::declared::DeclaredNames;
use super::expected::Expected;
use super::parser::{Failure, Part};
use super::tokens::Tokens;
use crate::diagnostic::Diagnostic;
use crate::name::nearest;
use crate::source::{SourceId, Span};
use std::ops::Range;

/// Says what is wrong with a part of a text that did not parse.
pub fn explain(
    source: SourceId,
    tokens: &Tokens<'_>,
    failure: &Failure,
    declared: &DeclaredNames<'_>,
) -> Diagnostic {
    let Range { start: first, end } = failure.tokens;
    let base = tokens.place(first).start;
    let at = failure.at.min(end);
    // What is missing at the end of a part is missing before the next token.
    let end_of_piece = match at < end {
        true => tokens.place(end - 1).end,
        false => tokens.place(end).start,
    };
    let piece = &tokens.text[base..end_of_piece];
    let in_piece = |place: Range<usize>| place.start - base..place.end - base;
    let here = match at < end {
        true => in_piece(tokens.place(at)),
        false => piece.len()..piece.len(),
    };
    let inside = failure.inside as usize;
    let (here, last) = match inside {
        0 if at > first => (here, in_piece(tokens.place(at - 1))),
        0 => (here, 0..0),
        _ => {
            let start = here.start + inside;
            // A backslash is alone; what follows a number is not.
            let end = match piece[start..].starts_with('\\') {
                true => start + 1,
                false => here.end,
            };
            (start..end, here)
        }
    };
    let context = Context {
        source,
        base,
        part: failure.part,
        piece,
        found: &piece[here.clone()],
        following: tokens.word(end),
        before: &piece[last.clone()],
        is_first: at == first,
        here,
        last,
        expected: failure.expected,
        declared,
        tokens,
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
    pub(super) expected: Expected,
    pub(super) declared: &'a DeclaredNames<'a>,
    tokens: &'a Tokens<'a>,
    /// The numbers of the first token of the part, of the one that does not fit, and of the one after the part.
    first: usize,
    at: usize,
    end: usize,
}

impl<'a> Context<'a> {
    pub(super) fn expects(&self, sign: &str) -> bool {
        self.expected.has(sign)
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
        let place = self.tokens.place(number);
        place.start - self.base..place.end - self.base
    }

    /// Where the tokens of the part are, in order.
    pub(super) fn all(&self) -> impl Iterator<Item = Range<usize>> {
        (self.first..self.end).map(|number| self.place(number))
    }

    /// The tokens of the part, in order.
    pub(super) fn words(&self) -> impl Iterator<Item = &'a str> {
        (self.first..self.end).map(|number| self.tokens.word(number))
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
        let keywords = self.expected.signs().filter(|sign| sign.len() > 2);
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
        let is_type = self.expected.has_name() && self.expects("[");
        if is_type {
            choices.push("a type".to_owned());
        } else if self.expected.has_name() {
            choices.push("a name".to_owned());
        }
        let goes_on = |sign: &str| matches!(sign, "?" | "::" | "<" | ":" | "+");
        let signs = self.expected.signs();
        let signs: Vec<&str> = signs
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
