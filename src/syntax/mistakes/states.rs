//! Mistakes in the heads and the messages of states.

use crate::diagnostic::Diagnostic;
use crate::syntax::ascii::{is_number, is_word};
use crate::syntax::failure::Context;
use duologue_grammar::{Kind, Node};
use std::ops::Range;

impl<'a> Context<'a> {
    pub(super) fn state_start(&self) -> Option<Diagnostic> {
        let (opening, closing) = match self.found {
            "}" => ('(', ')'),
            ")" => ('{', '}'),
            "!" | "?" | "+" | "&" => return Some(self.session_type()),
            _ => return None,
        };
        let found = self.found;
        let text = format!("this `{found}` does not match how the protocol was opened");
        let help = format!("a protocol that begins with `{opening}` ends with `{closing}`");
        Some(self.error(text).help(help))
    }

    pub(super) fn in_state(&self) -> Option<Diagnostic> {
        if self.expects(",") && self.expects("}") {
            return self.after_message().or_else(|| super::types::in_type(self));
        }
        if self.expects_name() && self.expects("}") {
            return self.message_start();
        }
        if self.expects("->") && !self.expects("::") {
            return Some(self.instead_of_arrow());
        }
        if self.before == "->" {
            return Some(self.next_state());
        }
        let is_type = self.expects("[");
        if self.before == ":" && !is_type && matches!(self.found, "!" | "?" | "+" | "&") {
            return Some(self.session_type());
        }
        if self.expects("{") {
            return Some(self.head());
        }
        self.in_digit().or_else(|| super::types::in_type(self))
    }

    /// The `{` of a state is expected.
    fn head(&self) -> Diagnostic {
        let (before, found) = (self.before, self.found);
        if found == ":" && before == ">" {
            return self
                .error("type parameters come after the direction")
                .help("write `name:send<T>`, not `name<T>:send`");
        }
        if matches!(before, "send" | "recv")
            && is_word(found)
            && self.node.child(Kind::direction).is_none()
        {
            let whole = self.span(self.last.start..self.here.end);
            return self
                .error("the direction goes after the name of the state")
                .fix("swap them", whole, format!("{found}:{before}"));
        }
        if matches!(found, "send" | "recv") && matches!(before, "send" | "recv") {
            return self
                .error("a state has one direction")
                .help("the client sends in a state with `:send`, the server in one with `:recv`: write two states");
        }
        if matches!(found, "send" | "recv") && is_word(before) {
            let gap = self.span(self.last.end..self.here.start);
            return self
                .error("a `:` is missing between the state and its direction")
                .fix("add it", gap, ":");
        }
        let is_next_head = is_word(found) && matches!(self.token_ahead(1), ":" | "{" | "<");
        if is_next_head && matches!(before, "send" | "recv") {
            return self
                .error_at(self.last.clone(), "this state has no messages")
                .label("`{` is missing after this")
                .help("write `{ message -> next_state }` after the direction");
        }
        if is_next_head && is_word(before) {
            let keyword = self.span(self.last.start..self.here.start);
            return self
                .error(format!("a state begins with its name, not with `{before}`"))
                .fix(format!("remove `{before}`"), keyword, "");
        }
        if found == "->" && self.token_ahead(2) == ":" {
            return self
                .error("messages do not name their sender and receiver")
                .help("the direction of a state says which side sends: in `name:send { message -> next_state }` it is the client, with `:recv` the server");
        }
        if matches!(found, "(" | "->") && is_word(before) {
            return self
                .error("a message is written inside a state")
                .label(format!("`{before}` looks like a message"))
                .help(format!(
                    "write `name:send {{ {before} -> next_state }}` if the client sends it; a session begins in the first state"
                ));
        }
        let text = format!("expected `{{`, found {}", self.what_is_found());
        self.error(text)
            .help("a state is written `name:send { message -> next_state, ... }`")
    }

    /// `!int.?bool` and the like, which is how papers write protocols.
    pub(super) fn session_type(&self) -> Diagnostic {
        let error = self.error("session types in mathematical notation are written as states");
        error.help(match self.found {
            "+" | "&" => "write `+{...}` as a state in which the client sends, `name:send { one -> next, other -> ! }`, and `&{...}` as one with `:recv`",
            _ => "write `!int.?bool.end` as `first:send { ask(int) -> second }` and `second:recv { answer(bool) -> ! }`",
        })
    }

