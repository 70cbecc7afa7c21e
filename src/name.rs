//! Names as the user wrote them, with their place.

use crate::source::Span;
use std::fmt;

/// An identifier and where it stands.
#[derive(Clone, Debug)]
pub struct Name {
    text: Box<str>,
    /// Where the identifier stands; for a name the compiler derived, the words it was derived from.
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

    /// The identifier without case and without `_`. Two names of one name space with the same norm clash, because some target
    /// would spell them alike.
    #[must_use]
    pub fn norm(&self) -> String {
        norm(&self.text)
    }
}

/// An identifier without case and without `_`.
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

/// The candidate that `wrong` was most likely meant to be, if one is near enough to be worth proposing.
pub fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (wrong.chars().count() / 3).clamp(1, 3);
    let distance = |candidate: &str| {
        if norm(candidate) == norm(wrong) {
            return 0;
        }
        strsim::damerau_levenshtein(wrong, candidate)
    };
    let scored = candidates
        .into_iter()
        .filter(|c| *c != wrong && c.len().abs_diff(wrong.len()) <= limit.max(2));
    let scored = scored.map(|candidate| (distance(candidate), candidate));
    let best = scored.min_by_key(|(distance, _)| *distance)?;
    (best.0 <= limit).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn only_near_names_are_proposed() {
        assert_eq!(
            nearest("conected", ["connected", "login"]),
            Some("connected")
        );
        assert_eq!(nearest("Connected", ["connected"]), Some("connected"));
        assert_eq!(nearest("quit", ["login", "deposit"]), None);
    }
}
