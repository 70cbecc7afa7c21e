//! Mistakes in payloads and types.

use super::sizes::bare_number;
use crate::diagnostic::Diagnostic;
use crate::syntax::ascii::is_word;
use crate::syntax::failure::Context;
use crate::syntax::measure::ITEMS;
use duologue_grammar::{Kind, Node};

impl<'a> Context<'a> {
    pub(super) fn in_type(&self) -> Option<Diagnostic> {
        let in_payload = self.expects(")") && self.expects(",");
        let is_start = self.expects("[");
        Some(match (self.before, self.found) {
            ("<", ">") => self
                .error("this list of type arguments is empty")
                .help("remove the `<>`"),
            ("(", ")") => self
                .error("an empty tuple carries nothing")
                .help("remove the entry"),
            (";", _) if !is_start && !self.expects("}") => self
                .error("the bound of a list is a whole number")
                .help(ITEMS.write),
            (_, ":") if self.expects(";") && self.expects("]") => self
                .error("a list has one type for all of its elements")
                .help("write a list of pairs, such as `[(str, u32)]`"),
            _ if self.expects(";") && self.expects("]") && !is_start => {
                return self.bound_without_semicolon();
            }
            (_, ";") if in_payload => self.semicolon_in_payload(),
            (_, "&" | "*") if is_start => self.error("payloads are always owned").fix(
                "write the type alone",
                self.found_span(),
                "",
                false,
            ),
            (_, "?") if is_start => self.option_before(),
            (_, "{") if is_start => self
                .error("a type with fields needs a name")
                .help("declare it with `struct name { field: type, ... }`, and write the name here"),
            (_, "->") if in_payload => self
                .error("the payload is never closed")
                .label("a `)` is missing before this")
                .fix("add it", self.end_of_last(), ")", false),
            (_, "[") if !is_start => return self.list_after(),
            (before, ".") if is_word(before) => return self.dots(),
            (_, "=") if in_payload => self
                .error("the entries of a payload have no numbers and no default values")
                .help("remove the `=` and what follows it; an entry that may be missing is written `name: type?`"),
            (before, found) if in_payload && is_word(found) && is_word(before) => {
                self.two_words("a named entry")
            }
            (_, found) if in_payload && is_word(found) => return self.name_after(),
            _ => return None,
        })
    }

    /// `?T`.
    fn option_before(&self) -> Diagnostic {
        let error = self.error("the `?` of an optional value comes after its type");
        let next = self.token_ahead(1);
        if is_word(next) && !matches!(self.token_ahead(2), "::" | "<" | ":") {
            let whole = self.span(self.here.start..self.ahead(1).end);
            error.fix("swap them", whole, format!("{next}?"), false)
        } else {
            error.help("write `T?`")
        }
    }

    /// `T[]`, `T[n]` and `T[..n]`.
    fn list_after(&self) -> Option<Diagnostic> {
        let close = (1..=5).find(|count| self.token_ahead(*count) == "]")?;
        let between = self.here.end..self.ahead(close).start;
        let most = bare_number(self.text[between].trim());
        if most.is_none() && close > 2 {
            return None;
        }
        let item = self.type_before()?;
        let name = item.text();
        let whole = item.range().start..self.ahead(close).end;
        if let Some(most) = most {
            return Some(self.with_bound(name, &most, whole));
        }
        let error = self.error("the brackets of a list go around the type of its elements");
        let repaired = format!("[{name}]");
        Some(error.fix("write it like this", self.span(whole), repaired, false))
    }

