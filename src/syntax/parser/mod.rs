//! Turns the tokens of a text into its tree. Total on any text: what does not fit becomes an error node, and parsing continues at
//! the next message, state or item. Linear; recurses only as deeply as types may nest.

mod heads;
mod recover;
mod rules;
#[cfg(test)]
mod tests;
mod types;

use super::ascii::meant;
use super::expected::Expected;
use super::outline::{ItemStart, ItemStartKind, Outline};
use super::tokens::{TokenKind, Tokens, is_word};
use super::tree::{Kind, Tree};
use std::ops::Range;

/// A text with its tokens, its tree, and what is wrong with it.
pub struct Parsed<'a> {
    pub tokens: Tokens<'a>,
    pub outline: Outline,
    pub tree: Tree,
    pub problems: Vec<Problem>,
}

/// Something that is wrong with a text. Tokens are given by their numbers.
#[derive(Debug)]
pub enum Problem {
    /// A part did not parse.
    Failure(Failure),
    /// A part has these faults, of which the first one counts.
    Fault(Range<usize>),
    /// A type is nested too deeply at this token.
    TooDeep(usize),
    /// A comma or semicolon between two states, and where its protocol ends at the latest.
    Separator(Range<usize>),
    /// Semicolons that end nothing.
    Stray(usize),
    /// A protocol whose opening bracket has no partner.
    Unclosed(usize),
}

/// A part of a text that did not parse.
#[derive(Debug)]
pub struct Failure {
    /// What it should have been.
    pub part: Part,
    /// Its tokens.
    pub tokens: Range<usize>,
    /// The token that does not fit.
    pub at: usize,
    /// How many bytes of that token fit.
    pub inside: u32,
    /// What would have fitted.
    pub expected: Expected,
}

/// A part of a text, of which one error is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Package,
    Import,
    Item,
    /// The head of a protocol.
    Header,
    State,
    /// What is between two items.
    Outside,
}

/// A rule does not fit at the current token.
struct Stop;

/// Where a rule does not fit.
struct Stopped {
    at: usize,
    inside: u32,
    expected: Expected,
    is_too_deep: bool,
}

type Result<T = ()> = std::result::Result<T, Stop>;

struct Parser<'t> {
    tokens: &'t Tokens<'t>,
    outline: &'t Outline,
    tree: Tree,
    problems: Vec<Problem>,
    /// The number of the current token.
    at: usize,
    /// Where the next item begins: no rule reads past that.
    limit: usize,
    /// What would have fitted at the current token, of what was tried.
    expected: Expected,
    /// How many bytes of the current token fit.
    inside: u32,
    /// Whether the next type may turn out to be the label of an entry.
    may_be_label: bool,
    is_too_deep: bool,
    /// How many faults belong to what was parsed so far.
    faults: usize,
}

/// Parses a text that is not larger than [`SIZE_LIMIT`](super::SIZE_LIMIT).
pub fn parse(text: &str) -> Parsed<'_> {
    let tokens = Tokens::of(text);
    let outline = super::outline::outline(&tokens);
    let mut parser = Parser {
        tokens: &tokens,
        outline: &outline,
        tree: Tree::default(),
        problems: Vec::new(),
        at: 0,
        limit: 0,
        expected: Expected::default(),
        inside: 0,
        may_be_label: false,
        is_too_deep: false,
        faults: 0,
    };
    parser.file();
    let (tree, problems) = (parser.tree, parser.problems);
    Parsed {
        tokens,
        outline,
        tree,
        problems,
    }
}

