//! Turns the tree of a text into a syntax tree: the tree of one file, with its documentation, names and attributes.

mod attributes;
mod items;
mod states;

use crate::diagnostic::Diagnostic;
use crate::name::Name;
use crate::protocol::Docs;
use crate::protocol::limits;
use crate::source::{SourceId, Span};
use crate::syntax::ast::{Attribute, File};
use crate::syntax::foreign::Fault;
use attributes::{Sorted, Target};
use duologue_grammar::{Kind, Node, Parts, Tree};
use std::ops::Range;

/// Whether a line comment documents something: `///`, but not `////`.
pub fn is_doc(comment: &str) -> bool {
    comment.starts_with("///") && !comment.starts_with("////")
}

/// Whether a line comment documents the file: `//!`.
pub fn is_file_doc(comment: &str) -> bool {
    comment.starts_with("//!")
}

/// A documentation comment of one line.
struct Doc {
    /// The comment, without the line break.
    at: Range<usize>,
    /// Whether it is `//!`.
    is_inner: bool,
    /// The start of the next token; the length of the text if there is none.
    before: usize,
}

impl Doc {
    /// The documentation in a text, in order.
    fn all(tree: &Tree<'_>) -> Vec<Doc> {
        let lines = tree.comments.iter().filter_map(|comment| {
            let at = comment.range();
            let text = &tree.text[at.clone()];
            let is_inner = is_file_doc(text);
            let is_line = comment.kind == Kind::line_comment;
            (is_line && (is_inner || is_doc(text))).then(|| Doc {
                at: at.start..at.start + text.strip_suffix('\r').unwrap_or(text).len(),
                is_inner,
                before: tree.place(tree.number_at(at.end)).start,
            })
        });
        lines.collect()
    }
}

/// Builds the tree of one file.
pub struct Builder<'a> {
    source: SourceId,
    text: &'a str,
    tree: &'a Tree<'a>,
    faults: &'a [Fault],
    docs: Vec<Doc>,
    next_doc: usize,
    file: File,
    diagnostics: Vec<Diagnostic>,
    /// Whether an item has been read: packages and imports come before all items.
    has_items: bool,
}

/// Whether only commas are missing between the parts of an item: then nothing of it is lost.
fn lacks_only_commas(node: Node<'_>) -> bool {
    let mut errors = node.children().filter(|part| part.is_broken()).peekable();
    match node.kind() {
        Kind::missing_comma => true,
        Kind::item | Kind::structure | Kind::enumeration => {
            errors.peek().is_some() && errors.all(lacks_only_commas)
        }
        _ => false,
    }
}

