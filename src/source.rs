//! The texts being compiled and positions in them; knows nothing about protocols.

use std::sync::OnceLock;

/// Names one text among the [`Sources`] of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub(crate) u32);

/// A range of bytes in one source; `end` is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The text the range lies in.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end` of `source`.
    #[must_use]
    pub fn new(source: SourceId, start: usize, end: usize) -> Span {
        let byte = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Span {
            source,
            start: byte(start),
            end: byte(end),
        }
    }

    /// The empty range right behind this one.
    #[must_use]
    pub fn after(self) -> Span {
        Span {
            start: self.end,
            ..self
        }
    }

    /// The smallest range that covers both; both lie in the same source.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span {
            source: self.source,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// The bytes as a range for slicing.
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A place as people count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// One text with the name that reports show for it.
#[derive(Debug)]
pub struct Source {
    name: String,
    text: String,
    line_starts: OnceLock<Vec<u32>>,
}

impl Source {
    /// The name that reports show: a path as the user wrote it, with `/` between its parts.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of a byte offset; an offset past the end counts as the end.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        let starts = self.line_starts.get_or_init(|| {
            let breaks = self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
            let starts = breaks.map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX));
            std::iter::once(0).chain(starts).collect()
        });
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = starts.partition_point(|start| *start as usize <= offset);
        let start = starts[line - 1] as usize;
        Position {
            line,
            column: self.text[start..offset].chars().count() + 1,
        }
    }
}

/// All texts of a run, in the order they were read.
#[derive(Debug, Default)]
pub struct Sources {
    list: Vec<Source>,
}

impl Sources {
    /// Adds a text under the name that reports show for it.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        let id = SourceId(u32::try_from(self.list.len()).expect("fewer than 2^32 files"));
        self.list.push(Source {
            name: name.into(),
            text: text.into(),
            line_starts: OnceLock::new(),
        });
        id
    }

    /// The text behind an id.
    #[must_use]
    pub fn get(&self, id: SourceId) -> &Source {
        &self.list[id.0 as usize]
    }

    /// The words a span covers.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.get(span.source).text.get(span.range()).unwrap_or("")
    }

    /// All texts with their ids, in the order they were read.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        let numbered = self.list.iter().enumerate();
        numbered.map(|(index, source)| {
            (
                SourceId(u32::try_from(index).expect("fewer than 2^32 files")),
                source,
            )
        })
    }

    /// How many texts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether nothing was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let mut sources = Sources::default();
        let id = sources.add("a.proto", "ab\n\u{e9}x\n");
        let at = |offset| {
            let position = sources.get(id).position(offset);
            (position.line, position.column)
        };
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(3), (2, 1));
        assert_eq!(at(5), (2, 2));
        assert_eq!(at(99), (3, 1));
    }
}
