//! Mistakes in bounds of types, in the sizes of `#[at_most(...)]`, and in the durations of `#[within(...)]`.

use crate::diagnostic::Diagnostic;
use crate::syntax::failure::Context;
use std::ops::Range;

/// What `#[at_most]` looks like.
const WRITE_SIZE: &str = "write a whole number and a unit, such as `#[at_most(64 KiB)]`";

/// What `#[within]` looks like.
const WRITE_DURATION: &str = "write a whole number and a unit, such as `#[within(5s)]`";

/// Which number is expected, by what it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberKind {
    /// In `#[at_most(...)]`.
    Size,
    /// In `#[within(...)]`.
    Duration,
    /// After the `;` of a list.
    Items,
    /// In the brackets of `str<...>`.
    Bytes,
}

impl NumberKind {
    /// The attribute with such a number, if it is one.
    fn of_attribute(name: &str) -> Option<NumberKind> {
        match name {
            "at_most" => Some(NumberKind::Size),
            "within" => Some(NumberKind::Duration),
            _ => None,
        }
    }

    /// What the number is called.
    fn word(self) -> &'static str {
        match self {
            NumberKind::Duration => "duration",
            NumberKind::Size | NumberKind::Items | NumberKind::Bytes => "size",
        }
    }

    /// What to write.
    fn help(self) -> &'static str {
        match self {
            NumberKind::Size => WRITE_SIZE,
            NumberKind::Duration => WRITE_DURATION,
            NumberKind::Items => "write the largest number of items, such as `[u32; 1000]`",
            NumberKind::Bytes => "write the largest number of bytes, such as `str<255>`",
        }
    }
}

/// A number as users write it, and what can be wrong with it.
struct Written {
    what: &'static str,
    /// The same number as this language writes it, if it has such a number.
    repaired: Option<String>,
}

impl<'a> Context<'a> {
    pub(super) fn in_number(&self) -> Option<Diagnostic> {
        if let Some(kind) = NumberKind::of_attribute(self.before)
            && self.found != "("
            && self.is_attribute_name()
        {
            return self.without_parentheses(kind);
        }
        let (kind, start) = self.kind()?;
        let closing = match kind {
            NumberKind::Size | NumberKind::Duration => ')',
            NumberKind::Items => ']',
            NumberKind::Bytes => '>',
        };
        let rest = &self.piece[start..];
        let line = rest.lines().next().unwrap_or_default();
        let end = start + line.find(closing)?;
        if self.here.start > end {
            return None;
        }
        let text = &self.piece[start..end];
        let at = start + (text.len() - text.trim_start().len())..start + text.trim_end().len();
        let text = text.trim();
        let is_attribute = matches!(kind, NumberKind::Size | NumberKind::Duration);
        if text.is_empty() {
            let text = match kind {
                NumberKind::Duration => "`#[within]` needs a duration",
                NumberKind::Size | NumberKind::Items | NumberKind::Bytes => {
                    "`#[at_most]` needs a size"
                }
            };
            return is_attribute.then(|| self.error(text).help(kind.help()));
        }
        let Some(written) = Written::of(text, kind) else {
            let error = || {
                let text = format!("expected a {}, found `{text}`", kind.word());
                self.error_at(at.clone(), text).help(kind.help())
            };
            return (is_attribute && !has_several(text)).then(error);
        };
        let error = self.error_at(at.clone(), written.what);
        Some(match written.repaired {
            Some(repaired) => error.fix("write it like this", self.span(at), repaired, false),
            None => error.help(kind.help()),
        })
    }

    /// `#[at_most 5 B]` and `#[at_most = 5 B]`.
    fn without_parentheses(&self, kind: NumberKind) -> Option<Diagnostic> {
        let start = self.last.end;
        let end = start + self.piece[start..].lines().next()?.find(']')?;
        let text = format!(
            "the {} of `{}` is written in parentheses",
            kind.word(),
            self.before
        );
        let error = self.error_at(start..end, text).label("here");
        let size = self.piece[start..end].trim_start_matches(['=', ':', ' ', '\t']);
        let size = size.trim();
        Some(
            match size.starts_with(|letter: char| letter.is_ascii_digit()) {
                true => {
                    let repaired = format!("({size})");
                    error.fix("write it like this", self.span(start..end), repaired, false)
                }
                false => error.help(kind.help()),
            },
        )
    }

