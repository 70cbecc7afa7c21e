//! Pages as a reader sees them who does what they say: their blocks, and what the comment before a block says that it is.

use std::iter;

/// A block of a page.
pub struct Block<'p> {
    /// The heading before it.
    pub section: &'p str,
    /// The path of a new file, which is in the line before it: in code, with a colon.
    pub file: Option<&'p str>,
    /// What the comment before it says; empty without one:
    /// `edit: PATH` is a change of a file, and `mistake: PATH` a change that is undone after the next command;
    /// `run` is a command, `fails` one that must fail, and `serve` one that goes on. The next block is what they print.
    pub what: &'p str,
    pub language: &'p str,
    pub text: &'p str,
}

pub fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut rest = page;
    let mut section = "";
    let mut blocks = Vec::new();
    while let Some((before, after)) = rest.split_once("\n```") {
        let (language, block) = after.split_once('\n').expect("a block has lines");
        let end = block.find("```\n").expect("a block is closed");
        // The end of this line may begin the next block.
        let (text, after) = (&block[..end], &block[end + 3..]);
        let mut headings = before.lines().filter(|line| line.starts_with('#'));
        if let Some(heading) = headings.next_back() {
            section = heading.trim_start_matches('#').trim_start();
        }
        let line = before.lines().next_back().unwrap_or_default();
        let between = |begin, end| line.strip_prefix(begin)?.strip_suffix(end);
        let what = between("<!-- ", " -->");
        let file = between("`", "`:").filter(|path| !path.contains('`'));
        blocks.push(Block {
            section,
            file,
            what: what.unwrap_or_default(),
            language,
            text,
        });
        rest = after;
    }
    blocks
}

/// Each block with what the page says that it prints, which may be nothing.
pub fn with_outputs<'a, 'p>(
    blocks: &'a [Block<'p>],
) -> impl Iterator<Item = (&'a Block<'p>, &'p str)> {
    let next = blocks.iter().skip(1).map(Some).chain(iter::once(None));
    blocks.iter().zip(next).map(|(block, next)| {
        let output = next.filter(|next| next.what.is_empty() && next.language == "text");
        (block, output.map_or("", |output| output.text))
    })
}

/// Replaces the lines with `-` by those with `+`. Lines that begin with a space stay, and an empty line separates two places.
pub fn edit(text: &str, difference: &str) -> String {
    let mut text = text.to_owned();
    for place in difference.split("\n\n") {
        let with = |sign: char| -> String {
            let lines = place.lines();
            let lines = lines.filter_map(|line| line.strip_prefix([' ', sign]));
            lines.map(|line| format!("{line}\n")).collect()
        };
        let (old, new) = (with('-'), with('+'));
        assert_ne!(old, new, "nothing changes");
        assert_eq!(text.matches(&old).count(), 1, "{old} is once in:\n{text}");
        text = text.replace(&old, &new);
    }
    text
}
