//! Mistakes in bounds of types, in the sizes of `#[at_most(...)]`, and in the durations of `#[within(...)]`.

use crate::diagnostic::Diagnostic;
use crate::syntax::ascii::is_number;
use crate::syntax::failure::Context;
use crate::syntax::measure::{BYTES, DURATION, ITEMS, Measure, SIZE};
use duologue_grammar::{Kind, Node};
use std::ops::Range;

impl<'a> Context<'a> {
    pub(super) fn in_number(&self) -> Option<Diagnostic> {
        let (measure, open) = self.measure()?;
        let start = open.range().end;
        let is_attribute = measure.no_unit.is_none();
        if is_attribute && open.kind() == Kind::ident {
            return self.without_parentheses(&measure);
        }
        let line = self.text[start..].lines().next()?;
        let text = &line[..line.find(measure.closing)?];
        let start = start + text.len() - text.trim_start().len();
        let text = text.trim();
        let at = start..start + text.len();
        if text.is_empty() {
            let name = self.outer.child(Kind::ident)?.text();
            let text = format!("`#[{name}]` needs a {}", measure.what);
            return is_attribute.then(|| self.error(text).help(measure.write));
        }
        let Some((what, repaired)) = measure.wrong(text) else {
            // Of several parts, each may be correct.
            return (is_attribute && !text.contains(',')).then(|| {
                let text = format!("expected a {}, found `{text}`", measure.what);
                self.error_at(at, text).help(measure.write)
            });
        };
        let error = self.error_at(at.clone(), what);
        Some(match repaired {
            Some(repaired) => error.fix("write it like this", self.span(at), repaired, false),
            None => error.help(measure.write),
        })
    }

    /// `#[at_most 5 B]` and `#[at_most = 5 B]`.
    fn without_parentheses(&self, measure: &Measure) -> Option<Diagnostic> {
        let start = self.last.end;
        let end = start + self.text[start..].lines().next()?.find(']')?;
        let (what, name) = (measure.what, self.before);
        let text = format!("the {what} of `{name}` is written in parentheses");
        let error = self.error_at(start..end, text).label("here");
        let size = self.text[start..end].trim_start_matches(['=', ':', ' ', '\t']);
        let size = size.trim();
        Some(match is_number(size) {
            true => {
                let repaired = format!("({size})");
                error.fix("write it like this", self.span(start..end), repaired, false)
            }
            false => error.help(measure.write),
        })
    }

