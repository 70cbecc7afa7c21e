//! Repairs of findings, and formatting.

use super::Snapshot;
use duologue::compile::{Files, Request};
use duologue::diagnostic::{Diagnostic, Edit, Help};
use duologue::repair::{automatic, repair};
use duologue::syntax::format::{Unformatted, format};
use std::ops::Range;

/// A repair.
#[derive(Clone, Debug)]
pub struct Fix<'a> {
    /// The finding that it repairs.
    pub finding: &'a Diagnostic,
    /// What it does.
    pub title: String,
    /// Whether `check --fix` makes it too.
    pub is_automatic: bool,
    /// What to replace in the text, in order, none overlapping.
    pub edits: Vec<(Range<usize>, String)>,
}

/// The findings in the text itself.
fn findings(snapshot: &Snapshot) -> impl Iterator<Item = &Diagnostic> {
    let all = snapshot.compilation.diagnostics.iter();
    all.filter(|found| found.primary.span.source == snapshot.source)
}

fn edits(snapshot: &Snapshot, help: &Help) -> Option<Vec<(Range<usize>, String)>> {
    let is_here = |edit: &Edit| edit.span.source == snapshot.source;
    if help.edits.is_empty() || !help.edits.iter().all(is_here) {
        return None;
    }
    let places = help.edits.iter().map(|edit| {
        let place = edit.place(&snapshot.compilation.sources);
        (place.range(), edit.text.clone())
    });
    let mut edits: Vec<_> = places.collect();
    edits.sort_by_key(|(at, _)| (at.start, at.end));
    // Two removals may share a line break: the later one then begins where the earlier one ends.
    let mut end = 0;
    for (at, _) in &mut edits {
        at.start = at.start.max(end);
        at.end = at.end.max(at.start);
        end = at.end;
    }
    Some(edits)
}

/// The repairs of the findings that touch a range. `request` and `files` are what the text was checked with.
#[must_use]
pub fn fixes<'a>(
    snapshot: &'a Snapshot,
    within: &Range<usize>,
    request: &Request,
    files: &dyn Files,
) -> Vec<Fix<'a>> {
    let touches = |found: &&Diagnostic| {
        let at = found.primary.span.range();
        at.start <= within.end && within.start <= at.end
    };
    let repairs = || {
        let found = findings(snapshot).filter(touches);
        found.flat_map(|found| found.helps.iter().map(move |help| (found, help)))
    };
    let automatic = automatic(request, files, &snapshot.compilation, repairs());
    let automatic = automatic.unwrap_or_default();
    let fixes = repairs().filter_map(|(finding, help)| {
        Some(Fix {
            finding,
            title: help.text.clone(),
            is_automatic: automatic.contains(&std::ptr::from_ref(help)),
            edits: edits(snapshot, help)?,
        })
    });
    fixes.collect()
}

/// What to replace to make all automatic repairs of the text; `None` if there are none.
#[must_use]
pub fn automatic_fixes(
    snapshot: &Snapshot,
    request: &Request,
    files: &dyn Files,
) -> Option<(Range<usize>, String)> {
    let name = snapshot.compilation.sources.get(snapshot.source).name();
    let repaired = repair(request, files, &|other| other == name).ok()?;
    let (_, text) = repaired.texts.into_iter().next()?;
    changed(snapshot.text(), &text)
}

/// What to replace so that the text has the layout of protocol files; `None` if it has it already.
///
/// # Errors
/// The text has syntax errors.
pub fn formatted(snapshot: &Snapshot) -> Result<Option<(Range<usize>, String)>, Unformatted> {
    let old = snapshot.text();
    Ok(changed(old, &format(snapshot.source, old)?))
}

/// What to replace to turn one text into another; `None` if they are the same.
fn changed(old: &str, new: &str) -> Option<(Range<usize>, String)> {
    if new == old {
        return None;
    }
    // Whole lines that stay are left alone, so that an editor keeps its marks there.
    let lines = |text: &str| {
        text.split_inclusive('\n')
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (before, after) = (lines(old), lines(new));
    let same = before
        .iter()
        .zip(&after)
        .take_while(|(a, b)| a == b)
        .count();
    let (rest, other) = (&before[same..], &after[same..]);
    let tail = rest
        .iter()
        .rev()
        .zip(other.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let start: usize = before[..same].iter().map(String::len).sum();
    let end = old.len()
        - rest[rest.len() - tail..]
            .iter()
            .map(String::len)
            .sum::<usize>();
    let text = other[..other.len() - tail].concat();
    Some((start..end, text))
}
