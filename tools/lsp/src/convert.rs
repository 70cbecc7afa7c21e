//! A checked text in the terms of the editor: positions, URIs and findings.

use crate::answer::{Encoding, Lines, Snapshot};
use crate::documents::Documents;
use crate::uri;
use duologue::compile::Request;
use duologue::diagnostic::{Diagnostic, Label, Level};
use duologue::source::{SourceId, Span};
use gen_lsp_types as lsp;
use lsp::{Location, Position, TextEdit, Uri};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The most findings that are sent for a text.
const FINDINGS: usize = 1000;
/// The most related places of a finding.
const RELATED: usize = 50;

/// A checked text.
pub struct View {
    pub snapshot: Snapshot,
    /// What it was compiled with.
    pub request: Request,
    /// The text itself, and the other files of its package whose protocols it uses.
    pub needed: Vec<PathBuf>,
    /// Whether files that use it were left out, because there are too many.
    pub is_cut: bool,
    pub encoding: Encoding,
    lines: RefCell<BTreeMap<SourceId, Rc<Lines>>>,
}

/// A range of a text with these lines.
pub fn range_in(text: &str, lines: &Lines, at: &Range<usize>, encoding: Encoding) -> lsp::Range {
    let place = |offset| lines.place(text, offset, encoding);
    lsp::Range::new(place(at.start), place(at.end))
}

impl View {
    pub fn new(snapshot: Snapshot, request: Request, is_cut: bool, encoding: Encoding) -> View {
        View {
            needed: Vec::new(),
            snapshot,
            request,
            is_cut,
            encoding,
            lines: RefCell::default(),
        }
    }

    fn lines(&self, source: SourceId) -> Rc<Lines> {
        let mut known = self.lines.borrow_mut();
        let text = self.snapshot.compilation.sources.get(source).text();
        let lines = known.entry(source);
        Rc::clone(lines.or_insert_with(|| Rc::new(Lines::of(text))))
    }

    /// A range of the text itself.
    pub fn range(&self, at: &Range<usize>) -> lsp::Range {
        let source = self.snapshot.source;
        range_in(self.snapshot.text(), &self.lines(source), at, self.encoding)
    }

    pub fn place(&self, offset: usize) -> Position {
        let lines = self.lines(self.snapshot.source);
        lines.place(self.snapshot.text(), offset, self.encoding)
    }

    pub fn offset(&self, place: Position) -> usize {
        let lines = self.lines(self.snapshot.source);
        lines.offset(self.snapshot.text(), place, self.encoding)
    }

    pub fn bytes(&self, range: lsp::Range) -> Range<usize> {
        let lines = self.lines(self.snapshot.source);
        lines.range(self.snapshot.text(), range.start..range.end, self.encoding)
    }

    pub fn span_range(&self, span: Span) -> lsp::Range {
        let text = self.snapshot.compilation.sources.get(span.source).text();
        range_in(text, &self.lines(span.source), &span.range(), self.encoding)
    }

    /// The path of a text of the compilation.
    pub fn path(&self, source: SourceId) -> PathBuf {
        PathBuf::from(self.snapshot.compilation.sources.get(source).name())
    }

    pub fn uri(&self, source: SourceId, documents: &Documents) -> Uri {
        uri_of(&self.path(source), documents)
    }

    pub fn location(&self, span: Span, documents: &Documents) -> Location {
        Location::new(self.uri(span.source, documents), self.span_range(span))
    }

    /// The findings in the text itself.
    pub fn findings(&self, documents: &Documents) -> Vec<lsp::Diagnostic> {
        let all = self.snapshot.compilation.diagnostics.iter();
        let own = all.filter(|found| {
            let is_shown = found.level != Level::Allow;
            let is_known = !self.is_cut || found.rule != "unused-declaration";
            found.primary.span.source == self.snapshot.source && is_shown && is_known
        });
        own.take(FINDINGS)
            .map(|found| self.finding(found, documents))
            .collect()
    }

    pub fn finding(&self, found: &Diagnostic, documents: &Documents) -> lsp::Diagnostic {
        let mut message = found.message.clone();
        if !found.primary.text.is_empty() {
            message += &format!(": {}", found.primary.text);
        }
        for note in &found.notes {
            message += &format!("\nnote: {note}");
        }
        for help in &found.helps {
            message += &format!("\nhelp: {}", help.text);
        }
        let related = |label: &Label, message: String| lsp::DiagnosticRelatedInformation {
            location: self.location(label.span, documents),
            message,
        };
        let others = found.related.iter().map(|label| {
            let text = match label.text.is_empty() {
                true => "related",
                false => &label.text,
            };
            related(label, text.to_owned())
        });
        let steps = found.dialogue.iter().enumerate();
        let steps = steps.map(|(at, label)| related(label, format!("{}. {}", at + 1, label.text)));
        let repository = env!("CARGO_PKG_REPOSITORY");
        let page = format!("{repository}/blob/main/docs/rules/{}.md", found.rule);
        let is_needless = found.rule.starts_with("unused-") || found.rule == "unreachable-state";
        lsp::Diagnostic {
            range: self.span_range(found.primary.span),
            severity: Some(match found.level {
                Level::Deny => lsp::DiagnosticSeverity::Error,
                Level::Warn | Level::Allow => lsp::DiagnosticSeverity::Warning,
            }),
            code: Some(found.rule.into()),
            code_description: Some(lsp::CodeDescription::new(Uri(page))),
            source: Some("duologue".to_owned()),
            message: message.into(),
            related_information: Some(others.chain(steps).take(RELATED).collect()),
            tags: is_needless.then(|| vec![lsp::DiagnosticTag::Unnecessary]),
            ..lsp::Diagnostic::default()
        }
    }

    /// Edits of the text itself.
    pub fn edits(&self, edits: &[(Range<usize>, String)]) -> Vec<TextEdit> {
        let edit =
            |(at, text): &(Range<usize>, String)| TextEdit::new(self.range(at), text.clone());
        edits.iter().map(edit).collect()
    }
}

/// The URI of a file, as the editor writes it if the file is open.
pub fn uri_of(path: &Path, documents: &Documents) -> Uri {
    let identity = documents.identity_of(path);
    match documents.open.get(&identity) {
        Some(document) => document.uri.clone(),
        None => uri::of_path(&identity),
    }
}
