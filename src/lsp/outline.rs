//! The structure of a text, from its tokens: what is declared where, also in a text with errors.

use super::text::{ItemStarts, Kind, Token, significant};
use std::ops::Range;

/// What an item declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ItemKind {
    Alias,
    Struct,
    Enum,
    ExternType,
    ExternBound,
    Instance,
    Protocol,
    State,
    Message,
    Field,
    Variant,
}

/// A declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it declares.
    pub kind: ItemKind,
    /// Its name.
    pub name: String,
    /// Where the name is.
    pub name_at: Range<usize>,
    /// The whole declaration, without documentation and attributes.
    pub at: Range<usize>,
    /// The declaration up to its body.
    pub head: Range<usize>,
    /// What is declared in it.
    pub children: Vec<Item>,
}

/// The declarations of a text, in order.
#[must_use]
pub fn outline(text: &str) -> Vec<Item> {
    let mut reader = Reader {
        text,
        tokens: significant(text),
        starts: ItemStarts::of(text),
        at: 0,
    };
    let mut items = Vec::new();
    while reader.at < reader.tokens.len() {
        let start = reader.at;
        if reader.starts_item() {
            items.extend(reader.item());
        }
        reader.at = reader.at.max(start + 1);
    }
    items
}

struct Reader<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    starts: ItemStarts,
    at: usize,
}

impl<'t> Reader<'t> {
    fn kind(&self, at: usize) -> Option<Kind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    fn word(&self, at: usize) -> Option<&str> {
        let token = self.tokens.get(at)?;
        (token.kind == Kind::Word).then(|| &self.text[token.at.clone()])
    }

    /// The end of the last token that was read.
    fn end(&self) -> usize {
        let last = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        last.map_or(0, |token| token.at.end)
    }

    fn start(&self, at: usize) -> usize {
        let token = self.tokens.get(at);
        token.map_or(self.text.len(), |token| token.at.start)
    }

    fn item(&mut self) -> Option<Item> {
        let start = self.at;
        let (kind, name) = match (self.word(start)?, self.word(start + 1)) {
            ("type", _) => (ItemKind::Alias, start + 1),
            ("struct", _) => (ItemKind::Struct, start + 1),
            ("enum", _) => (ItemKind::Enum, start + 1),
            ("extern", Some("type")) => (ItemKind::ExternType, start + 2),
            ("extern", Some("bound")) => (ItemKind::ExternBound, start + 2),
            ("proto", _) if self.kind(start + 3) == Some(Kind::Sign(b'=')) => {
                (ItemKind::Instance, start + 2)
            }
            ("proto", _) => (ItemKind::Protocol, start + 2),
            _ => return None,
        };
        let mut item = self.named(kind, start, name)?;
        self.at = name + 1;
        match kind {
            ItemKind::Protocol => self.body(&mut item, Reader::state),
            ItemKind::Struct => self.body(&mut item, |reader| reader.part(ItemKind::Field)),
            ItemKind::Enum => self.body(&mut item, |reader| reader.part(ItemKind::Variant)),
            ItemKind::Alias
            | ItemKind::ExternType
            | ItemKind::ExternBound
            | ItemKind::Instance
            | ItemKind::State
            | ItemKind::Message
            | ItemKind::Field
            | ItemKind::Variant => {
                self.skip_to(|kind| kind == Kind::Sign(b';') || kind == Kind::Sign(b'{'));
                if self.kind(self.at) == Some(Kind::Sign(b'{')) {
                    self.body(&mut item, |_| None);
                } else if self.kind(self.at) == Some(Kind::Sign(b';')) {
                    self.at += 1;
                }
            }
        }
        item.at.end = self.end().max(item.name_at.end);
        Some(item)
    }

    fn named(&self, kind: ItemKind, start: usize, name: usize) -> Option<Item> {
        let token = self.tokens.get(name)?;
        let text = self.word(name)?;
        Some(Item {
            kind,
            name: text.to_owned(),
            name_at: token.at.clone(),
            at: self.start(start)..token.at.end,
            head: self.start(start)..token.at.end,
            children: Vec::new(),
        })
    }

    fn starts_item(&self) -> bool {
        let token = self.tokens.get(self.at);
        token.is_some_and(|token| self.starts.contains(token))
    }

    /// Whether a state with a direction begins here, even inside brackets that were never closed.
    fn starts_state(&self) -> bool {
        self.word(self.at).is_some()
            && self.kind(self.at + 1) == Some(Kind::Sign(b':'))
            && matches!(self.word(self.at + 2), Some("send" | "recv"))
            && matches!(self.kind(self.at + 3), Some(Kind::Sign(b'{' | b'<')))
    }

    /// Whether a state without a direction begins here, on a line of its own.
    fn starts_plain_state(&self) -> bool {
        let token = self.tokens.get(self.at);
        token.is_some_and(|token| token.kind == Kind::Word && token.starts_line)
            && self.kind(self.at + 1) == Some(Kind::Sign(b'{'))
            && !matches!(self.word(self.at), Some("send" | "recv"))
    }

