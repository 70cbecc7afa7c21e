//! A parse that failed, told in our words.

// `Rule` has a variant for every rule of the grammar, most of which are no pieces.
#![allow(clippy::wildcard_enum_match_arm)]

use super::grammar::Rule;
use crate::diagnostic::Diagnostic;
use crate::name::nearest;
use crate::source::{SourceId, Span};
use pest::Parser as _;
use pest::error::{Error, InputLocation};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Held while pest tracks attempts: its switch is one for the whole process.
static DETAIL: Mutex<()> = Mutex::new(());

/// What could have stood where the parse failed.
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
) -> Diagnostic {
    let piece = &text[at.clone()];
    let (offset, expected) = attempts(rule, piece, error);
    let here = next_token(piece, offset);
    let found = &piece[here.clone()];
    let before = last_token(piece, here.start);
    let place =
        |range: &Range<usize>| Span::new(source, at.start + range.start, at.start + range.end);
    let context = Context {
        rule,
        piece,
        found,
        behind: &text[next_token(text, at.end)],
        before: &piece[before.clone()],
        is_first: piece[..here.start].trim().is_empty() || next_token(piece, 0).start == here.start,
        span: place(&here),
        before_span: place(&before),
        expected,
    };
    context.special().unwrap_or_else(|| context.general())
}

/// Where the farthest attempt failed and what it looked for. pest tracks that only when told to, which slows it down, so the
/// piece is parsed a second time.
fn attempts(rule: Rule, piece: &str, error: &Error<Rule>) -> (usize, Expected) {
    let first = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
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

/// A parse that failed: where, on what, and what stands around it.
pub(super) struct Context<'a> {
    pub(super) rule: Rule,
    pub(super) piece: &'a str,
    pub(super) found: &'a str,
    /// What stands behind the piece.
    pub(super) behind: &'a str,
    pub(super) before: &'a str,
    pub(super) is_first: bool,
    pub(super) span: Span,
    pub(super) before_span: Span,
    pub(super) expected: Expected,
}

impl Context<'_> {
    pub(super) fn expects(&self, sign: &str) -> bool {
        self.expected.signs.iter().any(|expected| expected == sign)
    }

    pub(super) fn error(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error("syntax", self.span, message)
    }

    fn general(&self) -> Diagnostic {
        let choices = self.choices();
        let expected = match choices.as_slice() {
            [] => return self.error(format!("{} cannot stand here", self.what_is_found())),
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
            Some(near) => error.fix(format!("did you mean `{near}`?"), self.span, near, false),
            None => error,
        }
    }

    /// What could stand here, in words. Of the signs that could go on with a type those that end it are enough.
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
            "" if self.behind.is_empty() => "the end of the text".to_owned(),
            "" => format!("`{}`", self.behind),
            found if found.chars().all(|letter| letter.is_control()) => {
                format!("the control character {}", found.escape_default())
            }
            found => format!("`{found}`"),
        }
    }

    pub(super) fn next_word_end(&self) -> usize {
        let start = self.found.as_ptr() as usize - self.piece.as_ptr() as usize;
        start + self.found.len()
    }
}

/// The first word or sign at or behind `from`; the end of the piece if there is none.
pub fn next_token(piece: &str, from: usize) -> Range<usize> {
    let mut at = from.min(piece.len());
    loop {
        let rest = &piece[at..];
        let trimmed =
            rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '\u{feff}');
        at += rest.len() - trimmed.len();
        if trimmed.starts_with("//") {
            at += trimmed.find('\n').unwrap_or(trimmed.len());
        } else if trimmed.starts_with("/*") {
            at += comment_length(trimmed);
        } else {
            return at..at + token_length(trimmed);
        }
    }
}

fn comment_length(text: &str) -> usize {
    let mut depth = 0usize;
    let bytes = text.as_bytes();
    let mut at = 0;
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn token_length(text: &str) -> usize {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let word = text.len() - text.trim_start_matches(is_word).len();
    let sign = ["->", "::"]
        .into_iter()
        .find(|sign| text.starts_with(sign))
        .map(str::len);
    let single = text.chars().next().map_or(0, char::len_utf8);
    if word > 0 {
        word
    } else {
        sign.unwrap_or(single)
    }
}

/// The last word or sign that ends at or before `to`, so that something can be inserted behind it.
fn last_token(piece: &str, to: usize) -> Range<usize> {
    let mut last = 0..0;
    let mut at = 0;
    loop {
        let token = next_token(piece, at);
        if token.start >= to || token.is_empty() {
            return last;
        }
        at = token.end;
        last = token;
    }
}
