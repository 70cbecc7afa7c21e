//! `check --fix`: applies the repairs that keep the meaning, and checks again.

use super::Failure;
use super::answer::Answer;
use super::baseline::checked;
use duologue::compile::{Compilation, Files, Input, Request};
use duologue::diagnostic::Edit;
use duologue::files::{Disk, replace};
use duologue::source::{SourceId, Span};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// A repair may make another one possible; this is more rounds than any text needs.
const ROUNDS: usize = 32;

/// What was repaired.
#[derive(Debug, Default)]
pub struct Fixed {
    /// How many repairs were made.
    pub repairs: usize,
    /// In which files.
    pub files: Vec<PathBuf>,
}

impl Answer for Fixed {}

/// The disk, with the repaired texts instead of the files' own.
struct Repaired<'a> {
    texts: &'a BTreeMap<PathBuf, String>,
}

impl Files for Repaired<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.texts.get(&self.identity(path)?) {
            Some(text) => Ok(text.clone().into_bytes()),
            None => Disk.read(path),
        }
    }

    fn identity(&self, path: &Path) -> io::Result<PathBuf> {
        Disk.identity(path)
    }
}

/// Checks, repairs and checks again until no safe repair is left; then writes the files that changed, all or nothing. The repairs
/// of a round never overlap, and comments and layout are kept. Returns what the last check found.
pub fn fix(request: &Request) -> Result<(Compilation, Fixed), Failure> {
    let paths = inputs(request, "--fix")?;
    let mut texts: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut fixed = Fixed::default();
    let mut compilation = check(request, &texts)?;
    for _ in 0..ROUNDS {
        let mut changed = false;
        for (source, edits) in edits(&compilation) {
            let name = compilation.sources.get(source).name();
            let Some(identity) = paths.get(name) else {
                continue;
            };
            let text = compilation.sources.get(source).text();
            fixed.repairs += edits.len();
            let edits = edits.into_iter().flatten();
            let edits = edits.map(|edit| (edit.place(&compilation.sources), edit.text.as_str()));
            texts.insert(identity.clone(), applied(text, edits.collect()));
            changed = true;
        }
        if !changed {
            break;
        }
        compilation = check(request, &texts)?;
    }
    fixed.files = write(texts, &paths)?;
    Ok((compilation, fixed))
}

/// Applies edits to the files that they are in, all or nothing; `option` is the one that asks for it. Returns how many files were
/// written.
pub fn edit(
    request: &Request,
    compilation: &Compilation,
    edits: &[(Span, String)],
    option: &str,
) -> Result<usize, Failure> {
    let paths = inputs(request, option)?;
    let mut by_source: BTreeMap<SourceId, Vec<(Span, &str)>> = BTreeMap::new();
    for (span, text) in edits {
        by_source
            .entry(span.source)
            .or_default()
            .push((*span, text));
    }
    let mut texts = BTreeMap::new();
    for (source, edits) in by_source {
        let source = compilation.sources.get(source);
        let Some(identity) = paths.get(source.name()) else {
            let words = format!("cannot write {}: its name is not unique", source.name());
            return Err(Failure::Environment(words));
        };
        texts.insert(identity.clone(), applied(source.text(), edits));
    }
    Ok(write(texts, &paths)?.len())
}

/// Writes texts at canonical paths, and returns these; `paths` has the names that the user gave.
fn write(
    texts: BTreeMap<PathBuf, String>,
    paths: &BTreeMap<String, PathBuf>,
) -> Result<Vec<PathBuf>, Failure> {
    let written: Vec<(PathBuf, String)> = texts.into_iter().collect();
    replace(&written).map_err(|(path, error)| {
        let named = paths.iter().find(|(_, identity)| **identity == path);
        let shown = named.map_or_else(|| path.display().to_string(), |(name, _)| name.clone());
        Failure::Environment(format!("cannot write {shown}: {error}"))
    })?;
    Ok(written.into_iter().map(|(path, _)| path).collect())
}

/// The files that may be written, by the name that reports show. Files that share such a name, because their own names are not
/// UTF-8, are left alone.
fn inputs(request: &Request, option: &str) -> Result<BTreeMap<String, PathBuf>, Failure> {
    let mut paths = BTreeMap::new();
    let mut ambiguous = Vec::new();
    for input in &request.inputs {
        match input {
            Input::Path(path) => {
                if let Ok(identity) = Disk.identity(path) {
                    let name = path.display().to_string();
                    let other = paths.insert(name.clone(), identity.clone());
                    if other.is_some_and(|other| other != identity) {
                        ambiguous.push(name);
                    }
                }
            }
            Input::Text { .. } => {
                let words = format!(
                    "standard input cannot be fixed in place: name a file, or omit `{option}`"
                );
                return Err(Failure::Usage(words));
            }
        }
    }
    for name in ambiguous {
        paths.remove(&name);
    }
    Ok(paths)
}

fn check(request: &Request, texts: &BTreeMap<PathBuf, String>) -> Result<Compilation, Failure> {
    checked(request, &Repaired { texts })
}

/// The safe repairs of each source. No two overlap, and each is applied completely or not at all.
fn edits(compilation: &Compilation) -> BTreeMap<SourceId, Vec<&[Edit]>> {
    let mut chosen: BTreeMap<SourceId, Vec<&[Edit]>> = BTreeMap::new();
    // Starts and ends of the chosen edits. No two touch unless they belong to one repair, so the ends are in the order of the
    // starts.
    let mut taken: BTreeMap<SourceId, BTreeMap<u32, u32>> = BTreeMap::new();
    let helps = compilation
        .diagnostics
        .iter()
        .flat_map(|found| &found.helps);
    for help in helps.filter(|help| help.is_safe) {
        let Some(first) = help.edits.first() else {
            continue;
        };
        let taken = taken.entry(first.span.source).or_default();
        let touches = |edit: &Edit| {
            let nearest = taken.range(..=edit.span.end).next_back();
            nearest.is_some_and(|(_, end)| *end >= edit.span.start)
        };
        if !help.edits.iter().any(touches) {
            for edit in &help.edits {
                let end = taken.entry(edit.span.start).or_default();
                *end = edit.span.end.max(*end);
            }
            let repairs = chosen.entry(first.span.source).or_default();
            repairs.push(&help.edits);
        }
    }
    chosen.retain(|_, repairs| !repairs.is_empty());
    chosen
}

/// The text with each range replaced. The ranges of two removals may share a line break or the blank line between them; the later
/// one then begins where the earlier one ends.
fn applied(text: &str, mut edits: Vec<(Span, &str)>) -> String {
    edits.sort_by_key(|(place, _)| *place);
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    for (place, with) in edits {
        let range = place.range();
        result += &text[at..range.start.max(at)];
        result += with;
        at = range.end.max(at);
    }
    result + &text[at..]
}
