//! Mistakes in the head of a state.

use crate::diagnostic::Diagnostic;
use crate::syntax::ascii::{is_number, is_word};
use crate::syntax::failure::Context;
use duologue_grammar::{Kind, Node};

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
            return self.after_message().or_else(|| self.in_type());
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
        self.in_digit().or_else(|| self.in_type())
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
                .fix("swap them", whole, format!("{found}:{before}"), false);
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
                .fix("add it", gap, ":", false);
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
                .fix(format!("remove `{before}`"), keyword, "", false);
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
                false,
            )),
            _ => self.in_digit(),
        }
    }
}
