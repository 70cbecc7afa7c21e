//! The tokens and comments of a text, with what the layout has to know about each.

use super::super::tokens::{TokenKind, is_doc, is_file_doc, lex};

/// A token or a comment.
#[derive(Clone, Copy, Debug)]
pub struct Atom {
    pub kind: AtomKind,
    /// How many line breaks precede it; 2 means two or more.
    pub breaks: u8,
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// For an opening bracket, the index of the closing one; otherwise 0, which is never a closing bracket.
    pub partner: u32,
}

/// What an atom is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomKind {
    Word,
    String,
    /// `->`
    Arrow,
    /// `::`
    Path,
    /// The colon between a state and its direction.
    Direction,
    Comma,
    Semicolon,
    /// `(`, `<` or `[`
    Open(u8),
    /// `)`, `>` or `]`
    Close,
    /// What opens a body: `{`, or the `(` after a protocol's name.
    OpenBody,
    /// What closes a body.
    CloseBody,
    Comment(Comment),
    /// Any other character.
    Sign(u8),
}

/// What a comment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comment {
    /// `// ...`
    Line,
    /// `/// ...`
    Doc,
    /// `//! ...`
    FileDoc,
    /// `/* ... */` without a line break.
    Block,
    /// `/* ... */` with line breaks.
    Lines,
}

impl Atom {
    pub fn is_comment(&self) -> bool {
        matches!(self.kind, AtomKind::Comment(_))
    }

    /// Whether it documents what follows it, so that nothing may be moved across it.
    pub fn is_doc(&self) -> bool {
        matches!(
            self.kind,
            AtomKind::Comment(Comment::Doc | Comment::FileDoc)
        )
    }

    /// Whether the line has to end after it.
    pub fn ends_line(&self) -> bool {
        self.is_doc() || self.kind == AtomKind::Comment(Comment::Line)
    }

    /// Whether it can be between other atoms on a line.
    pub fn is_flat(&self) -> bool {
        !self.ends_line() && self.kind != AtomKind::Comment(Comment::Lines)
    }

    pub fn text<'a>(&self, text: &'a str) -> &'a str {
        &text[self.start as usize..self.end as usize]
    }
}

/// Turns the tokens of a text that has no syntax errors into atoms, and passes them to `hand_over` one by one.
pub fn atoms(text: &str, mut hand_over: impl FnMut(Atom)) {
    let mut nesting: Vec<Level> = Vec::new();
    // The last two atoms that are not comments.
    let mut recent = [AtomKind::Semicolon; 2];
    let mut breaks = 0;
    for token in lex(text) {
        let part = token.text(text);
        let kind = match token.kind {
            TokenKind::Space => {
                let found = part.bytes().filter(|byte| *byte == b'\n').take(2).count();
                breaks = (breaks + found).min(2);
                continue;
            }
            TokenKind::LineComment if is_doc(part) => AtomKind::Comment(Comment::Doc),
            TokenKind::LineComment if is_file_doc(part) => AtomKind::Comment(Comment::FileDoc),
            TokenKind::LineComment => AtomKind::Comment(Comment::Line),
            TokenKind::BlockComment if !part.contains('\n') => AtomKind::Comment(Comment::Block),
            TokenKind::BlockComment | TokenKind::OpenComment | TokenKind::DeepComment => {
                AtomKind::Comment(Comment::Lines)
            }
            TokenKind::Word | TokenKind::Foreign => AtomKind::Word,
            TokenKind::String | TokenKind::OpenString => AtomKind::String,
            TokenKind::Arrow => AtomKind::Arrow,
            TokenKind::Path => AtomKind::Path,
            TokenKind::Sign(sign) => match sign {
                b':' if nesting == [Level::Protocol] => AtomKind::Direction,
                b',' => AtomKind::Comma,
                b';' => AtomKind::Semicolon,
                b'{' | b'(' if recent == [AtomKind::Sign(b'!'), AtomKind::Word] => {
                    nesting.push(Level::Protocol);
                    AtomKind::OpenBody
                }
                b'{' => {
                    nesting.push(Level::Body);
                    AtomKind::OpenBody
                }
                b'(' | b'<' | b'[' => {
                    nesting.push(Level::List);
                    AtomKind::Open(sign)
                }
                b'}' | b')' | b'>' | b']' => match nesting.pop() {
                    Some(Level::Protocol | Level::Body) => AtomKind::CloseBody,
                    Some(Level::List) | None => AtomKind::Close,
                },
                _ => AtomKind::Sign(sign),
            },
        };
        if !matches!(kind, AtomKind::Comment(_)) {
            recent = [recent[1], kind];
        }
        hand_over(Atom {
            kind,
            breaks: u8::try_from(std::mem::take(&mut breaks)).unwrap_or(2),
            start: token.start,
            end: token.end,
            partner: 0,
        });
    }
}

/// What a bracket opens.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Protocol,
    Body,
    List,
}
