//! Shared by the fuzz targets: several files in one input, and a run of the compiler on them.

use duologue_compiler::compile::{Compilation, Files, Input, Request, compile};
use duologue_compiler::diagnostic::Level;
use duologue_compiler::source::SourceId;
use duologue_compiler::languages::Options;
use std::io;
use std::path::{Path, PathBuf};

/// The line that separates the files of an input. It is a comment, so an input without a second file is an ordinary text.
pub const NEXT_FILE: &[u8] = b"//// next file\n";

/// The line that separates the old version from the new one.
pub const NEW_VERSION: &[u8] = b"//// new version\n";

/// The most files of an input; any text after that belongs to the last one.
const NAMES: [&str; 4] = ["a.proto", "b.proto", "c.proto", "d.proto"];

/// Files in memory.
pub struct Memory(Vec<(PathBuf, Vec<u8>)>);

impl Memory {
    /// The files of an input: `a.proto`, `b.proto`, ...
    #[must_use]
    pub fn new(input: &[u8]) -> Memory {
        let mut rest = input;
        let mut files = Vec::new();
        for (number, name) in NAMES.into_iter().enumerate() {
            let end = (number + 1 < NAMES.len()).then(|| find(rest, NEXT_FILE));
            let (text, after) = match end.flatten() {
                Some(at) => (&rest[..at], Some(&rest[at + NEXT_FILE.len()..])),
                None => (rest, None),
            };
            files.push((PathBuf::from(name), text.to_owned()));
            match after {
                Some(after) => rest = after,
                None => break,
            }
        }
        Memory(files)
    }

    /// The texts, in order.
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|(_, text)| text.as_slice())
    }

    /// Replaces the text of a file.
    pub fn replace(&mut self, name: &str, text: String) {
        let file = self.0.iter_mut().find(|(path, _)| path == Path::new(name));
        file.expect("a repair edits a file that was read").1 = text.into_bytes();
    }

    /// Compiles all files, with each rule at its default level, or at `allow` if `allow_all` is set.
    #[must_use]
    pub fn compile(&self, allow_all: bool) -> Compilation {
        compile(&self.request(allow_all), self).expect("all inputs are in memory")
    }

    /// The request for [`Memory::compile`].
    #[must_use]
    pub fn request(&self, allow_all: bool) -> Request {
        let inputs = self.0.iter().map(|(path, _)| Input::Path(path.clone()));
        let mut request = Request::default();
        request.inputs = inputs.collect();
        if allow_all {
            request.levels = vec![("all".to_owned(), Level::Allow)];
        }
        request.options = options();
        request
    }
}

impl Files for Memory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let path = self.identity(path)?;
        let file = self.0.iter().find(|(name, _)| *name == path);
        file.map(|(_, text)| text.clone())
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn identity(&self, path: &Path) -> io::Result<PathBuf> {
        let name = path.file_name().ok_or(io::ErrorKind::NotFound)?;
        let known = self.0.iter().any(|(known, _)| known == Path::new(name));
        known
            .then(|| PathBuf::from(name))
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// The options for generated code.
#[must_use]
pub fn options() -> Options {
    let mut options = Options::default();
    options.c.shm = true;
    options.remote = true;
    options
}

/// Where a byte string begins in another.
#[must_use]
pub fn find(text: &[u8], searched: &[u8]) -> Option<usize> {
    text.windows(searched.len())
        .position(|part| part == searched)
}

/// Asserts what reports and editors rely on for every finding: all locations are within their texts, at character boundaries.
pub fn assert_places(compilation: &Compilation) {
    let sources = &compilation.sources;
    let known: Vec<SourceId> = sources.iter().map(|(id, _)| id).collect();
    for found in &compilation.diagnostics {
        assert!(!found.message.is_empty(), "a finding has a message");
        let edits = found.helps.iter().flat_map(|help| &help.edits);
        let labels = found.related.iter().chain(&found.dialogue);
        let spans = labels
            .map(|label| label.span)
            .chain(edits.map(|edit| edit.span))
            .chain([found.primary.span]);
        for span in spans {
            assert!(known.contains(&span.source), "{found:?}");
            let text = sources.get(span.source).text();
            assert!(text.get(span.range()).is_some(), "{found:?}");
        }
    }
}
