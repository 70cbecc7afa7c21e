//! Turns pest pairs into a syntax tree: the tree of one file, with its documentation, names and attributes.

mod accepts;
mod attributes;
mod durations;
mod items;
mod states;
mod types;

use crate::diagnostic::Diagnostic;
use crate::name::Name;
use crate::protocol::Docs;
use crate::source::{SourceId, Span};
use crate::syntax::ast::{File, Item};
use crate::syntax::grammar::Rule;
use crate::syntax::scan::Doc;
use pest::iterators::{Pair, Pairs};
use std::iter::Peekable;
use std::ops::Range;

/// The longest name, in characters: names become file names.
const NAME_LIMIT: usize = 100;

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
}

fn doc_text(text: &str, doc: &Doc) -> Box<str> {
    let line = &text[doc.at.start + 3..doc.at.end];
    line.strip_prefix(' ').unwrap_or(line).trim_end().into()
}

/// Where the text of a pair ends. The span of a pair whose last part is optional includes the whitespace after it.
fn end_of(mut pair: Pair<'_, Rule>) -> usize {
    while matches!(
        pair.as_rule(),
        Rule::next | Rule::path | Rule::ty | Rule::quantity
    ) {
        match pair.clone().into_inner().last() {
            Some(last) => pair = last,
            None => break,
        }
    }
    pair.as_span().end()
}