impl Parser<'_> {
    fn file(&mut self) {
        let file = self.tree.open(Kind::File, 0);
        let items = &self.outline.items;
        let end = self.tokens.len();
        self.limit = items.first().map_or(end, |item| item.first);
        self.outside();
        for (index, item) in items.iter().enumerate() {
            self.limit = items.get(index + 1).map_or(end, |next| next.first);
            self.at = self.at.max(item.first);
            match item.kind {
                ItemStartKind::Protocol => self.protocol(),
                ItemStartKind::Package | ItemStartKind::Import | ItemStartKind::Item => {
                    self.whole_item(item);
                }
            }
            self.outside();
        }
        let end = u32::try_from(self.tokens.text.len()).unwrap_or(u32::MAX);
        self.tree.close(file, end);
    }

    /// An item that parses completely or is an error.
    fn whole_item(&mut self, start: &ItemStart) {
        let first = self.at;
        let mark = self.tree.len();
        self.fresh();
        let is_parsed = self.item(start.kind).is_ok();
        let end = match is_parsed {
            true => self.at,
            false => self.end_of_item(first),
        };
        let part = match start.kind {
            ItemStartKind::Package => Part::Package,
            ItemStartKind::Import => Part::Import,
            ItemStartKind::Item | ItemStartKind::Protocol => Part::Item,
        };
        let stopped = (!is_parsed).then(|| self.stopped());
        self.settle(part, first..end, stopped);
        if !is_parsed {
            self.tree.truncate(mark);
            self.error(first..end);
        }
    }

    /// Where a rule did not fit, and why.
    fn stopped(&self) -> Stopped {
        Stopped {
            at: self.at,
            inside: self.inside,
            expected: self.expected,
            is_too_deep: self.is_too_deep,
        }
    }

    /// Reports a fault in a part, or else where it stopped to fit.
    fn settle(&mut self, part: Part, tokens: Range<usize>, stopped: Option<Stopped>) {
        if self.has_faults(tokens.end) {
            return;
        }
        // A token that is a fault was reported with an earlier part.
        let stopped = stopped.filter(|stopped| !self.is_fault(stopped.at));
        let Some(stopped) = stopped else {
            return;
        };
        self.problems.push(match stopped.is_too_deep {
            true => Problem::TooDeep(stopped.at),
            false => Problem::Failure(Failure {
                part,
                tokens,
                at: stopped.at,
                inside: stopped.inside,
                expected: stopped.expected,
            }),
        });
    }

    fn is_fault(&self, number: usize) -> bool {
        matches!(
            self.kind_at(number),
            TokenKind::Foreign
                | TokenKind::OpenString
                | TokenKind::OpenComment
                | TokenKind::DeepComment
        )
    }

    /// Reports the faults before the token `end` that were not reported before. Returns whether there are any.
    fn has_faults(&mut self, end: usize) -> bool {
        let first = self.faults;
        let all = &self.outline.faults;
        if first == all.len() {
            return false;
        }
        let last = match end.checked_sub(1) {
            Some(last) if end < self.tokens.len() => self.tokens.place(last).end,
            Some(_) => usize::MAX,
            None if self.tokens.len() == 0 => usize::MAX,
            None => 0,
        };
        let more = all[first..]
            .iter()
            .take_while(|fault| fault.at.start < last);
        self.faults += more.count();
        let is_faulty = self.faults > first;
        if is_faulty {
            self.problems.push(Problem::Fault(first..self.faults));
        }
        is_faulty
    }

    /// Tokens that do not fit, up to `tokens.end`, where parsing continues; or a place where something is missing, if there are
    /// none.
    fn error(&mut self, tokens: Range<usize>) {
        self.at = tokens.end;
        let end = self.end_of_last();
        let start = match tokens.is_empty() {
            true => end,
            false => self.start_of(tokens.start),
        };
        self.tree.leaf(Kind::Error, start..end);
        self.fresh();
    }

    /// Forgets what was tried before.
    fn fresh(&mut self) {
        self.expected = Expected::default();
        self.inside = 0;
        self.may_be_label = false;
        self.is_too_deep = false;
    }

    fn start_of(&self, number: usize) -> u32 {
        u32::try_from(self.tokens.place(number).start).unwrap_or(u32::MAX)
    }

    /// Where the token before the current one ends.
    fn end_of_last(&self) -> u32 {
        match self
            .at
            .checked_sub(1)
            .and_then(|last| self.tokens.get(last))
        {
            Some(last) => last.end,
            None => 0,
        }
    }

    /// Where the current token is.
    fn place(&self) -> Range<u32> {
        match self.tokens.get(self.at) {
            Some(token) => token.start..token.end,
            None => self.start_of(self.at)..self.start_of(self.at),
        }
    }

    /// What the current token is; [`TokenKind::Space`] where the next item begins, or at the end of the text.
    fn kind(&self) -> TokenKind {
        self.kind_ahead(0)
    }

    fn kind_ahead(&self, count: usize) -> TokenKind {
        self.kind_at(self.at + count)
    }

    fn kind_at(&self, number: usize) -> TokenKind {
        let token = match number < self.limit {
            true => self.tokens.get(number),
            false => None,
        };
        token.map_or(TokenKind::Space, |token| token.kind)
    }

    /// The current token; empty where the next item begins, or at the end of the text.
    fn word(&self) -> &str {
        self.word_ahead(0)
    }

    fn word_ahead(&self, count: usize) -> &str {
        self.word_at(self.at + count)
    }

    fn word_at(&self, number: usize) -> &str {
        match number < self.limit {
            true => self.tokens.word(number),
            false => "",
        }
    }

    /// Whether the current token is of this kind, or was meant to be.
    fn is(&mut self, kind: TokenKind) -> bool {
        let found = self.kind();
        let is_it = found == kind || found == TokenKind::Foreign && self.was_meant(kind);
        if !is_it {
            self.expected.add(kind);
        }
        is_it
    }

    /// Whether the current token is one foreign character that stands for this kind of token.
    fn was_meant(&self, kind: TokenKind) -> bool {
        let mut characters = self.word().chars();
        let (Some(only), None) = (characters.next(), characters.next()) else {
            return false;
        };
        match (meant(only), kind) {
            (Some("->"), TokenKind::Arrow) => true,
            (Some(sign), TokenKind::Sign(byte)) => sign.as_bytes() == [byte],
            _ => false,
        }
    }

    fn bump(&mut self) {
        self.at += 1;
        self.expected = Expected::default();
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let is_it = self.is(kind);
        if is_it {
            self.bump();
        }
        is_it
    }

    fn need(&mut self, kind: TokenKind) -> Result {
        match self.eat(kind) {
            true => Ok(()),
            false => Err(Stop),
        }
    }

    /// Whether the current token can be a name.
    fn is_name(&mut self) -> bool {
        let is_name = self.kind() == TokenKind::Word && is_word(self.word());
        if !is_name {
            self.expected.add(TokenKind::Word);
        }
        is_name
    }

    fn ident(&mut self) -> Result {
        match self.is_name() {
            true => {
                self.leaf(Kind::Ident);
                Ok(())
            }
            false => Err(Stop),
        }
    }

    fn is_keyword(&mut self, keyword: &str) -> bool {
        let is_it = self.word() == keyword;
        if !is_it {
            self.expected.add_word(keyword);
        }
        is_it
    }

    fn keyword(&mut self, keyword: &str, kind: Kind) -> Result {
        match self.is_keyword(keyword) {
            true => {
                self.leaf(kind);
                Ok(())
            }
            false => Err(Stop),
        }
    }

    /// Adds the current token as a node.
    fn leaf(&mut self, kind: Kind) {
        self.tree.leaf(kind, self.place());
        self.bump();
    }

    fn open(&mut self, kind: Kind) -> usize {
        self.tree.open(kind, self.start_of(self.at))
    }

    fn close(&mut self, node: usize) {
        let end = self.end_of_last();
        self.tree.close(node, end);
    }
}
