//! Repairs of findings, and formatting.

use super::repairs::proposed;
use super::tree::symbols::{IsMeant, Item, outline, tree};
use super::{Elsewhere, ItemKind, Snapshot};
use duologue::compile::{Files, Request};
use duologue::diagnostic::{Diagnostic, Edit, Help};
use duologue::repair::{automatic, repair};
use duologue::syntax::format::{Unformatted, format};
use std::ops::Range;

/// For how many findings more is proposed than their own repairs.
const PROPOSED: usize = 50;

/// A repair.
#[derive(Clone, Debug)]
pub struct Fix<'a> {
    /// The finding that it repairs.
    pub finding: &'a Diagnostic,
    /// What it does.
    pub title: String,
    /// Whether it is probably meant: `check --fix` makes it too, or it is the only import that helps.
    pub is_preferred: bool,
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

/// The findings in the text that touch a range.
fn touching<'a>(
    snapshot: &'a Snapshot,
    within: &Range<usize>,
) -> impl Iterator<Item = &'a Diagnostic> {
    findings(snapshot).filter(|found| {
        let at = found.primary.span.range();
        at.start <= within.end && within.start <= at.end
    })
}

/// The names in a range that nothing visible has, and whether a kind of declaration may be meant.
#[must_use]
pub fn unknown_names(snapshot: &Snapshot, within: &Range<usize>) -> Vec<(String, IsMeant)> {
    let unknown = touching(snapshot, within).filter_map(|found| {
        let is_meant: IsMeant = match found.rule {
            "undeclared-type" => ItemKind::is_type,
            "unknown-protocol" => ItemKind::is_protocol,
            "unknown-bound" => |kind| kind == ItemKind::ExternBound,
            _ => return None,
        };
        let name = snapshot.compilation.sources.slice(found.primary.span);
        Some((name.to_owned(), is_meant))
    });
    unknown.collect()
}

/// The repairs of the findings that touch a range. `request` and `files` are what the text was checked with, and `elsewhere` what other
/// files declare of the unknown names.
#[must_use]
pub fn fixes<'a>(
    snapshot: &'a Snapshot,
    within: &Range<usize>,
    request: &Request,
    files: &dyn Files,
    elsewhere: &[Elsewhere],
) -> Vec<Fix<'a>> {
    let repairs = || {
        let found = touching(snapshot, within);
        found.flat_map(|found| found.helps.iter().map(move |help| (found, help)))
    };
    let automatic = automatic(request, files, &snapshot.compilation, repairs());
    let automatic = automatic.unwrap_or_default();
    let fixes = repairs().filter_map(|(finding, help)| {
        Some(Fix {
            finding,
            title: help.text.clone(),
            is_preferred: automatic.contains(&std::ptr::from_ref(help)),
            edits: edits(snapshot, help)?,
        })
    });
    let mut fixes: Vec<Fix<'a>> = fixes.collect();
    let tree = tree(snapshot.text());
    for finding in touching(snapshot, within).take(PROPOSED) {
        let proposed = proposed(snapshot, &tree, finding, elsewhere).into_iter();
        fixes.extend(proposed.filter_map(|(help, is_preferred)| {
            Some(Fix {
                finding,
                edits: edits(snapshot, &help)?,
                title: help.text,
                is_preferred,
            })
        }));
    }
    fixes
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

/// What to replace so that the text has the layout of protocol files, or the declarations of it that a range touches; `None` if they
/// have it already.
///
/// # Errors
/// The text has syntax errors.
pub fn formatted(
    snapshot: &Snapshot,
    within: Option<&Range<usize>>,
) -> Result<Option<(Range<usize>, String)>, Unformatted> {
    let old = snapshot.text();
    let new = format(snapshot.source, old)?;
    let (at, part) = match within {
        None => (0..old.len(), 0..new.len()),
        Some(within) => {
            let whole = (0..old.len(), 0..new.len());
            touched(snapshot.outline(), &outline(&new), whole, within)
        }
    };
    let change = changed(&old[at.clone()], &new[part]);
    Ok(change.map(|(inner, text)| (at.start + inner.start..at.start + inner.end, text)))
}

/// The smallest part of a text, and the same in its formatted version, that has all declarations that a range touches, each with what is
/// before it. Both have the same declarations.
fn touched(
    old: &[Item],
    new: &[Item],
    whole: (Range<usize>, Range<usize>),
    within: &Range<usize>,
) -> (Range<usize>, Range<usize>) {
    // After the last declaration there may be a bracket, which belongs to what is around it.
    let is_inside =
        within.start >= whole.0.start && old.last().is_some_and(|last| within.end <= last.at.end);
    if old.len() != new.len() || !is_inside {
        return whole;
    }
    let first = old.partition_point(|item| item.at.end < within.start);
    let last = old.partition_point(|item| item.at.end < within.end);
    let part = |items: &[Item], start: usize| {
        let before = first.checked_sub(1).map(|before| items[before].at.end);
        before.unwrap_or(start)..items[last].at.end
    };
    let found = (part(old, whole.0.start), part(new, whole.1.start));
    match first == last {
        false => found,
        true => {
            let inner = (
                old[last].head.end..found.0.end,
                new[last].head.end..found.1.end,
            );
            match within.start > inner.0.start {
                false => found,
                true => match touched(
                    &old[last].children,
                    &new[last].children,
                    inner.clone(),
                    within,
                ) {
                    same if same == inner => found,
                    smaller => smaller,
                },
            }
        }
    }
}

/// What to replace to turn one text into another; `None` if they are the same.
fn changed(old: &str, new: &str) -> Option<(Range<usize>, String)> {
    if new == old {
        return None;
    }
    // Whole lines that stay are left alone, so that an editor keeps its marks there.
    let start = common(old.split_inclusive('\n'), new.split_inclusive('\n'));
    let (old, new) = (&old[start..], &new[start..]);
    let ends = old.split_inclusive('\n').rev();
    let end = common(ends, new.split_inclusive('\n').rev());
    let text = new[..new.len() - end].to_owned();
    Some((start..start + old.len() - end, text))
}

/// The length of the lines that are the same at the start.
fn common<'t>(one: impl Iterator<Item = &'t str>, other: impl Iterator<Item = &'t str>) -> usize {
    let same = one.zip(other).take_while(|(one, other)| one == other);
    same.map(|(line, _)| line.len()).sum()
}