    /// The name of the state, if its head got that far.
    pub(super) fn state_name(&self) -> &'a str {
        let name = self.node.child(Kind::ident);
        let name = name.or_else(|| self.node.child(Kind::foreign_name));
        name.map_or("state", Node::text)
    }

    fn in_digit(&self) -> Option<Diagnostic> {
        (is_number(self.found) && self.expects_name()).then(|| {
            self.error("a name begins with a letter or `_`")
                .help(format!("for example `_{}`", self.found))
        })
    }

    /// Where a message or the end of the state is expected.
    fn message_start(&self) -> Option<Diagnostic> {
        match self.found {
            "!" | "?" if is_word(self.token_ahead(1)) => {
                Some(self.own_direction(self.here.clone()))
            }
            "!" | "?" | "+" | "&" => Some(self.session_type()),
            "|" => Some(self.error("messages are separated by commas").fix(
                "remove the `|`",
                self.found_span(),
                "",
            )),
            _ => self.in_digit(),
        }
    }
}

/// The sender that a word or character before a message indicates: `true` for the client, `false` for the server.
fn side(word: &str) -> Option<bool> {
    match word {
        "send" | "sends" | "!" | "out" => Some(true),
        "recv" | "receive" | "receives" | "?" | "in" => Some(false),
        _ => None,
    }
}

impl<'a> Context<'a> {
    /// A message is complete, and neither `,` nor `}` follows.
    pub(super) fn after_message(&self) -> Option<Diagnostic> {
        let (before, found, next) = (self.before, self.found, self.token_ahead(1));
        Some(match found {
            "" => self
                .error("the state is never closed")
                .label("a `}` is missing before this")
                .help("close the state with `}`, then close its protocol"),
            _ if next == ":" && (is_word(found) || found == "#") => {
                self.unclosed_state(self.here.clone(), self.end_of_last())
            }
            _ if is_word(found) || found == "#" => {
                // A state cannot be followed by a payload or an arrow, so a message begins here.
                let is_safe = is_word(found) && matches!(next, "->" | "(" | "=");
                self.error("messages are separated by commas")
                    .label("a comma is missing before this")
                    .fix("add it", self.end_of_last(), ",").safe(is_safe)
            }
            ";" | "|" => {
                let what = if found == ";" { "semicolons" } else { "`|`" };
                // Before a state, the character may have been meant to end this one.
                let is_safe = !matches!(self.token_ahead(2), ":" | "<" | "{");
                self.error(format!("messages are separated by commas, not {what}"))
                    .fix("write a comma", self.found_span(), ",").safe(is_safe)
            }
            "?" => self
                .error("only a payload can be optional")
                .help("remove the `?`; if the session can continue or end here, write two messages"),
            "::" | "." => self
                .error("a message can only lead to a state of its own protocol")
                .help("name the state alone; an endpoint of another protocol can be a payload"),
            ":" => self
                .error("messages do not name their sender and receiver")
                .help(format!(
                    "the direction of the state says which side sends: `{0}:send {{ message -> next_state }}` if it is the client, `{0}:recv` if it is the server",
                    self.state_name()
                )),
            "->" => self.error("a message leads to only one state").help(format!(
                "what follows `{before}` is written in the state `{before}`: `{before}:recv {{ message -> next_state }}`"
            )),
            "(" if is_word(before) => self.error("a state takes no payload").help(format!(
                "values belong to the message, in parentheses before the `->`; type arguments are written `{before}<T>`"
            )),
            "{" if is_word(before) => self.written_inside(),
            _ => return None,
        })
    }

    fn unclosed_state(&self, at: Range<usize>, end: crate::source::Span) -> Diagnostic {
        let text = format!(
            "expected `}}` before the next state, found `{}`",
            &self.text[at.clone()]
        );
        self.error_at(at, text).label("is this a new state?").fix(
            "close the state before it",
            end,
            "\n}",
        )
    }

    fn written_inside(&self) -> Diagnostic {
        self.error("a state cannot be written inside another").help(
            "name the state that follows, as in `-> answer`, and write it after this one: `answer:recv { ... }`",
        )
    }

    /// Something other than the next state is written after `->`.
    pub(super) fn next_state(&self) -> Diagnostic {
        match self.found {
            "{" => self.written_inside(),
            "!" | "?" if is_word(self.token_ahead(1)) => self.session_type(),
            _ => {
                let error = self.error(format!(
                    "expected a state or `!` after `->`, found {}",
                    self.what_is_found()
                ));
                error.help("name the state that follows, or write `!` to end the session")
            }
        }
    }

