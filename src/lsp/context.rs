//! What may be written at a position, from the tokens before it.

use super::text::{ItemStarts, Kind, Token, tokens};
use std::ops::Range;

/// Words that begin or end parts of declarations. No rename produces one.
pub const KEYWORDS: [&str; 14] = [
    "package", "import", "type", "struct", "enum", "extern", "bound", "from", "drop", "proto",
    "send", "recv", "client", "server",
];

/// What may be written at a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Nothing that could be proposed.
    Nothing,
    /// An item.
    Item,
    /// `type` or `bound`, after `extern`.
    External,
    /// The path of an import; the text between the quotes before the position.
    Path(String),
    /// The name of an attribute.
    Attribute,
    /// A rule.
    Rule,
    /// A protocol.
    Protocol,
    /// A generic protocol, after `proto! name =`.
    Generic,
    /// `client` or `server`.
    Side,
    /// A state of the protocol with this name.
    StateOf(String),
    /// A unit of sizes.
    Size,
    /// A unit of durations.
    Duration,
    /// The name of a state, or the end of the protocol.
    State,
    /// `send` or `recv`.
    Direction,
    /// A bound.
    Bound,
    /// The name of a message.
    Message,
    /// The state that follows a message, or `!`.
    Next,
    /// A type.
    Type,
    /// A language, in a mapping.
    Language,
}

/// What may be written at a position, and what it replaces.
#[derive(Clone, Debug)]
pub struct Context {
    /// What is expected.
    pub expected: Expected,
    /// The word that the position is in or after.
    pub word: Range<usize>,
    /// The start of the item that contains the position.
    pub item: usize,
}

/// What may be written at a position.
pub fn context(text: &str, offset: usize) -> Context {
    let all = tokens(text);
    let nothing = |word: Range<usize>| Context {
        expected: Expected::Nothing,
        word,
        item: 0,
    };
    let before = all.partition_point(|token| token.at.start < offset);
    let mut word = offset..offset;
    let mut end = before;
    if let Some(last) = before.checked_sub(1).map(|last| &all[last]) {
        let is_open = |token: &Token| match token.kind {
            Kind::Comment | Kind::Doc => {
                let comment = &text[token.at.clone()];
                let is_closed =
                    comment.len() > 3 && comment.starts_with("/*") && comment.ends_with("*/");
                offset < token.at.end || offset == token.at.end && !is_closed
            }
            Kind::String => offset < token.at.end,
            Kind::Word | Kind::Arrow | Kind::Path | Kind::Sign(_) | Kind::Foreign => false,
        };
        if last.kind == Kind::Word && last.at.end >= offset {
            word = last.at.clone();
            end = before - 1;
        } else if last.kind == Kind::String {
            let inside = last.at.start + 1..last.at.end;
            let is_closed = inside.end > inside.start && text[..inside.end].ends_with('"');
            let close = inside.end - usize::from(is_closed);
            let imports = before
                .checked_sub(2)
                .is_some_and(|at| &text[all[at].at.clone()] == "import");
            if offset >= inside.start && offset <= close && imports {
                return Context {
                    expected: Expected::Path(text[inside.start..offset].to_owned()),
                    word: inside.start..close,
                    item: 0,
                };
            }
            if offset <= close {
                return nothing(word);
            }
        } else if is_open(last) {
            return nothing(word);
        }
    }
    let mut tokens: Vec<Token> = all[..end].to_vec();
    tokens.retain(|token| !matches!(token.kind, Kind::Comment | Kind::Doc));
    // A rule has hyphens.
    let starts = ItemStarts::of(text);
    let state = Reader::read(text, &tokens, &starts);
    let expected = state.expected();
    if expected == Expected::Rule {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let bytes = text.as_bytes();
        while word.start > 0 && is_part(bytes[word.start - 1]) {
            word.start -= 1;
        }
        while word.end < bytes.len() && is_part(bytes[word.end]) {
            word.end += 1;
        }
    }
    Context {
        expected,
        word,
        item: state.item_at,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Within {
    Nothing,
    Protocol,
    Instance,
    Struct,
    Enum,
    Alias,
    External,
    ExternalBound,
    Directive,
}

/// What the tokens before a position leave open.
struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token],
    starts: &'a ItemStarts,
    within: Within,
    item_at: usize,
    /// The positions of open brackets among the tokens, with those of angle brackets.
    open: Vec<usize>,
    is_complete: bool,
}

