//! Unified diffs: between a text and its formatted version, and between any two texts.

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};
use std::fmt::Write as _;
use std::ops::Range;

/// How many unchanged lines are shown around a change.
const CONTEXT: usize = 3;

/// The maximum number of pairs of lines that are compared to find what two stretches have in common; larger stretches are shown
/// as replaced.
const PAIRS: usize = 1 << 20;

/// The same if the whole text is one stretch.
const PAIRS_OF_WHOLE: usize = 1 << 26;

/// A patch that turns `old` into `new`; empty if they are equal. The texts may differ in any way; the time it takes grows with
/// the number of differences, up to a bound.
pub fn between(path: &str, old: &str, new: &str) -> String {
    let (old, new) = (lines(old), lines(new));
    let mut operations = Vec::new();
    let whole = (0..old.len(), 0..new.len());
    stretch(
        &mut operations,
        &old,
        &new,
        whole.0,
        whole.1,
        PAIRS_OF_WHOLE,
    );
    patch(path, &old, &new, operations)
}

/// A patch that turns `old` into `new`, its formatted version; empty if they are equal.
///
/// The texts are cut where the same words begin a line in both, so that the time is proportional to their length as long as only
/// whitespace, line endings and separators differ.
pub fn unified(path: &str, old: &str, new: &str) -> String {
    let (old, new) = (lines(old), lines(new));
    let found = if old == new {
        Vec::new()
    } else {
        operations(&old, &new)
    };
    patch(path, &old, &new, found)
}

/// The text of a patch.
fn patch(path: &str, old: &[&str], new: &[&str], operations: Vec<DiffOp>) -> String {
    let is_equal = |operation: &DiffOp| matches!(operation, DiffOp::Equal { .. });
    if operations.iter().all(is_equal) {
        return String::new();
    }
    let path = path.trim_start_matches('/');
    let side = |mark: char, lines: &[&str]| match lines {
        [] => "/dev/null".to_owned(),
        _ => format!("{mark}/{path}"),
    };
    let mut text = format!("--- {}\n+++ {}\n", side('a', old), side('b', new));
    for hunk in group_diff_ops(operations, CONTEXT) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
            continue;
        };
        let from = place(first.old_range().start..last.old_range().end);
        let to = place(first.new_range().start..last.new_range().end);
        let _ = writeln!(text, "@@ -{from} +{to} @@");
        for operation in &hunk {
            let removed = &old[operation.old_range()];
            match operation {
                DiffOp::Equal { .. } => write_lines(&mut text, ' ', removed),
                DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                    write_lines(&mut text, '-', removed);
                    write_lines(&mut text, '+', &new[operation.new_range()]);
                }
            }
        }
    }
    text
}

/// Lines with their line endings.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// A range of lines, as written in the header of a hunk.
fn place(lines: Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        many => format!("{},{many}", lines.start + 1),
    }
}

fn write_lines(text: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        text.push(sign);
        *text += line;
        if !line.ends_with('\n') {
            *text += "\n\\ No newline at end of file\n";
        }
    }
}

fn operations(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let mut operations: Vec<DiffOp> = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    let (mut old_ink, mut new_ink) = (0, 0);
    while old_at < old.len() || new_at < new.len() {
        let (old_start, new_start) = (old_at, new_at);
        loop {
            if old_ink <= new_ink && old_at < old.len() {
                old_ink += ink(old[old_at]);
                old_at += 1;
            } else if new_at < new.len() {
                new_ink += ink(new[new_at]);
                new_at += 1;
            } else {
                old_at = old.len();
            }
            let is_end = old_at == old.len() && new_at == new.len();
            let is_inside = old_at > old_start && new_at > new_start && old_ink == new_ink;
            if is_end || is_inside {
                break;
            }
        }
        stretch(
            &mut operations,
            old,
            new,
            old_start..old_at,
            new_start..new_at,
            PAIRS,
        );
    }
    operations
}

/// The number of characters of a line that formatting does not change.
fn ink(line: &str) -> usize {
    let is_ink = |byte: &u8| !byte.is_ascii_whitespace() && !b",;".contains(byte);
    line.bytes().filter(is_ink).count()
}

/// Adds the operations that turn one stretch of lines into another.
fn stretch(
    operations: &mut Vec<DiffOp>,
    old: &[&str],
    new: &[&str],
    old_range: Range<usize>,
    new_range: Range<usize>,
    most_pairs: usize,
) {
    let (old_lines, new_lines) = (&old[old_range.clone()], &new[new_range.clone()]);
    let found = if old_lines.len().saturating_mul(new_lines.len()) > most_pairs {
        vec![DiffOp::Replace {
            old_index: 0,
            old_len: old_lines.len(),
            new_index: 0,
            new_len: new_lines.len(),
        }]
    } else {
        capture_diff_slices(Algorithm::Myers, old_lines, new_lines)
    };
    for operation in found {
        let old_index = operation.old_range().start + old_range.start;
        let new_index = operation.new_range().start + new_range.start;
        let (old_len, new_len) = (operation.old_range().len(), operation.new_range().len());
        match (operation, operations.last_mut()) {
            (DiffOp::Equal { len: more, .. }, Some(DiffOp::Equal { len, .. })) => *len += more,
            (DiffOp::Equal { len, .. }, _) => operations.push(DiffOp::Equal {
                old_index,
                new_index,
                len,
            }),
            _ => operations.push(DiffOp::Replace {
                old_index,
                old_len,
                new_index,
                new_len,
            }),
        }
    }
}
