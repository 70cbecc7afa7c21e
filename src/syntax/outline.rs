//! Finds where items begin, what is documentation, and what cannot be part of any item, before a text is parsed.
//!
//! An item begins at its keyword even inside brackets that were never closed, because none of `proto !`, `type a =`, `struct a {`,
//! `enum a {`, `extern type a`, `import "a"` can occur inside an item; so a missing brace in one protocol does not hide the next.

use super::tokens::{DEPTH_LIMIT, Token, TokenKind, Tokens, is_doc, is_file_doc};
use std::ops::Range;

/// What is known about a text before it is parsed.
#[derive(Debug, Default)]
pub struct Outline {
    /// Where the items begin, in order.
    pub items: Vec<ItemStart>,
    /// Documentation comments, in order.
    pub docs: Vec<Doc>,
    /// What cannot be part of any item, in order.
    pub faults: Vec<Fault>,
}

/// A fault in the tokens of a text.
#[derive(Debug)]
pub struct Fault {
    /// Where it is.
    pub at: Range<usize>,
    /// What is wrong.
    pub kind: FaultKind,
}

/// What can be wrong with the tokens of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A block comment extends to the end of the text.
    OpenComment,
    /// Comments are nested deeper than the limit.
    DeepComment,
    /// A string extends to the end of its line.
    OpenString,
    /// Non-ASCII characters outside of comments and strings.
    Foreign,
    /// Brackets or type operators are nested deeper than the limit.
    DeepNesting,
}

/// A documentation comment of one line.
#[derive(Debug)]
pub struct Doc {
    /// The comment, without the line break.
    pub at: Range<usize>,
    /// Whether it is `//!`.
    pub is_inner: bool,
    /// The start of the next token that is not a comment; the length of the text if there is none.
    pub before: usize,
}

/// What an item's keyword says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemStartKind {
    /// `package`
    Package,
    /// `import`
    Import,
    /// A type, bound or instance.
    Item,
    /// A protocol with a body.
    Protocol,
}

/// Where an item begins.
#[derive(Clone, Copy, Debug)]
pub struct ItemStart {
    /// What its keyword says it is.
    pub kind: ItemStartKind,
    /// The number of its first significant token: of its keyword, or of the attributes before it.
    pub first: usize,
    /// Where its keyword begins in the text.
    #[cfg_attr(not(feature = "lsp"), allow(dead_code))]
    pub keyword: usize,
}

struct Scanner<'a> {
    tokens: &'a Tokens<'a>,
    outline: Outline,
    /// The last four significant tokens, the newest last.
    recent: [Option<Seen>; 4],
    /// The open brackets of the current item.
    open: Vec<u8>,
    angles: usize,
    operators: usize,
    /// The first token of the attributes before the current one.
    meta: Option<usize>,
    /// The depth of brackets outside the attribute being read.
    attribute: Option<usize>,
    docs_waiting: usize,
    starts_line: bool,
    too_deep: bool,
    /// Whether the current item is a protocol whose body has begun.
    has_body: bool,
    /// Whether the current item is complete.
    is_complete: bool,
}

#[derive(Clone, Copy)]
struct Seen {
    token: Token,
    /// Its number, or that of the first token of the attributes before it.
    with_meta: usize,
    starts_line: bool,
}

/// Finds the items, the documentation and the faults of a text. One pass over its tokens.
pub fn outline(tokens: &Tokens<'_>) -> Outline {
    let mut scanner = Scanner {
        tokens,
        outline: Outline::default(),
        recent: [None; 4],
        open: Vec::new(),
        angles: 0,
        operators: 0,
        meta: None,
        attribute: None,
        docs_waiting: 0,
        starts_line: true,
        too_deep: false,
        has_body: false,
        is_complete: true,
    };
    scanner.run();
    scanner.outline
}

