//! The texts being compiled and positions in them, independent of protocols.

use std::sync::OnceLock;

/// Identifies one text among the [`Sources`] of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// A range of bytes in one source; `end` is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The text that contains the range.
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

    /// The empty range right after this one.
    #[must_use]
    pub fn after(self) -> Span {
        Span {
            start: self.end,
            ..self
        }
    }

    /// The smallest range that covers both; both are in the same source.
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

/// How spans move when their [`Sources`] are absorbed by others.
#[derive(Clone, Copy, Debug)]
pub struct Moved(u32);

impl Moved {
    /// The new position of a span.
    #[must_use]
    pub fn span(self, span: Span) -> Span {
        let source = SourceId(span.source.0 + self.0);
        Span { source, ..span }
    }
}

/// A position as people count it.
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
    /// The file that has the text, as reports for other programs name it, if there is one.
    file: Option<String>,
    /// Whether the text is an older version of the file.
    is_old: bool,
    text: String,
    /// Where bytes that are not UTF-8 were replaced: the end of each replacement in the text, and how many bytes longer the text
    /// is than the file up to there. Empty if the file is UTF-8.
    replaced: Vec<(usize, usize)>,
    /// If the text has only some lines of the file: the number of each, and its first byte in the file.
    lines: Option<Vec<(usize, usize)>>,
    index: OnceLock<Index>,
}

/// Where lines and characters begin, so that a position is found without a scan up to it: some texts are one long line.
#[derive(Debug)]
struct Index {
    line_starts: Vec<u32>,
    /// The number of characters before every [`STRIDE`]th byte.
    characters: Vec<u32>,
}

const STRIDE: usize = 1024;

