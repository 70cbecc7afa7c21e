//! Turns the documentation of a protocol into Rust documentation.

use crate::languages::limits::time_limit;
use crate::protocol::State;

/// The lines as documentation that is indented; `prefix` is `///` or `//!`.
///
/// Examples in a protocol's documentation are not Rust and must not become doctests, so code blocks are marked as text. Where that
/// takes more than finding their fences, doctests do not see the documentation.
pub fn comment<'a>(
    indent: usize,
    prefix: &str,
    lines: impl IntoIterator<Item = &'a str>,
) -> String {
    let lines: Vec<&str> = lines.into_iter().map(str::trim_end).collect();
    let hides_code = may_hide_code(&lines);
    let mut out = String::new();
    let mut fence: Option<&str> = None;
    for line in lines {
        out.extend(std::iter::repeat_n(' ', indent));
        if hides_code {
            let hash = if prefix == "//!" { "#!" } else { "#" };
            out += &format!("{hash}[cfg_attr(not(doctest), doc = {line:?})]\n");
            continue;
        }
        let marker = fence_of(line);
        let opens = fence.is_none() && !marker.is_empty();
        if let Some(open) = fence {
            let closes = marker.starts_with(open) && marker == line.trim_start();
            fence = fence.filter(|_| !closes);
        } else if opens {
            fence = Some(marker);
        }
        out += prefix;
        if !line.is_empty() {
            out.push(' ');
        }
        if opens {
            let spaces = line.len() - line.trim_start().len();
            out += &line[..spaces];
            out += marker;
            out += "text";
        } else {
            out += line;
        }
        out.push('\n');
    }
    out
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

/// The protocol's own documentation, followed by a generated sentence.
pub fn with_sentence<'a>(docs: &'a [Box<str>], sentence: &'a str) -> Vec<&'a str> {
    let mut lines: Vec<&str> = docs.iter().map(AsRef::as_ref).collect();
    if !lines.is_empty() {
        lines.push("");
    }
    lines.push(sentence);
    lines
}

/// The documentation of a state: its own, a generated sentence, and its time limit.
pub fn state_comment(indent: usize, state: &State, sentence: &str) -> String {
    let limit = time_limit(state);
    let mut lines = with_sentence(&state.docs, sentence);
    lines.extend(limit.iter().flat_map(|limit| ["", limit]));
    comment(indent, "///", lines)
}

/// A sentence lists at most this many messages.
const MANY: usize = 8;

/// Message names as they appear in a sentence: `a`, `b` or `c`.
pub fn alternatives(names: &[&str]) -> String {
    if names.len() > MANY {
        return format!("one of {} messages", names.len());
    }
    let quoted = names.iter().map(|name| format!("`{name}`"));
    either(&quoted.collect::<Vec<_>>())
}

/// The same with links to the variants of the messages' enum, of which the path is given; each name is with its variant.
pub fn linked_alternatives(path: &str, names: &[(&str, String)]) -> String {
    if names.len() > MANY {
        return format!("[one of {} messages]({path})", names.len());
    }
    let links = names.iter();
    let links = links.map(|(name, variant)| format!("[`{name}`]({path}::{variant})"));
    either(&links.collect::<Vec<_>>())
}

fn either(all: &[String]) -> String {
    match all {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [all @ .., last] => format!("{} or {last}", all.join(", ")),
    }
}

/// The warning about a method that may block. `for_tasks`: the method to call in tasks.
pub(super) fn blocks(for_tasks: &str) -> String {
    format!(
        "Waits while no slot is free. **In a task, use [`{for_tasks}`](Self::{for_tasks}): this method blocks the thread.**"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_blocks_are_text() {
        let lines = [
            "A", "", "```", "let x;", "    - y", "```", " ~~~rust", "", "~~~",
        ];
        let text = comment(4, "///", lines);
        let expected = "    /// A\n    ///\n    /// ```text\n    /// let x;\n    ///     - y\n    /// ```\n    ///  ~~~text\n    ///\n    /// ~~~\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn doctests_do_not_see_code_that_is_hard_to_find() {
        for code in ["    x", "\tx", "-     x", "> 1.     x"] {
            let text = comment(0, "//!", ["A", code]);
            let expected = format!(
                "#![cfg_attr(not(doctest), doc = \"A\")]\n#![cfg_attr(not(doctest), doc = {code:?})]\n"
            );
            assert_eq!(text, expected);
        }
        for fence in ["- ```", "> ~~~", "[^1]: ```", "<b>"] {
            let text = comment(0, "///", [fence, "x", "```"]);
            assert!(
                text.starts_with("#[cfg_attr(not(doctest), doc = "),
                "{text}"
            );
        }
        let text = comment(0, "///", ["- a list", "> a quote", "<b>", "**no list**"]);
        assert_eq!(
            text,
            "/// - a list\n/// > a quote\n/// <b>\n/// **no list**\n"
        );
    }

    #[test]
    fn alternatives_read_as_a_sentence() {
        assert_eq!(alternatives(&["a"]), "`a`");
        assert_eq!(alternatives(&["a", "b", "c"]), "`a`, `b` or `c`");
        assert_eq!(alternatives(&["a"; 9]), "one of 9 messages");
        assert_eq!(alternatives(&[]), "nothing");
        let named = [("a", "A".to_owned()), ("self", "Self_".to_owned())];
        assert_eq!(
            linked_alternatives("super::S", &named),
            "[`a`](super::S::A) or [`self`](super::S::Self_)"
        );
    }
}