    /// Which number is expected around the token that does not fit, and what is before it.
    fn measure(&self) -> Option<(Measure, Node<'a>)> {
        let (outer, prior) = (self.outer, self.prior?);
        let kind = prior.kind();
        match outer.kind() {
            Kind::attribute if kind != Kind::rparen => {
                let name = outer.child(Kind::ident)?;
                let measure = match name.text() {
                    "at_most" => SIZE,
                    "within" => DURATION,
                    _ => return None,
                };
                Some((measure, outer.child(Kind::lparen).unwrap_or(name)))
            }
            Kind::list if matches!(kind, Kind::semi | Kind::number) => {
                Some((ITEMS, outer.child(Kind::semi)?))
            }
            Kind::length | Kind::arguments if matches!(kind, Kind::langle | Kind::number) => {
                let open = outer.child(Kind::langle)?;
                let before = self.text[..open.range().start].trim_end();
                let name =
                    before.rsplit(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
                matches!(name.into_iter().next(), Some("str" | "bytes")).then_some((BYTES, open))
            }
            _ => None,
        }
    }

    /// `[T 5]` and `[T, 5]`.
    pub(super) fn bound_without_semicolon(&self) -> Option<Diagnostic> {
        let error = || self.error("the bound of a list comes after a `;`");
        if is_number(self.found) {
            return Some(error().fix("add it", self.end_of_last(), ";", false));
        }
        let is_comma = self.found == "," && is_number(self.token_ahead(1));
        is_comma.then(|| error().fix("write a `;`", self.found_span(), ";", false))
    }

    /// A `;` in a payload: `a(u8; 5)`, `a(u8; str)` or `a(u8;)`.
    pub(super) fn semicolon_in_payload(&self) -> Diagnostic {
        let next = self.token_ahead(1);
        if is_number(next)
            && let Some(item) = self.type_before()
        {
            let whole = item.range().start..self.ahead(1).end;
            let repaired = format!("[{}; {next}]", item.text());
            return self
                .error("the brackets of a list go around its type and its bound")
                .fix("write it like this", self.span(whole), repaired, false);
        }
        let error = self.error("the entries of a payload are separated by commas, not semicolons");
        match next {
            ")" => error.fix("remove it", self.found_span(), "", false),
            _ => error.fix("write a comma", self.found_span(), ",", false),
        }
    }

    /// `T[5]`: the type with the bound, in each way that it may be meant.
    pub(super) fn with_bound(&self, name: &str, most: &str, whole: Range<usize>) -> Diagnostic {
        let span = self.span(whole);
        let list = format!("[{name}; {most}]");
        let error = self.error("the brackets of a list go around its type and its bound");
        let is_builtin = matches!(name, "str" | "bytes");
        let meant = match name.to_ascii_lowercase().as_str() {
            _ if self.declared.is_type(name) && !is_builtin => None,
            "bytes" | "byte" => Some(("bytes", format!("if it is at most {most} bytes"))),
            "str" | "string" | "text" | "char" | "varchar" => {
                Some(("str", format!("if it is text of at most {most} bytes")))
            }
            _ => None,
        };
        let Some((ty, words)) = meant else {
            return error.fix("write it like this", span, list, false);
        };
        let error = error.fix(words, span, format!("{ty}<{most}>"), false);
        if !is_builtin {
            return error;
        }
        let words = format!("if it is a list of at most {most} items");
        error.fix(words, span, list, false)
    }
}

/// The number in `[5]`, `[..5]` and `[..=5]` without what precedes it.
pub(super) fn bare_number(text: &str) -> Option<String> {
    let text = text.trim_start_matches("..").trim_start_matches(['=', ' ']);
    let digits = text.replace('_', "");
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(digits)
}

impl Measure {
    /// What is wrong with a number as users write it, and the same number as this language writes it, if it has such a number.
    fn wrong(&self, text: &str) -> Option<(String, Option<String>)> {
        let what = self.what;
        if text.starts_with('-') {
            return Some((format!("a {what} cannot be negative"), None));
        }
        let unquoted = text.trim_matches('"');
        let plain = unquoted
            .trim_start_matches("..")
            .trim_start_matches(['<', '=', ' ']);
        if !is_number(plain) {
            return None;
        }
        let rest = plain.trim_start_matches(|part: char| part.is_ascii_digit() || part == '_');
        let number = plain[..plain.len() - rest.len()].replace('_', "");
        let after = rest.strip_prefix('.');
        let unit = after.map_or(rest, |after| {
            after.trim_start_matches(|part: char| part.is_ascii_digit())
        });
        let fraction = after.map_or("", |after| &after[..after.len() - unit.len()]);
        let unit = unit.trim();
        let scale = match unit {
            "" if self.no_unit.is_some() => Some(1),
            _ => self.unit(unit),
        };
        let repaired = match (self.no_unit, scale) {
            (None, Some(_)) if after.is_none() => Some(format!("{number}{}{unit}", self.gap)),
            (no_unit, _) => exact(&number, fraction, scale).map(|whole| match no_unit {
                Some(_) => whole.to_string(),
                None => format!("{whole}{}{}", self.gap, self.units[0].0),
            }),
        };
        let is_word = !unit.is_empty() && unit.bytes().all(|letter| letter.is_ascii_alphabetic());
        let wrong = match self.no_unit {
            _ if after.is_some() => format!("a {what} is a whole number"),
            _ if plain.contains('_') => "a number is written without `_`".to_owned(),
            _ if plain != unquoted => "a limit is one number, the most that is allowed".to_owned(),
            Some(no_unit) if is_word => no_unit.to_owned(),
            _ if unquoted != text => format!("a {what} is written without quotes"),
            _ => return None,
        };
        Some((wrong, repaired))
    }
}

/// A decimal number of units in the smallest unit, if it is a whole number of them.
fn exact(number: &str, fraction: &str, unit: Option<u64>) -> Option<u64> {
    let scale = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let digits: u64 = format!("{number}{fraction}").parse().ok()?;
    let scaled = digits.checked_mul(unit?)?;
    scaled.is_multiple_of(scale).then_some(scaled / scale)
}
