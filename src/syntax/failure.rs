//! Explains failed parses.

use super::declared::DeclaredNames;
use crate::diagnostic::{Diagnostic, joined};
use crate::name::nearest;
use crate::source::{SourceId, Span};
use duologue_grammar::{Node, Tree};
use std::ops::Range;

/// A part of a text, of which one error is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Package,
    Import,
    Item,
    /// The head of a protocol.
    Header,
    State,
    /// What is between two items.
    Outside,
}

/// A state, which is expected after a bracket that closes its protocol too early.
pub const STATE: &str = "state";

/// A name or a number, among what is expected.
pub const NAME: &str = "_";

/// A part of a text that does not fit.
#[derive(Debug)]
pub struct Failure<'t> {
    /// What it should have been.
    pub part: Part,
    /// Its node.
    pub node: Node<'t>,
    /// The node in it that says what is wrong.
    pub error: Node<'t>,
    /// The numbers of its tokens.
    pub tokens: Range<usize>,
    /// The token that does not fit.
    pub at: usize,
    /// What would have fitted, separated by spaces.
    pub expected: String,
}

/// Says what is wrong with a part of a text that does not fit.
pub fn explain<'a>(
    source: SourceId,
    tree: &'a Tree<'a>,
    failure: &'a Failure<'a>,
    declared: &'a DeclaredNames<'a>,
) -> Diagnostic {
    let Range { start: first, end } = failure.tokens;
    let at = failure.at.min(end);
    // What is missing at the end of a part is missing before the next token.
    let end_of_part = match at < end {
        true => tree.place(end - 1).end,
        false => tree.place(end).start,
    };
    let here = match at < end {
        true => tree.place(at),
        false => end_of_part..end_of_part,
    };
    let last = match at > first {
        true => tree.place(at - 1),
        false => here.start..here.start,
    };
    let (outer, prior) = failure.node.around(failure.error);
    let context = Context {
        source,
        tree,
        declared,
        part: failure.part,
        node: failure.node,
        outer,
        prior,
        text: &tree.text[..end_of_part],
        found: &tree.text[here.clone()],
        before: &tree.text[last.clone()],
        here,
        last,
        expected: failure.expected.split(' ').collect(),
        first,
        at,
        end,
    };
    context.special().unwrap_or_else(|| context.general())
}

/// A part that does not fit: where, at what, and what surrounds it.
pub(super) struct Context<'a> {
    source: SourceId,
    tree: &'a Tree<'a>,
    pub(super) declared: &'a DeclaredNames<'a>,
    pub(super) part: Part,
    /// The node of the part.
    pub(super) node: Node<'a>,
    /// The node in which something does not fit.
    pub(super) outer: Node<'a>,
    /// What is before it in that node.
    pub(super) prior: Option<Node<'a>>,
    /// The text up to the end of the part.
    pub(super) text: &'a str,
    /// The token that does not fit.
    pub(super) found: &'a str,
    /// Where it is.
    pub(super) here: Range<usize>,
    /// The token before it in the part; empty if there is none.
    pub(super) before: &'a str,
    /// Where that one is.
    pub(super) last: Range<usize>,
    expected: Vec<&'a str>,
    /// The numbers of the first token of the part, of the one that does not fit, and of the one after the part.
    first: usize,
    at: usize,
    end: usize,
}

impl<'a> Context<'a> {
    pub(super) fn expects(&self, sign: &str) -> bool {
        self.expected.contains(&sign)
    }

    /// Whether a name or a number could have been written.
    pub(super) fn expects_name(&self) -> bool {
        self.expects(NAME)
    }

    /// The signs and keywords that could have been written, in the order of a report.
    fn signs(&self) -> Vec<&'a str> {
        let signs = self.expected.iter().copied();
        let mut signs: Vec<&str> = signs.filter(|sign| !matches!(*sign, NAME | "")).collect();
        signs.sort_unstable();
        signs.dedup();
        signs
    }

    pub(super) fn error(&self, message: impl Into<String>) -> Diagnostic {
        self.error_at(self.here.clone(), message)
    }

    pub(super) fn error_at(&self, at: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::syntax(self.span(at), message)
    }

    pub(super) fn span(&self, at: Range<usize>) -> Span {
        Span::new(self.source, at.start, at.end)
    }

    /// The token that does not fit.
    pub(super) fn found_span(&self) -> Span {
        self.span(self.here.clone())
    }

    /// The end of the token before the one that does not fit.
    pub(super) fn end_of_last(&self) -> Span {
        self.span(self.last.end..self.last.end)
    }

    /// Whether nothing of the part is before the token that does not fit.
    pub(super) fn is_first(&self) -> bool {
        self.at == self.first
    }

    /// The position of the token `count` tokens after the one that does not fit; the end of the part if there is none.
    pub(super) fn ahead(&self, count: usize) -> Range<usize> {
        match self.at + count < self.end {
            true => self.tree.place(self.at + count),
            false => self.text.len()..self.text.len(),
        }
    }

    /// The token `count` tokens after the one that does not fit; empty if there is none.
    pub(super) fn token_ahead(&self, count: usize) -> &'a str {
        &self.text[self.ahead(count)]
    }

    /// The tokens of the part, in order.
    pub(super) fn words(&self) -> impl Iterator<Item = &'a str> {
        (self.first..self.end).map(|number| self.tree.word(number))
    }

    fn general(&self) -> Diagnostic {
        let choices = self.choices();
        let found = self.what_is_found();
        if choices.is_empty() {
            return self.error(format!("{found} is not expected here"));
        }
        let error = self.error(format!(
            "expected {}, found {found}",
            joined(&choices, "or")
        ));
        let keywords = self.signs().into_iter().filter(|sign| sign.len() > 2);
        match nearest(self.found, keywords) {
            near @ Some(_) => error.did_you_mean(self.found_span(), near, ""),
            None => error,
        }
    }

    /// What could be written here, in words. Tokens that would continue a type are left out if others are expected too.
    fn choices(&self) -> Vec<String> {
        let mut choices = Vec::new();
        let is_type = self.expects_name() && self.expects("[");
        if is_type {
            choices.push("a type".to_owned());
        } else if self.expects_name() {
            choices.push("a name".to_owned());
        }
        let goes_on = |sign: &str| matches!(sign, "?" | "::" | "<" | ":" | "+");
        let signs: Vec<&str> = self
            .signs()
            .into_iter()
            .filter(|sign| !is_type || !matches!(*sign, "(" | "[" | "~"))
            .collect();
        let only_going_on = signs.iter().all(|sign| goes_on(sign));
        let signs = signs
            .into_iter()
            .filter(|sign| only_going_on || !goes_on(sign));
        choices.extend(signs.map(|sign| format!("`{sign}`")));
        choices
    }

    pub(super) fn what_is_found(&self) -> String {
        match (self.found, self.tree.word(self.end)) {
            ("", "") => "the end of the file".to_owned(),
            ("", following) => format!("`{following}`"),
            (found, _) if found.chars().all(|letter| letter.is_control()) => {
                format!("the control character {}", found.escape_default())
            }
            (found, _) => format!("`{found}`"),
        }
    }
}