    /// The type right before the token that does not fit.
    pub(super) fn type_before(&self) -> Option<Node<'a>> {
        let prior = self.prior?;
        match prior.kind() {
            Kind::ty => Some(prior),
            Kind::entry | Kind::field => prior.child(Kind::ty),
            _ => None,
        }
    }

    /// `q.client.s`, or a type with its package.
    fn dots(&self) -> Option<Diagnostic> {
        let mut names = vec![self.before];
        let mut end = self.last.end;
        for dot in [0, 2, 4] {
            let name = self.token_ahead(dot + 1);
            if self.token_ahead(dot) != "." || !is_word(name) {
                break;
            }
            names.push(name);
            end = self.ahead(dot + 1).end;
        }
        let last = names.last().filter(|_| names.len() > 1)?;
        let whole = self.span(self.last.start..end);
        Some(match names.as_slice() {
            [_, "client" | "server", ..] => self
                .error("the parts of an endpoint are joined by `::`")
                .fix("write `::`", whole, names.join("::"), false),
            _ => self.error("a type is named without its package").fix(
                "write the name alone; the file that declares it is imported",
                whole,
                *last,
                false,
            ),
        })
    }

    /// Whether a word is certainly a type: a built-in one, a declared one, or a parameter of this state.
    fn is_type(&self, word: &str) -> bool {
        let parameters = self.node.child(Kind::parameters);
        let mut names = parameters.into_iter().flat_map(Node::parts);
        self.declared.is_type(word)
            || names.any(|parameter| {
                let name = parameter.child(Kind::ident);
                name.is_some_and(|name| name.text() == word)
            })
    }

    /// Two words in a row where `name: type` is expected. Which of them is the type is known only if one is certainly a type and
    /// the other is not. Types that an import declares cannot be seen here, so a file with imports is never repaired
    /// automatically.
    pub(super) fn two_words(&self, what: &str) -> Diagnostic {
        let (first, second) = (self.before, self.found);
        let whole = self.last.start..self.here.end;
        if !self.is_type(first)
            && let Some(error) = self.modifier(first)
        {
            return error;
        }
        let is_certain = !self.declared.has_imports;
        let message = format!("{what} is written `name: type`");
        let swapped = format!("{second}: {first}");
        let (is_first_type, is_second_type) = (self.is_type(first), self.is_type(second));
        if is_first_type && !is_second_type {
            return self
                .error_at(whole.clone(), message)
                .label("here the type comes first")
                .fix("swap them", self.span(whole), swapped, is_certain);
        }
        let error = self.error(message).label("a `:` is missing before this");
        if is_second_type && !is_first_type {
            return error.fix("add it", self.end_of_last(), ":", is_certain);
        }
        let words = |ty| format!("if `{ty}` is the type");
        error
            .fix(words(second), self.end_of_last(), ":", false)
            .fix(words(first), self.span(whole), swapped, false)
    }

    /// A modifier of another language before a type.
    fn modifier(&self, word: &str) -> Option<Diagnostic> {
        let ty = self.found;
        let third = self.token_ahead(1);
        let error = |message: &str| self.error_at(self.last.clone(), message);
        let fix = |message: &str, ty: String| {
            let (repaired, end) = match is_word(third) {
                true => (format!("{third}: {ty}"), self.ahead(1).end),
                false => (ty, self.here.end),
            };
            let help = format!("write `{repaired}`");
            error(message).fix(help, self.span(self.last.start..end), repaired, false)
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
            "required" | "const" | "mut" | "final" | "let" | "var" | "val" | "readonly"
            | "stream" | "static" | "public" | "private" | "protected" | "volatile" | "inout" => {
                error(&format!("there is no modifier `{word}`")).fix(
                    format!("remove `{word}`"),
                    self.span(self.last.start..self.here.start),
                    "",
                    false,
                )
            }
            "unsigned" | "signed" | "long" | "short" => {
                let help = match word {
                    "unsigned" => "unsigned types are `u8`, `u16`, `u32` and `u64`",
                    _ => "signed types are `i8`, `i16`, `i32` and `i64`",
                };
                self.error_at(
                    self.last.start..self.here.end,
                    "the name of a type is one word",
                )
                .help(help)
            }
            _ => return None,
        })
    }

    /// `[T] name` in a payload.
    fn name_after(&self) -> Option<Diagnostic> {
        let ty = self.type_before()?;
        let error = self
            .error("a named entry is written `name: type`")
            .label("the name comes first");
        let repaired = format!("{}: {}", self.found, ty.text());
        let whole = self.span(ty.range().start..self.here.end);
        Some(error.fix("swap them", whole, repaired, false))
    }
}