    /// Where a number is expected around the token that does not fit, and where the text in its kind begins.
    fn kind(&self) -> Option<(NumberKind, usize)> {
        let before: Vec<Range<usize>> = self
            .all()
            .take_while(|at| at.end <= self.last.end)
            .collect();
        let token = |back: usize| {
            let at = before.len().checked_sub(back + 1)?;
            Some(&self.piece[before[at].clone()])
        };
        if let Some(found) = self.argument_start(&before) {
            return Some(found);
        }
        let is_number = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
        // The number, or a part of it, may have been accepted.
        let back = usize::from(token(0).is_some_and(is_number));
        let start = before[before.len().checked_sub(back + 1)?].end;
        match token(back)? {
            ";" if self.is_in_list(&before) => Some((NumberKind::Items, start)),
            "<" if matches!(token(back + 1)?, "str" | "bytes") => Some((NumberKind::Bytes, start)),
            _ => None,
        }
    }

    /// Where the argument of an `at_most` or a `within` with open parentheses begins.
    fn argument_start(&self, before: &[Range<usize>]) -> Option<(NumberKind, usize)> {
        let is = |at: usize, text: &str| self.piece[before[at].clone()] == *text;
        let open = (0..before.len()).rev().find(|at| is(*at, "("))?;
        let is_open = !(open..before.len()).any(|at| is(at, ")") || is(at, "]"));
        let name = open.checked_sub(1)?;
        let kind = NumberKind::of_attribute(&self.piece[before[name].clone()])?;
        let bracket = name.checked_sub(1).filter(|at| is(*at, "["))?;
        let is_attribute = bracket.checked_sub(1).is_some_and(|at| is(at, "#"));
        (is_open && is_attribute).then(|| (kind, before[open].end))
    }

    /// Whether the token before the one that does not fit is the name of an attribute.
    fn is_attribute_name(&self) -> bool {
        let before = self.piece[..self.last.start].trim_end();
        let before = before.strip_suffix('[').map(str::trim_end);
        before.is_some_and(|before| before.ends_with('#'))
    }

    /// Whether the last bracket that is open is that of a list.
    fn is_in_list(&self, before: &[Range<usize>]) -> bool {
        let mut open = Vec::new();
        for at in before {
            match &self.piece[at.clone()] {
                sign @ ("(" | "[" | "{" | "<") => open.push(sign),
                ")" | "]" | "}" | ">" => {
                    open.pop();
                }
                _ => {}
            }
        }
        open.last() == Some(&"[")
    }

