//! Mistakes in payloads and types.

use super::sizes::bare_number;
use crate::diagnostic::Diagnostic;
use crate::syntax::ascii::is_word;
use crate::syntax::failure::Context;
use crate::syntax::failure::Part;
use std::ops::Range;

impl<'a> Context<'a> {
    pub(super) fn in_type(&self) -> Option<Diagnostic> {
        let in_payload = self.expects(")") && self.expects(",");
        let is_start = self.expects("[");
        match (self.before, self.found) {
            ("<", ">") => Some(
                self.error("this list of type arguments is empty")
                    .help("remove the `<>`"),
            ),
            ("(", ")") => Some(
                self.error("an empty tuple carries nothing")
                    .help("remove the entry"),
            ),
            (";", _) if !self.expects("[") && !self.expects("}") => Some(
                self.error("the bound of a list is a whole number")
                    .help("write the largest number of items, such as `[u32; 1000]`"),
            ),
            (_, ":") if self.expects(";") && self.expects("]") => Some(
                self.error("a list has one type for all of its elements")
                    .help("write a list of pairs, such as `[(str, u32)]`"),
            ),
            _ if self.expects(";") && self.expects("]") && !is_start => {
                self.bound_without_semicolon()
            }
            (_, ";") if in_payload => Some(self.semicolon_in_payload()),
            (_, "&" | "*") if is_start => Some(self.error("payloads are always owned").fix(
                "write the type alone",
                self.found_span(),
                "",
                false,
            )),
            (_, "?") if is_start => Some(self.option_before()),
            (_, "{") if is_start => Some(
                self.error("a type with fields needs a name")
                    .help("declare it with `struct name { field: type, ... }`, and write the name here"),
            ),
            (_, "->") if in_payload => Some(
                self.error("the payload is never closed")
                    .label("a `)` is missing before this")
                    .fix("add it", self.end_of_last(), ")", false),
            ),
            (_, "[") if !is_start && !self.token_ahead(1).is_empty() => self.list_after(),
            (before, ".") if is_word(before) => self.dots(),
            (_, "=") if in_payload => Some(
                self.error("the entries of a payload have no numbers and no default values")
                    .help("remove the `=` and what follows it; an entry that may be missing is written `name: type?`"),
            ),
            _ if in_payload && self.is_word() && is_word(self.before) => {
                Some(self.two_words("a named entry"))
            }
            (">" | "]" | ")" | "?", _) if in_payload && self.is_word() => {
                Some(self.name_after("a named entry", self.entry_start()))
            }
            _ => None,
        }
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
        let most = bare_number(self.piece[between].trim());
        if most.is_none() && close > 2 {
            return None;
        }
        let item = self.path_before();
        let name = &self.piece[item.clone()];
        if name.is_empty() {
            let help = match most {
                Some(most) => format!("write `[T; {most}]`"),
                None => "write `[T]`".to_owned(),
            };
            return Some(
                self.error("the brackets of a list go around the type of its elements")
                    .help(help),
            );
        }
        let whole = item.start..self.ahead(close).end;
        if let Some(most) = most {
            return Some(self.with_bound(name, &most, whole));
        }
        let error = self.error("the brackets of a list go around the type of its elements");
        Some(error.fix(
            "write it like this",
            self.span(whole),
            format!("[{name}]"),
            false,
        ))
    }

    /// The range of the path right before the token that does not fit: `a::b` in `x: a::b[`.
    pub(super) fn path_before(&self) -> Range<usize> {
        let text = &self.piece[..self.last.end];
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let mut start = text.trim_end_matches(is_part).len();
        while let Some(outer) = text[..start].strip_suffix("::") {
            let next = outer.trim_end_matches(is_part).len();
            if next == outer.len() {
                break;
            }
            start = next;
        }
        start..text.len()
    }

    /// `q.client.s`, or a type with its package.
    fn dots(&self) -> Option<Diagnostic> {
        let mut names = vec![self.before];
        let mut end = self.last.end;
        let mut rest = (0..)
            .map(|count| self.ahead(count))
            .take_while(|at| !at.is_empty());
        while let (Some(dot), Some(name)) = (rest.next(), rest.next()) {
            if &self.piece[dot] != "." || !is_word(&self.piece[name.clone()]) || names.len() > 3 {
                break;
            }
            names.push(&self.piece[name.clone()]);
            end = name.end;
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
        self.declared.is_type(word) || self.is_parameter(word)
    }

    fn is_parameter(&self, word: &str) -> bool {
        if self.part != Part::State {
            return false;
        }
        let mut tokens = self.words().take_while(|word| *word != "{");
        tokens.any(|token| token == "<") && tokens.any(|token| token == word)
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
        let colon = |error: Diagnostic, words: &str, is_safe: bool| {
            error.fix(words, self.end_of_last(), ":", is_safe)
        };
        let turned = |error: Diagnostic, words: String, is_safe: bool| {
            let repaired = format!("{second}: {first}");
            error.fix(words, self.span(whole.clone()), repaired, is_safe)
        };
        let message = format!("{what} is written `name: type`");
        match (self.is_type(first), self.is_type(second)) {
            (true, false) => turned(
                self.error_at(whole.clone(), message)
                    .label("here the type comes first"),
                "swap them".to_owned(),
                is_certain,
            ),
            (false, true) => colon(
                self.error(message).label("a `:` is missing before this"),
                "add it",
                is_certain,
            ),
            (true, true) | (false, false) => {
                let error = self.error(message).label("a `:` is missing before this");
                let error = colon(error, &format!("if `{second}` is the type"), false);
                turned(error, format!("if `{first}` is the type"), false)
            }
        }
    }

    /// A modifier of another language before a type.
    fn modifier(&self, word: &str) -> Option<Diagnostic> {
        let ty = self.found;
        let third = self.token_ahead(1);
        let named = is_word(third).then_some(third);
        let end = if named.is_some() {
            self.ahead(1).end
        } else {
            self.here.end
        };
        let whole = self.last.start..end;
        let written = |ty: String| match named {
            Some(name) => format!("{name}: {ty}"),
            None => ty,
        };
        let error = |message: &str| self.error_at(self.last.clone(), message);
        let fix = |message: &str, ty: String| {
            let repaired = written(ty);
            let help = format!("write `{repaired}`");
            error(message).fix(help, self.span(whole.clone()), repaired, false)
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

    /// `[T] name`: the type is what was written after `start`.
    pub(super) fn name_after(&self, what: &str, start: usize) -> Diagnostic {
        let ty = &self.piece[start..self.last.end];
        let error = self
            .error(format!("{what} is written `name: type`"))
            .label("the name comes first");
        let repaired = format!("{}: {ty}", self.found);
        error.fix(
            "swap them",
            self.span(start..self.here.end),
            repaired,
            false,
        )
    }

    /// The start of the entry or field that contains the token before the one that does not fit.
    pub(super) fn entry_start(&self) -> usize {
        let mut starts = vec![0];
        let mut is_fresh = true;
        for at in self.all().take_while(|at| at.end <= self.last.end) {
            if is_fresh && let Some(start) = starts.last_mut() {
                *start = at.start;
            }
            is_fresh = false;
            match &self.piece[at] {
                "(" | "[" | "{" | "<" => {
                    starts.push(0);
                    is_fresh = true;
                }
                ")" | "]" | "}" | ">" if starts.len() > 1 => {
                    starts.pop();
                }
                "," => is_fresh = true,
                _ => {}
            }
        }
        starts.last().copied().unwrap_or(0)
    }
}
