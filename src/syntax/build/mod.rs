//! Turns pest pairs into a syntax tree: the tree of one file, with its documentation, names and attributes.

mod items;
mod states;
mod types;

use crate::diagnostic::Diagnostic;
use crate::name::{Name, nearest};
use crate::protocol::Docs;
use crate::source::{SourceId, Span};
use crate::syntax::ast::{Attribute, File, Item, LevelAttribute};
use crate::syntax::grammar::Rule;
use crate::syntax::scan::Doc;
use pest::iterators::{Pair, Pairs};
use std::iter::Peekable;
use std::ops::Range;

/// The longest name, in characters: names become file names.
const NAME_LIMIT: usize = 100;

/// How many rules the attributes of one declaration may name: each is checked for every finding inside the declaration.
const LEVEL_LIMIT: usize = 64;

/// Builds the tree of one file.
pub struct Builder<'a> {
    source: SourceId,
    text: &'a str,
    base: usize,
    docs: Vec<Doc>,
    next_doc: usize,
    file: File,
    diagnostics: Vec<Diagnostic>,
    /// The protocol whose states are being read.
    open: Option<Item>,
    /// Whether an item has been read: packages and imports come before all items.
    has_items: bool,
}

type Parts<'a> = Peekable<Pairs<'a, Rule>>;

