//! Which parts of a text can be folded, and what to select next around a position.

use super::outline::{Item, outline};
use super::text::{Kind, Token, tokens};
use std::ops::Range;

/// What is folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoldKind {
    /// Comments.
    Comment,
    /// Imports.
    Imports,
    /// What is in brackets.
    Region,
}

/// A part of a text that can be folded. It has several lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// What it is.
    pub kind: FoldKind,
    /// Its bytes.
    pub at: Range<usize>,
}

/// Pairs of brackets, each from its opening to after its closing bracket.
fn pairs(tokens: &[Token]) -> Vec<Range<usize>> {
    let mut open: Vec<(u8, usize)> = Vec::new();
    let mut pairs = Vec::new();
    for token in tokens {
        let Kind::Sign(sign) = token.kind else {
            continue;
        };
        let opener = match sign {
            b'{' | b'(' | b'[' => {
                open.push((sign, token.at.start));
                continue;
            }
            b'}' => b'{',
            b')' => b'(',
            b']' => b'[',
            _ => continue,
        };
        // A closing bracket also closes what was left open inside its pair.
        let nearest = open.iter().rev().take(128);
        if let Some(above) = nearest
            .map(|(kind, _)| *kind)
            .position(|kind| kind == opener)
        {
            let at = open.len() - 1 - above;
            pairs.push(open[at].1..token.at.end);
            open.truncate(at);
        }
    }
    pairs
}

/// Everything that can be folded, in the order in which it begins.
#[must_use]
pub fn folds(text: &str) -> Vec<Fold> {
    let tokens = tokens(text);
    let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let is_long = |at: &Range<usize>| {
        let next = breaks.partition_point(|line_break| *line_break < at.start);
        breaks.get(next).is_some_and(|next| *next < at.end)
    };
    let mut folds: Vec<Fold> = Vec::new();
    let regions = pairs(&tokens).into_iter().filter(|at| is_long(at));
    folds.extend(regions.map(|at| Fold {
        kind: FoldKind::Region,
        at,
    }));
    let mut run: Option<(FoldKind, Range<usize>)> = None;
    for (index, token) in tokens.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| tokens.get(index));
        let is_import = |token: &Token| &text[token.at.clone()] == "import";
        let kind = match token.kind {
            Kind::Comment | Kind::Doc => Some(FoldKind::Comment),
            Kind::Word if token.starts_line && is_import(token) => Some(FoldKind::Imports),
            Kind::String if before.is_some_and(is_import) => Some(FoldKind::Imports),
            Kind::Sign(b';') if before.is_some_and(|token| token.kind == Kind::String) => {
                Some(FoldKind::Imports)
            }
            Kind::Word
            | Kind::String
            | Kind::Arrow
            | Kind::Path
            | Kind::Sign(_)
            | Kind::Foreign => None,
        };
        let goes_on = token.kind != Kind::Comment && token.kind != Kind::Doc || token.starts_line;
        match (&mut run, kind) {
            (Some((running, at)), Some(kind)) if *running == kind && goes_on => {
                at.end = token.at.end;
            }
            (_, kind) => {
                let ended = std::mem::replace(&mut run, kind.map(|kind| (kind, token.at.clone())));
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
    let tokens = tokens(text);
    let pairs = pairs(&tokens);
    let items = outline(text);
    let all = offsets.iter();
    all.map(|offset| selection(text, *offset, &tokens, &pairs, &items))
        .collect()
}

fn selection(
    text: &str,
    offset: usize,
    tokens: &[Token],
    pairs: &[Range<usize>],
    items: &[Item],
) -> Vec<Range<usize>> {
    let contains = |at: &Range<usize>| at.start <= offset && offset <= at.end;
    let mut found: Vec<Range<usize>> = Vec::new();
    let first = tokens.partition_point(|token| token.at.end < offset);
    let words = tokens[first..]
        .iter()
        .take_while(|token| contains(&token.at));
    found.extend(words.map(|token| token.at.clone()));
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
