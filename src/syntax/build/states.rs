//! Protocols, states, messages and what these carry.

use super::attributes::{Sorted, Target};
use super::{Builder, attributes};
use crate::diagnostic::Diagnostic;
use crate::name::{nearest, norm};
use crate::protocol::{Direction, Docs, Limit, Referent};
use crate::source::Span;
use crate::syntax::ast::{
    Entry, Item, ItemKind, Message, Parameter, Protocol, State, Type, TypeKind,
};
use crate::syntax::foreign::Fault;
use duologue_grammar::{DEPTH_LIMIT, Kind, Node};

/// Whether a part of a protocol, or something in it, could not be read. Where only a comma is missing, nothing else is.
fn is_lost(part: Node<'_>) -> bool {
    if part.kind() != Kind::state || !part.is_broken() {
        return part.is_broken();
    }
    let next = part.children().skip(1).map(Some).chain([None]);
    part.children().zip(next).any(|(part, next)| {
        // More was meant to be in a message before a rest.
        let is_whole = next.is_none_or(|next| next.kind() != Kind::bad_rest);
        part.is_broken()
            && match part.kind() {
                Kind::missing_comma => false,
                Kind::message => !(is_whole && lacks_values_only(part)),
                _ => true,
            }
    })
}

/// Whether all that is wrong with a message are its values and the sign before the state that follows.
fn lacks_values_only(message: Node<'_>) -> bool {
    let mut broken = message.children().filter(|part| part.is_broken());
    let is_known = |kind| message.child(kind).is_some();
    broken.all(|part| matches!(part.kind(), Kind::payload | Kind::wrong_arrow))
        && (is_known(Kind::next) || is_known(Kind::end))
}

impl<'a> Builder<'a> {
    pub(super) fn protocol(&mut self, node: Node<'a>) {
        self.has_items = true;
        let span = self.span(node);
        let start_of_docs = self.start_of_docs(span.start);
        let reported = self.diagnostics.len();
        let mut parts = node.parts();
        let attributes = attributes::attributes(self, &mut parts);
        let keyword = parts.next_if(Kind::kw_proto).map(|part| self.span(part));
        let name = parts.next_if(Kind::ident).map(|part| self.name(part));
        if node.child(Kind::state).is_none() && node.child(Kind::bad_header).is_some() {
            return self.broken(node.range());
        }
        // Without the keyword, the name belongs to something else.
        let name = name.filter(|_| keyword.is_some() || node.kind() == Kind::bad_protocol);
        let mut docs = Docs::new();
        let mut sorted = Sorted::default();
        if let Some(name) = &name {
            docs = self.docs(span.start, name.span.start);
            sorted = attributes::sort(self, attributes, Target::Protocol);
        }
        let mut states = Vec::new();
        for part in parts {
            if part.kind() == Kind::state {
                states.extend(self.state(part));
            } else {
                self.broken(part.range());
            }
        }
        let Some(name) = name else {
            // Nothing refers to the states of a protocol without a name.
            self.broken_words(node.range());
            return self.file.orphans.extend(states);
        };
        let kind = ItemKind::Protocol(Protocol {
            dual_of: sorted.dual_of,
            accepts: sorted.accepts,
            at_most: sorted.at_most,
            states,
            is_broken: keyword.is_none()
                || node.children().any(is_lost)
                || self.is_faulty(node)
                || self.diagnostics.len() > reported,
            head: keyword.unwrap_or(name.span).to(name.span),
            span: match start_of_docs {
                Some(start) => Span::new(span.source, start, span.end as usize),
                None => span,
            },
        });
        self.file.items.push(Item {
            docs,
            levels: sorted.levels,
            name,
            kind,
        });
    }