    /// `[T 5]` and `[T, 5]`.
    pub(super) fn bound_without_semicolon(&self) -> Option<Diagnostic> {
        let is_number = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
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
        let item = self.path_before();
        let name = &self.piece[item.clone()];
        if next.starts_with(|first: char| first.is_ascii_digit()) && !name.is_empty() {
            let whole = item.start..self.ahead(1).end;
            let repaired = format!("[{name}; {next}]");
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
        let is_bytes = matches!(name, "bytes" | "byte" | "Bytes");
        let is_text = matches!(
            name.to_ascii_lowercase().as_str(),
            "str" | "string" | "text" | "char" | "varchar"
        );
        if !is_bytes && !is_text || self.declared.is_type(name) && !matches!(name, "str" | "bytes")
        {
            return error.fix("write it like this", span, list, false);
        }
        let (ty, what) = if is_bytes {
            ("bytes", "bytes")
        } else {
            ("str", "text")
        };
        let words = match is_bytes {
            true => format!("if it is at most {most} {what}"),
            false => format!("if it is {what} of at most {most} bytes"),
        };
        let error = error.fix(words, span, format!("{ty}<{most}>"), false);
        match name {
            "str" | "bytes" => error.fix(
                format!("if it is a list of at most {most} items"),
                span,
                list,
                false,
            ),
            _ => error,
        }
    }
}

/// Whether a text has several parts that are separated by commas, each of which may be correct.
fn has_several(text: &str) -> bool {
    text.contains(',')
}

/// The number in `[5]`, `[..5]` and `[..=5]` without what precedes it.
pub(super) fn bare_number(text: &str) -> Option<String> {
    let text = text.trim_start_matches("..").trim_start_matches(['=', ' ']);
    let digits = text.replace('_', "");
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(digits)
}

impl Written {
    fn of(text: &str, kind: NumberKind) -> Option<Written> {
        let wrong = |what, repaired| Some(Written { what, repaired });
        if text.starts_with('-') {
            return match kind {
                NumberKind::Duration => wrong("a duration cannot be negative", None),
                NumberKind::Size | NumberKind::Items | NumberKind::Bytes => {
                    wrong("a size cannot be negative", None)
                }
            };
        }
        let unquoted = text.trim_matches('"');
        let plain = unquoted
            .trim_start_matches("..")
            .trim_start_matches(['<', '=', ' ']);
        let digits = plain.find(|letter: char| !letter.is_ascii_digit() && letter != '_');
        let (number, rest) = plain.split_at(digits.unwrap_or(plain.len()));
        if !number.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        let number = number.replace('_', "");
        let (fraction, unit) = match rest.strip_prefix('.') {
            Some(rest) => {
                let end = rest.find(|letter: char| !letter.is_ascii_digit());
                let (fraction, unit) = rest.split_at(end.unwrap_or(rest.len()));
                (Some(fraction), unit.trim())
            }
            None => (None, rest.trim()),
        };
        let scale = match kind {
            NumberKind::Duration => milliseconds_of(unit),
            NumberKind::Size | NumberKind::Items | NumberKind::Bytes => bytes_of(unit),
        };
        let is_word = !unit.is_empty() && unit.bytes().all(|letter| letter.is_ascii_alphabetic());
        let whole = exact(&number, fraction.unwrap_or_default(), scale);
        let repaired = match (kind, unit, fraction) {
            (NumberKind::Size, "", None) => Some(number),
            (NumberKind::Size, _, None) if scale.is_some() => Some(format!("{number} {unit}")),
            (NumberKind::Size, _, _) => whole.map(|whole| format!("{whole} B")),
            (NumberKind::Duration, _, None) if scale.is_some() => Some(format!("{number}{unit}")),
            (NumberKind::Duration, _, _) => whole.map(|whole| format!("{whole}ms")),
            (NumberKind::Items | NumberKind::Bytes, _, _) => whole.map(|whole| whole.to_string()),
        };
        let what = if fraction.is_some() {
            match kind {
                NumberKind::Duration => "a duration is a whole number",
                NumberKind::Size | NumberKind::Items | NumberKind::Bytes => {
                    "a size is a whole number"
                }
            }
        } else if plain.contains('_') {
            "a number is written without `_`"
        } else if plain != unquoted {
            "a limit is one number, the most that is allowed"
        } else if is_word && kind == NumberKind::Items {
            "the bound of a list is a number of items, without a unit"
        } else if is_word && kind == NumberKind::Bytes {
            "the bound of a type is a number of bytes, without a unit"
        } else if unquoted != text {
            match kind {
                NumberKind::Duration => "a duration is written without quotes",
                NumberKind::Size | NumberKind::Items | NumberKind::Bytes => {
                    "a size is written without quotes"
                }
            }
        } else {
            return None;
        };
        wrong(what, repaired)
    }
}

/// How many bytes a unit has; 1 without a unit.
fn bytes_of(unit: &str) -> Option<u64> {
    match unit {
        "" | "B" => Some(1),
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        _ => None,
    }
}

/// How many milliseconds a unit has.
fn milliseconds_of(unit: &str) -> Option<u64> {
    match unit {
        "ms" => Some(1),
        "s" => Some(1000),
        "min" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    }
}

/// A decimal number of units in the smallest unit, if it is a whole number of them.
fn exact(number: &str, fraction: &str, unit: Option<u64>) -> Option<u64> {
    let scale = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let digits: u64 = format!("{number}{fraction}").parse().ok()?;
    let scaled = digits.checked_mul(unit?)?;
    scaled.is_multiple_of(scale).then_some(scaled / scale)
}
