//! Common mistakes, for which a diagnostic can say more than what was expected. Each is recognized by the tokens around the
//! position where the parse failed, in time linear in the length of the piece.

mod item;
mod messages;
mod outside;
mod sizes;
mod state;
mod types;

use super::ascii::is_word;
use super::failure::Context;
use super::failure::Part;
use crate::diagnostic::Diagnostic;

impl<'a> Context<'a> {
    /// What is wrong, if it is one of these mistakes.
    pub(super) fn special(&self) -> Option<Diagnostic> {
        let anywhere = self.comment().or_else(|| self.dashed_name());
        let anywhere = anywhere.or_else(|| self.in_number());
        let anywhere = anywhere.or_else(|| self.quoted_fingerprint());
        anywhere.or_else(|| match self.part {
            Part::Outside => Some(self.outside()),
            Part::Header => self.in_header(),
            Part::State if self.is_first => self.state_start(),
            Part::State => self.in_state(),
            Part::Item | Part::Import | Part::Package => self.in_item(),
        })
    }

    /// Comments that begin as in other languages.
    fn comment(&self) -> Option<Diagnostic> {
        let hash = match (self.before, self.found) {
            ("#", found) if found != "[" => Some((self.last.clone(), found)),
            (_, "#") if self.token_ahead(1) != "[" => {
                Some((self.here.clone(), self.token_ahead(1)))
            }
            _ => None,
        };
        if let Some((at, word)) = hash {
            return Some(match word {
                "allow" | "warn" | "deny" | "dual_of" | "at_most" | "within" | "accepts" => self
                    .error_at(at, "an attribute is written in brackets")
                    .help(format!("write `#[{word}(...)]`")),
                "include" | "import" => self
                    .error_at(at, "there are no directives that begin with `#`")
                    .help("an import is written `import \"file.proto\";`"),
                _ => self
                    .error_at(at.clone(), "a comment begins with `//`, not with `#`")
                    .fix("if this is a comment", self.span(at), "//", false),
            });
        }
        let rest = &self.piece[self.here.start..];
        (rest.starts_with("--") && !rest.starts_with("-->")).then(|| {
            let at = self.here.start..self.here.start + 2;
            self.error_at(at.clone(), "a comment begins with `//`, not with `--`")
                .fix("if this is a comment", self.span(at), "//", false)
        })
    }

    /// A name with `-` in it.
    fn dashed_name(&self) -> Option<Diagnostic> {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let rest = &self.piece[self.here.end..];
        let is_dashed = self.found == "-"
            && is_word(self.before)
            && self.last.end == self.here.start
            && rest.starts_with(is_part);
        is_dashed.then(|| {
            let more = rest
                .char_indices()
                .find(|(at, letter)| {
                    let is_inner = *letter == '-' && rest[at + 1..].starts_with(is_part);
                    !is_part(*letter) && !is_inner
                })
                .map_or(rest.len(), |(at, _)| at);
            let whole = self.last.start..self.here.end + more;
            let repaired = self.piece[whole.clone()].replace('-', "_");
            let words = "names consist of letters, digits and `_`";
            self.error("a name cannot contain `-`")
                .fix(words, self.span(whole), repaired, false)
        })
    }

    /// `#[accepts(server, "5587fde1ea262a7f6f78ddc9dc6d1f83")]`, of which the string or the whole attribute may not fit.
    fn quoted_fingerprint(&self) -> Option<Diagnostic> {
        let near = self.piece[self.here.start..].starts_with("#[accepts(");
        let start = match near {
            true => self.here.start,
            false => self.piece[..self.here.start].rfind("#[accepts(")?,
        };
        let attribute = &self.piece[start..];
        let attribute = &attribute[..attribute.find(']')?];
        let (before, rest) = attribute.split_once('"')?;
        let (digits, _) = rest.split_once('"')?;
        let at = start + before.len();
        let at = at..at + digits.len() + 2;
        let error = self.error_at(at.clone(), "a fingerprint is written without quotes");
        Some(error.fix("remove them", self.span(at), digits, false))
    }

    fn in_header(&self) -> Option<Diagnostic> {
        match (self.before, self.found) {
            ("!", "{" | "(") => Some(
                self.error("a protocol needs a name")
                    .help("write `proto! name { ... }`"),
            ),
            (_, "<") => Some(
                self.error("protocols have no type parameters")
                    .help("declare them on the first state: `start:send<T> { ... }`"),
            ),
            _ => self.in_attribute(),
        }
    }

    fn in_attribute(&self) -> Option<Diagnostic> {
        (self.expects("(") && self.expects("]")).then(|| {
            self.error("the arguments of an attribute are written in parentheses")
                .help("write `#[allow(rule)]`")
        })
    }

    fn is_word(&self) -> bool {
        is_word(self.found)
    }
}
