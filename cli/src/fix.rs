//! `check --fix`: applies the repairs that keep the meaning, and checks again.

use crate::output::answer::Answer;
use duologue::compile::{Compilation, Input, Request};
use duologue::files::{Disk, replace};
use duologue::repair::{self, Repaired, applied, identities};
use duologue::source::{SourceId, Span};
use duologue_project::{Failure, inputs};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What was repaired.
#[derive(Debug, Default)]
pub struct Fixed {
    /// How many repairs were made.
    pub repairs: usize,
    /// In how many files.
    pub files: usize,
}

impl Answer for Fixed {}

/// Repairs the inputs, and writes the files that changed, all or nothing. Returns what the last check found.
pub fn fix(request: &Request) -> Result<(Compilation, Fixed), Failure> {
    let paths = paths(request, "--fix")?;
    let repaired = repair::repair(request, &Disk, &|_| true);
    let Repaired {
        compilation,
        texts,
        repairs,
    } = repaired.map_err(inputs::failure)?;
    let files = write(texts, &paths)?;
    Ok((compilation, Fixed { repairs, files }))
}

/// Applies edits to the files that they are in, all or nothing; `option` is the one that asks for it. Returns how many files were
/// written.
pub fn edit(
    request: &Request,
    compilation: &Compilation,
    edits: &[(Span, String)],
    option: &str,
) -> Result<usize, Failure> {
    let paths = paths(request, option)?;
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
            bail_environment!("cannot write {}: its name is not unique", source.name());
        };
        texts.insert(identity.clone(), applied(source.text(), edits).0);
    }
    write(texts, &paths)
}

/// Writes texts at canonical paths, and returns how many; `paths` has the names that the user gave.
fn write(
    texts: BTreeMap<PathBuf, String>,
    paths: &BTreeMap<String, PathBuf>,
) -> Result<usize, Failure> {
    let written: Vec<(PathBuf, String)> = texts.into_iter().collect();
    replace(&written).map_err(|(path, error)| {
        let named = paths.iter().find(|(_, identity)| **identity == path);
        let shown = named.map_or_else(|| path.display().to_string(), |(name, _)| name.clone());
        environment!("cannot write {shown}: {error}")
    })?;
    Ok(written.len())
}

/// The files that may be written, by the names that reports show.
fn paths(request: &Request, option: &str) -> Result<BTreeMap<String, PathBuf>, Failure> {
    let is_text = |input: &Input| matches!(input, Input::Text { .. });
    if request.inputs.iter().any(is_text) {
        bail_usage!("standard input cannot be fixed in place: name a file, or omit `{option}`");
    }
    Ok(identities(request, &Disk))
}
