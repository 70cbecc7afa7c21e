//! Mistakes in payloads and types, in their bounds, and in the sizes and durations of attributes.

use crate::diagnostic::Diagnostic;
use crate::syntax::ascii::{is_number, is_word};
use crate::syntax::failure::Context;
use crate::syntax::measure::{BYTES, DURATION, ITEMS, Measure, SIZE};
use duologue_grammar::{Kind, Node};
use std::ops::Range;

/// What other languages call a list, in lower case.
pub(crate) const LISTS: [&str; 9] = [
    "vec",
    "list",
    "array",
    "seq",
    "set",
    "vector",
    "slice",
    "arraylist",
    "repeated",
];

/// What other languages call an optional value, in lower case.
pub(crate) const OPTIONS: [&str; 4] = ["option", "maybe", "optional", "nullable"];

pub(super) fn in_type(cx: &Context<'_>) -> Option<Diagnostic> {
    let in_payload = cx.expects(")") && cx.expects(",");
    let is_start = cx.expects("[");
    Some(match (cx.before, cx.found) {
        ("<", ">") => cx
            .error("this list of type arguments is empty")
            .help("remove the `<>`"),
        ("(", ")") => cx
            .error("an empty tuple carries nothing")
            .help("remove the entry"),
        (";", _) if !is_start && !cx.expects("}") => cx
            .error("the bound of a list is a whole number")
            .help(ITEMS.write),
        (_, ":") if cx.expects(";") && cx.expects("]") => cx
            .error("a list has one type for all of its elements")
            .help("write a list of pairs, such as `[(str, u32)]`"),
        _ if cx.expects(";") && cx.expects("]") && !is_start => {
            return bound_without_semicolon(cx);
        }
        (_, ";") if in_payload => semicolon_in_payload(cx),
        (_, "&" | "*") if is_start => cx.error("payloads are always owned").fix(
            "write the type alone",
            cx.found_span(),
            ""),
        (_, "?") if is_start => option_before(cx),
        (_, "{") if is_start => cx
            .error("a type with fields needs a name")
            .help("declare it with `struct name { field: type, ... }`, and write the name here"),
        (_, "->") if in_payload => cx
            .error("the payload is never closed")
            .label("a `)` is missing before this")
            .fix("add it", cx.end_of_last(), ")"),
        (_, "[") if !is_start => return list_after(cx),
        (before, ".") if is_word(before) => return dots(cx),
        (_, "=") if in_payload => cx
            .error("the entries of a payload have no numbers and no default values")
            .help("remove the `=` and what follows it; an entry that may be missing is written `name: type?`"),
        (before, found) if in_payload && is_word(found) && is_word(before) => {
            two_words(cx, "a named entry")
        }
        (_, found) if in_payload && is_word(found) => return name_after(cx),
        _ => return None,
    })
}

/// `?T`.
fn option_before(cx: &Context<'_>) -> Diagnostic {
    let error = cx.error("the `?` of an optional value comes after its type");
    let next = cx.token_ahead(1);
    if is_word(next) && !matches!(cx.token_ahead(2), "::" | "<" | ":") {
        let whole = cx.span(cx.here.start..cx.ahead(1).end);
        error.fix("swap them", whole, format!("{next}?"))
    } else {
        error.help("write `T?`")
    }
}

/// `T[]`, `T[n]`, `T[..n]` and `List[T]`.
fn list_after(cx: &Context<'_>) -> Option<Diagnostic> {
    let close = (1..=5).find(|count| cx.token_ahead(*count) == "]")?;
    let between = cx.here.end..cx.ahead(close).start;
    let inside = cx.text[between].trim();
    let most = bare_number(inside);
    if most.is_none() && close > 2 {
        return None;
    }
    let item = type_before(cx)?;
    let name = item.text();
    let whole = item.range().start..cx.ahead(close).end;
    if let Some(most) = most {
        return Some(with_bound(cx, name, &most, whole));
    }
    let error = cx.error("the brackets of a list go around the type of its elements");
    let container = name.to_ascii_lowercase();
    let repaired = match is_word(inside) {
        true if LISTS.contains(&&*container) => format!("[{inside}]"),
        true if OPTIONS.contains(&&*container) => format!("{inside}?"),
        _ => format!("[{name}]"),
    };
    Some(error.fix("write it like this", cx.span(whole), repaired))
}

/// The type right before the token that does not fit.
pub(super) fn type_before<'a>(cx: &Context<'a>) -> Option<Node<'a>> {
    let prior = cx.prior?;
    match prior.kind() {
        Kind::ty => Some(prior),
        Kind::entry | Kind::field => prior.child(Kind::ty),
        _ => None,
    }
}

