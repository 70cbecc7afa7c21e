//! Protocols, states and messages.

use super::Builder;
use super::attributes::Target;
use crate::diagnostic::Diagnostic;
use crate::name::{nearest, norm};
use crate::protocol::{Direction, Referent};
use crate::source::Span;
use crate::syntax::ast::{Item, ItemKind, Message, Parameter, Protocol, State};
use crate::syntax::grammar::Rule;
use pest::iterators::Pair;

impl<'a> Builder<'a> {
    /// The header of a protocol. Its states follow one by one until [`Builder::end_protocol`].
    pub fn header(&mut self, pair: Pair<'a, Rule>) {
        self.has_items = true;
        let start = self.span(&pair).start;
        let mut parts = pair.into_inner().peekable();
        let attributes = self.attributes(&mut parts);
        let keyword = parts.next().expect("a protocol has a keyword");
        let keyword = self.span(&keyword);
        let name = self.next_name(&mut parts);
        let docs = self.docs(start, name.span.start);
        let sorted = self.sort(attributes, Target::Protocol);
        self.open = Some(Item {
            docs,
            kind: ItemKind::Protocol(Protocol {
                levels: sorted.levels,
                dual_of: sorted.dual_of,
                accepts: sorted.accepts,
                at_most: sorted.at_most,
                states: Vec::new(),
                is_broken: false,
                head: keyword.to(name.span),
                span: name.span,
            }),
            name,
        });
    }

    pub fn end_protocol(&mut self, has_errors: bool, span: Span) {
        let Some(mut item) = self.open.take() else {
            return;
        };
        if let ItemKind::Protocol(protocol) = &mut item.kind {
            protocol.is_broken = has_errors;
            protocol.span = span;
        }
        self.file.items.push(item);
    }

    pub fn state(&mut self, pair: Pair<'a, Rule>) {
        let span = self.span(&pair);
        let mut parts = pair.into_inner().peekable();
        let attributes = self.attributes(&mut parts);
        let name = self.next_name(&mut parts);
        let docs = self.docs(span.start, name.span.start);
        let sorted = self.sort(attributes, Target::State);
        let mut direction = None;
        let mut direction_span = name.span.after();
        if let Some(part) = parts.next_if(|part| part.as_rule() == Rule::direction) {
            direction_span = self.span(&part);
            let word = part.clone().into_inner().next();
            direction = self.direction(part);
            let referent = direction.map_or(Referent::Unknown, Referent::Direction);
            let word = word.map(|word| (self.span(&word), referent));
            self.file.words.extend(word);
        }
        let mut parameters = Vec::new();
        if let Some(part) = parts.next_if(|part| part.as_rule() == Rule::parameters) {
            parameters = part.into_inner().map(|part| self.parameter(part)).collect();
        }
        let messages = parts.map(|part| self.message(part)).collect();
        let state = State {
            docs,
            levels: sorted.levels,
            at_most: sorted.at_most,
            within: sorted.within,
            name,
            direction,
            direction_span,
            parameters,
            messages,
            span,
        };
        if let Some(Item {
            kind: ItemKind::Protocol(protocol),
            ..
        }) = &mut self.open
        {
            protocol.states.push(state);
        }
    }

    fn direction(&mut self, pair: Pair<'a, Rule>) -> Option<Direction> {
        let word = pair.into_inner().next().expect("a direction has a word");
        let span = self.span(&word);
        let repair = match word.as_str() {
            "send" => return Some(Direction::Send),
            "recv" => return Some(Direction::Recv),
            other => match norm(other).as_str() {
                "receive" | "receives" | "received" | "rcv" | "in" | "input" | "read"
                | "server" => Some("recv"),
                "sends" | "snd" | "sent" | "out" | "output" | "write" | "client" => Some("send"),
                _ => nearest(other, ["send", "recv"]),
            },
        };
        let text = format!("a direction is `send` or `recv`, not `{}`", word.as_str());
        let error = Diagnostic::error("syntax", span, text);
        let error = error.note("the direction is the client's: `send` where the client sends, `recv` where the server does");
        let error = match repair {
            Some(near) => error.fix(format!("did you mean `{near}`?"), span, near, false),
            None => error.help("write `send` or `recv`"),
        };
        self.report(error);
        None
    }

    fn parameter(&mut self, pair: Pair<'a, Rule>) -> Parameter {
        let mut parts = pair.into_inner().peekable();
        let name = self.next_name(&mut parts);
        let bounds = parts.next().map_or_else(Vec::new, |bounds| {
            let words = bounds.into_inner();
            words.map(|word| self.name(&word)).collect()
        });
        Parameter { name, bounds }
    }

    fn message(&mut self, pair: Pair<'a, Rule>) -> Message {
        let start = self.span(&pair).start;
        let mut parts = pair.into_inner().peekable();
        let attributes = self.attributes(&mut parts);
        let name = self.next_name(&mut parts);
        let docs = self.docs(start, name.span.start);
        let sorted = self.sort(attributes, Target::Message);
        let entries = parts.next_if(|part| part.as_rule() == Rule::payload);
        let entries = entries.map_or_else(Vec::new, |part| self.entries(part));
        let next = parts.next().expect("a message says what follows");
        let next_span = self.span(&next);
        let next = (next.as_rule() == Rule::next).then(|| {
            let mut parts = next.into_inner().peekable();
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
}
