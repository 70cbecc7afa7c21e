//! Turns the documentation of a protocol into Rust documentation.

/// The lines of a comment, each with its prefix.
pub struct Docs {
    pub lines: Vec<String>,
    /// The empty line before a paragraph that follows; none if there are no lines.
    pub gap: Option<&'static str>,
}

impl Docs {
    /// The documentation of an item.
    pub fn of_item(lines: &[Box<str>]) -> Docs {
        Docs::of("///", lines)
    }

    /// The documentation of the module that contains it.
    pub fn of_module(lines: &[Box<str>]) -> Docs {
        Docs::of("//!", lines)
    }

    /// Examples in a protocol's documentation are not Rust and must not become doctests, so code blocks are marked as text. Where that
    /// takes more than finding their fences, doctests do not see the documentation.
    fn of(prefix: &'static str, lines: &[Box<str>]) -> Docs {
        let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
        let lines = match may_hide_code(&lines) {
            true => hidden(prefix, &lines),
            false => marked(prefix, &lines),
        };
        Docs {
            gap: (!lines.is_empty()).then_some(prefix),
            lines,
        }
    }
}

/// The lines as attributes that doctests do not have.
fn hidden(prefix: &str, lines: &[&str]) -> Vec<String> {
    let hash = if prefix == "//!" { "#!" } else { "#" };
    let lines = lines.iter();
    lines
        .map(|line| format!("{hash}[cfg_attr(not(doctest), doc = {line:?})]"))
        .collect()
}

/// The lines with every code block marked as text.
fn marked(prefix: &str, lines: &[&str]) -> Vec<String> {
    let mut fence: Option<&str> = None;
    let mut marked = Vec::new();
    for line in lines.iter().copied() {
        let marker = fence_of(line);
        let opens = fence.is_none() && !marker.is_empty();
        if let Some(open) = fence {
            let closes = marker.starts_with(open) && marker == line.trim_start();
            fence = fence.filter(|_| !closes);
        } else if opens {
            fence = Some(marker);
        }
        let spaces = &line[..line.len() - line.trim_start().len()];
        marked.push(match line {
            "" => prefix.to_owned(),
            _ if opens => format!("{prefix} {spaces}{marker}text"),
            _ => format!("{prefix} {line}"),
        });
    }
    marked
}

/// The characters with which a line opens or closes a code block; empty if it does neither. After more than three spaces there are none.
fn fence_of(line: &str) -> &str {
    let text = line.trim_start_matches(' ');
    if line.len() - text.len() > 3 {
        return "";
    }
    let run = |c: char| &text[..text.len() - text.trim_start_matches(c).len()];
    let found = [run('`'), run('~')];
    found.into_iter().find(|run| run.len() >= 3).unwrap_or("")
}

/// Whether code blocks may be indented, or be in a list, a quote or a footnote, or beside HTML, so that only a parser of Markdown knows
/// where they begin and end.
fn may_hide_code(lines: &[&str]) -> bool {
    let mut has_fence = false;
    let mut has_container = false;
    let mut is_indented = false;
    let mut open: Option<&str> = None;
    for line in lines {
        let mut rest = *line;
        while open.is_none() {
            let text = rest.trim_start();
            let gap = &rest[..rest.len() - text.len()];
            is_indented |= (gap.len() > 3 || gap.contains('\t')) && !text.is_empty();
            has_container |= text.starts_with('<');
            let Some(inside) = container(text) else {
                break;
            };
            (rest, has_container) = (inside, true);
        }
        let marker = fence_of(rest);
        match open {
            Some(fence) if marker.starts_with(fence) && marker == rest.trim_start() => open = None,
            None if !marker.is_empty() => (open, has_fence) = (Some(marker), true),
            Some(_) | None => {}
        }
    }
    is_indented || has_container && has_fence
}

/// What follows the mark of a quote, a list item or a footnote.
fn container(text: &str) -> Option<&str> {
    if let Some(quoted) = text.strip_prefix('>') {
        return Some(quoted);
    }
    if let Some(note) = text.strip_prefix("[^") {
        return note.split_once("]:").map(|(_, inside)| inside);
    }
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let marks: &[char] = match digits.len() < text.len() {
        true => &['.', ')'],
        false => &['-', '+', '*'],
    };
    let inside = digits.strip_prefix(marks)?;
    let is_item = inside.is_empty() || inside.starts_with([' ', '\t']);
    is_item.then_some(inside)
}
