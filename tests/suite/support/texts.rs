//! Compiling texts in memory, without touching the disk.

use duologue::compile::{Compilation, Files, Input, Request, compile};
use duologue::diagnostic::Level;
use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

/// A few texts by name, as if they were in one folder.
#[derive(Default)]
pub struct Texts(BTreeMap<PathBuf, Vec<u8>>);

impl Texts {
    pub fn of(texts: &[(PathBuf, String)]) -> Texts {
        let texts = texts.iter().cloned();
        Texts(
            texts
                .map(|(name, text)| (name, text.into_bytes()))
                .collect(),
        )
    }

    /// Adds a text.
    pub fn with(mut self, name: &str, text: impl Into<Vec<u8>>) -> Texts {
        self.0.insert(name.into(), text.into());
        self
    }

    /// Replaces a text.
    pub fn set(&mut self, name: &Path, text: String) {
        self.0.insert(name.to_path_buf(), text.into_bytes());
    }

    /// Whether there is a text of this name.
    pub fn has(&self, name: &Path) -> bool {
        self.0.contains_key(name)
    }

    /// One of the texts.
    pub fn bytes(&self, name: &Path) -> &[u8] {
        &self.0[name]
    }

    /// The names of all texts.
    pub fn names(&self) -> Vec<PathBuf> {
        self.0.keys().cloned().collect()
    }

    /// Compiles some of them; the others are there to be imported.
    pub fn compile_some(&self, inputs: Vec<PathBuf>, levels: &[(&str, Level)]) -> Compilation {
        let levels = levels
            .iter()
            .map(|(name, level)| ((*name).to_owned(), *level));
        let mut request = Request::default();
        request.inputs = inputs.into_iter().map(Input::Path).collect();
        request.levels = levels.collect();
        compile(&request, self).expect("all inputs are there")
    }

    /// Compiles all of them.
    pub fn compile(&self) -> Compilation {
        self.compile_some(self.names(), &[])
    }
}

impl Files for Texts {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let text = self.0.get(&plain(path));
        text.cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn identity(&self, path: &Path) -> io::Result<PathBuf> {
        self.read(path).map(|_| plain(path))
    }
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(part),
        }
    }
    plain
}

/// Compiles the first text; the others are there to be imported.
pub fn compile_texts(texts: &[(&str, &[u8])]) -> Compilation {
    let first = texts[0].0.into();
    let texts = texts
        .iter()
        .fold(Texts::default(), |all, (name, text)| all.with(name, *text));
    texts.compile_some(vec![first], &[])
}

/// Compiles one text.
pub fn compile_text(text: &str) -> Compilation {
    compile_texts(&[("main.proto", text.as_bytes())])
}

/// The rules that fired, each once, in alphabetical order.
pub fn fired(compilation: &Compilation) -> Vec<&'static str> {
    let mut rules: Vec<_> = compilation
        .diagnostics
        .iter()
        .map(|found| found.rule)
        .collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// The findings as one text, a line each, for the message of a failing test.
pub fn findings(compilation: &Compilation) -> String {
    let lines = compilation.diagnostics.iter().map(|found| {
        let source = compilation.sources.get(found.primary.span.source);
        let place = source.position(found.primary.span.start as usize);
        let (file, line, column) = (source.name(), place.line, place.column);
        format!(
            "{file}:{line}:{column}: {}: {}\n",
            found.rule, found.message
        )
    });
    lines.collect()
}
