//! Moves block comments of several lines without changing their shape.

/// How many columns a tab counts as.
const TAB: usize = 4;

/// The column of the byte at `start` in its line.
pub fn column(text: &str, start: usize) -> usize {
    let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line = text[line..start].trim_start_matches('\u{feff}');
    columns(line)
}

/// How many columns a part of a line takes.
pub fn columns(text: &str) -> usize {
    let width = |letter| if letter == '\t' { TAB } else { 1 };
    text.chars().map(width).sum()
}

/// Moves a comment that began at column `from` to column `to`. Its other lines move along, as far as they can. Whitespace at the
/// ends of lines is removed.
pub fn moved(comment: &str, from: usize, to: usize) -> String {
    let mut lines = comment
        .split('\n')
        .map(|line| line.trim_end_matches(WHITESPACE));
    let mut moved = lines.next().unwrap_or("").to_owned();
    for line in lines {
        moved.push('\n');
        let words = line.trim_start_matches(WHITESPACE);
        let indent = &line[..line.len() - words.len()];
        if from == to || words.is_empty() {
            moved += line;
        } else {
            let indent = (columns(indent) + to).saturating_sub(from);
            moved.extend(std::iter::repeat_n(' ', indent));
            moved += words;
        }
    }
    moved
}

const WHITESPACE: [char; 3] = [' ', '\t', '\r'];
