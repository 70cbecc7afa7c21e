//! Explains faults in the characters of a text: what is never closed, nested too deeply, or not ASCII.

use super::ascii::meant;
use crate::diagnostic::{Diagnostic, Edit};
use crate::source::{SourceId, Span};
use duologue_grammar::{Kind, Leaf, Tree};
use std::ops::Range;

/// A fault in the characters of a text.
#[derive(Debug)]
pub struct Fault {
    /// Where it is.
    pub at: Range<usize>,
    /// What is wrong.
    pub kind: FaultKind,
}

/// What can be wrong with the characters of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A block comment extends to the end of the text.
    OpenComment,
    /// Comments are nested deeper than the limit.
    DeepComment,
    /// A string extends to the end of its line.
    OpenString,
    /// Non-ASCII characters outside of comments and strings.
    Foreign,
    /// Brackets or type operators are nested deeper than the limit.
    DeepNesting,
}

/// What is wrong with the characters of a text, in order.
pub fn faults(tree: &Tree<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for comment in &tree.comments {
        Fault::in_comment(*comment, &mut faults);
    }
    if !tree.text.is_ascii() || tree.root().is_broken() {
        for token in tree.tokens() {
            Fault::in_token(tree.text, token.leaf(), &mut faults);
        }
        let deep = tree
            .root()
            .all()
            .filter(|node| node.kind() == Kind::bad_depth);
        let brackets = deep.filter_map(|node| node.children().next());
        faults.extend(brackets.map(|bracket| Fault {
            at: bracket.range(),
            kind: FaultKind::DeepNesting,
        }));
    }
    faults.sort_by_key(|fault| fault.at.start);
    faults
}

/// A character as a message shows it: letters and characters with a meaning as they are, others by number, so that none of them
/// can change the text direction of the terminal.
fn shown(character: char) -> String {
    let is_visible =
        character.is_alphanumeric() || meant(character).is_some_and(|meant| meant != " ");
    let number = u32::from(character);
    if is_visible {
        format!("`{character}` (U+{number:04X})")
    } else {
        format!("the character U+{number:04X}")
    }
}

impl Fault {
    /// Adds the fault of a comment, if it has one.
    fn in_comment(comment: Leaf, faults: &mut Vec<Fault>) {
        let Range { start, end } = comment.range();
        let (kind, end) = match comment.kind {
            Kind::open_comment => (FaultKind::OpenComment, start + 2),
            Kind::deep_comment => (FaultKind::DeepComment, start + 2),
            Kind::foreign_space => (FaultKind::Foreign, end),
            _ => return,
        };
        faults.push(Fault {
            at: start..end,
            kind,
        });
    }

    /// Adds the faults of a token.
    fn in_token(text: &str, token: Leaf, faults: &mut Vec<Fault>) {
        let at = token.range();
        match token.kind {
            Kind::string | Kind::bad_string => {}
            Kind::open_string => faults.push(Fault {
                at,
                kind: FaultKind::OpenString,
            }),
            _ => {
                let bytes = &text.as_bytes()[at.clone()];
                let mut start = at.start;
                for part in bytes.chunk_by(|one, two| one.is_ascii() == two.is_ascii()) {
                    let end = start + part.len();
                    if !part.is_ascii() {
                        faults.push(Fault {
                            at: start..end,
                            kind: FaultKind::Foreign,
                        });
                    }
                    start = end;
                }
            }
        }
    }

    /// Says that something is nested too deeply.
    pub fn too_deep(source: SourceId, at: &Range<usize>) -> Diagnostic {
        let here = Span::new(source, at.start, at.end);
        Diagnostic::syntax(here, "this is nested too deeply").help("at most 64 levels are allowed")
    }

    /// If all characters have a meaning in ASCII, what to write instead of each.
    pub fn replacements(&self, text: &str) -> Vec<(Range<usize>, &'static str)> {
        let found = &text[self.at.clone()];
        if self.kind != FaultKind::Foreign || !found.chars().all(|one| meant(one).is_some()) {
            return Vec::new();
        }
        let each = found.char_indices().filter_map(|(at, one)| {
            let start = self.at.start + at;
            Some((start..start + one.len_utf8(), meant(one)?))
        });
        each.collect()
    }

    /// Explains the fault; `edits` replace it and those like it.
    pub fn explain(
        &self,
        source: SourceId,
        text: &str,
        edits: Vec<(Range<usize>, &'static str)>,
    ) -> Diagnostic {
        let span = |at: &Range<usize>| Span::new(source, at.start, at.end);
        let here = span(&self.at);
        let error = |message: &str| Diagnostic::syntax(here, message);
        match self.kind {
            FaultKind::OpenComment => {
                error("this comment is never closed").help("close it with `*/`")
            }
            FaultKind::DeepComment => {
                error("comments are nested too deeply").help("at most 64 levels are allowed")
            }
            FaultKind::DeepNesting => Fault::too_deep(source, &self.at),
            FaultKind::OpenString => open_string(here, &text[self.at.clone()]),
            FaultKind::Foreign => {
                let found = &text[self.at.clone()];
                let first = found.chars().next().map_or_else(String::new, shown);
                let Some((_, with)) = edits.first() else {
                    return error(&format!("{first} cannot be part of a name"))
                        .help("names consist of `a` to `z`, `A` to `Z`, digits and `_`; other characters are allowed only in comments and strings");
                };
                let (what, repair) = match *with {
                    "->" => (format!("{first} is not an arrow here"), "write `->`"),
                    "\"" => (
                        format!("{first} is not a quotation mark here"),
                        "write `\"`",
                    ),
                    " " => (format!("{first} is not whitespace here"), "write a space"),
                    sign => (format!("{first} is not `{sign}`"), "write it in ASCII"),
                };
                let edits = edits.iter().map(|(at, with)| Edit::new(span(at), *with));
                error(&what).fix_all(repair, edits).safe(true)
            }
        }
    }
}

/// A string without its closing quote, which may have been written as another character.
fn open_string(here: Span, found: &str) -> Diagnostic {
    let error = Diagnostic::syntax(here, "this string is never closed");
    let quote = found
        .char_indices()
        .find(|(_, one)| meant(*one) == Some("\""));
    let Some((at, quote)) = quote else {
        return error.help("close it with `\"` on the same line");
    };
    let start = here.start as usize + at;
    let place = Span::new(here.source, start, start + quote.len_utf8());
    error.fix(
        format!("if {} is meant to close it, write `\"`", shown(quote)),
        place,
        "\"",
    )
}