impl<'a> Builder<'a> {
    pub fn new(
        source: SourceId,
        tree: &'a Tree<'a>,
        faults: &'a [Fault],
        diagnostics: Vec<Diagnostic>,
    ) -> Builder<'a> {
        let mut builder = Builder {
            source,
            text: tree.text,
            tree,
            faults,
            docs: Doc::all(tree),
            next_doc: 0,
            file: File::default(),
            diagnostics,
            has_items: false,
        };
        builder.take_file_docs();
        builder
    }

    /// Reads the whole tree.
    pub fn file(&mut self) {
        for comment in &self.tree.comments {
            if matches!(comment.kind, Kind::open_comment | Kind::deep_comment) {
                self.broken_words(comment.range());
            }
        }
        for node in self.tree.root().children() {
            match node.kind() {
                Kind::protocol | Kind::bad_protocol => self.protocol(node),
                _ if node.is_broken() && !lacks_only_commas(node) => self.broken(node.range()),
                Kind::package => self.package(node),
                Kind::import => self.import(node),
                Kind::item => self.item(node),
                _ => {}
            }
        }
    }

    fn report(&mut self, error: Diagnostic) {
        self.diagnostics.push(error);
    }

    /// Reports an error because of which there is no value.
    fn fail<T>(&mut self, error: Diagnostic) -> Option<T> {
        self.report(error);
        None
    }

    /// Records the words of a piece that could not be parsed, and skips its documentation, which is not misplaced.
    fn broken(&mut self, at: Range<usize>) {
        self.broken_words(at.clone());
        let docs = self.docs[self.next_doc..].iter();
        self.next_doc += docs.take_while(|doc| doc.at.start < at.end).count();
    }

    /// Records the words of a range that could not be parsed completely.
    fn broken_words(&mut self, at: Range<usize>) {
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let words = self.text[at].split(|letter| !is_word(letter));
        let words = words.filter(|word| !word.is_empty()).map(Into::into);
        self.file.broken_words.extend(words);
    }

    /// Whether characters of a node are faulty, although it could be parsed.
    fn is_faulty(&self, node: Node<'a>) -> bool {
        let range = node.range();
        let faults = self.faults;
        let fault = faults.get(faults.partition_point(|fault| fault.at.start < range.start));
        fault.is_some_and(|fault| fault.at.start < range.end)
    }

    fn take_file_docs(&mut self) {
        let lead = self.docs.iter().take_while(|doc| doc.is_inner);
        self.next_doc = lead.count();
        // In one place, which is above all declarations.
        let mut nodes = self.tree.root().children();
        let declared = nodes.find(|node| !matches!(node.kind(), Kind::package | Kind::import));
        let declared = declared.map_or(usize::MAX, |node| node.range().start);
        let place = self.docs.first().map_or(0, |doc| doc.before.min(declared));
        let text = self.text;
        let lead = self.docs[..self.next_doc].iter();
        let (own, late): (Vec<&Doc>, Vec<&Doc>) = lead.partition(|doc| doc.before == place);
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

    fn span(&self, node: Node<'a>) -> Span {
        self.span_of(&node.range())
    }

    fn word(&self, node: Node<'a>) -> &'a str {
        &self.text[node.range()]
    }

    /// Records documentation before `start` as misplaced: it belongs to nothing.
    fn skip_docs(&mut self, start: usize) {
        while let Some(doc) = self.docs.get(self.next_doc) {
            if doc.before >= start && start != usize::MAX {
                break;
            }
            self.file.misplaced_docs.push(self.span_of(&doc.at));
            self.next_doc += 1;
        }
    }

    /// Where the documentation begins that is directly before `start`.
    fn start_of_docs(&self, start: u32) -> Option<usize> {
        let next = self.docs[self.next_doc..].iter();
        let mut next = next.skip_while(|doc| doc.before < start as usize);
        let first = next.find(|doc| !doc.is_inner)?;
        (first.before == start as usize).then_some(first.at.start)
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
                self.file.misplaced_docs.push(self.span_of(&doc.at));
            } else {
                lines.push(doc_text(self.text, doc));
            }
            self.next_doc += 1;
        }
        lines
    }

    /// What begins a declaration that is at `start`: its documentation, its sorted attributes and its name.
    fn head(
        &mut self,
        start: u32,
        attributes: Vec<Attribute>,
        target: Target,
        parts: &mut Parts<'a>,
    ) -> (Docs, Sorted, Name) {
        let name = self.next_name(parts);
        let docs = self.docs(start, name.span.start);
        (docs, attributes::sort(self, attributes, target), name)
    }

    fn name(&mut self, pair: Node<'a>) -> Name {
        let name = Name::new(self.word(pair), self.span(pair));
        if name.text().bytes().all(|letter| letter == b'_') {
            let error = Diagnostic::syntax(name.span, "a name needs a letter or a digit");
            self.report(error.label("only underscores"));
        } else if name.text().len() > limits::NAME {
            let text = format!("this name is longer than {} characters", limits::NAME);
            let error = Diagnostic::syntax(name.span, text);
            self.report(error.note("names become file names").help("shorten it"));
        }
        name
    }

    /// The next part, which is a name.
    fn next_name(&mut self, parts: &mut Parts<'a>) -> Name {
        let pair = parts.next().expect("the grammar has a name here");
        self.name(pair)
    }
}

fn doc_text(text: &str, doc: &Doc) -> Box<str> {
    let line = &text[doc.at.start + 3..doc.at.end];
    line.strip_prefix(' ').unwrap_or(line).trim_end().into()
}
