//! Explains failed parses.

// `Rule` has a variant for every rule of the grammar, most of which are not pieces.
#![allow(clippy::wildcard_enum_match_arm)]

use super::declared::DeclaredNames;
use super::grammar::Rule;
use super::tokens::{last_token, next_token, tokens};
use crate::diagnostic::Diagnostic;
use crate::name::nearest;
use crate::source::{SourceId, Span};
use pest::Parser as _;
use pest::error::{Error, InputLocation};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Held while pest tracks attempts: the switch for that is global to the process.
static DETAIL: Mutex<()> = Mutex::new(());

/// What could have been written where the parse failed.
#[derive(Default)]
pub(super) struct Expected {
    pub(super) name: bool,
    pub(super) signs: Vec<String>,
}

/// Says what is wrong with the piece of `text` at `at`, which did not parse as `rule`.
pub fn explain(
    source: SourceId,
    text: &str,
    rule: Rule,
    at: Range<usize>,
    error: &Error<Rule>,
    declared: &DeclaredNames<'_>,
) -> Diagnostic {
    let piece = &text[at.clone()];
    let (offset, expected) = attempts(rule, piece, error);
    let here = next_token(piece, offset);
    let last = last_token(piece, here.start);
    let context = Context {
        source,
        base: at.start,
        rule,
        piece,
        found: &piece[here.clone()],
        following: &text[next_token(text, at.end)],
        before: &piece[last.clone()],
        is_first: piece[..here.start].trim().is_empty() || next_token(piece, 0).start == here.start,
        here,
        last,
        expected,
        declared,
    };
    context.special().unwrap_or_else(|| context.general())
}

/// Where the farthest attempt failed and what it expected. pest tracks this only if it is enabled, which slows pest down, so the
/// piece is parsed a second time.
fn attempts(rule: Rule, piece: &str, error: &Error<Rule>) -> (usize, Expected) {
    let first = position(error);
    let again = {
        let _one_at_a_time = DETAIL.lock().unwrap_or_else(PoisonError::into_inner);
        pest::set_error_detail(true);
        let again = super::grammar::Grammar::parse(rule, piece).err();
        pest::set_error_detail(false);
        again
    };
    let Some(attempts) = again.as_ref().and_then(Error::parse_attempts) else {
        return (first, Expected::default());
    };
    let offset = attempts.max_position;
    let follows_word =
        piece[..offset].ends_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
    let mut expected = Expected::default();
    for token in attempts.expected_tokens() {
        let sign = token.to_string();
        if sign.contains("..") || sign == "_" {
            expected.name |= !follows_word;
            continue;
        }
        let is_blank = sign.trim().is_empty() || sign == "\u{feff}";
        let is_comment = sign == "//" || sign == "/*";
        if !is_blank && !is_comment && sign != "BUILTIN_RULE" {
            expected.signs.push(sign);
        }
    }
    (offset, expected)
}

/// Where the farthest attempt failed.
fn position(error: &Error<Rule>) -> usize {
    match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    }
}

/// A parse that failed: where, on what, and what surrounds it.
pub(super) struct Context<'a> {
    source: SourceId,
    /// Where the piece begins in the text.
    base: usize,
    pub(super) rule: Rule,
    pub(super) piece: &'a str,
    /// The token that does not fit.
    pub(super) found: &'a str,
    /// Where it is in the piece.
    pub(super) here: Range<usize>,
    /// The token before it.
    pub(super) before: &'a str,
    /// Where that one is in the piece.
    pub(super) last: Range<usize>,
    /// The token after the piece.
    pub(super) following: &'a str,
    /// Whether nothing precedes the token that does not fit.
    pub(super) is_first: bool,
    pub(super) expected: Expected,
    pub(super) declared: &'a DeclaredNames<'a>,
}

impl<'a> Context<'a> {
    pub(super) fn expects(&self, sign: &str) -> bool {
        self.expected.signs.iter().any(|expected| expected == sign)
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

    /// The position of the token `count` tokens after the one that does not fit; the end of the piece if there is none.
    pub(super) fn ahead(&self, count: usize) -> Range<usize> {
        let end = self.piece.len()..self.piece.len();
        tokens(self.piece, self.here.start)
            .nth(count)
            .unwrap_or(end)
    }

    /// The token `count` tokens after the one that does not fit; empty if there is none.
    pub(super) fn token_ahead(&self, count: usize) -> &'a str {
        &self.piece[self.ahead(count)]
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
        let keywords = self
            .expected
            .signs
            .iter()
            .map(String::as_str)
            .filter(|sign| sign.len() > 2);
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
        let is_type = self.expected.name && self.expects("[");
        if is_type {
            choices.push("a type".to_owned());
        } else if self.expected.name {
            choices.push("a name".to_owned());
        }
        let goes_on = |sign: &str| matches!(sign, "?" | "::" | "<" | ":" | "+");
        let signs = self.expected.signs.iter().map(String::as_str);
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
