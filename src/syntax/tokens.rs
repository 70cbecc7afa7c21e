//! Splits a text into tokens: the only place where the language is read character by character. Everything that looks at a text
//! reads this list.

use super::ascii::meant;
use std::ops::Range;

/// How deeply brackets, comments and type operators may nest.
pub const DEPTH_LIMIT: usize = 64;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Spaces, tabs, line breaks and byte order marks.
    Space,
    /// `// ...` without the line feed.
    LineComment,
    /// `/* ... */`, including nested comments.
    BlockComment,
    /// Letters, digits and `_`.
    Word,
    /// A string with its quotes.
    String,
    /// `->`
    Arrow,
    /// `::`
    Path,
    /// A single ASCII character that is none of the above.
    Sign(u8),
    /// Non-ASCII characters.
    Foreign,
    /// A string without its closing quote, to the end of the line.
    OpenString,
    /// A block comment that extends to the end of the text.
    OpenComment,
    /// The beginning of a block comment, up to where it is nested deeper than [`DEPTH_LIMIT`]; the rest of the text is another one.
    DeepComment,
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Token {
    /// The bytes as a range for slicing.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The token in its text.
    pub fn text(self, text: &str) -> &str {
        &text[self.range()]
    }

    /// Whether it is whitespace or a comment, which may be between any two tokens.
    pub fn is_trivia(self) -> bool {
        matches!(
            self.kind,
            TokenKind::Space | TokenKind::LineComment | TokenKind::BlockComment
        )
    }
}

/// A text with its tokens. Every byte belongs to exactly one token.
pub struct Tokens<'a> {
    /// The text.
    pub text: &'a str,
    /// All tokens, in order.
    pub all: Vec<Token>,
    /// The tokens that have a meaning: neither whitespace nor comments, nor characters that were meant as whitespace.
    significant: Vec<u32>,
}

impl<'a> Tokens<'a> {
    /// The tokens of a text that is not larger than [`SIZE_LIMIT`](super::SIZE_LIMIT). Linear.
    pub fn of(text: &'a str) -> Tokens<'a> {
        // Most tokens have about three characters, and there is whitespace between them.
        let mut all = Vec::with_capacity(text.len() / 3);
        let mut significant = Vec::with_capacity(text.len() / 5);
        for token in lex(text) {
            if !token.is_trivia() && !is_foreign_space(token, text) {
                significant.push(u32::try_from(all.len()).unwrap_or(u32::MAX));
            }
            all.push(token);
        }
        Tokens {
            text,
            all,
            significant,
        }
    }

    /// How many significant tokens there are.
    pub fn len(&self) -> usize {
        self.significant.len()
    }

    /// The significant token with this number.
    pub fn get(&self, number: usize) -> Option<Token> {
        let at = self.significant.get(number)?;
        Some(self.all[*at as usize])
    }

    /// The text of a significant token; empty if there is none.
    pub fn word(&self, number: usize) -> &'a str {
        self.get(number)
            .map_or("", |token| &self.text[token.range()])
    }

    /// Where a significant token is; the end of the text if there is none.
    pub fn place(&self, number: usize) -> Range<usize> {
        let end = self.text.len()..self.text.len();
        self.get(number).map_or(end, Token::range)
    }
}

fn is_foreign_space(token: Token, text: &str) -> bool {
    let is_space = |one| meant(one) == Some(" ");
    token.kind == TokenKind::Foreign && token.text(text).chars().all(is_space)
}

/// All tokens of a text, one by one.
pub fn lex(text: &str) -> impl Iterator<Item = Token> {
    let mut at = 0;
    let mut is_deep = false;
    let place = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
    std::iter::from_fn(move || {
        if at >= text.len() {
            return None;
        }
        let (kind, end) = match is_deep {
            true => (TokenKind::DeepComment, text.len()),
            false => token_at(text, at),
        };
        is_deep = kind == TokenKind::DeepComment;
        let start = std::mem::replace(&mut at, end);
        Some(Token {
            kind,
            start: place(start),
            end: place(end),
        })
    })
}

/// The significant words and signs of a text, one by one.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let tokens = lex(text).filter(|token| !token.is_trivia());
    tokens.map(|token| token.text(text))
}

