//! The texts that are open in the editor. They replace the files on disk.

use crate::answer::{Encoding, Heads, Lines, heads};
use duologue::compile::Files;
use duologue::files::Disk;
use duologue_project::git::plain;
use gen_lsp_types::{TextDocumentContentChangeEvent, Uri};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A text that is open.
#[derive(Clone, Debug)]
pub struct Document {
    /// As the editor names it.
    pub uri: Uri,
    pub version: i32,
    pub text: Arc<str>,
    pub lines: Arc<Lines>,
    pub heads: Heads,
}

impl Document {
    pub fn new(uri: Uri, version: i32, text: String) -> Document {
        Document {
            uri,
            version,
            lines: Arc::new(Lines::of(&text)),
            heads: heads(&text),
            text: text.into(),
        }
    }

    /// Replaces ranges one after another; each is in the text that the one before it left.
    pub fn change(
        &mut self,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
        encoding: Encoding,
    ) {
        use TextDocumentContentChangeEvent as Change;
        let mut text = self.text.to_string();
        for (index, change) in changes.into_iter().enumerate() {
            match change {
                Change::TextDocumentContentChangeWholeDocument(change) => text = change.text,
                Change::TextDocumentContentChangePartial(change) => {
                    let lines = match index {
                        0 => Arc::clone(&self.lines),
                        _ => Arc::new(Lines::of(&text)),
                    };
                    let range = change.range.start..change.range.end;
                    text.replace_range(lines.range(&text, range, encoding), &change.text);
                }
            }
        }
        *self = Document::new(self.uri.clone(), version, text);
    }
}

/// The open texts by the identities of their files.
#[derive(Clone, Debug, Default)]
pub struct Documents {
    pub open: BTreeMap<PathBuf, Document>,
}

impl Documents {
    /// A path that is the same for every spelling of a file's path. The file need not exist.
    pub fn identity_of(&self, path: &Path) -> PathBuf {
        if self.open.contains_key(path) {
            return path.to_path_buf();
        }
        if let Ok(found) = Disk.identity(path) {
            return found;
        }
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        // A file that does not exist yet, in a folder that does.
        let folder = absolute
            .parent()
            .and_then(|folder| folder.canonicalize().ok());
        match (folder, absolute.file_name()) {
            (Some(folder), Some(name)) => folder.join(name),
            _ => plain(&absolute),
        }
    }
}

impl Files for Documents {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.open.get(&self.identity_of(path)) {
            Some(document) => Ok(document.text.as_bytes().to_vec()),
            None => Disk.read(path),
        }
    }

    fn identity(&self, path: &Path) -> io::Result<PathBuf> {
        let identity = self.identity_of(path);
        match self.open.contains_key(&identity) {
            true => Ok(identity),
            false => Disk.identity(path),
        }
    }
}