    /// A state; `None` if its name is missing.
    fn state(&mut self, node: Node<'a>) -> Option<State> {
        let span = self.span(node);
        let mut parts = node.parts();
        let attributes = attributes::attributes(self, &mut parts);
        parts.next_if(Kind::another_word);
        let name = parts.next_if(Kind::ident);
        let Some(name) = name.or_else(|| parts.next_if(Kind::foreign_name)) else {
            self.broken(node.range());
            return None;
        };
        let name = self.name(name);
        let docs = self.docs(span.start, name.span.start);
        let sorted = attributes::sort(self, attributes, Target::State);
        let is_broken = is_lost(node);
        let mut direction = None;
        let mut direction_span = name.span.after();
        let mut parameters = Vec::new();
        let mut messages = Vec::new();
        for part in parts {
            match part.kind() {
                Kind::direction if part.is_broken() => self.broken(part.range()),
                Kind::direction => {
                    direction_span = self.span(part);
                    let word = part.child(Kind::ident);
                    // If other tokens do not fit either, the word is not what is wrong.
                    direction = self.direction(part, is_broken);
                    let referent = direction.map_or(Referent::Unknown, Referent::Direction);
                    let word = word.map(|word| (self.span(word), referent));
                    self.file.words.extend(word);
                }
                Kind::parameters if !part.is_broken() => {
                    parameters = part.parts().map(|part| self.parameter(part)).collect();
                }
                Kind::message if !part.is_broken() || lacks_values_only(part) => {
                    messages.push(self.message(part));
                }
                // More was meant to be in the message before it.
                Kind::bad_rest => {
                    messages.pop();
                    self.broken(part.range());
                }
                _ => self.broken(part.range()),
            }
        }
        if is_broken {
            self.broken_words(node.range());
            if direction.is_none() {
                // What was written as a direction may be in the tokens that do not fit.
                direction_span = name.span;
            }
        }
        Some(State {
            docs,
            levels: sorted.levels,
            at_most: sorted.at_most,
            within: sorted.within,
            name,
            direction,
            direction_span,
            may_lack_parameters: is_broken && parameters.is_empty(),
            parameters,
            messages,
            span,
        })
    }

    fn direction(&mut self, pair: Node<'a>, is_broken: bool) -> Option<Direction> {
        let word = pair.child(Kind::ident).expect("a direction has a word");
        let span = self.span(word);
        let repair = match self.word(word) {
            "send" => return Some(Direction::Send),
            "recv" => return Some(Direction::Recv),
            _ if is_broken => return None,
            other => match norm(other).as_str() {
                "receive" | "receives" | "received" | "rcv" | "in" | "input" | "read"
                | "server" => Some("recv"),
                "sends" | "snd" | "sent" | "out" | "output" | "write" | "client" => Some("send"),
                _ => nearest(other, ["send", "recv"]),
            },
        };
        let text = format!("a direction is `send` or `recv`, not `{}`", self.word(word));
        let error = Diagnostic::syntax(span, text);
        let error = error.note("the direction is the client's: `send` where the client sends, `recv` where the server does");
        self.fail(error.did_you_mean(span, repair, "write `send` or `recv`"))
    }

    fn parameter(&mut self, pair: Node<'a>) -> Parameter {
        let mut parts = pair.parts();
        let name = self.next_name(&mut parts);
        let bounds = parts.next().map_or_else(Vec::new, |bounds| {
            let words = bounds.parts();
            words.map(|word| self.name(word)).collect()
        });
        Parameter { name, bounds }
    }

    fn message(&mut self, pair: Node<'a>) -> Message {
        let start = self.span(pair).start;
        let mut parts = pair.parts();
        let attributes = attributes::attributes(self, &mut parts);
        let (docs, sorted, name) = self.head(start, attributes, Target::Message, &mut parts);
        let entries = parts.next_if(Kind::payload);
        let entries = entries.map_or_else(Vec::new, |part| match part.is_broken() {
            true => self.known_entries(part),
            false => self.entries(part),
        });
        parts.next_if(Kind::wrong_arrow);
        let next = parts.next().expect("a message says what follows");
        let next_span = self.span(next);
        let next = (next.kind() == Kind::next).then(|| {
            let mut parts = next.parts();
            let state = self.next_name(&mut parts);
            let arguments = parts
                .next()
                .map_or_else(Vec::new, |part| self.types(part, 0));
            (state, arguments)
        });
        Message {
            docs,
            levels: sorted.levels,
            at_most: sorted.at_most,
            name,
            entries,
            next,
            next_span,
        }
    }

    pub(super) fn entries(&mut self, pair: Node<'a>) -> Vec<Entry> {
        pair.parts().map(|entry| self.entry(entry)).collect()
    }

    fn entry(&mut self, entry: Node<'a>) -> Entry {
        let mut parts = entry.parts();
        let label = parts.next_if(Kind::label);
        let name = label.map(|label| {
            let word = label.parts().next().expect("a label has a name");
            self.name(word)
        });
        let ty = self.ty(parts.next().expect("an entry has a type"), 0);
        Entry { name, ty }
    }

