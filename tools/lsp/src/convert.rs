//! A checked text in the terms of the editor: positions, URIs and findings.

use crate::answer::{Encoding, Lines, Place, Snapshot};
use crate::documents::Documents;
use crate::uri;
use duologue::compile::Request;
use duologue::diagnostic::{Diagnostic, Label, Level};
use duologue::source::{SourceId, Span};
use serde_json::{Value, json};
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

pub fn position(place: Place) -> Value {
    json!({ "line": place.line, "character": place.column })
}

/// A range of a text with these lines.
pub fn range_in(text: &str, lines: &Lines, at: &Range<usize>, encoding: Encoding) -> Value {
    let place = |offset| position(lines.place(text, offset, encoding));
    json!({ "start": place(at.start), "end": place(at.end) })
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
    pub fn range(&self, at: &Range<usize>) -> Value {
        let source = self.snapshot.source;
        range_in(self.snapshot.text(), &self.lines(source), at, self.encoding)
    }

    pub fn place(&self, offset: usize) -> Place {
        let lines = self.lines(self.snapshot.source);
        lines.place(self.snapshot.text(), offset, self.encoding)
    }

    pub fn offset(&self, place: Place) -> usize {
        let lines = self.lines(self.snapshot.source);
        lines.offset(self.snapshot.text(), place, self.encoding)
    }

    pub fn bytes(&self, range: Range<Place>) -> Range<usize> {
        let lines = self.lines(self.snapshot.source);
        lines.range(self.snapshot.text(), range, self.encoding)
    }

    pub fn span_range(&self, span: Span) -> Value {
        let text = self.snapshot.compilation.sources.get(span.source).text();
        range_in(text, &self.lines(span.source), &span.range(), self.encoding)
    }

    /// The path of a text of the compilation.
    pub fn path(&self, source: SourceId) -> PathBuf {
        PathBuf::from(self.snapshot.compilation.sources.get(source).name())
    }

    pub fn uri(&self, source: SourceId, documents: &Documents) -> String {
        uri_of(&self.path(source), documents)
    }

    pub fn location(&self, span: Span, documents: &Documents) -> Value {
        json!({ "uri": self.uri(span.source, documents), "range": self.span_range(span) })
    }

    /// The findings in the text itself.
    pub fn findings(&self, documents: &Documents) -> Vec<Value> {
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

    pub fn finding(&self, found: &Diagnostic, documents: &Documents) -> Value {
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
        let related = |label: &Label, text: String| json!({ "location": self.location(label.span, documents), "message": text });
        let others = found.related.iter().map(|label| {
            let text = match label.text.is_empty() {
                true => "related",
                false => &label.text,
            };
            related(label, text.to_owned())
        });
        let steps = found.dialogue.iter().enumerate();
        let steps = steps.map(|(at, label)| related(label, format!("{}. {}", at + 1, label.text)));
        let places: Vec<Value> = others.chain(steps).take(RELATED).collect();
        let page = format!(
            "{}/blob/main/docs/rules/{}.md",
            env!("CARGO_PKG_REPOSITORY"),
            found.rule
        );
        let mut value = json!({
            "range": self.span_range(found.primary.span),
            "severity": if found.level == Level::Deny { 1 } else { 2 },
            "code": found.rule,
            "codeDescription": { "href": page },
            "source": "duologue",
            "message": message,
            "relatedInformation": places,
        });
        if found.rule.starts_with("unused-") || found.rule == "unreachable-state" {
            value["tags"] = json!([1]);
        }
        value
    }

    /// Edits of the text itself.
    pub fn edits(&self, edits: &[(Range<usize>, String)]) -> Vec<Value> {
        let edit = |(at, text): &(Range<usize>, String)| json!({ "range": self.range(at), "newText": text });
        edits.iter().map(edit).collect()
    }
}

/// The URI of a file, as the editor writes it if the file is open.
pub fn uri_of(path: &Path, documents: &Documents) -> String {
    let identity = documents.identity_of(path);
    match documents.open.get(&identity) {
        Some(document) => document.uri.clone(),
        None => uri::of_path(&identity),
    }
}
