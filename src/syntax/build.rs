//! pest pairs -> syntax tree.
// `Rule` has a variant for every rule of the grammar, most of which cannot stand in a given place.
#![allow(clippy::wildcard_enum_match_arm)]

use super::ast::{
    Attribute, Entry, Field, File, Import, Item, ItemKind, LevelAttribute, Mapping, Message,
    Parameter, Protocol, State, Type, TypeKind, Variant,
};
use super::grammar::Rule;
use super::scan::Doc;
use crate::diagnostic::Diagnostic;
use crate::name::{Name, nearest, norm};
use crate::protocol::{Direction, Docs};
use crate::source::{SourceId, Span};
use pest::iterators::{Pair, Pairs};
use std::iter::Peekable;
use std::ops::Range;

/// The longest name, in letters: names become file names.
const NAME_LIMIT: usize = 100;

/// Puts the tree of one file together.
pub struct Builder<'a> {
    source: SourceId,
    text: &'a str,
    base: usize,
    docs: Vec<Doc>,
    next_doc: usize,
    file: File,
    diagnostics: Vec<Diagnostic>,
    /// The protocol whose states are being read.
    open: Option<Item>,
    /// What was met first that may not stand before imports.
    has_items: bool,
}

type Parts<'a> = Peekable<Pairs<'a, Rule>>;