    /// Skips to a token outside of brackets that are opened here, but not past the end of the surrounding bracket or into the next
    /// item.
    fn skip_to(&mut self, is_goal: impl Fn(Kind) -> bool) {
        let mut depth = 0usize;
        while let Some(kind) = self.kind(self.at) {
            let is_next = self.starts_item() || self.starts_state();
            if depth == 0 && is_goal(kind) || is_next {
                return;
            }
            match kind {
                Kind::Sign(b'{' | b'(' | b'[') => depth += 1,
                Kind::Sign(b'}' | b')' | b']') if depth == 0 => return,
                Kind::Sign(b'}' | b')' | b']') => depth -= 1,
                Kind::Word
                | Kind::String
                | Kind::Comment
                | Kind::Doc
                | Kind::Arrow
                | Kind::Path
                | Kind::Sign(_)
                | Kind::Foreign => {}
            }
            self.at += 1;
        }
    }

    /// Reads what is in the brackets that follow, with `read` at each place where a part may begin.
    fn body(&mut self, item: &mut Item, read: impl Fn(&mut Reader<'t>) -> Option<Item>) {
        self.skip_to(|kind| matches!(kind, Kind::Sign(b'{' | b'(' | b';')));
        if !matches!(self.kind(self.at), Some(Kind::Sign(b'{' | b'('))) {
            return;
        }
        item.head.end = self.start(self.at);
        self.at += 1;
        while let Some(kind) = self.kind(self.at) {
            let is_over = item.kind == ItemKind::State && self.starts_state();
            if self.starts_item() || is_over {
                return;
            }
            match kind {
                Kind::Sign(b'}' | b')') => {
                    self.at += 1;
                    return;
                }
                Kind::Sign(b'#') if self.kind(self.at + 1) == Some(Kind::Sign(b'[')) => {
                    self.at += 2;
                    self.skip_to(|_| false);
                    self.at += usize::from(self.kind(self.at) == Some(Kind::Sign(b']')));
                }
                Kind::Word => {
                    let start = self.at;
                    item.children.extend(read(self));
                    self.at = self.at.max(start + 1);
                }
                Kind::String
                | Kind::Comment
                | Kind::Doc
                | Kind::Arrow
                | Kind::Path
                | Kind::Sign(_)
                | Kind::Foreign => self.at += 1,
            }
        }
    }

    fn state(&mut self) -> Option<Item> {
        let start = self.at;
        let follows = self.kind(start + 1)?;
        if !matches!(follows, Kind::Sign(b':' | b'<' | b'{')) {
            return None;
        }
        let mut item = self.named(ItemKind::State, start, start)?;
        self.at += 1;
        // Between the name and the body are only a direction and type parameters. What was read of a head without a body is not read
        // again: a text may have very many of them.
        let is_head = |kind: Kind| {
            matches!(
                kind,
                Kind::Word | Kind::Sign(b':' | b'<' | b'>' | b',' | b'+')
            )
        };
        while self.kind(self.at).is_some_and(is_head)
            && !self.starts_item()
            && !self.starts_state()
            && !self.starts_plain_state()
        {
            self.at += 1;
        }
        if self.kind(self.at) == Some(Kind::Sign(b'{')) {
            self.body(&mut item, |reader| reader.part(ItemKind::Message));
        }
        item.at.end = self.end().max(item.name_at.end);
        Some(item)
    }

    /// A part of a list with commas.
    fn part(&mut self, kind: ItemKind) -> Option<Item> {
        let start = self.at;
        let mut item = self.named(kind, start, start)?;
        self.at += 1;
        self.skip_to(|kind| kind == Kind::Sign(b','));
        item.at.end = self.end().max(item.name_at.end);
        item.head.end = item.at.end;
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_errors_has_an_outline() {
        let text = "proto! a {\n x:send { m(u8 -> x, n -> }\n y:recv {\nproto! b { z { } }\ntype t = u8;\n";
        let names: Vec<String> = outline(text).into_iter().map(|item| item.name).collect();
        assert_eq!(names, ["a", "b", "t"]);
        let inner = &outline(text)[0].children;
        let states: Vec<&str> = inner.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(states, ["x", "y"]);
        assert_eq!(outline(text)[1].children[0].name, "z");
    }

    #[test]
    fn a_state_without_a_body_has_not_that_of_the_next_one() {
        for next in ["b:send { m -> ! }", "b { m -> ! }", "b:recv<T> { m -> ! }"] {
            let text = format!("proto! p {{\n a:send\n {next}\n}}\n");
            let items = outline(&text);
            let states = items[0].children.iter();
            let states: Vec<(&str, usize)> = states
                .map(|state| (state.name.as_str(), state.children.len()))
                .collect();
            assert_eq!(states, [("a", 0), ("b", 1)], "{text}");
        }
    }
    /// If each head were read to the end, this test would run for many minutes.
    #[test]
    fn heads_without_bodies_are_read_once() {
        let text = format!("proto! p {{ {}", "a<".repeat(500_000));
        assert_eq!(outline(&text).len(), 1);
    }
}
