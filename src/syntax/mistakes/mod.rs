//! Common mistakes, for which a diagnostic can say more than what was expected. Each is recognized by the tokens around the
//! position where the parse failed, in time linear in the length of the piece.

mod declarations;
mod states;
pub(crate) mod types;

use super::ascii::is_word;
use super::failure::{Context, Part};
use super::measure::ARGUMENTS;
use crate::diagnostic::Diagnostic;
use duologue_grammar::{Kind, Node};
use std::ops::Range;

impl<'a> Context<'a> {
    /// What is wrong, if it is one of these mistakes.
    pub(super) fn special(&self) -> Option<Diagnostic> {
        let anywhere = self.comment().or_else(|| self.dashed_name());
        let anywhere = anywhere.or_else(|| types::in_number(self));
        let anywhere = anywhere.or_else(|| self.quoted_fingerprint());
        if self.outer.kind() == Kind::attribute {
            return anywhere.or_else(|| self.in_attribute());
        }
        anywhere.or_else(|| match self.part {
            Part::Outside => Some(declarations::outside(self)),
            Part::Header => self.in_header(),
            Part::State if self.is_first() => self.state_start(),
            Part::State => self.in_state(),
            Part::Item | Part::Import | Part::Package => declarations::in_item(self),
        })
    }

    /// Comments that begin as in other languages.
    fn comment(&self) -> Option<Diagnostic> {
        let (at, word) = match (self.before, self.found) {
            ("#", found) if found != "[" => (self.last.clone(), found),
            (_, "#") if self.token_ahead(1) != "[" => (self.here.clone(), self.token_ahead(1)),
            _ => {
                let rest = &self.text[self.here.start..];
                let is_dashes = rest.starts_with("--") && !rest.starts_with("-->");
                let at = self.here.start..self.here.start + 2;
                return is_dashes.then(|| self.comment_of(at));
            }
        };
        Some(match word {
            "allow" | "warn" | "deny" | "dual_of" | "at_most" | "within" | "accepts" => self
                .error_at(at, "an attribute is written in brackets")
                .help(format!("write `#[{word}(...)]`")),
            "include" | "import" => self
                .error_at(at, "there are no directives that begin with `#`")
                .help("an import is written `import \"file.proto\";`"),
            _ => self.comment_of(at),
        })
    }

    /// A comment that begins with what is at these bytes.
    fn comment_of(&self, at: Range<usize>) -> Diagnostic {
        let text = format!(
            "a comment begins with `//`, not with `{}`",
            &self.text[at.clone()]
        );
        let error = self.error_at(at.clone(), text);
        error.fix("if this is a comment", self.span(at), "//")
    }

    /// A name with `-` in it.
    fn dashed_name(&self) -> Option<Diagnostic> {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let rest = &self.text[self.here.end..];
        let is_dashed = self.found == "-"
            && is_word(self.before)
            && self.last.end == self.here.start
            && rest.starts_with(is_part);
        is_dashed.then(|| {
            let more = rest.trim_start_matches(|letter| is_part(letter) || letter == '-');
            let name =
                self.text[self.last.start..self.text.len() - more.len()].trim_end_matches('-');
            let whole = self.last.start..self.last.start + name.len();
            let words = "names consist of letters, digits and `_`";
            self.error("a name cannot contain `-`").fix(
                words,
                self.span(whole),
                name.replace('-', "_"),
            )
        })
    }

    /// `#[accepts(server, "5587fde1ea262a7f6f78ddc9dc6d1f83")]`
    fn quoted_fingerprint(&self) -> Option<Diagnostic> {
        let name = self.outer.child(Kind::ident).map(Node::text);
        let is_accepts = self.outer.kind() == Kind::attribute && name == Some("accepts");
        let digits = self.found.strip_prefix('"')?.strip_suffix('"')?;
        is_accepts.then(|| {
            self.error("a fingerprint is written without quotes").fix(
                "remove them",
                self.found_span(),
                digits,
            )
        })
    }

    fn in_header(&self) -> Option<Diagnostic> {
        Some(match (self.before, self.found) {
            ("!", "{" | "(") => self
                .error("a protocol needs a name")
                .help("write `proto! name { ... }`"),
            (_, "<") => self
                .error("protocols have no type parameters")
                .help("declare them on the first state: `start:send<T> { ... }`"),
            _ => return None,
        })
    }

    fn in_attribute(&self) -> Option<Diagnostic> {
        let name = self.outer.child(Kind::ident).map_or("", Node::text);
        Some(match (self.before, self.found) {
            ("(", ")") => self
                .error(format!("`#[{name}]` needs an argument"))
                .help(ARGUMENTS),
            _ if self.expects("(") && self.expects("]") => self
                .error("the arguments of an attribute are written in parentheses")
                .help(ARGUMENTS),
            _ => return None,
        })
    }
}
