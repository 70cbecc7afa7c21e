//! Renaming. Whether a new name clashes is not guessed: the texts are compiled with it, and every name must refer to the same as
//! before.

use super::Snapshot;
use super::names::{Kind, name_at, references};
use crate::answer::tree::context::is_keyword;
use crate::answer::tree::symbols::tree;
use duologue::compile::{Files, Request};
use duologue::diagnostic::Level;
use duologue::protocol::{Bound, Builtin, Referent, Use};
use duologue::repair::{Edited, applied};
use duologue::source::{SourceId, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// What to replace: names, by text.
#[derive(Debug, PartialEq, Eq)]
pub struct Renaming {
    /// The old name.
    pub old: String,
    /// Where it is written, in order.
    pub spans: Vec<Span>,
}

/// The name at a position, if it can be renamed.
///
/// # Errors
/// Why it cannot be.
pub fn prepare(snapshot: &Snapshot, offset: usize) -> Result<&Use, String> {
    let found = name_at(snapshot, offset).ok_or("there is no name here")?;
    let written = snapshot.compilation.sources.slice(found.span);
    let is_declared = || {
        let uses = &snapshot.program().uses;
        found.is_declaration || uses.declaration(found.referent).is_some()
    };
    let reason = match Kind::of(found.referent) {
        Kind::Declared if is_declared() => return Ok(found),
        Kind::Declared => "is not declared in these files",
        Kind::BuiltIn => "is built in",
        Kind::Package => "is part of a package, which other files name too",
        Kind::Import(_) => "is the path of a file: rename the file, then the import",
        Kind::Unknown => "is not known here: repair the error first",
        Kind::Word => "is a word of the language",
    };
    Err(format!("`{written}` {reason}"))
}

fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    let first = letters.next();
    first.is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Renames the name at a position in all texts of the snapshot, which `request` and `files` are those of.
///
/// # Errors
/// Why the name cannot be renamed, or cannot be called that.
pub fn rename(
    snapshot: &Snapshot,
    offset: usize,
    new: &str,
    request: &Request,
    files: &dyn Files,
) -> Result<Renaming, String> {
    let found = *prepare(snapshot, offset)?;
    let old = snapshot.compilation.sources.slice(found.span).to_owned();
    let spans: Vec<Span> = references(snapshot, offset)
        .into_iter()
        .map(|found| found.span)
        .collect();
    if !is_identifier(new) {
        return Err(format!(
            "`{new}` is not a name: names consist of letters, digits and `_`, and do not begin with a digit"
        ));
    }
    if is_keyword(new) {
        return Err(format!("`{new}` is a keyword"));
    }
    if Builtin::named(new).is_some() || Bound::named(new).is_some() {
        return Err(format!("`{new}` is built in"));
    }
    if new == old {
        return Ok(Renaming { old, spans });
    }
    in_the_way(snapshot, &old, &spans)?;
    let mut texts = BTreeMap::new();
    let mut by_source: BTreeMap<SourceId, Vec<Span>> = BTreeMap::new();
    for span in &spans {
        by_source.entry(span.source).or_default().push(*span);
    }
    for (source, spans) in by_source {
        let source = snapshot.compilation.sources.get(source);
        let path = PathBuf::from(source.name());
        let identity = files
            .identity(&path)
            .map_err(|error| format!("cannot find {}: {error}", source.name()))?;
        let edits = spans.into_iter().map(|span| (span, new));
        texts.insert(identity, applied(source.text(), edits.collect()).0);
    }
    let changed = Edited {
        files,
        texts: &texts,
    };
    let after = Snapshot::of(request, &changed)
        .map_err(|found| format!("cannot read {}: {}", found.path.display(), found.error))?;
    compare(snapshot, &after, new)?;
    Ok(Renaming { old, spans })
}

/// Refuses if the name is also in a part of a text that could not be parsed or resolved, where it might mean the same.
fn in_the_way(snapshot: &Snapshot, old: &str, spans: &[Span]) -> Result<(), String> {
    let compilation = &snapshot.compilation;
    let is_error = |source: SourceId| {
        let mut found = compilation.diagnostics.iter();
        found.any(|found| found.primary.span.source == source && found.rule == "syntax")
    };
    let renamed: BTreeSet<(SourceId, u32)> =
        spans.iter().map(|span| (span.source, span.start)).collect();
    for (id, source) in compilation.sources.iter() {
        let uses = &compilation.program.uses;
        let refuse = |at: usize| {
            let position = source.position(at);
            Err(format!(
                "`{old}` is also in {}:{}, where an error hides what it means: repair that first",
                source.name(),
                position.line
            ))
        };
        let mut unknown = uses
            .in_source(id)
            .filter(|found| found.referent == Referent::Unknown);
        let same = |found: &&Use| compilation.sources.slice(found.span) == old;
        if let Some(found) = unknown.find(same) {
            return refuse(found.span.start as usize);
        }
        if !is_error(id) {
            continue;
        }
        for token in tree(source.text()).tokens() {
            let is_named = token.text() == old;
            let at = token.range().start;
            let start = u32::try_from(at).unwrap_or(u32::MAX);
            let is_known = || {
                let named = uses.at(id, at);
                named.is_some_and(|named| named.span.start == start)
            };
            if is_named && !renamed.contains(&(id, start)) && !is_known() {
                return refuse(at);
            }
        }
    }
    Ok(())
}

/// Refuses if a name refers to something else than before, or if there are new errors.
fn compare(before: &Snapshot, after: &Snapshot, new: &str) -> Result<(), String> {
    let errors = |snapshot: &Snapshot| {
        let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
        let found = snapshot.compilation.diagnostics.iter();
        for found in found.filter(|found| found.level == Level::Deny) {
            *counts.entry(found.rule).or_default() += 1;
        }
        counts
    };
    let known = errors(before);
    for (rule, count) in errors(after) {
        if count > known.get(rule).copied().unwrap_or(0) {
            let mut all = after.compilation.diagnostics.iter();
            let about = |found: &&duologue::diagnostic::Diagnostic| {
                found.rule == rule && found.message.contains(&format!("`{new}`"))
            };
            let first = all
                .clone()
                .find(about)
                .or_else(|| all.find(|found| found.rule == rule));
            let reason = first.map_or(rule, |found| found.message.as_str());
            return Err(format!("`{new}` cannot be used here: {reason}"));
        }
    }
    let [old, now] = [before, after].map(|snapshot| {
        let uses = snapshot.program().uses.iter();
        uses.map(|found| (found.span.source, found.referent, found.is_declaration))
    });
    match old.eq(now) {
        true => Ok(()),
        false => Err(format!(
            "`{new}` cannot be used here: another declaration has this name, and some names would refer to it"
        )),
    }
}
