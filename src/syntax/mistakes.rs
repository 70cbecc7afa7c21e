//! Mistakes that are known well enough to say more than what was expected.

// `Rule` has a variant for every rule of the grammar, most of which are no pieces.
#![allow(clippy::wildcard_enum_match_arm)]

use super::failure::Context;
use super::grammar::Rule;
use crate::diagnostic::Diagnostic;
use crate::name::nearest;
use crate::source::Span;

impl Context<'_> {
    /// What is wrong, if it is one of these mistakes.
    pub(super) fn special(&self) -> Option<Diagnostic> {
        match self.rule {
            Rule::tail_piece => Some(self.outside()),
            Rule::header_piece => self.in_header(),
            Rule::state_piece if self.is_first => self.state_start(),
            Rule::state_piece => self.in_state(),
            Rule::item_piece | Rule::import_piece | Rule::package_piece => self.in_item(),
            _ => None,
        }
    }

    fn outside(&self) -> Diagnostic {
        let foreign = |message: &str| {
            self.error(message)
                .label("Duologue has no such declaration")
                .note("both languages use the ending `.proto`, and nothing else in common")
                .help("compile it with `protoc`; `duologue explain syntax` shows what a Duologue file looks like")
        };
        match self.found {
            "syntax" | "edition" => return foreign("this is a Protocol Buffers file"),
            "message" | "service" => {
                return foreign("this looks like a part of a Protocol Buffers file");
            }
            "}" | ")" | "]" => {
                return self
                    .error(format!("this `{}` closes nothing", self.found))
                    .help("remove it, or open what it closes");
            }
            _ => {}
        }
        if let Some((what, form)) = form(self.found) {
            return self.error(format!("{what} is written `{form}`"));
        }
        let error = self.error(format!("expected an item, found {}", self.what_is_found()));
        let keywords = ["package", "import", "type", "struct", "enum", "extern"];
        match self.found {
            "proto" | "protocol" => error.fix(
                "a protocol begins with `proto!`",
                self.span,
                "proto!",
                false,
            ),
            found => match nearest(found, keywords) {
                Some(near) => error.fix(format!("did you mean `{near}`?"), self.span, near, false),
                None => error.help("`proto!`, `type`, `struct`, `enum` and `extern` begin an item"),
            },
        }
    }

    fn in_header(&self) -> Option<Diagnostic> {
        match (self.before, self.found) {
            ("!", "{" | "(") => Some(
                self.error("a protocol needs a name")
                    .help("write `proto! name { ... }`"),
            ),
            (_, "<") => Some(
                self.error("protocols have no type parameters")
                    .help("the first state has them: write `start:send<T>`"),
            ),
            _ => self.in_attribute(),
        }
    }

    fn in_attribute(&self) -> Option<Diagnostic> {
        (self.expects("(") && self.expects("]")).then(|| {
            self.error("the names of rules stand in parentheses")
                .help("write `#[allow(rule)]`")
        })
    }

    fn state_start(&self) -> Option<Diagnostic> {
        let opening = match self.found {
            "}" => '(',
            ")" => '{',
            _ => return None,
        };
        let text = format!(
            "this `{}` does not match how the protocol was opened",
            self.found
        );
        let closing = if opening == '(' { ')' } else { '}' };
        let help = format!("a protocol that begins with `{opening}` ends with `{closing}`");
        Some(self.error(text).help(help))
    }

    fn in_state(&self) -> Option<Diagnostic> {
        if self.expects(",") && self.expects("}") {
            return self.behind_message().or_else(|| self.in_type());
        }
        if self.found == ":" && self.before == ">" {
            return Some(
                self.error("type parameters stand behind the direction")
                    .help("write `name:send<T>`, not `name<T>:send`"),
            );
        }
        if self.expects("->") && !self.expects("::") {
            return Some(self.instead_of_arrow());
        }
        if self.before == "->" {
            let error = self.error(format!(
                "expected a state or `!` behind `->`, found {}",
                self.what_is_found()
            ));
            return Some(error.help("name the state that follows, or write `!` if none does"));
        }
        if self.expects("{") && matches!(self.before, "send" | "recv") && self.is_word() {
            let (word, name) = (self.before, self.found);
            let whole = self.before_span.to(self.span);
            return Some(
                self.error("the direction stands behind the name of the state")
                    .fix("turn them round", whole, format!("{name}:{word}"), false),
            );
        }
        if self.expects("{") {
            let text = format!("expected `{{`, found {}", self.what_is_found());
            let help = "a state is written `name:send { message -> next_state, ... }`";
            return Some(self.error(text).help(help));
        }
        if self.found.starts_with(|first: char| first.is_ascii_digit()) && self.expected.name {
            return Some(self.error("a name begins with a letter or `_`"));
        }
        self.in_type()
    }

    /// Where a message is complete and neither `,` nor `}` follows.
    fn behind_message(&self) -> Option<Diagnostic> {
        let behind = self.piece[self.next_word_end()..].trim_start();
        if self.found.is_empty() {
            return Some(
                self.error("the state is never closed")
                    .label("a `}` is missing before this")
                    .help("close the state with `}`, and its protocol behind it"),
            );
        }
        if self.is_word() || self.found == "#" {
            if behind.starts_with(':') {
                let text = format!(
                    "expected `}}` before the next state, found {}",
                    self.what_is_found()
                );
                let end = self.before_span.after();
                return Some(self.error(text).label("is this a new state?").fix(
                    "close the state before it",
                    end,
                    "\n}",
                    false,
                ));
            }
            return Some(
                self.error("messages are separated by commas")
                    .label("a comma is missing before this")
                    .fix("add it", self.before_span.after(), ",", true),
            );
        }
        match self.found {
            ";" => Some(
                self.error("messages are separated by commas, not semicolons")
                    .fix("write a comma", self.span, ",", true),
            ),
            "?" => Some(
                self.error("only a payload can be optional")
                    .help("remove the `?`: a state follows or it does not"),
            ),
            "::" => Some(
                self.error("a message leads to a state of its own protocol")
                    .help("name the state alone; an endpoint of another protocol can be a payload"),
            ),
            _ => None,
        }
    }

    fn instead_of_arrow(&self) -> Diagnostic {
        let is_fat = self.found == "=" && self.piece[self.next_word_end()..].starts_with('>');
        if is_fat {
            let span = Span {
                end: self.span.end + 1,
                ..self.span
            };
            return Diagnostic::error("syntax", span, "an arrow is written `->`, not `=>`").fix(
                "write the arrow",
                span,
                "->",
                true,
            );
        }
        self.error(format!("expected `->`, found {}", self.what_is_found()))
            .help("say what follows the message: `-> state`, or `-> !` where the session is over")
    }

    fn in_type(&self) -> Option<Diagnostic> {
        let in_payload = self.expects(")") && self.expects(",");
        let end = self.before_span.after();
        match (self.before, self.found) {
            ("<", ">") => Some(
                self.error("an empty list of type arguments")
                    .help("leave the `<>` out"),
            ),
            ("(", ")") => Some(
                self.error("an empty tuple carries nothing")
                    .help("leave the entry out"),
            ),
            (_, ";") if self.expects("]") => Some(
                self.error("lists have no length in their type")
                    .help("write the type of the elements alone, such as `[u8]`"),
            ),
            (_, "&") => Some(self.error("payloads are always owned").fix(
                "write the type alone",
                self.span,
                "",
                false,
            )),
            (_, "->") if in_payload => Some(
                self.error("the payload is never closed")
                    .label("a `)` is missing before this")
                    .fix("add it", end, ")", false),
            ),
            _ if in_payload && self.is_word() && is_word(self.before) => Some(
                self.error("an entry with a name is written `name: type`")
                    .label("a `:` is missing before this")
                    .fix("add it", end, ":", false),
            ),
            _ => None,
        }
    }

    fn in_item(&self) -> Option<Diagnostic> {
        let head = self.piece.trim_start();
        let is_struct = head.starts_with("struct");
        if self.found == "<" && (is_struct || head.starts_with("enum")) {
            return Some(
                self.error("structs and enums have no type parameters")
                    .help("only states have: a payload can be generic, a declared type cannot"),
            );
        }
        if self.found == "#" && matches!(self.rule, Rule::import_piece | Rule::package_piece) {
            return Some(self.error("attributes stand before protocols, states and messages"));
        }
        if head.starts_with("proto") && self.before == "=" && matches!(self.found, "{" | "(") {
            return Some(
                self.error("the states of a protocol stand directly behind its name")
                    .fix("remove the `=`", self.before_span, "", false),
            );
        }
        if self.expects(",") && self.expects("}") {
            if self.found == ";" {
                return Some(self.error("commas separate here, not semicolons").fix(
                    "write a comma",
                    self.span,
                    ",",
                    true,
                ));
            }
            if self.found == "=" && !is_struct {
                return Some(
                    self.error("variants have no numbers")
                        .help("a variant travels as its position among the variants"),
                );
            }
        }
        if is_struct && self.expects(":") && self.is_word() {
            return Some(
                self.error("a field is written `name: type`")
                    .label("a `:` is missing before this")
                    .fix("add it", self.before_span.after(), ":", true),
            );
        }
        if self.expects(";") && self.found != ";" {
            let place = self.before_span.after();
            return Some(
                Diagnostic::error(
                    "syntax",
                    place,
                    format!("expected `;`, found {}", self.what_is_found()),
                )
                .label("missing here")
                .fix("add it", place, ";", true),
            );
        }
        let is_next_item = self.expected.signs.is_empty() && !self.expected.name;
        if is_next_item {
            return Some(self.outside());
        }
        self.in_attribute().or_else(|| self.in_type())
    }

    fn is_word(&self) -> bool {
        is_word(self.found)
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// How an item is written that begins with a keyword.
fn form(keyword: &str) -> Option<(&'static str, &'static str)> {
    Some(match keyword {
        "package" => ("a package", "package outer.inner;"),
        "import" => ("an import", "import \"file.proto\";"),
        "type" => ("an alias", "type name = other_type;"),
        "struct" => ("a struct", "struct name { field: type, ... }"),
        "enum" => ("an enum", "enum name { variant, variant(type), ... }"),
        "extern" => ("a type of the host program", "extern type name;"),
        _ => return None,
    })
}
