//! Turns what the parser found wrong into diagnostics.

use super::declared::DeclaredNames;
use super::failure;
use super::outline::Fault;
use super::parser::{Parsed, Problem};
use super::tokens::{Tokens, is_word};
use crate::diagnostic::Diagnostic;
use crate::source::{SourceId, Span};
use std::cell::OnceCell;
use std::ops::Range;

/// The maximum number of characters that one repair replaces.
const REPLACED: usize = 64;

/// Explains all problems of a text, in the order in which they were found.
pub fn explain(source: SourceId, parsed: &Parsed<'_>, mut report: impl FnMut(Diagnostic)) {
    let tokens = &parsed.tokens;
    // What the text declares, computed when a mistake needs it.
    let declared = OnceCell::new();
    for problem in &parsed.problems {
        report(match problem {
            Problem::Failure(found) => {
                let names = || DeclaredNames::of(tokens, &parsed.outline.items);
                failure::explain(source, tokens, found, declared.get_or_init(names))
            }
            Problem::Fault(range) => {
                let Some((first, more)) = parsed.outline.faults[range.clone()].split_first() else {
                    continue;
                };
                fault(source, tokens.text, first, more)
            }
            Problem::TooDeep(at) => Fault::too_deep(source, &tokens.place(*at)),
            Problem::Separator(range) => separator(source, tokens, range),
            Problem::Stray(first) => stray(source, tokens, *first),
            Problem::Unclosed(open) => unclosed(source, tokens, *open),
        });
    }
}

/// Explains the first fault of a part, with a repair of all faults like it.
fn fault(source: SourceId, text: &str, first: &Fault, more: &[Fault]) -> Diagnostic {
    let mut edits = first.replacements(text);
    for fault in more {
        if edits.is_empty() || edits.len() >= REPLACED {
            break;
        }
        edits.extend(fault.replacements(text));
    }
    first.explain(source, text, edits)
}

/// A stray semicolon: one may follow only a protocol, and only once.
fn stray(source: SourceId, tokens: &Tokens<'_>, first: usize) -> Diagnostic {
    let place = tokens.place(first);
    let more = tokens.text[place.end..].bytes();
    let more = more.take_while(|byte| *byte == b';').count();
    let span = Span::new(source, place.start, place.end + more);
    let (words, repair) = match more {
        0 => ("this semicolon ends nothing", "remove it"),
        _ => ("these semicolons end nothing", "remove them"),
    };
    Diagnostic::error("syntax", span, words).fix(repair, span, "", true)
}

/// A comma or semicolon between states. It is removed automatically only if a state or nothing follows: before a message, it is
/// the bracket before the separator that is wrong.
fn separator(source: SourceId, tokens: &Tokens<'_>, range: &Range<usize>) -> Diagnostic {
    let place = tokens.place(range.start);
    let name = match tokens.word(range.start) {
        "," => "comma",
        _ => "semicolon",
    };
    let span = Span::new(source, place.start, place.end);
    let text = format!("states are not separated by {name}s");
    let next = |count: usize| match range.start + count < range.end {
        true => tokens.word(range.start + count),
        false => "",
    };
    let is_message = is_word(next(1)) && !matches!(next(2), ":" | "<" | "{");
    Diagnostic::error("syntax", span, text).fix("remove it", span, "", !is_message)
}

/// A protocol that is never closed.
fn unclosed(source: SourceId, tokens: &Tokens<'_>, open: usize) -> Diagnostic {
    let place = tokens.place(open);
    let span = Span::new(source, place.start, place.end);
    let open = &tokens.text[place];
    let close = if open == "{" { "}" } else { ")" };
    Diagnostic::error("syntax", span, "this protocol is never closed")
        .label(format!("this `{open}` has no `{close}`"))
        .help(format!("close it with `{close}` after its last state"))
}