/// The token at `at`, which is inside the text, and where it ends.
fn token_at(text: &str, at: usize) -> (TokenKind, usize) {
    let bytes = text.as_bytes();
    let rest = &bytes[at..];
    let run = |is: fn(&u8) -> bool| at + rest.iter().take_while(|byte| is(byte)).count();
    match rest[0] {
        b' ' | b'\n' | b'\t' | b'\r' => (TokenKind::Space, space(bytes, at)),
        byte if is_word_byte(&byte) => (TokenKind::Word, run(is_word_byte)),
        b'/' if rest.starts_with(b"//") => (TokenKind::LineComment, run(|byte| *byte != b'\n')),
        b'/' if rest.starts_with(b"/*") => block_comment(bytes, at),
        b'"' => {
            let length = rest[1..].iter().take_while(|byte| !b"\"\n".contains(byte));
            let end = at + 1 + length.count();
            match bytes.get(end) {
                Some(b'"') => (TokenKind::String, end + 1),
                _ => (TokenKind::OpenString, end),
            }
        }
        b'-' if rest.starts_with(b"->") => (TokenKind::Arrow, at + 2),
        b':' if rest.starts_with(b"::") => (TokenKind::Path, at + 2),
        byte if byte.is_ascii() => (TokenKind::Sign(byte), at + 1),
        _ if rest.starts_with(MARK) => (TokenKind::Space, space(bytes, at)),
        _ => (TokenKind::Foreign, foreign(bytes, at)),
    }
}

/// A byte order mark, which is whitespace.
const MARK: &[u8] = "\u{feff}".as_bytes();

fn space(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    loop {
        match bytes.get(end) {
            Some(b' ' | b'\n' | b'\t' | b'\r') => end += 1,
            Some(0xef) if bytes[end..].starts_with(MARK) => end += MARK.len(),
            _ => return end,
        }
    }
}

fn foreign(bytes: &[u8], at: usize) -> usize {
    let rest = bytes[at..].iter();
    at + rest.take_while(|byte| !byte.is_ascii()).count()
}

fn is_word_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}

fn block_comment(bytes: &[u8], at: usize) -> (TokenKind, usize) {
    let mut depth = 0;
    let mut here = at;
    loop {
        let rest = &bytes[here..];
        if rest.starts_with(b"/*") {
            depth += 1;
            here += 2;
            if depth > DEPTH_LIMIT {
                return (TokenKind::DeepComment, here);
            }
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            here += 2;
            if depth == 0 {
                return (TokenKind::BlockComment, here);
            }
        } else if rest.is_empty() {
            return (TokenKind::OpenComment, here);
        } else {
            here += 1;
        }
    }
}

/// Whether a token is a word that can be a name.
pub fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// How many digits a word begins with.
pub fn digits(word: &str) -> u32 {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    u32::try_from(digits).unwrap_or(u32::MAX)
}

/// Whether a line comment documents something: `///`, but not `////`.
pub fn is_doc(comment: &str) -> bool {
    comment.starts_with("///") && !comment.starts_with("////")
}

/// Whether a line comment documents the file: `//!`.
pub fn is_file_doc(comment: &str) -> bool {
    comment.starts_with("//!")
}

#[cfg(test)]
mod tests {
    use super::{TokenKind, Tokens, lex};

    #[test]
    fn every_byte_belongs_to_one_token() {
        let texts = [
            "",
            "proto! p { a:send { x(q::client::s<u8>) -> ! } }",
            "\u{feff}a\u{a0}b \u{2192} \"x\u{f6}\" \"open\n'/* /* */",
            "/",
            "-",
            &"/*".repeat(100),
            "\0\\\r\n// end",
        ];
        for text in texts {
            let mut at = 0;
            for token in lex(text) {
                assert_eq!(token.start, at, "{text}");
                assert!(token.end > at, "{text}");
                at = token.end;
            }
            assert_eq!(at as usize, text.len(), "{text}");
        }
    }

    #[test]
    fn characters_meant_as_whitespace_are_not_significant() {
        let tokens = Tokens::of("a\u{a0}b\u{f6}");
        let kinds = (0..tokens.len()).filter_map(|at| tokens.get(at).map(|token| token.kind));
        let kinds: Vec<TokenKind> = kinds.collect();
        assert_eq!(
            kinds,
            [TokenKind::Word, TokenKind::Word, TokenKind::Foreign]
        );
    }
}