impl<'a> Reader<'a> {
    fn read(text: &'a str, tokens: &'a [Token], starts: &'a ItemStarts) -> Reader<'a> {
        let mut reader = Reader {
            text,
            tokens,
            starts,
            within: Within::Nothing,
            item_at: 0,
            open: Vec::new(),
            is_complete: true,
        };
        for at in 0..tokens.len() {
            reader.step(at);
        }
        reader
    }

    fn sign(&self, at: usize) -> Option<u8> {
        if let Kind::Sign(sign) = self.tokens.get(at)?.kind {
            return Some(sign);
        }
        None
    }

    fn word(&self, at: usize) -> &'a str {
        let token = self.tokens.get(at);
        let token = token.filter(|token| token.kind == Kind::Word);
        token.map_or("", |token| &self.text[token.at.clone()])
    }

    fn step(&mut self, at: usize) {
        if self.starts.contains(&self.tokens[at]) {
            self.open.clear();
            self.item_at = self.tokens[at].at.start;
            self.is_complete = false;
            self.within = match (self.word(at), self.word(at + 1)) {
                ("proto", _) if self.sign(at + 3) == Some(b'=') => Within::Instance,
                ("proto", _) => Within::Protocol,
                ("struct", _) => Within::Struct,
                ("enum", _) => Within::Enum,
                ("type", _) => Within::Alias,
                ("extern", "bound") => Within::ExternalBound,
                ("extern", _) => Within::External,
                _ => Within::Directive,
            };
        }
        match self.sign(at) {
            Some(b'{' | b'(' | b'[' | b'<') => self.open.push(at),
            Some(b'>') if self.top() == Some(b'<') => {
                self.open.pop();
            }
            Some(close @ (b'}' | b')' | b']')) => {
                let opener = match close {
                    b'}' => b'{',
                    b')' => b'(',
                    _ => b'[',
                };
                let mut open = self.open.iter().rev().take(128);
                if let Some(above) = open.position(|at| self.sign(*at) == Some(opener)) {
                    self.open.truncate(self.open.len() - 1 - above);
                }
                self.is_complete |= self.open.is_empty() && close == b'}';
            }
            Some(b';') if self.open.is_empty() => self.is_complete = true,
            _ => {}
        }
    }

    fn top(&self) -> Option<u8> {
        self.open.last().and_then(|at| self.sign(*at))
    }

    fn last(&self, back: usize) -> usize {
        self.tokens.len().wrapping_sub(back)
    }

    fn last_kind(&self) -> Option<Kind> {
        self.tokens.last().map(|token| token.kind)
    }

    /// The expectation in an attribute, if the position is in one.
    fn in_attribute(&self) -> Option<Expected> {
        let mut open = self.open.iter().rev();
        let bracket = open.find(|at| {
            let before = at.checked_sub(1).and_then(|before| self.sign(before));
            self.sign(**at) == Some(b'[') && before == Some(b'#')
        })?;
        let name = self.word(bracket + 1);
        if bracket + 1 >= self.tokens.len() {
            return Some(Expected::Attribute);
        }
        if self.top() != Some(b'(') {
            return Some(Expected::Nothing);
        }
        let is_start = matches!(self.last_kind(), Some(Kind::Sign(b'(' | b',')));
        Some(match name {
            "allow" | "warn" | "deny" => match self.last_kind() {
                Some(Kind::Sign(b'(' | b',' | b'-')) => Expected::Rule,
                _ => Expected::Nothing,
            },
            "dual_of" if is_start => Expected::Protocol,
            "accepts" if self.last_kind() == Some(Kind::Sign(b'(')) => Expected::Side,
            "at_most" => Expected::Size,
            "within" => Expected::Duration,
            _ => Expected::Nothing,
        })
    }

