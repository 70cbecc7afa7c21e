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

    #[test]
    fn short_names_are_near_to_nothing() {
        assert_eq!(nearest("b", ["a"]), None);
        assert_eq!(nearest("s2", ["s1"]), None);
        assert_eq!(nearest("B", ["b"]), Some("b"));
        assert_eq!(nearest("snd", ["send"]), Some("send"));
    }
}
