//! A text with everything it depends on, checked.

use crate::answer::tree::symbols::{Item, outline};
use duologue::compile::{Compilation, Files, Request, Unreadable, compile};
use duologue::protocol::{FileId, Program, ProtocolId};
use duologue::source::{SourceId, Span};
use std::sync::OnceLock;

/// A checked text. The other texts of the compilation are what it imports, and what was compiled along with it.
#[derive(Debug)]
pub struct Snapshot {
    /// Everything that the compiler found.
    pub compilation: Compilation,
    /// The text itself.
    pub source: SourceId,
    /// What the text declares, read when it is asked for.
    items: OnceLock<Vec<Item>>,
}

impl Snapshot {
    /// Checks the first input of a request, together with the other inputs.
    ///
    /// # Errors
    /// An input that cannot be read.
    pub fn of(request: &Request, files: &dyn Files) -> Result<Snapshot, Unreadable> {
        let compilation = compile(request, files)?;
        let first = compilation.sources.iter().next();
        let source = first.map_or(SourceId(0), |(source, _)| source);
        Ok(Snapshot {
            compilation,
            source,
            items: OnceLock::new(),
        })
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        match self.compilation.sources.is_empty() {
            true => "",
            false => self.compilation.sources.get(self.source).text(),
        }
    }

    /// The declarations of the text, in order.
    #[must_use]
    pub fn outline(&self) -> &[Item] {
        self.items.get_or_init(|| outline(self.text()))
    }

    /// The program as far as it could be resolved.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.compilation.program
    }

    /// The text as a file of the program.
    #[must_use]
    pub fn file(&self) -> Option<FileId> {
        let mut files = self.program().files.iter();
        let at = files.position(|file| file.source == self.source)?;
        Some(FileId::new(at))
    }

    /// The text that a span covers, on one line.
    pub(super) fn written(&self, span: Span) -> String {
        let words = self.compilation.sources.slice(span).split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    }
}

/// The protocol whose declaration contains a position.
#[must_use]
pub fn protocol_at(snapshot: &Snapshot, offset: usize) -> Option<ProtocolId> {
    let program = snapshot.program();
    let file = program.file(snapshot.file()?);
    let mut protocols = file.protocols.iter().copied();
    protocols.find(|id| {
        let range = program.protocol(*id).span.range();
        range.contains(&offset) || range.end == offset
    })
}