impl<'a> Builder<'a> {
    pub fn new(source: SourceId, text: &'a str) -> Builder<'a> {
        Builder {
            source,
            text,
            base: 0,
            docs: Vec::new(),
            next_doc: 0,
            file: File::default(),
            diagnostics: Vec::new(),
            open: None,
            has_items: false,
        }
    }

    /// Sets where in the file the text of the next pairs begins.
    pub fn stand_at(&mut self, base: usize) {
        self.base = base;
    }

    pub fn report(&mut self, error: Diagnostic) {
        self.diagnostics.push(error);
    }

    pub fn reported(&self) -> usize {
        self.diagnostics.len()
    }

    /// Records the words of a piece that could not be parsed, and skips its documentation, which is not misplaced.
    pub fn broken(&mut self, at: Range<usize>) {
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let words = self.text[at.clone()].split(|letter| !is_word(letter));
        let words = words.filter(|word| !word.is_empty()).map(Into::into);
        self.file.broken_words.extend(words);
        while self
            .docs
            .get(self.next_doc)
            .is_some_and(|doc| doc.at.start < at.end)
        {
            self.next_doc += 1;
        }
    }

    pub fn take_docs(&mut self, docs: Vec<Doc>) {
        self.docs = docs;
        let lead = self.docs.iter().take_while(|doc| doc.is_inner);
        self.next_doc = lead.count();
        let first_token = self.docs.first().map_or(0, |doc| doc.before);
        let text = self.text;
        let lead = self.docs[..self.next_doc].iter();
        let (own, late): (Vec<&Doc>, Vec<&Doc>) = lead.partition(|doc| doc.before == first_token);
        let misplaced = late.into_iter().map(|doc| self.span_of(&doc.at)).collect();
        self.file.docs = own.into_iter().map(|doc| doc_text(text, doc)).collect();
        self.file.misplaced_docs = misplaced;
    }

    pub fn finish(mut self) -> (File, Vec<Diagnostic>) {
        self.skip_docs(usize::MAX);
        (self.file, self.diagnostics)
    }

    fn span_of(&self, at: &Range<usize>) -> Span {
        Span::new(self.source, at.start, at.end)
    }

    fn span(&self, pair: &Pair<'a, Rule>) -> Span {
        let (start, end) = (pair.as_span().start(), end_of(pair.clone()));
        Span::new(self.source, self.base + start, self.base + end)
    }

    /// Records documentation before `start` as misplaced: it belongs to nothing.
    fn skip_docs(&mut self, start: usize) {
        while let Some(doc) = self.docs.get(self.next_doc) {
            if doc.before >= start && start != usize::MAX {
                break;
            }
            let span = Span::new(self.source, doc.at.start, doc.at.end);
            self.file.misplaced_docs.push(span);
            self.next_doc += 1;
        }
    }

    /// The documentation of the node whose first attribute or name is at `start` and whose name is at `name`.
    fn docs(&mut self, start: u32, name: u32) -> Docs {
        self.skip_docs(start as usize);
        let mut lines = Docs::new();
        while let Some(doc) = self.docs.get(self.next_doc) {
            if doc.before > name as usize {
                break;
            }
            if doc.is_inner {
                self.file
                    .misplaced_docs
                    .push(Span::new(self.source, doc.at.start, doc.at.end));
            } else {
                lines.push(doc_text(self.text, doc));
            }
            self.next_doc += 1;
        }
        lines
    }

    fn name(&mut self, pair: &Pair<'a, Rule>) -> Name {
        let name = Name::new(pair.as_str(), self.span(pair));
        if name.text().bytes().all(|letter| letter == b'_') {
            let error = Diagnostic::error("syntax", name.span, "a name needs a letter or a digit");
            self.report(error.label("only underscores"));
        } else if name.text().len() > NAME_LIMIT {
            let error = Diagnostic::error(
                "syntax",
                name.span,
                "this name is longer than 100 characters",
            );
            self.report(error.note("names become file names").help("shorten it"));
        }
        name
    }

    /// The next part, which is a name.
    fn next_name(&mut self, parts: &mut Parts<'a>) -> Name {
        let pair = parts.next().expect("the grammar has a name here");
        self.name(&pair)
    }

    /// The leading attributes.
    fn attributes(&mut self, parts: &mut Parts<'a>) -> Vec<Attribute> {
        let mut attributes = Vec::new();
        while let Some(pair) = parts.next_if(|part| part.as_rule() == Rule::attribute) {
            let span = self.span(&pair);
            let mut words = pair
                .into_inner()
                .map(|word| Name::new(word.as_str(), self.span(&word)));
            attributes.push(Attribute {
                name: words.next().expect("an attribute has a name"),
                arguments: words.collect(),
                span,
            });
        }
        attributes
    }

    /// The range with the whitespace after it.
    fn with_whitespace(&self, span: Span) -> Span {
        let rest = &self.text[span.end as usize..];
        let whitespace = rest.len() - rest.trim_start().len();
        Span::new(
            self.source,
            span.start as usize,
            span.end as usize + whitespace,
        )
    }

    /// For each argument of an attribute, what to remove so that it is not named; `None` if that would remove a comment.
    fn removals(&self, attribute: &Attribute) -> Vec<Option<Span>> {
        let spans: Vec<Span> = attribute.arguments.iter().map(|name| name.span).collect();
        let places = spans.iter().enumerate().map(|(at, span)| {
            let (start, end) = match (at, spans.get(at + 1)) {
                (0, None) => {
                    let whole = self.with_whitespace(attribute.span);
                    (whole.start, whole.end)
                }
                (0, Some(next)) => (span.start, next.start),
                (_, _) => (spans[at - 1].end, span.end),
            };
            let place = Span::new(self.source, start as usize, end as usize);
            let text = &self.text[place.range()];
            (!text.contains("//") && !text.contains("/*")).then_some(place)
        });
        places.collect()
    }

    /// Sorts attributes into levels and, where it is allowed, `dual_of`.
    fn sort(
        &mut self,
        attributes: Vec<Attribute>,
        is_protocol: bool,
    ) -> (Vec<LevelAttribute>, Vec<Name>) {
        let mut levels = Vec::new();
        let mut duals = Vec::new();
        for attribute in attributes {
            let span = attribute.span;
            if attribute.arguments.is_empty() {
                let text = format!("`#[{}]` needs an argument", attribute.name);
                let error = Diagnostic::error("syntax", span, text);
                self.report(error.help("write `#[allow(rule-name)]` or `#[dual_of(protocol)]`"));
            } else if let Some(level) = attribute.level() {
                let removals = self.removals(&attribute);
                let is_alone = removals.len() == 1;
                let rules = attribute.arguments.into_iter().zip(removals);
                levels.extend(rules.map(|(rule, removal)| LevelAttribute {
                    rule,
                    level,
                    is_alone,
                    removal,
                }));
                if levels.len() > LEVEL_LIMIT {
                    levels.truncate(LEVEL_LIMIT);
                    let text = "the attributes of one declaration name more than 64 rules";
                    self.report(
                        Diagnostic::error("syntax", span, text).help("name each rule once"),
                    );
                    break;
                }
            } else if attribute.name.text() == "dual_of" && is_protocol {
                duals.extend(attribute.arguments);
            } else if attribute.name.text() == "dual_of" {
                let error = Diagnostic::error("syntax", span, "`dual_of` is for whole protocols");
                self.report(error.help("put it before a `proto!`"));
            } else {
                let known = ["allow", "warn", "deny", "dual_of"];
                let text = format!("there is no attribute `{}`", attribute.name);
                let error = Diagnostic::error("syntax", attribute.name.span, text);
                let error = match nearest(attribute.name.text(), known) {
                    Some(near) => error.fix(
                        format!("did you mean `{near}`?"),
                        attribute.name.span,
                        near,
                        false,
                    ),
                    None => error.help("the attributes are `allow`, `warn`, `deny` and `dual_of`"),
                };
                self.report(error);
            }
        }
        (levels, duals)
    }

    /// Reports attributes where none are allowed.
    fn refuse(&mut self, attributes: &[Attribute], what: &str) {
        for attribute in attributes {
            let text = format!("{what} cannot have attributes");
            let error = Diagnostic::error("syntax", attribute.span, text);
            self.report(error.help("attributes go before protocols, states and messages"));
        }
    }
}

fn doc_text(text: &str, doc: &Doc) -> Box<str> {
    let line = &text[doc.at.start + 3..doc.at.end];
    line.strip_prefix(' ').unwrap_or(line).trim_end().into()
}

/// Where the text of a pair ends. The span of a pair whose last part is optional includes the whitespace after it.
fn end_of(mut pair: Pair<'_, Rule>) -> usize {
    while matches!(pair.as_rule(), Rule::next | Rule::path | Rule::ty) {
        match pair.clone().into_inner().last() {
            Some(last) => pair = last,
            None => break,
        }
    }
    pair.as_span().end()
}
