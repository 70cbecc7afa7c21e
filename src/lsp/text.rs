//! The tokens of a text. The only module here that uses the lexer.

use crate::syntax::{SIZE_LIMIT, TokenKind, Tokens, is_doc, is_file_doc, outline};
use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name, keyword or number.
    Word,
    /// A string with its quotes; the last one may be missing.
    String,
    /// A comment that documents nothing.
    Comment,
    /// A documentation comment.
    Doc,
    /// `->`
    Arrow,
    /// `::`
    Path,
    /// Another character.
    Sign(u8),
    /// Characters that are no part of the language.
    Foreign,
}

/// A part of a text that is not whitespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its bytes.
    pub at: Range<usize>,
    /// Whether it is the first of its line.
    pub starts_line: bool,
}

/// All tokens of a text, comments included, in order; none of a text that is too large to be checked.
pub fn tokens(text: &str) -> Vec<Token> {
    if text.len() > SIZE_LIMIT {
        return Vec::new();
    }
    let mut tokens: Vec<Token> = Vec::with_capacity(text.len() / 5);
    let mut starts_line = true;
    for token in Tokens::of(text).all {
        let (at, end) = (token.range().start, token.range().end);
        let comment = |comment: &str| match is_doc(comment) || is_file_doc(comment) {
            true => Kind::Doc,
            false => Kind::Comment,
        };
        let kind = match token.kind {
            TokenKind::Space => {
                starts_line |= text[at..end].contains('\n');
                None
            }
            TokenKind::LineComment => Some(comment(&text[at..end])),
            TokenKind::BlockComment | TokenKind::OpenComment | TokenKind::DeepComment => {
                Some(Kind::Comment)
            }
            TokenKind::Word => Some(Kind::Word),
            TokenKind::String | TokenKind::OpenString => Some(Kind::String),
            TokenKind::Arrow => Some(Kind::Arrow),
            TokenKind::Path => Some(Kind::Path),
            TokenKind::Sign(sign) => Some(Kind::Sign(sign)),
            TokenKind::Foreign => Some(Kind::Foreign),
        };
        if let Some(kind) = kind {
            // A carriage return is no part of a comment.
            let is_line = matches!(kind, Kind::Comment | Kind::Doc | Kind::String);
            let trimmed = match is_line {
                true => text[at..end].trim_end_matches('\r'),
                false => &text[at..end],
            };
            tokens.push(Token {
                kind,
                at: at..at + trimmed.len(),
                starts_line: std::mem::take(&mut starts_line),
            });
        }
    }
    tokens
}

/// The tokens without comments.
pub fn significant(text: &str) -> Vec<Token> {
    let mut tokens = tokens(text);
    tokens.retain(|token| !matches!(token.kind, Kind::Comment | Kind::Doc));
    tokens
}

/// Where the items of a text begin.
pub struct ItemStarts {
    /// The first bytes of their keywords, in order.
    keywords: Vec<usize>,
}

impl ItemStarts {
    /// The same as those that the parser finds, also inside brackets that were never closed.
    pub fn of(text: &str) -> ItemStarts {
        let text = if text.len() > SIZE_LIMIT { "" } else { text };
        let mut keywords: Vec<usize> = outline(&Tokens::of(text))
            .items
            .iter()
            .map(|item| item.keyword)
            .collect();
        keywords.sort_unstable();
        ItemStarts { keywords }
    }

    /// Whether an item begins with a token.
    pub fn contains(&self, token: &Token) -> bool {
        self.keywords.binary_search(&token.at.start).is_ok()
    }
}

/// What other files need to know about a text: its package, what it imports, and which protocols and instances it declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heads {
    /// The package, with dots; empty without one.
    pub package: String,
    /// The paths of imports as written.
    pub imports: Vec<String>,
    /// The names of protocols and instances.
    pub protocols: Vec<String>,
}

/// Reads the heads of a text, which may have errors.
#[must_use]
pub fn heads(text: &str) -> Heads {
    let tokens = significant(text);
    let starts = ItemStarts::of(text);
    let mut heads = Heads::default();
    for (at, token) in tokens.iter().enumerate() {
        if token.kind != Kind::Word || !starts.contains(token) {
            continue;
        }
        let word = |at: usize| {
            let token = tokens.get(at).filter(|token| token.kind == Kind::Word);
            token.map(|token| &text[token.at.clone()])
        };
        match &text[token.at.clone()] {
            "package" if heads.package.is_empty() => {
                let parts = tokens[at + 1..]
                    .iter()
                    .take_while(|token| matches!(token.kind, Kind::Word | Kind::Sign(b'.')));
                heads.package = parts.map(|token| &text[token.at.clone()]).collect();
            }
            "import" => {
                let path = tokens.get(at + 1).map(|path| &text[path.at.clone()]);
                let path = path.map(|path| path.trim_matches('"').to_owned());
                heads.imports.extend(path);
            }
            "proto" => heads.protocols.extend(word(at + 2).map(str::to_owned)),
            _ => {}
        }
    }
    heads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_found_wherever_the_parser_finds_them() {
        let texts = [
            "package a; import \"t.proto\"; proto! p { a { } }",
            "\u{feff}package a;\nimport \"t.proto\";\nproto! p { a { } }",
            "/* license */ package a;\n  import \"t.proto\";\n\tproto! p { a { } }",
            "package a;\r\n/* t */ import \"t.proto\";\r\nproto! p {\r\n a:send { m(",
        ];
        for text in texts {
            let expected = Heads {
                package: "a".to_owned(),
                imports: vec!["t.proto".to_owned()],
                protocols: vec!["p".to_owned()],
            };
            assert_eq!(heads(text), expected, "{text}");
        }
        let none = heads("proto! p { package:send { import -> ! } }");
        assert_eq!((none.package.as_str(), none.imports.len()), ("", 0));
    }
}
