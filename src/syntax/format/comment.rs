//! Block comments of several lines keep their shape when they are moved.

/// How many columns a tab stands for.
const TAB: usize = 4;

/// The column at which the byte at `start` stands in its line.
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

/// A comment that began at one column and is to begin at another: its other lines go along, as far as they can. Blanks at the
/// ends of lines go.
pub fn moved(comment: &str, from: usize, to: usize) -> String {
    let mut lines = comment
        .split('\n')
        .map(|line| line.trim_end_matches(BLANKS));
    let mut moved = lines.next().unwrap_or("").to_owned();
    for line in lines {
        moved.push('\n');
        let words = line.trim_start_matches(BLANKS);
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

const BLANKS: [char; 3] = [' ', '\t', '\r'];