impl<'a> Builder<'a> {
    pub fn new(source: SourceId, text: &'a str) -> Builder<'a> {
        Builder {
            source,
            text,
            base: 0,
            docs: Vec::new(),
            next_doc: 0,
            file: File::default(),
            diagnostics: Vec::new(),
            open: None,
            has_items: false,
        }
    }

    /// Where the text that the next pairs come from begins in the file.
    pub fn stand_at(&mut self, base: usize) {
        self.base = base;
    }

    pub fn report(&mut self, error: Diagnostic) {
        self.diagnostics.push(error);
    }

    pub fn reported(&self) -> usize {
        self.diagnostics.len()
    }

    /// Remembers the words of a piece that could not be parsed, and that its documentation is not misplaced.
    pub fn broken(&mut self, at: Range<usize>) {
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let words = self.text[at.clone()].split(|letter| !is_word(letter));
        let words = words.filter(|word| !word.is_empty()).map(Into::into);
        self.file.broken_words.extend(words);
        while self
            .docs
            .get(self.next_doc)
            .is_some_and(|doc| doc.at.start < at.end)
        {
            self.next_doc += 1;
        }
    }

    pub fn take_docs(&mut self, docs: Vec<Doc>) {
        self.docs = docs;
        let lead = self.docs.iter().take_while(|doc| doc.is_inner);
        self.next_doc = lead.count();
        let first_token = self.docs.first().map_or(0, |doc| doc.before);
        let text = self.text;
        let lead = self.docs[..self.next_doc].iter();
        let (own, late): (Vec<&Doc>, Vec<&Doc>) = lead.partition(|doc| doc.before == first_token);
        let misplaced = late.into_iter().map(|doc| self.span_of(&doc.at)).collect();
        self.file.docs = own.into_iter().map(|doc| doc_text(text, doc)).collect();
        self.file.misplaced_docs = misplaced;
    }

    pub fn finish(mut self) -> (File, Vec<Diagnostic>) {
        self.skip_docs(usize::MAX);
        (self.file, self.diagnostics)
    }

    fn span_of(&self, at: &Range<usize>) -> Span {
        Span::new(self.source, at.start, at.end)
    }

    fn span(&self, pair: &Pair<'a, Rule>) -> Span {
        let span = pair.as_span();
        Span::new(
            self.source,
            self.base + span.start(),
            self.base + span.end(),
        )
    }

    /// Documentation that stands before `start` belongs to nothing.
    fn skip_docs(&mut self, start: usize) {
        while let Some(doc) = self.docs.get(self.next_doc) {
            if doc.before >= start && start != usize::MAX {
                break;
            }
            let span = Span::new(self.source, doc.at.start, doc.at.end);
            self.file.misplaced_docs.push(span);
            self.next_doc += 1;
        }
    }

    /// The documentation of the node whose first attribute or name is at `start` and whose name is at `name`.
    fn docs(&mut self, start: u32, name: u32) -> Docs {
        self.skip_docs(start as usize);
        let mut lines = Docs::new();
        while let Some(doc) = self.docs.get(self.next_doc) {
            if doc.before > name as usize {
                break;
            }
            if doc.is_inner {
                self.file
                    .misplaced_docs
                    .push(Span::new(self.source, doc.at.start, doc.at.end));
            } else {
                lines.push(doc_text(self.text, doc));
            }
            self.next_doc += 1;
        }
        lines
    }

    fn name(&mut self, pair: &Pair<'a, Rule>) -> Name {
        let name = Name::new(pair.as_str(), self.span(pair));
        if name.text().bytes().all(|letter| letter == b'_') {
            let error = Diagnostic::error("syntax", name.span, "a name needs a letter or a digit");
            self.report(error.label("only underscores"));
        } else if name.text().len() > NAME_LIMIT {
            let error =
                Diagnostic::error("syntax", name.span, "this name is longer than 100 letters");
            self.report(error.note("names become file names").help("shorten it"));
        }
        name
    }

    /// The next part, which is a name.
    fn next_name(&mut self, parts: &mut Parts<'a>) -> Name {
        let pair = parts.next().expect("the grammar has a name here");
        self.name(&pair)
    }

    /// The leading attributes, and where the node begins with them.
    fn attributes(&mut self, parts: &mut Parts<'a>) -> Vec<Attribute> {
        let mut attributes = Vec::new();
        while let Some(pair) = parts.next_if(|part| part.as_rule() == Rule::attribute) {
            let span = self.span(&pair);
            let mut words = pair
                .into_inner()
                .map(|word| Name::new(word.as_str(), self.span(&word)));
            attributes.push(Attribute {
                name: words.next().expect("an attribute has a name"),
                arguments: words.collect(),
                span,
            });
        }
        attributes
    }

    /// Sorts attributes into levels and, where it may stand, `dual_of`.
    fn sort(
        &mut self,
        attributes: Vec<Attribute>,
        is_protocol: bool,
    ) -> (Vec<LevelAttribute>, Vec<Name>) {
        let mut levels = Vec::new();
        let mut duals = Vec::new();
        for attribute in attributes {
            let span = attribute.span;
            if attribute.arguments.is_empty() {
                let text = format!("`#[{}]` needs an argument", attribute.name);
                let error = Diagnostic::error("syntax", span, text);
                self.report(error.help("write `#[allow(rule-name)]` or `#[dual_of(protocol)]`"));
            } else if let Some(level) = attribute.level() {
                let levels_here = attribute
                    .arguments
                    .into_iter()
                    .map(|rule| LevelAttribute { rule, level });
                levels.extend(levels_here);
            } else if attribute.name.text() == "dual_of" && is_protocol {
                duals.extend(attribute.arguments);
            } else if attribute.name.text() == "dual_of" {
                let error =
                    Diagnostic::error("syntax", span, "`dual_of` speaks of whole protocols");
                self.report(error.help("put it before a `proto!`"));
            } else {
                let known = ["allow", "warn", "deny", "dual_of"];
                let text = format!("there is no attribute `{}`", attribute.name);
                let error = Diagnostic::error("syntax", attribute.name.span, text);
                let error = match nearest(attribute.name.text(), known) {
                    Some(near) => error.fix(
                        format!("did you mean `{near}`?"),
                        attribute.name.span,
                        near,
                        false,
                    ),
                    None => error.help("the attributes are `allow`, `warn`, `deny` and `dual_of`"),
                };
                self.report(error);
            }
        }
        (levels, duals)
    }

    /// Attributes where none may stand.
    fn refuse(&mut self, attributes: &[Attribute], what: &str) {
        for attribute in attributes {
            let text = format!("{what} has no attributes");
            let error = Diagnostic::error("syntax", attribute.span, text);
            self.report(error.help("attributes stand before protocols, states and messages"));
        }
    }

    pub fn package(&mut self, pair: Pair<'a, Rule>) {
        let span = self.span(&pair);
        let mut parts = pair.into_inner().peekable();
        parts.next();
        let names: Vec<Name> = parts.map(|part| self.name(&part)).collect();
        if let (Some(first), Some(last)) = (self.file.package.first(), self.file.package.last()) {
            let first = first.span.to(last.span);
            let error = Diagnostic::error("syntax", span, "a file has one package");
            self.report(error.related(first, "the package is named here"));
        } else if self.has_items || !self.file.imports.is_empty() {
            let error = Diagnostic::error("syntax", span, "the package stands first in a file");
            self.report(error.help("move it before all imports and items"));
        } else {
            self.file.package = names;
        }
    }

    pub fn import(&mut self, pair: Pair<'a, Rule>) {
        if self.has_items {
            let error =
                Diagnostic::error("syntax", self.span(&pair), "imports stand before all items");
            self.report(error.help("move it to the top of the file"));
        }
        let mut parts = pair.into_inner();
        let string = parts.nth(1).expect("an import has a path");
        let span = self.span(&string);
        let path = string_text(string);
        self.file.imports.push(Import { path, span });
    }

    pub fn item(&mut self, pair: Pair<'a, Rule>) {
        self.has_items = true;
        let start = self.span(&pair).start;
        let mut parts = pair.into_inner().peekable();
        let attributes = self.attributes(&mut parts);
        let item = parts.next().expect("an item declares something");
        let rule = item.as_rule();
        let item_span = self.span(&item);
        let mut parts = item.into_inner().peekable();
        parts.next();
        let is_bound = parts
            .next_if(|part| part.as_rule() == Rule::kw_bound)
            .is_some();
        parts.next_if(|part| part.as_rule() == Rule::kw_type);
        let name = self.next_name(&mut parts);
        let docs = self.docs(start, item_span.start.max(name.span.start));
        self.refuse(&attributes, "this");
        let kind = match rule {
            Rule::alias => ItemKind::Alias(self.ty(parts.next().expect("an alias has a type"), 0)),
            Rule::structure => ItemKind::Struct(parts.map(|part| self.field(part)).collect()),
            Rule::enumeration => {
                let variants: Vec<Variant> = parts.map(|part| self.variant(part)).collect();
                if variants.is_empty() {
                    let error = Diagnostic::error("syntax", name.span, "an enum needs a variant");
                    self.report(error.help("without one there is no value to send"));
                }
                ItemKind::Enum(variants)
            }
            Rule::external => self.external(parts, is_bound),
            Rule::instance => {
                let protocol = self.next_name(&mut parts);
                let arguments = parts.next().expect("an instance has arguments");
                ItemKind::Instance(protocol, self.types(arguments, 0))
            }
            _ => unreachable!("protocols are parsed in parts"),
        };
        self.file.items.push(Item { docs, name, kind });
    }

    fn external(&mut self, mut parts: Parts<'a>, is_bound: bool) -> ItemKind {
        let mut bounds = Vec::new();
        if let Some(pair) = parts.next_if(|part| part.as_rule() == Rule::bounds) {
            let span = self.span(&pair);
            bounds = pair.into_inner().map(|part| self.name(&part)).collect();
            if is_bound {
                self.report(Diagnostic::error("syntax", span, "a bound has no bounds"));
            }
        }
        let mappings = parts.map(|part| self.mapping(part)).collect();
        if is_bound {
            ItemKind::ExternBound(mappings)
        } else {
            ItemKind::ExternType(bounds, mappings)
        }
    }

    fn mapping(&mut self, pair: Pair<'a, Rule>) -> Mapping {
        let span = self.span(&pair);
        let mut parts = pair.into_inner().peekable();
        let target = self.next_name(&mut parts);
        let name = string_text(parts.next().expect("a mapping has a name"));
        let mut optional = |rule| {
            let part = parts.next_if(|part| part.as_rule() == rule)?;
            part.into_inner().nth(1).map(string_text)
        };
        let from = optional(Rule::from);
        let drop = optional(Rule::drop);
        Mapping {
            target,
            name,
            from,
            drop,
            span,
        }
    }

    fn field(&mut self, pair: Pair<'a, Rule>) -> Field {
        let start = self.span(&pair).start;
        let mut parts = pair.into_inner().peekable();
        let attributes = self.attributes(&mut parts);
        let name = self.next_name(&mut parts);
        let docs = self.docs(start, name.span.start);
        self.refuse(&attributes, "a field");
        let ty = self.ty(parts.next().expect("a field has a type"), 0);
        Field { docs, name, ty }
    }

    fn variant(&mut self, pair: Pair<'a, Rule>) -> Variant {
        let start = self.span(&pair).start;
        let mut parts = pair.into_inner().peekable();
        let attributes = self.attributes(&mut parts);
        let name = self.next_name(&mut parts);
        let docs = self.docs(start, name.span.start);
        self.refuse(&attributes, "a variant");
        let entries = parts
            .next()
            .map_or_else(Vec::new, |part| self.entries(part));
        Variant {
            docs,
            name,
            entries,
        }
    }

    /// The head of a protocol: its states follow one by one until [`Builder::end_protocol`].
    pub fn header(&mut self, pair: Pair<'a, Rule>) {
        self.has_items = true;
        let start = self.span(&pair).start;
        let mut parts = pair.into_inner().peekable();
        let attributes = self.attributes(&mut parts);
        parts.next();
        let name = self.next_name(&mut parts);
        let docs = self.docs(start, name.span.start);
        let (levels, dual_of) = self.sort(attributes, true);
        self.open = Some(Item {
            docs,
            name,
            kind: ItemKind::Protocol(Protocol {
                levels,
                dual_of,
                states: Vec::new(),
                is_broken: false,
            }),
        });
    }

    pub fn end_protocol(&mut self, has_errors: bool) {
        let Some(mut item) = self.open.take() else {
            return;
        };
        if let ItemKind::Protocol(protocol) = &mut item.kind {
            protocol.is_broken = has_errors;
        }
        self.file.items.push(item);
    }

    pub fn state(&mut self, pair: Pair<'a, Rule>) {
        let span = self.span(&pair);
        let mut parts = pair.into_inner().peekable();
        let attributes = self.attributes(&mut parts);
        let name = self.next_name(&mut parts);
        let docs = self.docs(span.start, name.span.start);
        let (levels, _) = self.sort(attributes, false);
        let mut direction = None;
        let mut direction_span = name.span.after();
        if let Some(part) = parts.next_if(|part| part.as_rule() == Rule::direction) {
            direction_span = self.span(&part);
            direction = self.direction(part);
        }
        let mut parameters = Vec::new();
        if let Some(part) = parts.next_if(|part| part.as_rule() == Rule::parameters) {
            parameters = part.into_inner().map(|part| self.parameter(part)).collect();
        }
        let messages = parts.map(|part| self.message(part)).collect();
        let state = State {
            docs,
            levels,
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
                "receive" | "receives" | "received" | "rcv" => Some("recv"),
                "sends" | "snd" | "sent" => Some("send"),
                _ => nearest(other, ["send", "recv"]),
            },
        };
        let text = format!("a direction is `send` or `recv`, not `{}`", word.as_str());
        let error = Diagnostic::error("syntax", span, text);
        let error = error.note("the direction is the client's: `send` where the client speaks, `recv` where the server does");
        let error = match repair {
            Some(near) => error.fix(format!("did you mean `{near}`?"), span, near, false),
            None => error,
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
        let (levels, _) = self.sort(attributes, false);
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
            levels,
            name,
            entries,
            next,
            next_span,
        }
    }

