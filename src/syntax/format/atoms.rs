//! The tokens and comments of a text, with what the layout has to know about each.

use super::super::lex::{Lexeme, is_doc, is_file_doc, lexeme};

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

/// Splits a text that has no syntax errors into atoms, and passes them to `hand_over` one by one.
pub fn atoms(text: &str, mut hand_over: impl FnMut(Atom)) {
    let mut nesting: Vec<Level> = Vec::new();
    // The last two atoms that are not comments.
    let mut recent = [AtomKind::Semicolon; 2];
    let mut breaks = 0;
    let mut at = 0;
    while at < text.len() {
        let (lexeme, end) = lexeme(text, at);
        let start = std::mem::replace(&mut at, end);
        let part = &text[start..end];
        let kind = match lexeme {
            Lexeme::Blank => continue,
            Lexeme::Break => {
                breaks = (breaks + 1).min(2);
                continue;
            }
            Lexeme::LineComment if is_doc(part) => AtomKind::Comment(Comment::Doc),
            Lexeme::LineComment if is_file_doc(part) => AtomKind::Comment(Comment::FileDoc),
            Lexeme::LineComment => AtomKind::Comment(Comment::Line),
            Lexeme::BlockComment if !part.contains('\n') => AtomKind::Comment(Comment::Block),
            Lexeme::BlockComment | Lexeme::OpenComment | Lexeme::DeepComment => {
                AtomKind::Comment(Comment::Lines)
            }
            Lexeme::Word | Lexeme::Foreign => AtomKind::Word,
            Lexeme::String | Lexeme::OpenString => AtomKind::String,
            Lexeme::Arrow => AtomKind::Arrow,
            Lexeme::Sign(b':') if text[end..].starts_with(':') => {
                at += 1;
                AtomKind::Path
            }
            Lexeme::Sign(sign) => match sign {
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
            breaks: std::mem::take(&mut breaks),
            start: byte(start),
            end: byte(at),
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

/// A text is never larger than [`super::super::SIZE_LIMIT`].
fn byte(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}