impl Scanner<'_> {
    fn run(&mut self) {
        let text = self.tokens.text;
        let mut number = 0;
        for token in &self.tokens.all {
            match token.kind {
                TokenKind::Space => self.starts_line |= token.text(text).contains('\n'),
                TokenKind::LineComment => self.line_comment(token.text(text), token.range().start),
                TokenKind::BlockComment => {}
                _ => {
                    // Characters that were meant as whitespace have no number.
                    let is_numbered = self.tokens.get(number) == Some(*token);
                    let is_last = token.kind == TokenKind::DeepComment;
                    self.token(*token, number);
                    number += usize::from(is_numbered);
                    if is_last {
                        break;
                    }
                }
            }
        }
        for doc in &mut self.outline.docs[self.docs_waiting..] {
            doc.before = text.len();
        }
    }

    fn fault(&mut self, at: Range<usize>, kind: FaultKind) {
        self.outline.faults.push(Fault { at, kind });
    }

    fn line_comment(&mut self, comment: &str, at: usize) {
        let is_inner = is_file_doc(comment);
        if is_inner || is_doc(comment) {
            let trimmed = comment.strip_suffix('\r').unwrap_or(comment);
            self.outline.docs.push(Doc {
                at: at..at + trimmed.len(),
                is_inner,
                before: 0,
            });
        }
    }

    fn token(&mut self, token: Token, number: usize) {
        let at = token.range();
        match token.kind {
            TokenKind::OpenComment => {
                return self.fault(at.start..at.start + 2, FaultKind::OpenComment);
            }
            TokenKind::DeepComment => return self.fault(at, FaultKind::DeepComment),
            TokenKind::OpenString => return self.fault(at, FaultKind::OpenString),
            TokenKind::Foreign => return self.fault(at, FaultKind::Foreign),
            _ => {}
        }
        for doc in &mut self.outline.docs[self.docs_waiting..] {
            doc.before = at.start;
        }
        self.docs_waiting = self.outline.docs.len();
        let is_attribute = matches!(
            token.kind,
            TokenKind::Word
                | TokenKind::Arrow
                | TokenKind::Sign(b'[' | b'(' | b',' | b'-' | b')' | b']')
        );
        if self.attribute.is_some() && !is_attribute {
            self.attribute = None;
            self.meta = None;
        }
        if token.kind == TokenKind::Sign(b'#') {
            self.meta.get_or_insert(number);
            self.attribute = Some(self.open.len());
        }
        let with_meta = self.meta.unwrap_or(number);
        if self.attribute.is_none() {
            self.meta = None;
        }
        let seen = Seen {
            token,
            with_meta,
            starts_line: std::mem::take(&mut self.starts_line),
        };
        self.item_start(seen);
        self.recent.rotate_left(1);
        self.recent[3] = Some(seen);
        self.nesting(token);
        if token.kind == TokenKind::Sign(b']')
            && self.attribute.is_some_and(|depth| self.open.len() <= depth)
        {
            self.attribute = None;
        }
    }

    fn word(&self, back: usize) -> Option<&str> {
        let seen = self.recent[self.recent.len() - back]?;
        (seen.token.kind == TokenKind::Word).then(|| seen.token.text(self.tokens.text))
    }

    /// Recognizes the words that begin an item at the token that makes them unambiguous.
    fn item_start(&mut self, seen: Seen) {
        let at = |back: usize| self.recent[self.recent.len() - back];
        let at_line_start =
            |back: usize| self.open.is_empty() || at(back).is_some_and(|seen| seen.starts_line);
        let one = || self.word(1);
        let two = || self.word(2);
        let found = match seen.token.kind {
            TokenKind::Sign(b'!') if one() == Some("proto") => Some((1, ItemStartKind::Protocol)),
            TokenKind::String if one() == Some("import") && at_line_start(1) => {
                Some((1, ItemStartKind::Import))
            }
            // Elsewhere `package` is a name like any other, such as that of a bound.
            TokenKind::Word
                if self.open.is_empty() && one() == Some("package") && self.is_behind_item(1) =>
            {
                Some((1, ItemStartKind::Package))
            }
            TokenKind::Sign(b'=')
                if one().is_some() && two() == Some("type") && at_line_start(2) =>
            {
                Some((2, ItemStartKind::Item))
            }
            TokenKind::Sign(b'{' | b'<')
                if one().is_some()
                    && matches!(two(), Some("struct" | "enum"))
                    && at_line_start(2) =>
            {
                Some((2, ItemStartKind::Item))
            }
            TokenKind::Sign(b';' | b'{' | b':')
                if one().is_some() && matches!(two(), Some("type" | "bound")) =>
            {
                let is_extern = self.word(3) == Some("extern") && at_line_start(3);
                is_extern.then_some((3, ItemStartKind::Item))
            }
            _ => None,
        };
        let Some((back, kind)) = found else {
            return;
        };
        let start = at(back).unwrap_or(seen);
        self.open.clear();
        self.angles = 0;
        self.has_body = false;
        self.is_complete = false;
        self.outline.items.push(ItemStart {
            kind,
            first: start.with_meta,
            keyword: start.token.range().start,
        });
    }

    /// Whether an item may begin with the token `back` tokens ago: the item before it is complete, or seems to be, because the
    /// token begins a line and does not continue a list.
    fn is_behind_item(&self, back: usize) -> bool {
        let seen = |back: usize| self.recent[self.recent.len() - back];
        let goes_on = seen(back + 1)
            .is_some_and(|before| matches!(before.token.kind, TokenKind::Sign(b':' | b'+')));
        let starts_line = seen(back).is_some_and(|seen| seen.starts_line);
        self.outline.items.is_empty() || self.is_complete || starts_line && !goes_on
    }

    /// Tracks brackets: bounds their depth and finds where an item ends.
    fn nesting(&mut self, token: Token) {
        let TokenKind::Sign(sign) = token.kind else {
            self.operators = 0;
            return;
        };
        self.operators = match sign {
            b'?' | b'~' => self.operators + 1,
            _ => 0,
        };
        match sign {
            b'<' => self.angles += 1,
            b'>' => self.angles = self.angles.saturating_sub(1),
            b'=' => self.instance(),
            b';' if self.open.is_empty() => self.is_complete = true,
            b'{' | b'(' | b'[' => {
                if sign == b'{' {
                    self.angles = 0;
                }
                let last = self.outline.items.last().map(|item| item.kind);
                self.has_body |=
                    last == Some(ItemStartKind::Protocol) && self.open.is_empty() && sign != b'[';
                self.open.push(sign);
            }
            b'}' => self.closes(b'{'),
            b')' => self.closes(b'('),
            b']' => self.closes(b'['),
            _ => {}
        }
        let depth = self.open.len() + self.angles;
        if depth.max(self.operators) > DEPTH_LIMIT && !self.too_deep {
            self.too_deep = true;
            self.fault(token.range(), FaultKind::DeepNesting);
        }
    }

    /// `proto! name =` is an instance, not a protocol with a body.
    fn instance(&mut self) {
        let is_proto = self.word(2).is_some() && self.word(4) == Some("proto");
        if let Some(item) = self.outline.items.last_mut()
            && is_proto
            && item.kind == ItemStartKind::Protocol
            && !self.has_body
        {
            item.kind = ItemStartKind::Item;
        }
    }

    /// A closing bracket also closes the unmatched brackets inside its pair. The search for its partner is bounded, so that the
    /// cost of a step does not depend on what precedes it.
    fn closes(&mut self, opener: u8) {
        let mut nearest = self.open.iter().rev().take(2 * DEPTH_LIMIT);
        let Some(above) = nearest.position(|open| *open == opener) else {
            return;
        };
        self.open.truncate(self.open.len() - 1 - above);
        self.is_complete |= self.open.is_empty() && (opener == b'{' || self.has_body);
    }
}