/// `q.client.s`, or a type with its package.
fn dots(cx: &Context<'_>) -> Option<Diagnostic> {
    let mut names = vec![cx.before];
    let mut end = cx.last.end;
    for dot in [0, 2, 4] {
        let name = cx.token_ahead(dot + 1);
        if cx.token_ahead(dot) != "." || !is_word(name) {
            break;
        }
        names.push(name);
        end = cx.ahead(dot + 1).end;
    }
    let last = names.last().filter(|_| names.len() > 1)?;
    let whole = cx.span(cx.last.start..end);
    Some(match names.as_slice() {
        [_, "client" | "server", ..] => cx
            .error("the parts of an endpoint are joined by `::`")
            .fix("write `::`", whole, names.join("::")),
        _ => cx.error("a type is named without its package").fix(
            "write the name alone; the file that declares it is imported",
            whole,
            *last,
        ),
    })
}

/// Whether a word is certainly a type: a built-in one, a declared one, or a parameter of this state.
fn is_type(cx: &Context<'_>, word: &str) -> bool {
    let parameters = cx.node.child(Kind::parameters);
    let mut names = parameters.into_iter().flat_map(Node::parts);
    cx.declared.is_type(word)
        || names.any(|parameter| {
            let name = parameter.child(Kind::ident);
            name.is_some_and(|name| name.text() == word)
        })
}

/// Two words in a row where `name: type` is expected. Which of them is the type is known only if one is certainly a type and
/// the other is not. Types that an import declares cannot be seen here, so a file with imports is never repaired
/// automatically.
pub(super) fn two_words(cx: &Context<'_>, what: &str) -> Diagnostic {
    let (first, second) = (cx.before, cx.found);
    let whole = cx.last.start..cx.here.end;
    if !is_type(cx, first)
        && let Some(error) = modifier(cx, first)
    {
        return error;
    }
    let is_certain = !cx.declared.has_imports;
    let message = format!("{what} is written `name: type`");
    let swapped = format!("{second}: {first}");
    let (is_first_type, is_second_type) = (is_type(cx, first), is_type(cx, second));
    if is_first_type && !is_second_type {
        return cx
            .error_at(whole.clone(), message)
            .label("here the type comes first")
            .fix("swap them", cx.span(whole), swapped)
            .safe(is_certain);
    }
    let error = cx.error(message).label("a `:` is missing before this");
    if is_second_type && !is_first_type {
        return error.fix("add it", cx.end_of_last(), ":").safe(is_certain);
    }
    let words = |ty| format!("if `{ty}` is the type");
    error
        .fix(words(second), cx.end_of_last(), ":")
        .fix(words(first), cx.span(whole), swapped)
}

/// A modifier of another language before a type.
fn modifier(cx: &Context<'_>, word: &str) -> Option<Diagnostic> {
    let ty = cx.found;
    let third = cx.token_ahead(1);
    let error = |message: &str| cx.error_at(cx.last.clone(), message);
    let fix = |message: &str, ty: String| {
        let (repaired, end) = match is_word(third) {
            true => (format!("{third}: {ty}"), cx.ahead(1).end),
            false => (ty, cx.here.end),
        };
        let help = format!("write `{repaired}`");
        error(message).fix(help, cx.span(cx.last.start..end), repaired)
    };
    Some(match word {
        "optional" | "nullable" | "maybe" => fix(
            "an optional value has a `?` after its type",
            format!("{ty}?"),
        ),
        "repeated" | "list" | "array" => fix(
            "a list has brackets around the type of its elements",
            format!("[{ty}]"),
        ),
        "required" | "const" | "mut" | "final" | "let" | "var" | "val" | "readonly" | "stream"
        | "static" | "public" | "private" | "protected" | "volatile" | "inout" => {
            error(&format!("there is no modifier `{word}`")).fix(
                format!("remove `{word}`"),
                cx.span(cx.last.start..cx.here.start),
                "",
            )
        }
        "unsigned" | "signed" | "long" | "short" => {
            let help = match word {
                "unsigned" => "unsigned types are `u8`, `u16`, `u32` and `u64`",
                _ => "signed types are `i8`, `i16`, `i32` and `i64`",
            };
            cx.error_at(cx.last.start..cx.here.end, "the name of a type is one word")
                .help(help)
        }
        _ => return None,
    })
}

/// `[T] name` in a payload.
fn name_after(cx: &Context<'_>) -> Option<Diagnostic> {
    let ty = type_before(cx)?;
    let error = cx
        .error("a named entry is written `name: type`")
        .label("the name comes first");
    let repaired = format!("{}: {}", cx.found, ty.text());
    let whole = cx.span(ty.range().start..cx.here.end);
    Some(error.fix("swap them", whole, repaired))
}

