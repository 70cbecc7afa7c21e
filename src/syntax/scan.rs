//! Splits a text into pieces before it is parsed: finds where each item and each state begins and ends, and what is
//! documentation.
//!
//! One pass over the bytes. An item begins at its keyword even inside brackets that were never closed, because none of `proto !`,
//! `type a =`, `struct a {`, `enum a {`, `extern type a`, `import "a"` can occur inside an item; so a missing brace in one
//! protocol does not hide the next. The pass also bounds everything that would make a recursive parser recurse.

use super::lex::{DEPTH_LIMIT, Lexeme, is_doc, is_file_doc, lexeme};
use std::ops::Range;

/// What a text consists of.
#[derive(Debug, Default)]
pub struct Scan {
    /// The items, in order. Together with what precedes the first, they cover the text.
    pub pieces: Vec<Piece>,
    /// Where the first item begins.
    pub lead: Range<usize>,
    /// Documentation comments, in order.
    pub docs: Vec<Doc>,
    /// The faults found by the scanner, in order. Pieces that contain one need not be parsed.
    pub faults: Vec<Fault>,
}

/// A fault in the characters of a text, found before it is parsed.
#[derive(Debug)]
pub struct Fault {
    /// Where it is.
    pub at: Range<usize>,
    /// What is wrong.
    pub kind: FaultKind,
}

/// What can be wrong with the characters of a text.
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
pub enum PieceKind {
    /// `package`
    Package,
    /// `import`
    Import,
    /// A type, bound or instance.
    Item,
    /// A protocol with a body.
    Protocol,
}

/// An item: from its first attribute or documentation to where the next item begins.
#[derive(Debug)]
pub struct Piece {
    /// What its keyword says it is.
    pub kind: PieceKind,
    /// The whole item.
    pub at: Range<usize>,
    /// Where the item itself ends: after its `;` or its last bracket. What follows up to the next item belongs to nothing.
    pub end: Option<usize>,
    /// For a protocol, its parts.
    pub body: Option<Body>,
}

/// The parts of a protocol.
#[derive(Debug)]
pub struct Body {
    /// The opening bracket.
    pub open: usize,
    /// One range for each state. The first begins after the opening bracket.
    pub states: Vec<Range<usize>>,
    /// The bracket that closes the body.
    pub close: Option<usize>,
}

#[derive(Clone, Copy)]
struct Token {
    /// The first byte of the token, or of the documentation and attributes right before it.
    with_meta: usize,
    start: usize,
    end: usize,
    kind: u8,
    starts_line: bool,
}

const WORD: u8 = b'a';
const STRING: u8 = b'"';

struct Scanner<'a> {
    text: &'a [u8],
    scan: Scan,
    /// The last four tokens, the newest last.
    recent: [Option<Token>; 4],
    /// Open brackets of the current item: character and position.
    open: Vec<(u8, usize)>,
    angles: usize,
    operators: usize,
    meta: Option<usize>,
    /// The depth of brackets outside the attribute being read.
    attribute: Option<usize>,
    docs_waiting: usize,
    starts_line: bool,
    too_deep: bool,
}

/// Splits a text into pieces.
pub fn scan(text: &str) -> Scan {
    let mut scanner = Scanner {
        text: text.as_bytes(),
        scan: Scan::default(),
        recent: [None; 4],
        open: Vec::new(),
        angles: 0,
        operators: 0,
        meta: None,
        attribute: None,
        docs_waiting: 0,
        starts_line: true,
        too_deep: false,
    };
    scanner.run(text);
    let mut scan = scanner.scan;
    let end = text.len();
    scan.lead = 0..scan.pieces.first().map_or(end, |piece| piece.at.start);
    let starts: Vec<usize> = scan.pieces.iter().map(|piece| piece.at.start).collect();
    for (index, piece) in scan.pieces.iter_mut().enumerate() {
        piece.at.end = starts.get(index + 1).copied().unwrap_or(end);
    }
    scan
}

