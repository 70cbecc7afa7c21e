//! Which parts of a text can be folded, and what to select next around a position.

use super::symbols::{Item, outline, tree};
use duologue_grammar::{Kind, Leaf, Tree};
use gen_lsp_types::FoldingRangeKind;
use std::ops::Range;

/// A part of a text that can be folded. It has several lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// What it is.
    pub kind: FoldingRangeKind,
    /// Its bytes.
    pub at: Range<usize>,
}

/// Pairs of brackets, each from its opening to after its closing bracket.
fn pairs(tree: &Tree<'_>) -> Vec<Range<usize>> {
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut pairs = Vec::new();
    for token in tree.tokens() {
        let opener = match token.text() {
            bracket @ ("{" | "(" | "[") => {
                open.push((bracket, token.range().start));
                continue;
            }
            "}" => "{",
            ")" => "(",
            "]" => "[",
            _ => continue,
        };
        // A closing bracket also closes what was left open inside its pair.
        let nearest = open.iter().rev().take(128);
        if let Some(above) = nearest
            .map(|(kind, _)| *kind)
            .position(|kind| kind == opener)
        {
            let at = open.len() - 1 - above;
            pairs.push(open[at].1..token.range().end);
            open.truncate(at);
        }
    }
    pairs
}

/// Everything that can be folded, in the order in which it begins.
#[must_use]
pub fn folds(text: &str) -> Vec<Fold> {
    let tree = tree(text);
    let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let is_long = |at: &Range<usize>| {
        let next = breaks.partition_point(|line_break| *line_break < at.start);
        breaks.get(next).is_some_and(|next| *next < at.end)
    };
    let mut folds: Vec<Fold> = Vec::new();
    let regions = pairs(&tree).into_iter().filter(|at| is_long(at));
    folds.extend(regions.map(|at| Fold {
        kind: FoldingRangeKind::Region,
        at,
    }));
    let mut run: Option<(FoldingRangeKind, Range<usize>)> = None;
    let imports = tree
        .root()
        .parts()
        .filter(|node| node.kind() == Kind::import);
    let mut parts: Vec<(FoldingRangeKind, Range<usize>)> = tree
        .comments
        .iter()
        .filter(|comment| comment.kind != Kind::foreign_space)
        .map(|comment| (FoldingRangeKind::Comment, comment.range()))
        .chain(imports.map(|import| (FoldingRangeKind::Imports, import.range())))
        .collect();
    parts.sort_by_key(|(_, at)| at.start);
    for (kind, at) in parts {
        let line = text[..at.start].rfind('\n').map_or(0, |at| at + 1);
        let starts_line = text[line..at.start]
            .trim_start_matches('\u{feff}')
            .trim()
            .is_empty();
        match &mut run {
            Some((running, range))
                if *running == kind
                    && starts_line
                    && text[range.end..at.start].trim().is_empty() =>
            {
                range.end = at.end;
            }
            _ => {
                let ended = run.replace((kind, at));
                folds.extend(ended.map(|(kind, at)| Fold { kind, at }));
            }
        }
    }
    folds.extend(run.map(|(kind, at)| Fold { kind, at }));
    folds.retain(|fold| is_long(&fold.at));
    folds.sort_by_key(|fold| (fold.at.start, std::cmp::Reverse(fold.at.end)));
    folds
}

/// The most ranges that are selected one after another. Brackets may nest without a limit in a text with errors.
const LEVELS: usize = 64;

/// What contains each of some positions, from the smallest range to the whole text; each contains the one before it. Of very many
/// ranges, the smallest ones and the whole text.
#[must_use]
pub fn selections(text: &str, offsets: &[usize]) -> Vec<Vec<Range<usize>>> {
    let tree = tree(text);
    let leaves: Vec<Leaf> = tree.leaves().collect();
    let pairs = pairs(&tree);
    let items = outline(text);
    let all = offsets.iter();
    all.map(|offset| selection(text, *offset, &leaves, &pairs, &items))
        .collect()
}

fn selection(
    text: &str,
    offset: usize,
    leaves: &[Leaf],
    pairs: &[Range<usize>],
    items: &[Item],
) -> Vec<Range<usize>> {
    let contains = |at: &Range<usize>| at.start <= offset && offset <= at.end;
    let mut found: Vec<Range<usize>> = Vec::new();
    let first = leaves.partition_point(|leaf| leaf.range().end < offset);
    let words = leaves[first..].iter().map(|leaf| leaf.range());
    found.extend(words.take_while(contains));
    for pair in pairs.iter().filter(|at| contains(at)) {
        if pair.start < offset && offset < pair.end {
            found.push(pair.start + 1..pair.end - 1);
        }
        found.push(pair.clone());
    }
    collect(items, offset, &mut found);
    found.sort_by_key(|at| (at.end - at.start, at.start));
    let whole = 0..text.len();
    let mut nested: Vec<Range<usize>> = Vec::new();
    for at in found {
        let grows = nested
            .last()
            .is_none_or(|last| at.start <= last.start && last.end <= at.end && at != *last);
        if grows && at != whole {
            nested.push(at);
        }
    }
    nested.truncate(LEVELS - 1);
    nested.push(whole);
    nested
}

fn collect(items: &[Item], offset: usize, found: &mut Vec<Range<usize>>) {
    for item in items {
        if item.at.start <= offset && offset <= item.at.end {
            found.push(item.at.clone());
            collect(&item.children, offset, found);
        }
    }
}