pub(super) fn in_number(cx: &Context<'_>) -> Option<Diagnostic> {
    let (measure, open) = measure(cx)?;
    let start = open.range().end;
    let is_attribute = measure.no_unit.is_none();
    if is_attribute && open.kind() == Kind::ident {
        return without_parentheses(cx, &measure);
    }
    let line = cx.text[start..].lines().next()?;
    let text = &line[..line.find(measure.closing)?];
    let start = start + text.len() - text.trim_start().len();
    let text = text.trim();
    let at = start..start + text.len();
    if text.is_empty() {
        let name = cx.outer.child(Kind::ident)?.text();
        let text = format!("`#[{name}]` needs a {}", measure.what);
        return is_attribute.then(|| cx.error(text).help(measure.write));
    }
    let Some((what, repaired)) = measure.wrong(text) else {
        // Of several parts, each may be correct.
        return (is_attribute && !text.contains(',')).then(|| {
            let text = format!("expected a {}, found `{text}`", measure.what);
            cx.error_at(at, text).help(measure.write)
        });
    };
    let error = cx.error_at(at.clone(), what);
    Some(match repaired {
        Some(repaired) => error.fix("write it like this", cx.span(at), repaired),
        None => error.help(measure.write),
    })
}

/// `#[at_most 5 B]` and `#[at_most = 5 B]`.
fn without_parentheses(cx: &Context<'_>, measure: &Measure) -> Option<Diagnostic> {
    let start = cx.last.end;
    let end = start + cx.text[start..].lines().next()?.find(']')?;
    let (what, name) = (measure.what, cx.before);
    let text = format!("the {what} of `{name}` is written in parentheses");
    let error = cx.error_at(start..end, text).label("here");
    let size = cx.text[start..end].trim_start_matches(['=', ':', ' ', '\t']);
    let size = size.trim();
    Some(match is_number(size) {
        true => {
            let repaired = format!("({size})");
            error.fix("write it like this", cx.span(start..end), repaired)
        }
        false => error.help(measure.write),
    })
}

/// Which number is expected around the token that does not fit, and what is before it.
fn measure<'a>(cx: &Context<'a>) -> Option<(Measure, Node<'a>)> {
    let (outer, prior) = (cx.outer, cx.prior?);
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
            let before = cx.text[..open.range().start].trim_end();
            let name =
                before.rsplit(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            matches!(name.into_iter().next(), Some("str" | "bytes")).then_some((BYTES, open))
        }
        _ => None,
    }
}

/// `[T 5]` and `[T, 5]`.
pub(super) fn bound_without_semicolon(cx: &Context<'_>) -> Option<Diagnostic> {
    let error = || cx.error("the bound of a list comes after a `;`");
    if is_number(cx.found) {
        return Some(error().fix("add it", cx.end_of_last(), ";"));
    }
    let is_comma = cx.found == "," && is_number(cx.token_ahead(1));
    is_comma.then(|| error().fix("write a `;`", cx.found_span(), ";"))
}

/// A `;` in a payload: `a(u8; 5)`, `a(u8; str)` or `a(u8;)`.
pub(super) fn semicolon_in_payload(cx: &Context<'_>) -> Diagnostic {
    let next = cx.token_ahead(1);
    if is_number(next)
        && let Some(item) = type_before(cx)
    {
        let whole = item.range().start..cx.ahead(1).end;
        let repaired = format!("[{}; {next}]", item.text());
        return cx
            .error("the brackets of a list go around its type and its bound")
            .fix("write it like this", cx.span(whole), repaired);
    }
    let error = cx.error("the entries of a payload are separated by commas, not semicolons");
    match next {
        ")" => error.fix("remove it", cx.found_span(), ""),
        _ => error.fix("write a comma", cx.found_span(), ","),
    }
}

/// `T[5]`: the type with the bound, in each way that it may be meant.
pub(super) fn with_bound(
    cx: &Context<'_>,
    name: &str,
    most: &str,
    whole: Range<usize>,
) -> Diagnostic {
    let span = cx.span(whole);
    let list = format!("[{name}; {most}]");
    let error = cx.error("the brackets of a list go around its type and its bound");
    let is_builtin = matches!(name, "str" | "bytes");
    let meant = match name.to_ascii_lowercase().as_str() {
        _ if cx.declared.is_type(name) && !is_builtin => None,
        "bytes" | "byte" => Some(("bytes", format!("if it is at most {most} bytes"))),
        "str" | "string" | "text" | "char" | "varchar" => {
            Some(("str", format!("if it is text of at most {most} bytes")))
        }
        _ => None,
    };
    let Some((ty, words)) = meant else {
        return error.fix("write it like this", span, list);
    };
    let error = error.fix(words, span, format!("{ty}<{most}>"));
    if !is_builtin {
        return error;
    }
    let words = format!("if it is a list of at most {most} items");
    error.fix(words, span, list)
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
