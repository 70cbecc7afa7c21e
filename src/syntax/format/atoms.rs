//! The tokens and comments of a text, with what the layout has to know about each.

use crate::syntax::build::{is_doc, is_file_doc};
use duologue_grammar::{Kind, Tree};

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

/// Turns the leaves of the tree of a text that has no syntax errors into atoms, and passes them to `hand_over` one by one.
pub fn atoms(tree: &Tree<'_>, mut hand_over: impl FnMut(Atom)) {
    let text = tree.text;
    let mut nesting: Vec<Level> = Vec::new();
    // The last two atoms that are not comments.
    let mut recent = [AtomKind::Semicolon; 2];
    let mut last = 0;
    let mut leaves = tree.leaves().peekable();
    while let Some(leaf) = leaves.next() {
        let breaks = text[last..leaf.range().start].bytes();
        let breaks = breaks.filter(|byte| *byte == b'\n').take(2).count();
        let part = &text[leaf.range()];
        let mut end = leaf.end;
        let kind = match leaf.kind {
            Kind::line_comment if is_doc(part) => AtomKind::Comment(Comment::Doc),
            Kind::line_comment if is_file_doc(part) => AtomKind::Comment(Comment::FileDoc),
            Kind::line_comment => AtomKind::Comment(Comment::Line),
            Kind::block_comment if !part.contains('\n') => AtomKind::Comment(Comment::Block),
            Kind::block_comment => AtomKind::Comment(Comment::Lines),
            Kind::string => AtomKind::String,
            Kind::arrow => AtomKind::Arrow,
            Kind::colons => AtomKind::Path,
            Kind::colon if nesting == [Level::Protocol] => AtomKind::Direction,
            Kind::comma => AtomKind::Comma,
            Kind::semi => AtomKind::Semicolon,
            Kind::lbrace | Kind::lparen if recent == [AtomKind::Sign(b'!'), AtomKind::Word] => {
                nesting.push(Level::Protocol);
                AtomKind::OpenBody
            }
            Kind::lbrace => {
                nesting.push(Level::Body);
                AtomKind::OpenBody
            }
            Kind::lparen | Kind::langle | Kind::lbracket => {
                nesting.push(Level::List);
                AtomKind::Open(part.as_bytes()[0])
            }
            Kind::rbrace | Kind::rparen | Kind::rangle | Kind::rbracket => match nesting.pop() {
                Some(Level::Protocol | Level::Body) => AtomKind::CloseBody,
                Some(Level::List) | None => AtomKind::Close,
            },
            // A number with its unit, if nothing is between them.
            Kind::number => {
                if let Some(unit) =
                    leaves.next_if(|next| next.kind == Kind::ident && next.start == end)
                {
                    end = unit.end;
                }
                AtomKind::Word
            }
            kind if kind.is_sign() || kind == Kind::option => AtomKind::Sign(part.as_bytes()[0]),
            _ => AtomKind::Word,
        };
        if !matches!(kind, AtomKind::Comment(_)) {
            recent = [recent[1], kind];
        }
        last = end as usize;
        hand_over(Atom {
            kind,
            breaks: u8::try_from(breaks).unwrap_or(2),
            start: leaf.start,
            end,
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
