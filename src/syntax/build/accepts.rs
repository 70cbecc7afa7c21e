//! `#[accepts(...)]`.

use super::Builder;
use crate::diagnostic::Diagnostic;
use crate::name::nearest;
use crate::protocol::{Accepted, Referent, Side};
use crate::source::Span;
use crate::syntax::ast::Attribute;

/// How many hexadecimal digits a fingerprint has.
const DIGITS: usize = 32;

/// What the attribute looks like.
const WRITE: &str = "write a side and a fingerprint, such as `#[accepts(server, 5587fde1ea262a7f6f78ddc9dc6d1f83)]`; \
                     `duologue breaking --against OLD --accept` writes the attribute";

impl Builder<'_> {
    /// `#[accepts(server, 5587fde1ea262a7f6f78ddc9dc6d1f83)]`
    pub(super) fn accepts(&mut self, attribute: &Attribute) -> Option<Accepted> {
        // Digits that begin with a letter are parsed as a name, others as a number.
        let names = attribute.arguments.iter().map(|name| name.span);
        let numbers = attribute.quantities.iter().map(|number| number.span);
        let mut arguments: Vec<Span> = names.chain(numbers).collect();
        arguments.sort_unstable();
        match arguments[..] {
            [side, digits] => Some(Accepted {
                side: self.acceptor(side)?,
                fingerprint: self.fingerprint(digits)?,
                span: attribute.span,
            }),
            [_, _, third, ..] => {
                let text = "`accepts` takes one side and one fingerprint";
                let error = Diagnostic::error("syntax", third, text);
                self.fail(error.help("write an attribute for each fingerprint"))
            }
            [] | [_] => {
                let text = "`#[accepts]` needs a side and a fingerprint";
                self.fail(Diagnostic::error("syntax", attribute.span, text).help(WRITE))
            }
        }
    }

    fn acceptor(&mut self, span: Span) -> Option<Side> {
        let word = &self.text[span.range()];
        let mut sides = [Side::Client, Side::Server].into_iter();
        if let Some(side) = sides.find(|side| side.word() == word) {
            self.file.words.push((span, Referent::Acceptor(side)));
            return Some(side);
        }
        let error = Diagnostic::error("syntax", span, format!("there is no side `{word}`"));
        self.fail(error.did_you_mean(span, nearest(word, ["client", "server"]), WRITE))
    }

    fn fingerprint(&mut self, span: Span) -> Option<[u8; 16]> {
        let digits = &self.text[span.range()];
        self.file.words.push((span, Referent::Fingerprint));
        if let Some(found) = bytes(digits) {
            return Some(found);
        }
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let text = match is_hex {
            true => format!("a fingerprint has {DIGITS} digits, not {}", digits.len()),
            false => format!("`{digits}` is not a fingerprint"),
        };
        let error = Diagnostic::error("syntax", span, text);
        let error = error.note(format!(
            "a fingerprint consists of {DIGITS} hexadecimal digits, as `duologue fingerprint` prints them"
        ));
        let plain = digits
            .strip_prefix("0x")
            .filter(|digits| bytes(digits).is_some());
        self.fail(match plain {
            Some(plain) => error.fix("remove the `0x`", span, plain, false),
            None => error.help(WRITE),
        })
    }
}

/// The bytes of a fingerprint in hexadecimal.
fn bytes(digits: &str) -> Option<[u8; 16]> {
    let is_hex = digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = is_hex.then(|| u128::from_str_radix(digits, 16).ok());
    number.flatten().map(u128::to_be_bytes)
}
