//! Repairs of findings, and formatting.

use super::Snapshot;
use crate::diagnostic::{Diagnostic, Edit, Help};
use crate::syntax::format::{Unformatted, format};
use std::collections::BTreeMap;
use std::ops::Range;

/// A repair.
#[derive(Clone, Debug)]
pub struct Fix<'a> {
    /// The finding that it repairs.
    pub finding: &'a Diagnostic,
    /// What it does.
    pub title: String,
    /// Whether `check --fix` makes it too.
    pub is_safe: bool,
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

/// The repairs of the findings that touch a range.
#[must_use]
pub fn fixes<'a>(snapshot: &'a Snapshot, within: &Range<usize>) -> Vec<Fix<'a>> {
    let touches = |found: &&Diagnostic| {
        let at = found.primary.span.range();
        at.start <= within.end && within.start <= at.end
    };
    let mut fixes = Vec::new();
    for finding in findings(snapshot).filter(touches) {
        for help in &finding.helps {
            fixes.extend(edits(snapshot, help).map(|edits| Fix {
                finding,
                title: help.text.clone(),
                is_safe: help.is_safe,
                edits,
            }));
        }
    }
    fixes
}

/// All safe repairs of the text, without those that touch an earlier one.
#[must_use]
pub fn safe_fixes(snapshot: &Snapshot) -> Vec<(Range<usize>, String)> {
    // By where they begin and end, and their number in their repair. None touches another, so only the last one that begins before the end of a range can touch it.
    let mut chosen: BTreeMap<(usize, usize, usize), (Range<usize>, String)> = BTreeMap::new();
    let helps = findings(snapshot).flat_map(|found| &found.helps);
    for help in helps.filter(|help| help.is_safe) {
        let Some(edits) = edits(snapshot, help) else {
            continue;
        };
        let touches = |at: &Range<usize>| {
            let before = chosen
                .range(..=(at.end, usize::MAX, usize::MAX))
                .next_back();
            before.is_some_and(|(_, (other, _))| at.start <= other.end)
        };
        if !edits.iter().any(|(at, _)| touches(at)) {
            let edits = edits.into_iter().enumerate();
            chosen.extend(edits.map(|(index, edit)| ((edit.0.start, edit.0.end, index), edit)));
        }
    }
    chosen.into_values().collect()
}

/// What to replace so that the text has the layout of protocol files; `None` if it has it already.
///
/// # Errors
/// The text has syntax errors.
pub fn formatted(snapshot: &Snapshot) -> Result<Option<(Range<usize>, String)>, Unformatted> {
    let old = snapshot.text();
    let new = format(snapshot.source, old)?;
    if new == old {
        return Ok(None);
    }
    // Whole lines that stay are left alone, so that an editor keeps its marks there.
    let lines = |text: &str| {
        text.split_inclusive('\n')
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (before, after) = (lines(old), lines(&new));
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
    Ok(Some((start..end, text)))
}