impl Scanner<'_> {
    fn run(&mut self, text: &str) {
        let mut at = 0;
        while at < self.text.len() {
            at = self.step(text, at);
        }
        for doc in &mut self.scan.docs[self.docs_waiting..] {
            doc.before = text.len();
        }
    }

    fn fault(&mut self, at: Range<usize>, kind: FaultKind) {
        self.scan.faults.push(Fault { at, kind });
    }

    /// Reads one token, comment or piece of whitespace at `at`, and returns where the next begins.
    fn step(&mut self, text: &str, at: usize) -> usize {
        let (lexeme, end) = lexeme(text, at);
        match lexeme {
            Lexeme::Break => self.starts_line = true,
            Lexeme::Blank | Lexeme::BlockComment => {}
            Lexeme::LineComment => self.line_comment(&text[at..end], at),
            Lexeme::OpenComment => self.fault(at..at + 2, FaultKind::OpenComment),
            Lexeme::DeepComment => {
                self.fault(at..end, FaultKind::DeepComment);
                return text.len();
            }
            Lexeme::String => self.token(at, end, STRING),
            Lexeme::OpenString => self.fault(at..end, FaultKind::OpenString),
            Lexeme::Word => self.token(at, end, WORD),
            Lexeme::Arrow => self.token(at, end, b'-'),
            Lexeme::Sign(sign) => self.token(at, end, sign),
            Lexeme::Foreign => self.fault(at..end, FaultKind::Foreign),
        }
        end
    }

    fn line_comment(&mut self, comment: &str, at: usize) {
        let is_inner = is_file_doc(comment);
        let is_outer = is_doc(comment);
        if is_inner || is_outer {
            let trimmed = comment.strip_suffix('\r').unwrap_or(comment);
            self.scan.docs.push(Doc {
                at: at..at + trimmed.len(),
                is_inner,
                before: 0,
            });
        }
        if is_outer {
            self.meta.get_or_insert(at);
        }
    }

    fn word(&self, back: usize) -> Option<&[u8]> {
        let token = self.recent[self.recent.len() - back]?;
        (token.kind == WORD).then(|| &self.text[token.start..token.end])
    }

    fn token(&mut self, start: usize, end: usize, kind: u8) {
        for doc in &mut self.scan.docs[self.docs_waiting..] {
            doc.before = start;
        }
        self.docs_waiting = self.scan.docs.len();
        if self.attribute.is_some()
            && !matches!(kind, b'[' | WORD | b'(' | b',' | b'-' | b')' | b']')
        {
            self.attribute = None;
            self.meta = None;
        }
        if kind == b'#' {
            self.meta.get_or_insert(start);
            self.attribute = Some(self.open.len());
        }
        let with_meta = self.meta.unwrap_or(start);
        if self.attribute.is_none() {
            self.meta = None;
        }
        let token = Token {
            with_meta,
            start,
            end,
            kind,
            starts_line: std::mem::take(&mut self.starts_line),
        };
        self.item_start(token);
        self.recent.rotate_left(1);
        self.recent[3] = Some(token);
        self.nesting(start, kind);
        if kind == b']' && self.attribute.is_some_and(|depth| self.open.len() <= depth) {
            self.attribute = None;
        }
    }

    /// Recognizes the words that begin an item at the token that makes them unambiguous.
    fn item_start(&mut self, token: Token) {
        let at = |back: usize| self.recent[self.recent.len() - back];
        let at_line_start =
            |back: usize| self.open.is_empty() || at(back).is_some_and(|token| token.starts_line);
        let one: Option<&[u8]> = self.word(1);
        let two = self.word(2);
        let found = match token.kind {
            b'!' if one == Some(b"proto") => Some((1, PieceKind::Protocol)),
            STRING if one == Some(b"import") && at_line_start(1) => Some((1, PieceKind::Import)),
            // Elsewhere `package` is a name like any other, such as that of a bound.
            WORD if one == Some(b"package") && self.open.is_empty() && self.is_behind_item(1) => {
                Some((1, PieceKind::Package))
            }
            b'=' if one.is_some() && two == Some(b"type") && at_line_start(2) => {
                Some((2, PieceKind::Item))
            }
            b'{' | b'<'
                if one.is_some()
                    && matches!(two, Some(b"struct" | b"enum"))
                    && at_line_start(2) =>
            {
                Some((2, PieceKind::Item))
            }
            b';' | b'{' | b':' if one.is_some() && matches!(two, Some(b"type" | b"bound")) => {
                let is_extern = self.word(3) == Some(b"extern") && at_line_start(3);
                is_extern.then_some((3, PieceKind::Item))
            }
            _ => None,
        };
        let Some((back, kind)) = found else {
            return;
        };
        let start = at(back).map_or(token.start, |first| first.with_meta);
        let start = start.max(self.behind_states());
        self.open.clear();
        self.angles = 0;
        self.scan.pieces.push(Piece {
            kind,
            at: start..start,
            end: None,
            body: None,
        });
    }

    /// Whether an item may begin with the token `back` tokens ago: the item before it is complete, or seems to be, because the
    /// token begins a line and does not continue a list.
    fn is_behind_item(&self, back: usize) -> bool {
        let Some(piece) = self.scan.pieces.last() else {
            return true;
        };
        let is_closed = |body: &Body| body.close.is_some();
        let token = |back: usize| self.recent[self.recent.len() - back];
        let goes_on = token(back + 1).is_some_and(|before| matches!(before.kind, b':' | b'+'));
        let starts_line = token(back).is_some_and(|token| token.starts_line);
        piece.end.is_some() || piece.body.as_ref().is_some_and(is_closed) || starts_line && !goes_on
    }

    /// The end of the part of the current item that is known to belong to it.
    fn behind_states(&self) -> usize {
        let Some(body) = self
            .scan
            .pieces
            .last()
            .and_then(|piece| piece.body.as_ref())
        else {
            return 0;
        };
        let states = body.states.last().map_or(body.open + 1, |state| state.end);
        body.close.map_or(states, |close| close + 1)
    }

    /// Tracks brackets: bounds their depth and finds where a protocol's states end.
    fn nesting(&mut self, at: usize, kind: u8) {
        self.operators = if matches!(kind, b'?' | b'~') {
            self.operators + 1
        } else {
            0
        };
        match kind {
            b'<' => self.angles += 1,
            b'>' => self.angles = self.angles.saturating_sub(1),
            b'{' => self.angles = 0,
            b'=' => self.instance(),
            b';' if self.open.is_empty() => self.ends(at + 1),
            _ => {}
        }
        match kind {
            b'{' | b'(' | b'[' => self.opens(at, kind),
            b'}' => self.closes(at, b'{'),
            b')' => self.closes(at, b'('),
            b']' => self.closes(at, b'['),
            _ => {}
        }
        let depth = self.open.len() + self.angles;
        if depth.max(self.operators) > DEPTH_LIMIT && !self.too_deep {
            self.too_deep = true;
            self.fault(at..at + 1, FaultKind::DeepNesting);
        }
    }

    /// `proto! name =` is an instance, not a protocol with a body.
    fn instance(&mut self) {
        let is_proto = self.word(2).is_some() && self.word(4) == Some(b"proto");
        if let Some(piece) = self.scan.pieces.last_mut()
            && is_proto
            && piece.kind == PieceKind::Protocol
            && piece.body.is_none()
        {
            piece.kind = PieceKind::Item;
        }
    }

    fn ends(&mut self, end: usize) {
        if let Some(piece) = self.scan.pieces.last_mut() {
            piece.end.get_or_insert(end);
        }
    }

    fn opens(&mut self, at: usize, kind: u8) {
        self.open.push((kind, at));
        let Some(piece) = self.scan.pieces.last_mut() else {
            return;
        };
        let is_protocol = piece.kind == PieceKind::Protocol && piece.body.is_none();
        if is_protocol && self.open.len() == 1 && kind != b'[' {
            piece.body = Some(Body {
                open: at,
                states: Vec::new(),
                close: None,
            });
        }
    }

    /// A closing bracket also closes the unmatched brackets inside its pair. The search for its partner is bounded, so that the
    /// cost of a step does not depend on what precedes it.
    fn closes(&mut self, at: usize, opener: u8) {
        let nearest = self.open.iter().rev().take(2 * DEPTH_LIMIT);
        let Some(above) = nearest
            .map(|(kind, _)| kind)
            .position(|kind| *kind == opener)
        else {
            return;
        };
        let depth = self.open.len() - 1 - above;
        self.open.truncate(depth);
        if depth == 0 && opener == b'{' {
            self.ends(at + 1);
        }
        let Some(body) = self
            .scan
            .pieces
            .last_mut()
            .and_then(|piece| piece.body.as_mut())
        else {
            return;
        };
        if body.close.is_some() {
            return;
        }
        if depth == 0 {
            body.close = Some(at);
        } else if depth == 1 && opener == b'{' {
            let start = body.states.last().map_or(body.open + 1, |state| state.end);
            body.states.push(start..at + 1);
        }
    }
}