    /// The expectation after `::`.
    fn after_path(&self) -> Option<Expected> {
        if self.last_kind() != Some(Kind::Path) {
            return None;
        }
        let before = self.last(3);
        let is_second = self.tokens.get(before).map(|token| token.kind) == Some(Kind::Path);
        Some(match is_second {
            true => Expected::StateOf(self.word(self.last(4)).to_owned()),
            false => Expected::Side,
        })
    }

    fn expected(&self) -> Expected {
        if let Some(found) = self.in_attribute().or_else(|| self.after_path()) {
            return found;
        }
        let last = self.last_kind();
        if last == Some(Kind::Sign(b'#')) {
            return Expected::Nothing;
        }
        let depth = self.open.len();
        match self.within {
            _ if self.is_complete => match self.word(self.last(1)) {
                "extern" => Expected::External,
                "" => Expected::Item,
                _ => Expected::Nothing,
            },
            Within::Nothing => Expected::Item,
            Within::Directive => Expected::Nothing,
            Within::Alias => match last {
                Some(Kind::Sign(b'=' | b'[' | b'(' | b',' | b'<' | b'~')) => Expected::Type,
                _ => Expected::Nothing,
            },
            Within::Instance => match last {
                Some(Kind::Sign(b'=')) => Expected::Generic,
                Some(Kind::Sign(b'<' | b',' | b'[' | b'(')) => Expected::Type,
                _ => Expected::Nothing,
            },
            Within::Struct | Within::Enum => self.in_type(depth),
            Within::External | Within::ExternalBound => self.in_external(depth),
            Within::Protocol => self.in_protocol(depth),
        }
    }

    fn in_type(&self, depth: usize) -> Expected {
        match self.last_kind() {
            Some(Kind::Sign(b':')) => Expected::Type,
            Some(Kind::Sign(b'(' | b'[' | b'<' | b'~')) if depth > 1 => Expected::Type,
            Some(Kind::Sign(b',')) if depth > 1 => Expected::Type,
            _ => Expected::Nothing,
        }
    }

    fn in_external(&self, depth: usize) -> Expected {
        match self.last_kind() {
            Some(Kind::Sign(b':' | b'+')) if depth == 0 => Expected::Bound,
            Some(Kind::Sign(b'{' | b';')) if depth == 1 => Expected::Language,
            _ => Expected::Nothing,
        }
    }

    fn in_protocol(&self, depth: usize) -> Expected {
        let last = self.last_kind();
        // Angle brackets in the head of a state are in the bracket of the protocol.
        let is_head = depth == 1 || depth == 2 && self.top() == Some(b'<');
        match (depth, last) {
            (0, _) => Expected::Nothing,
            // Even if a bracket is still open: no payload has an arrow.
            (_, Some(Kind::Arrow)) => Expected::Next,
            (1, Some(Kind::Sign(b':'))) => Expected::Direction,
            (1, Some(Kind::Sign(b'{' | b'(' | b'}'))) => Expected::State,
            (_, Some(Kind::Sign(b':' | b'+'))) if is_head => Expected::Bound,
            (1, _) => Expected::Nothing,
            _ if is_head => Expected::Nothing,
            (2, Some(Kind::Sign(b'{' | b','))) => Expected::Message,
            (2, Some(Kind::Sign(b']'))) => Expected::Message,
            (2, _) => Expected::Nothing,
            (_, Some(Kind::Sign(b'(' | b'[' | b'<' | b',' | b':' | b'~'))) => Expected::Type,
            _ => Expected::Nothing,
        }
    }
}