/// How many characters begin in these bytes.
fn beginnings(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

impl Index {
    fn of(text: &str) -> Index {
        let bytes = text.as_bytes();
        let short = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let breaks = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let starts = breaks.map(|(at, _)| short(at + 1));
        let mut before = 0;
        let characters = bytes.chunks(STRIDE).map(|chunk| {
            let here = before;
            before += beginnings(chunk);
            short(here)
        });
        Index {
            line_starts: std::iter::once(0).chain(starts).collect(),
            characters: characters.collect(),
        }
    }

    /// The number of characters before an offset.
    fn characters_before(&self, text: &str, offset: usize) -> usize {
        let stride = offset / STRIDE;
        let Some(before) = self.characters.get(stride).or(self.characters.last()) else {
            return 0;
        };
        let from = stride.min(self.characters.len() - 1) * STRIDE;
        *before as usize + beginnings(&text.as_bytes()[from..offset])
    }
}

impl Source {
    /// The name that reports show: a path as the user wrote it, with `/` between its parts.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that has the text, as reports for other programs name it: that of [`Sources::locate`], or the name. Of an older
    /// version, the file that has the new one; `None` if there is no file.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// Whether the text is an older version of its file, so that lines in it are none of the file.
    #[must_use]
    pub fn is_old(&self) -> bool {
        self.is_old
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the file has bytes that are not UTF-8, which were replaced in the text.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
        !self.replaced.is_empty()
    }

    /// The offset in the file of a byte of the text. The two differ only after bytes that are not UTF-8, for which the text has
    /// replacement characters.
    #[must_use]
    pub fn byte_in_file(&self, offset: usize) -> usize {
        if let Some(lines) = &self.lines {
            let (line, start) = self.line_of(offset.min(self.text.len()));
            return lines
                .get(line - 1)
                .map_or(0, |(_, byte)| byte + (offset - start));
        }
        let before = self.replaced.partition_point(|(end, _)| *end <= offset);
        match before.checked_sub(1) {
            Some(last) => offset - self.replaced[last].1,
            None => offset,
        }
    }

    /// Line and column of a byte offset; an offset past the end counts as the end.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        let index = self.index();
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let (line, start) = self.line_of(offset);
        let [start, here] = [start, offset].map(|at| index.characters_before(&self.text, at));
        Position {
            line: self.number_of(line),
            column: here - start + 1,
        }
    }

    /// The number in the file of a line of the text.
    fn number_of(&self, line: usize) -> usize {
        let Some(lines) = &self.lines else {
            return line;
        };
        lines.get(line - 1).map_or(line, |(number, _)| *number)
    }

    /// Where a line of the file begins in the text; the end of the text if it does not have the line.
    #[must_use]
    pub fn start_of_line(&self, number: u64) -> usize {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let index = match &self.lines {
            Some(lines) => lines.iter().position(|(known, _)| *known == number),
            None => number.checked_sub(1),
        };
        let start = index.and_then(|index| self.index().line_starts.get(index));
        start.map_or(self.text.len(), |start| *start as usize)
    }

    /// Whether lines of the file are missing between two offsets of the text.
    pub(crate) fn skips_lines(&self, from: usize, to: usize) -> bool {
        let [from, to] = [from, to].map(|at| self.line_of(at.min(self.text.len())).0);
        self.number_of(to).abs_diff(self.number_of(from)) != to.abs_diff(from)
    }

    /// The bytes of the line that contains an offset, with its line break.
    #[must_use]
    pub fn line(&self, offset: usize) -> std::ops::Range<usize> {
        let (line, start) = self.line_of(offset.min(self.text.len()));
        let next = self.index().line_starts.get(line);
        start..next.map_or(self.text.len(), |next| *next as usize)
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::of(&self.text))
    }

    /// The number of the line that contains an offset, from 1, and where the line begins.
    fn line_of(&self, offset: usize) -> (usize, usize) {
        let starts = &self.index().line_starts;
        let line = starts.partition_point(|start| *start as usize <= offset);
        (line, starts[line - 1] as usize)
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
        let name = name.into();
        self.list.push(Source {
            file: Some(name.clone()),
            is_old: false,
            name,
            text: text.into(),
            replaced: Vec::new(),
            lines: None,
            index: OnceLock::new(),
        });
        id
    }

    /// Adds some lines of a file: the number of each, its first byte in the file, and its text, in order.
    pub fn add_lines(&mut self, name: impl Into<String>, lines: &[(u64, u64, &str)]) -> SourceId {
        let long = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let text: String = lines
            .iter()
            .flat_map(|(.., text)| [text.replace('\n', " "), "\n".to_owned()])
            .collect();
        let id = self.add(name, text);
        let numbers = lines
            .iter()
            .map(|(number, byte, _)| (long(*number), long(*byte)));
        self.list[id.0 as usize].lines = Some(numbers.collect());
        id
    }

    /// Removes the last text, to which no span refers any longer.
    #[doc(hidden)]
    pub fn forget_last(&mut self) {
        self.list.pop();
    }

    /// Adds bytes that are not UTF-8 as the text closest to them, so that positions in it can be shown.
    pub fn add_lossy(&mut self, name: impl Into<String>, bytes: &[u8]) -> SourceId {
        const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;
        let mut text = String::with_capacity(bytes.len());
        let mut replaced = Vec::new();
        let mut longer = 0;
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                text.push(REPLACEMENT);
                // A chunk has at most three bytes that are not UTF-8, and a replacement has three.
                longer += REPLACEMENT.len_utf8() - chunk.invalid().len();
                replaced.push((text.len(), longer));
            }
        }
        let id = self.add(name, text);
        self.list[id.0 as usize].replaced = replaced;
        id
    }

    /// Says which file has each text, from the name of the file and whether the text is an older version of it.
    pub fn locate(&mut self, find: impl Fn(&str, bool) -> Option<String>) {
        for source in &mut self.list {
            source.file = source
                .file
                .take()
                .and_then(|file| find(&file, source.is_old));
        }
    }

    /// Takes over the texts of another run, each under the name that `name` makes from its own; one with a new name is an older
    /// version. The result maps spans in them to their new positions.
    pub fn absorb(&mut self, other: Sources, name: impl Fn(&str) -> String) -> Moved {
        let moved = Moved(u32::try_from(self.list.len()).expect("fewer than 2^32 files"));
        let others = other.list.into_iter();
        self.list.extend(others.map(|source| {
            let name = name(&source.name);
            Source {
                is_old: source.is_old || name != source.name,
                name,
                ..source
            }
        }));
        moved
    }

    /// The text with this id.
    #[must_use]
    pub fn get(&self, id: SourceId) -> &Source {
        &self.list[id.0 as usize]
    }

    /// The text a span covers.
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

    /// Whether there are no texts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}