    /// A message that has a name, perhaps a payload, and then something other than `->`.
    pub(super) fn instead_of_arrow(&self) -> Diagnostic {
        let rest = &self.text[self.here.start..];
        let mut arrows = ["=>", "-->", "~>", "==>", "- >"].into_iter();
        if let Some(arrow) = arrows.find(|arrow| rest.starts_with(arrow)) {
            let at = self.here.start..self.here.start + arrow.len();
            let text = format!("an arrow is written `->`, not `{arrow}`");
            let error = self.error_at(at.clone(), text);
            return error.fix("write the arrow", self.span(at), "->").safe(true);
        }
        let is_name = self.expects("(") && is_word(self.before);
        match self.found {
            found if is_name && is_word(found) && side(self.before).is_some() => {
                self.own_direction(self.last.clone())
            }
            "!" | "?" if is_name => self.own_direction(self.here.clone()),
            found if is_name && is_word(found) => self.two_names(),
            "{" if is_name => self.payload_in_braces(),
            ":" if is_name && side(self.token_ahead(1)).is_some() => {
                let end = self.text[..self.last.start].trim_end().len();
                self.unclosed_state(self.last.clone(), self.span(end..end))
            }
            ":" if is_name => self
                .error("a payload is written in parentheses")
                .help(format!("write `{}({})`", self.before, self.token_ahead(1))),
            ":" => self.error("a message has no result").help(
                "the answer is a separate message: lead to a state with the other direction, and write it there",
            ),
            "<" if is_name => self
                .error("messages have no type parameters")
                .help(format!(
                    "declare them on the state: `{}:send<T> {{ ... }}`",
                    self.state_name()
                )),
            _ => self
                .error(format!("expected `->`, found {}", self.what_is_found()))
                .help("write what follows the message: `-> state`, or `-> !` to end the session"),
        }
    }

    /// Two words where a message begins: the first is a keyword of another language, or the second its payload.
    fn two_names(&self) -> Diagnostic {
        let (before, found) = (self.before, self.found);
        if matches!(self.token_ahead(1), "(" | "->") && !self.declared.is_type(found) {
            let keyword = self.span(self.last.start..self.here.start);
            return self
                .error(format!(
                    "a message begins with its name, not with `{before}`"
                ))
                .fix(format!("remove `{before}`"), keyword, "");
        }
        self.error("a payload is written in parentheses").fix(
            "add them",
            self.span(self.last.end..self.here.end),
            format!("({found})"),
        )
    }

    fn payload_in_braces(&self) -> Diagnostic {
        let inner = self.here.end..self.text.len();
        let rest = &self.text[inner.clone()];
        let inside = rest.split(['{', '}', '\n']).next().unwrap_or_default();
        let is_short = rest[inside.len()..].starts_with('}') && inside.len() <= 60;
        let inside = if is_short { inside.trim() } else { "..." };
        self.error("a payload is written in parentheses")
            .help(format!("write `{}({inside})`", self.before))
    }

    /// A message with a direction of its own, at `at`.
    pub(super) fn own_direction(&self, at: Range<usize>) -> Diagnostic {
        let state = self.state_name();
        let word = &self.text[at.clone()];
        match self.first_of_each_side() {
            (Some(sent), Some(received)) => self
                .error_at(at, "both sides send in this state, but a state belongs to one side")
                .label("this direction is for one message only")
                .note("if both could send at once, the two messages could cross")
                .help(format!(
                    "split the state, for example into `{state}:send {{ {sent} -> {state}_answer }}` and `{state}_answer:recv {{ {received} -> {state} }}`"
                )),
            (sent, received) => {
                let name = sent.or(received).unwrap_or("message");
                let direction = if side(word) == Some(false) { "recv" } else { "send" };
                self.error_at(at, "the direction belongs to the state, not to a message")
                    .help(format!(
                        "write it once, after the name of the state: `{state}:{direction} {{ {name} -> next_state }}`"
                    ))
            }
        }
    }

    /// The first message whose own direction makes it the client's, and the first whose own direction makes it the server's.
    fn first_of_each_side(&self) -> (Option<&'a str>, Option<&'a str>) {
        let mut found = (None, None);
        let mut previous = ["", ""];
        for token in self.words() {
            let is_start =
                matches!(previous[0], "{" | "," | ";" | "|" | "}" | "!") || is_word(previous[0]);
            if is_word(token) && is_start {
                match side(previous[1]) {
                    Some(true) if found.0.is_none() => found.0 = Some(token),
                    Some(false) if found.1.is_none() => found.1 = Some(token),
                    _ => {}
                }
            }
            previous = [previous[1], token];
        }
        found
    }
}