    /// The entries of a payload of which a part did not parse: those that are written `name: type` between commas, and one that
    /// means the rest.
    fn known_entries(&mut self, payload: Node<'a>) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut end = payload.range().start;
        for node in payload.all().filter(|node| node.kind() == Kind::entry) {
            let next = self.tree.word(self.tree.number_at(node.range().end));
            let is_delimited = matches!(next, "," | ")" | "->");
            if !node.is_broken() && node.child(Kind::label).is_some() && is_delimited {
                self.broken(end..node.range().start);
                entries.push(self.entry(node));
                end = node.range().end;
            }
        }
        self.broken(end..payload.range().end);
        let ty = Type {
            kind: TypeKind::Error,
            most: None,
            span: self.span(payload),
        };
        entries.push(Entry { name: None, ty });
        entries
    }

    pub(super) fn types(&mut self, pair: Node<'a>, depth: usize) -> Vec<Type> {
        pair.parts().map(|part| self.ty(part, depth)).collect()
    }

    pub(super) fn ty(&mut self, pair: Node<'a>, depth: usize) -> Type {
        let span = self.span(pair);
        // Options are boxed types, and `~` has no meaning, but both have the limit of brackets.
        let mut signs = pair
            .children()
            .filter(|part| matches!(part.kind(), Kind::tilde | Kind::option));
        if let Some(deep) = signs.nth(DEPTH_LIMIT) {
            self.report(Fault::too_deep(self.source, &deep.range()));
        }
        let mut parts = pair.parts();
        let inner = parts.next().expect("a type is something");
        let inner_span = self.span(inner);
        let mut ty = match inner.kind() {
            Kind::list => {
                let mut parts = inner.parts();
                let item = parts.next().expect("a list has an item");
                let item = self.ty(item, depth + 1);
                Type {
                    kind: TypeKind::List(Box::new(item)),
                    most: parts.next().and_then(|number| self.bound(number)),
                    span: inner_span,
                }
            }
            Kind::tuple => self.tuple(inner, depth),
            Kind::path => {
                let mut names = Vec::new();
                let mut arguments = Vec::new();
                let mut most = None;
                for part in inner.parts() {
                    match part.kind() {
                        Kind::arguments => arguments = self.types(part, depth + 1),
                        Kind::length => {
                            let number = part.parts().next();
                            most = number.and_then(|number| self.bound(number));
                        }
                        _ => names.push(self.name(part)),
                    }
                }
                Type {
                    kind: TypeKind::Path(names, arguments),
                    most,
                    span: inner_span,
                }
            }
            _ => unreachable!("a type is a list, a tuple or a path"),
        };
        for option in parts.take(DEPTH_LIMIT) {
            let span = ty.span.to(self.span(option));
            let kind = TypeKind::Option(Box::new(ty));
            ty = Type {
                kind,
                most: None,
                span,
            };
        }
        ty.span = span;
        ty
    }

    /// The bound in `str<255>` or `[T; 1000]`; what is wrong with it is reported.
    fn bound(&mut self, number: Node<'a>) -> Option<Limit> {
        let span = self.span(number);
        let (text, help) = match self.word(number).parse() {
            Ok(0) => (
                "a bound of 0 allows only the empty value",
                "write a larger bound, or remove the type",
            ),
            Ok(most) => return Some(Limit { most, span }),
            Err(_) => (
                "this bound does not fit in 64 bits",
                "write a smaller bound, or a type without one",
            ),
        };
        self.fail(Diagnostic::syntax(span, text).help(help))
    }

    fn tuple(&mut self, pair: Node<'a>, depth: usize) -> Type {
        let span = self.span(pair);
        let mut items = Vec::new();
        let mut comma = None;
        for part in pair.parts() {
            if part.kind() == Kind::last_comma {
                comma = Some(self.span(part));
            } else {
                items.push(self.ty(part, depth + 1));
            }
        }
        match (items.len(), comma) {
            (1, None) => items.remove(0),
            (1, Some(comma)) => {
                let error = Diagnostic::syntax(comma, "a tuple has at least two parts");
                self.report(error.fix("`(A)` is the same as `A`", comma, ""));
                items.remove(0)
            }
            _ => Type {
                kind: TypeKind::Tuple(items),
                most: None,
                span,
            },
        }
    }
}
