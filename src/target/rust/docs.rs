//! Turns the documentation of a protocol into Rust documentation.

use crate::protocol::State;
use crate::target::limits::time_limit;

/// The lines, indented and each preceded by `prefix`; each ends with a line break.
///
/// Examples in a protocol's documentation are not Rust and must not become doctests, so code blocks are marked as text.
pub fn comment<'a>(
    indent: usize,
    prefix: &str,
    lines: impl IntoIterator<Item = &'a str>,
) -> String {
    let mut out = String::new();
    let mut fence: Option<String> = None;
    for line in lines {
        let line = line.trim_end();
        let text = line.trim_start();
        let marker: String = text
            .chars()
            .take_while(|c| *c == '`' || *c == '~')
            .collect();
        let line = match &fence {
            Some(open) if marker.starts_with(open.as_str()) && marker.len() == text.len() => {
                fence = None;
                line.to_owned()
            }
            Some(_) => line.to_owned(),
            None if marker.len() >= 3 && is_of_one_kind(&marker) => {
                let spaces = (line.len() - text.len()).min(3);
                let opening = format!("{}{marker}text", &line[..spaces]);
                fence = Some(marker);
                opening
            }
            // Four spaces would make it a code block.
            None if line.starts_with("    ") || line.starts_with('\t') => format!("   {text}"),
            None => line.to_owned(),
        };
        out.extend(std::iter::repeat_n(' ', indent));
        out.push_str(prefix);
        if !line.is_empty() {
            out.push(' ');
            out.push_str(&line);
        }
        out.push('\n');
    }
    out
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

fn is_of_one_kind(marker: &str) -> bool {
    marker.chars().all(|c| c == '`') || marker.chars().all(|c| c == '~')
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
            "A",
            "",
            "```",
            "let x;",
            "```",
            "     let y;",
            "```rust",
            "",
            "```",
        ];
        let text = comment(4, "///", lines);
        let expected = "    /// A\n    ///\n    /// ```text\n    /// let x;\n    /// ```\n    ///    let y;\n    /// ```text\n    ///\n    /// ```\n";
        assert_eq!(text, expected);
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
