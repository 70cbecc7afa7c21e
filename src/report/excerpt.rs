//! Selects the source lines that a finding needs. A renderer that is given whole files would scan them for every finding.

use crate::source::{Position, Source, SourceId, Sources, Span};
use std::ops::Range;

/// Locations more than this many bytes apart are shown in separate excerpts.
const NEAR: usize = 2048;

/// In bytes: a line is cut before its first location if that is farther from its start than this, and cut this far after its last
/// location.
const LONG_LINE: usize = 1024;

/// A piece of a source. It starts at the beginning of a line unless it is cut.
#[derive(Debug)]
pub struct Excerpt<'a> {
    /// The name of the source.
    pub name: &'a str,
    /// The piece.
    pub text: &'a str,
    /// The number of its first line.
    pub first_line: usize,
    /// The marks in it, in the order of the locations.
    pub marks: Vec<Mark>,
    /// Where its first mark begins.
    pub position: Position,
    /// Whether the beginning of its first line is missing, so that columns cannot be counted in `text`.
    pub is_cut: bool,
}

/// One of the requested locations, as bytes of the excerpt.
#[derive(Debug)]
pub struct Mark {
    /// Its index among the requested locations.
    pub of: usize,
    /// The bytes, on character boundaries.
    pub range: Range<usize>,
    /// Whether it covers the whole location: long ones are marked on their first line only.
    pub is_exact: bool,
}

/// The excerpts that show all locations: first the one with location 0, then the others of its source, then those of the other
/// sources, in the order in which the locations name them.
pub fn excerpts<'a>(sources: &'a Sources, places: &[Span]) -> Vec<Excerpt<'a>> {
    let mut ids: Vec<SourceId> = Vec::new();
    for place in places {
        if !ids.contains(&place.source) {
            ids.push(place.source);
        }
    }
    let mut found = Vec::new();
    for id in ids {
        let source = sources.get(id);
        let here = places.iter().enumerate();
        let here = here.filter(|(_, place)| place.source == id);
        let mut marks: Vec<Mark> = here.map(|(of, place)| clamp(source, of, *place)).collect();
        marks.sort_by_key(|mark| (mark.range.start, mark.range.end));
        let mut cluster: Vec<Mark> = Vec::new();
        for mark in marks {
            let end = cluster.iter().map(|mark| mark.range.end).max();
            let is_apart =
                |end| mark.range.start > end + NEAR || source.skips_lines(end, mark.range.start);
            if end.is_some_and(is_apart) {
                found.push(cut_out(source, std::mem::take(&mut cluster)));
            }
            cluster.push(mark);
        }
        found.push(cut_out(source, cluster));
    }
    let is_first = |excerpt: &Excerpt<'_>| excerpt.marks.iter().any(|mark| mark.of == 0);
    found.sort_by_key(|excerpt| !is_first(excerpt));
    found
}

/// A location as bytes that exist in the source, of a length that can be shown.
fn clamp(source: &Source, of: usize, place: Span) -> Mark {
    let text = source.text();
    let start = boundary(text, place.start as usize);
    let mut end = boundary(text, place.end as usize).max(start);
    let mut is_exact = start == place.start as usize && end == place.end as usize;
    if end - start > NEAR {
        end = source.line(start).end.min(boundary(text, start + NEAR));
        is_exact = false;
    }
    Mark {
        of,
        range: start..end,
        is_exact,
    }
}

/// The lines around marks that are near each other.
fn cut_out(source: &Source, mut marks: Vec<Mark>) -> Excerpt<'_> {
    let text = source.text();
    let first = marks.iter().map(|mark| mark.range.start).min();
    let last = marks.iter().map(|mark| mark.range.end).max();
    let (first, last) = (first.unwrap_or(0), last.unwrap_or(0));
    let mut start = source.line(first).start;
    let is_cut = first - start > LONG_LINE;
    if is_cut {
        start = boundary(text, first - LONG_LINE / 4);
    }
    let end = source.line(last).end.min(boundary(text, last + LONG_LINE));
    for mark in &mut marks {
        mark.range = mark.range.start - start..mark.range.end - start;
    }
    marks.sort_by_key(|mark| mark.of);
    Excerpt {
        name: source.name(),
        text: &text[start..end],
        first_line: source.position(start).line,
        marks,
        position: source.position(first),
        is_cut,
    }
}

/// The nearest character boundary at or before an offset.
fn boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}
