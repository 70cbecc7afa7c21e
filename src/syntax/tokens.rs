//! Splits a text into the tokens that diagnostics quote: coarser than the grammar, and defined for any text.

use super::lex::lexeme;
use std::ops::Range;

/// The first token at or after `from`, comments skipped; the end of the text if there is none.
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
    // A string is one token: what looks like a comment in it is not one.
    if text.starts_with('"') {
        return lexeme(text, 0).1;
    }
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

/// The last token before `to`, so that something can be inserted after it; empty at the start if there is none.
pub fn last_token(piece: &str, to: usize) -> Range<usize> {
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

/// All tokens at or after `from`.
pub fn tokens(text: &str, from: usize) -> impl Iterator<Item = Range<usize>> {
    let mut at = from;
    std::iter::from_fn(move || {
        let token = next_token(text, at);
        at = token.end;
        (!token.is_empty()).then_some(token)
    })
}

/// Whether a token is a word that can be a name.
pub fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}
