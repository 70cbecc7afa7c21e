//! Names as the user wrote them, with their locations.

use crate::diagnostic::quoted;
use crate::source::Span;
use std::fmt;

/// An identifier and where it is written.
#[derive(Clone, Debug)]
pub struct Name {
    text: Box<str>,
    /// Where the identifier is written; for a name that the compiler derived, the text it was derived from.
    pub span: Span,
}

impl Name {
    /// The name `text` at `span`.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>, span: Span) -> Name {
        Name {
            text: text.into(),
            span,
        }
    }

    /// The identifier.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The identifier in lower case and without `_`. Two names of one namespace with the same norm clash, because some target
    /// would spell them alike.
    #[must_use]
    pub fn norm(&self) -> String {
        norm(&self.text)
    }
}

/// An identifier in lower case and without `_`.
#[must_use]
pub fn norm(text: &str) -> String {
    let letters = text.chars().filter(|letter| *letter != '_');
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The candidate that `wrong` was most likely meant to be, if one is close enough to be worth suggesting: up to a third of the
/// longer name's characters may differ, but at most three. Names of one or two characters are too short for this to be meaningful.
pub fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const MOST: usize = 3;
    let limit = |candidate: &str| (wrong.len().max(candidate.len()) / 3).min(MOST);
    let distance = |candidate: &str| {
        if norm(candidate) == norm(wrong) {
            return 0;
        }
        strsim::damerau_levenshtein(wrong, candidate)
    };
    let scored = candidates
        .into_iter()
        .filter(|c| *c != wrong && c.len().abs_diff(wrong.len()) <= MOST);
    let scored = scored.map(|candidate| (distance(candidate), candidate));
    let scored = scored.filter(|(distance, candidate)| *distance <= limit(candidate));
    let best = scored.min_by_key(|(distance, _)| *distance)?;
    Some(best.1)
}

/// What to say after a name that does not exist: the one that was probably meant, or all that exist.
#[must_use]
pub fn instead<'a>(wrong: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    match nearest(wrong, names.clone()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!(", only {}", quoted(names)),
    }
}

/// How a name differs from a word that was probably meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slip {
    /// Two letters changed places, or one is doubled in only one of them.
    Typing,
    /// A letter was left out or added.
    Letter,
    /// A letter was replaced by another one.
    Replaced,
}

/// How a name of at least five characters differs from a word, if that is one slip. A letter that is left out, added or replaced at an end,
/// and anything else in a digit or in `_`, is more often another name, such as a plural.
#[must_use]
pub fn slip(name: &str, word: &str) -> Option<Slip> {
    let ends = |text: &str| (text.bytes().next(), text.bytes().last());
    let others = |text: &str| text.replace(|letter: char| letter.is_ascii_alphabetic(), "");
    let is_one = name.len().min(word.len()) >= 5
        && others(name) == others(word)
        && strsim::damerau_levenshtein(name, word) == 1;
    let sorted = |text: &str| {
        let mut letters = text.as_bytes().to_vec();
        letters.sort_unstable();
        letters
    };
    let without_doubles = |text: &str| {
        let mut letters = text.as_bytes().to_vec();
        letters.dedup();
        letters
    };
    match is_one {
        true if sorted(name) == sorted(word) => Some(Slip::Typing),
        true if without_doubles(name) == without_doubles(word) => Some(Slip::Typing),
        true if ends(name) != ends(word) => None,
        true if name.len() == word.len() => Some(Slip::Replaced),
        true => Some(Slip::Letter),
        false => None,
    }
}