    fn entries(&mut self, pair: Pair<'a, Rule>) -> Vec<Entry> {
        let entries = pair.into_inner().map(|entry| {
            let mut parts = entry.into_inner().peekable();
            let label = parts.next_if(|part| part.as_rule() == Rule::label);
            let name = label.map(|label| {
                let word = label.into_inner().next().expect("a label has a name");
                self.name(&word)
            });
            let ty = self.ty(parts.next().expect("an entry has a type"), 0);
            Entry { name, ty }
        });
        entries.collect()
    }

    fn types(&mut self, pair: Pair<'a, Rule>, depth: usize) -> Vec<Type> {
        pair.into_inner().map(|part| self.ty(part, depth)).collect()
    }

    fn ty(&mut self, pair: Pair<'a, Rule>, depth: usize) -> Type {
        let span = self.span(&pair);
        let mut parts = pair.into_inner();
        let inner = parts.next().expect("a type is something");
        let inner_span = self.span(&inner);
        let mut ty = match inner.as_rule() {
            Rule::list => {
                let item = inner.into_inner().next().expect("a list has an item");
                let item = self.ty(item, depth + 1);
                Type {
                    kind: TypeKind::List(Box::new(item)),
                    span: inner_span,
                }
            }
            Rule::tuple => self.tuple(inner, depth),
            Rule::path => {
                let mut names = Vec::new();
                let mut arguments = Vec::new();
                for part in inner.into_inner() {
                    if part.as_rule() == Rule::arguments {
                        arguments = self.types(part, depth + 1);
                    } else {
                        names.push(self.name(&part));
                    }
                }
                Type {
                    kind: TypeKind::Path(names, arguments),
                    span: inner_span,
                }
            }
            _ => unreachable!("a type is a list, a tuple or a path"),
        };
        for option in parts {
            let span = ty.span.to(self.span(&option));
            let kind = TypeKind::Option(Box::new(ty));
            ty = Type { kind, span };
        }
        ty.span = span;
        ty
    }

    fn tuple(&mut self, pair: Pair<'a, Rule>, depth: usize) -> Type {
        let span = self.span(&pair);
        let mut items = Vec::new();
        let mut comma = None;
        for part in pair.into_inner() {
            if part.as_rule() == Rule::comma {
                comma = Some(self.span(&part));
            } else {
                items.push(self.ty(part, depth + 1));
            }
        }
        match (items.len(), comma) {
            (1, None) => items.remove(0),
            (1, Some(comma)) => {
                let error = Diagnostic::error("syntax", comma, "a tuple has at least two parts");
                self.report(error.fix("`(A)` is the same as `A`", comma, "", false));
                items.remove(0)
            }
            _ => Type {
                kind: TypeKind::Tuple(items),
                span,
            },
        }
    }
}

fn doc_text(text: &str, doc: &Doc) -> Box<str> {
    let line = &text[doc.at.start + 3..doc.at.end];
    line.strip_prefix(' ').unwrap_or(line).trim_end().into()
}

fn string_text(string: Pair<'_, Rule>) -> String {
    let text = string.into_inner().next();
    text.map_or_else(String::new, |text| text.as_str().to_owned())
}
