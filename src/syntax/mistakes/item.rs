//! Mistakes in declarations other than protocols.

use crate::diagnostic::Diagnostic;
use crate::syntax::ascii::is_word;
use crate::syntax::failure::Context;
use crate::syntax::failure::Part;

impl<'a> Context<'a> {
    pub(super) fn in_item(&self) -> Option<Diagnostic> {
        let keyword = self.keyword();
        let is_struct = keyword == "struct";
        let has_parts = is_struct || keyword == "enum";
        if self.found == "\\" {
            return Some(self.backslash());
        }
        if self.found == "<" && has_parts {
            return Some(
                self.error("structs and enums have no type parameters")
                    .help("only states have them: declare the type once for each argument, or carry its parts as the payload of a message"),
            );
        }
        if self.found == "#" && matches!(self.part, Part::Import | Part::Package) {
            return Some(
                self.error("attributes go before protocols, states and messages")
                    .help("move the attribute there"),
            );
        }
        if keyword == "proto"
            && let Some(error) = self.in_instance()
        {
            return Some(error);
        }
        if has_parts && let Some(error) = self.in_parts(is_struct) {
            return Some(error);
        }
        if keyword == "type"
            && let Some(error) = self.in_alias()
        {
            return Some(error);
        }
        if self.expects(";") && !self.expects("]") && self.found != ";" {
            return Some(self.missing_semicolon());
        }
        let is_next_item = self.expects_nothing();
        if is_next_item {
            return Some(self.outside());
        }
        self.in_attribute().or_else(|| self.in_type())
    }

    /// The keyword of the declaration, after its attributes.
    fn keyword(&self) -> &'a str {
        let mut words = self.words();
        let mut word = words.next().unwrap_or_default();
        while word == "#" && words.any(|word| word == "]") {
            word = words.next().unwrap_or_default();
        }
        word
    }

    /// The name of the declaration that `keyword` begins.
    fn name_after_keyword(&self, keyword: &str) -> &'a str {
        let mut words = self.words();
        words.any(|word| word == keyword);
        words.find(|word| is_word(word)).unwrap_or("name")
    }

    fn backslash(&self) -> Diagnostic {
        let line = &self.piece[self.here.start..];
        let end = line.find(['"', '\n']).unwrap_or(line.len());
        let rest = line[..end].split('\\').filter(|part| !part.is_empty());
        let repaired: String = rest.map(|part| format!("/{part}")).collect();
        if self.part == Part::Import {
            let whole = self.span(self.here.start..self.here.start + end);
            self.error("the parts of a path are separated by `/`, on every system")
                .fix("write `/`", whole, repaired, false)
        } else {
            self.error("a string has no escapes, and cannot contain `\\`")
                .help("remove the `\\`")
        }
    }

    /// `proto! a = ...`
    fn in_instance(&self) -> Option<Diagnostic> {
        if self.before == "=" && matches!(self.found, "{" | "(") {
            return Some(
                self.error("the states of a protocol come directly after its name")
                    .fix("remove the `=`", self.span(self.last.clone()), "", false),
            );
        }
        if self.before == "=" && matches!(self.found, "!" | "?" | "+" | "&") {
            return Some(self.session_type());
        }
        if !self.expects("<") {
            return None;
        }
        Some(match self.before {
            "rec" | "mu" => self
                .error("recursion has no keyword: a message leads back to a state")
                .help("write `loop:send { again -> loop, stop -> ! }`"),
            generic => self
                .error(format!("expected `<`, found {}", self.what_is_found()))
                .help(format!("an instance names the type arguments of a protocol: `proto! {} = {generic}<u64>;`", self.name_after_keyword("!"))),
        })
    }

    /// A struct or an enum.
    fn in_parts(&self, is_struct: bool) -> Option<Diagnostic> {
        let is_complete = self.expects(",") && self.expects("}");
        let is_start = self.expects_name() && self.expects("}");
        match self.found {
            ";" if is_complete => {
                let what = if is_struct { "fields" } else { "variants" };
                let words = format!("{what} are separated by commas, not semicolons");
                Some(self.error(words).fix("write a comma", self.found_span(), ",", true))
            }
            "=" if is_complete && is_struct => Some(
                self.error("fields have no numbers and no default values")
                    .label("remove this and the value after it")
                    .help("a field that may be missing is written `name: type?`"),
            ),
            "=" if is_complete => Some(
                self.error("variants have no numbers")
                    .help("remove the `=` and the number; a variant is sent as its position among the variants"),
            ),
            "{" | ":" if !is_struct && is_complete && is_word(self.before) => {
                let value = if self.found == ":" { self.token_ahead(1) } else { "name: type" };
                Some(
                    self.error("the values of a variant are written in parentheses")
                        .help(format!("write `{}({value})`", self.before)),
                )
            }
            found if is_start && found.starts_with(|first: char| first.is_ascii_digit()) => Some(
                self.error("fields and variants have no numbers")
                    .help(if is_struct {
                        "write `name: type`; fields are sent in the order in which they are declared"
                    } else {
                        "write the name of the variant alone"
                    }),
            ),
            "[" | "(" | "~" if is_start && is_struct => Some(
                self.error("a field is written `name: type`")
                    .label("the name comes first")
                    .help("write the name of the field and a `:` before this"),
            ),
            found if is_struct && self.expects(":") && is_word(found) => {
                Some(self.two_words("a field"))
            }
            "?" | "<" | "[" if is_struct && self.expects(":") => Some(
                self.error("a field is written `name: type`")
                    .label("here the type comes first")
                    .help("write the name of the field and a `:` before the type"),
            ),
            found if is_struct && is_complete && is_word(found) => {
                // A type cannot be followed by a word, and only a field's name by a colon.
                let is_safe = self.token_ahead(1) == ":";
                Some(
                    self.error("fields are separated by commas")
                        .label("a comma is missing before this")
                        .fix("add it", self.end_of_last(), ",", is_safe),
                )
            }
            _ => None,
        }
    }

    /// `type name = ...`
    fn in_alias(&self) -> Option<Diagnostic> {
        let name = self.name_after_keyword("type");
        match (self.before, self.found) {
            ("=", "{") => {
                let start = self.all().find(|at| &self.piece[at.clone()] == "type")?;
                let whole = self.span(start.start..self.last.end);
                Some(
                    self.error("a type with fields is declared with `struct`")
                        .fix(
                            format!("write `struct {name}`"),
                            whole,
                            format!("struct {name}"),
                            false,
                        ),
                )
            }
            (_, "|") => Some(self.error("an alias stands for one type").help(format!(
                "a choice of values is an enum: `enum {name} {{ one, other(type) }}`"
            ))),
            (before, found) if self.expects(";") && is_word(before) && is_word(found) => Some(
                self.error("the name of a type is one word")
                    .help("numbers are `u8` to `u64`, `i8` to `i64`, `f32` and `f64`"),
            ),
            _ => None,
        }
    }

    /// The `;` is added automatically only if nothing follows with which the declaration could continue.
    fn missing_semicolon(&self) -> Diagnostic {
        let end = self.last.end..self.last.end;
        let is_mapping = self.before.ends_with('"') && self.token_ahead(1) == "=" && self.is_word();
        let is_safe = self.found.is_empty() || is_mapping || self.found == "}";
        let text = format!("expected `;`, found {}", self.what_is_found());
        let error = self.error_at(end, text).label("missing here");
        error.fix("add it", self.end_of_last(), ";", is_safe)
    }
}
