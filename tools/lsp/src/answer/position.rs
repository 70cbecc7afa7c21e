//! Positions as editors count them.

use gen_lsp_types::Position;
use std::ops::Range;

/// How columns are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// In bytes.
    Utf8,
    /// In UTF-16 units, as every editor can.
    #[default]
    Utf16,
}

/// Where the lines of a text begin.
#[derive(Clone, Debug)]
pub struct Lines {
    starts: Vec<u32>,
    /// How many UTF-16 units are before every block of [`BLOCK`] bytes, a character that crosses its start counted in the block
    /// before; nothing for an ASCII text.
    units: Vec<u32>,
    length: usize,
    is_ascii: bool,
}

/// A line may be very long, and its columns are asked for again and again.
const BLOCK: usize = 1024;

fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl Lines {
    /// The lines of a text. A line ends with `\n`, `\r\n` or a single `\r`.
    #[must_use]
    pub fn of(text: &str) -> Lines {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (at, byte) in bytes.iter().enumerate() {
            let is_end = *byte == b'\n' || *byte == b'\r' && bytes.get(at + 1) != Some(&b'\n');
            if is_end {
                starts.push(short(at + 1));
            }
        }
        let is_ascii = text.is_ascii();
        let mut units = Vec::new();
        if !is_ascii {
            let mut before = 0;
            for (at, letter) in text.char_indices() {
                while units.len() * BLOCK <= at {
                    units.push(short(before));
                }
                before += letter.len_utf16();
            }
        }
        Lines {
            starts,
            units,
            length: text.len(),
            is_ascii,
        }
    }

    /// How many UTF-16 units are before a byte, at which a character begins.
    fn units_before(&self, text: &str, offset: usize) -> usize {
        let known = (offset / BLOCK).min(self.units.len().saturating_sub(1));
        let mut start = known * BLOCK;
        while start < offset && !text.is_char_boundary(start) {
            start += 1;
        }
        let rest = text[start..offset].chars().map(char::len_utf16);
        self.units.get(known).map_or(0, |units| *units as usize) + rest.sum::<usize>()
    }

    /// The line and column of a byte; a byte past the end counts as the end, and one inside a character as its start.
    #[must_use]
    pub fn place(&self, text: &str, offset: usize, encoding: Encoding) -> Position {
        let mut offset = offset.min(self.length).min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self
            .starts
            .partition_point(|start| *start as usize <= offset)
            - 1;
        let start = self.starts[line] as usize;
        let column = match encoding {
            Encoding::Utf16 if !self.is_ascii => {
                self.units_before(text, offset) - self.units_before(text, start)
            }
            Encoding::Utf16 | Encoding::Utf8 => offset - start,
        };
        Position {
            line: short(line),
            character: short(column),
        }
    }

    /// The byte at a line and column. A column past the end of its line counts as the end of the line, without the line break; a line
    /// past the last counts as the end of the text.
    #[must_use]
    pub fn offset(&self, text: &str, place: Position, encoding: Encoding) -> usize {
        let Some(start) = self.starts.get(place.line as usize) else {
            return text.len();
        };
        let start = *start as usize;
        let end = self.starts.get(place.line as usize + 1);
        let end = end.map_or(text.len(), |end| *end as usize);
        let line = text[start..end].trim_end_matches(['\r', '\n']);
        let wanted = place.character as usize;
        if self.is_ascii {
            return start + wanted.min(line.len());
        }
        let mut column = 0;
        for (at, letter) in line.char_indices() {
            let width = match encoding {
                Encoding::Utf8 => letter.len_utf8(),
                Encoding::Utf16 => letter.len_utf16(),
            };
            // A position inside a character counts as its start.
            if column + width > wanted {
                return start + at;
            }
            column += width;
        }
        start + line.len()
    }

    /// The bytes between two positions; if they are in the wrong order, nothing.
    #[must_use]
    pub fn range(&self, text: &str, range: Range<Position>, encoding: Encoding) -> Range<usize> {
        let start = self.offset(text, range.start, encoding);
        start..self.offset(text, range.end, encoding).max(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_units_of_the_editor() {
        let text = "a\r\n\u{e9}\u{1f600}x\rlast";
        let lines = Lines::of(text);
        let at = |line, character| Position { line, character };
        let x = text.find('x').expect("it is there");
        assert_eq!(lines.place(text, x, Encoding::Utf16), at(1, 3));
        assert_eq!(lines.place(text, x, Encoding::Utf8), at(1, 6));
        assert_eq!(lines.offset(text, at(1, 3), Encoding::Utf16), x);
        assert_eq!(lines.offset(text, at(1, 2), Encoding::Utf16), x - 4);
        assert_eq!(lines.offset(text, at(0, 9), Encoding::Utf16), 1);
        assert_eq!(lines.offset(text, at(9, 0), Encoding::Utf16), text.len());
        assert_eq!(lines.place(text, 999, Encoding::Utf16), at(2, 4));
        let reversed = lines.range(text, at(1, 3)..at(0, 0), Encoding::Utf16);
        assert_eq!(reversed, x..x);
    }

    #[test]
    fn columns_of_long_lines_are_the_same_as_those_of_short_ones() {
        let text = "x\u{e9}\u{1f600}\u{4e00}".repeat(700) + "\n" + &"\u{e9}a".repeat(900);
        let lines = Lines::of(&text);
        let (mut line, mut character) = (0, 0);
        for (at, letter) in text.char_indices() {
            assert_eq!(
                lines.place(&text, at, Encoding::Utf16),
                Position { line, character }
            );
            character += short(letter.len_utf16());
            if letter == '\n' {
                (line, character) = (line + 1, 0);
            }
        }
    }
}
