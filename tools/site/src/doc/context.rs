//! What every page needs.

use super::addresses::Addresses;
use crate::html::Html;
use duologue::check::CheckedProgram;
use duologue::diagnostic::counted;
use duologue::languages::public_names::PublicNames;
use duologue::languages::{Options, Target, public_names};
use duologue::name::Name;
use duologue::protocol::{
    Docs, FileId, Message, Program, ProtocolId, Referent, Side, StateId, Use,
};
use duologue::sizes::Size;
use duologue::source::{SourceId, Sources, Span};
use duologue::wire::Sizes;
use std::collections::BTreeMap;

/// The most characters of a payload that a step of a dialogue shows.
const PAYLOAD: usize = 200;

/// A program and what is known about all of it.
pub struct Context<'a> {
    pub checked: &'a CheckedProgram,
    pub program: &'a Program,
    pub sources: &'a Sources,
    pub sizes: Sizes,
    pub names: Vec<(Target, PublicNames)>,
    pub addresses: Addresses,
    /// All names in the order of the texts.
    uses: Vec<Use>,
    /// The file of each text.
    files: BTreeMap<SourceId, usize>,
}

impl<'a> Context<'a> {
    pub fn of(checked: &'a CheckedProgram, sources: &'a Sources, options: &Options) -> Context<'a> {
        let program = checked.program();
        let names = Target::ALL.into_iter();
        let files = program.files.iter().enumerate();
        Context {
            checked,
            program,
            sources,
            sizes: Sizes::of(program),
            names: names
                .map(|target| (target, public_names(program, target, options)))
                .collect(),
            addresses: Addresses::of(program),
            uses: program.uses.iter().copied().collect(),
            files: files.map(|(index, file)| (file.source, index)).collect(),
        }
    }

    /// The name of a declaration of a file, with its package.
    pub fn full_name(&self, file: FileId, name: &Name) -> String {
        self.program.full_name(file, name.text())
    }

    /// The names in a range of a text.
    pub fn uses_in(&self, span: Span) -> &[Use] {
        let start = (span.source, span.start);
        let from = self
            .uses
            .partition_point(|found| (found.span.source, found.span.start) < start);
        let end = (span.source, span.end);
        let length =
            self.uses[from..].partition_point(|found| (found.span.source, found.span.end) <= end);
        &self.uses[from..from + length]
    }

    /// The page of what a name refers to; `None` if it has none.
    pub fn address(&self, referent: Referent) -> Option<String> {
        let addresses = &self.addresses;
        Some(match referent {
            Referent::Type(id)
            | Referent::Field(id, _)
            | Referent::Variant(id, _)
            | Referent::Value(id, ..) => addresses.ty(id).to_owned(),
            Referent::Protocol(id) => addresses.protocol(id).to_owned(),
            Referent::Instance(id) => {
                let instance = self.program.instance(id);
                addresses.protocol(instance.protocol).to_owned()
            }
            Referent::State(protocol, state) => addresses.state(protocol, state).to_owned(),
            Referent::Message(protocol, state, message) => {
                let messages = &self.program.protocol(protocol).state(state).messages;
                let name = &messages.get(message as usize)?.name;
                format!("{}#m-{name}", addresses.state(protocol, state))
            }
            Referent::Bound(id) => self.source_address(self.program.bound(id).name.span)?,
            Referent::Import(file) => addresses.file(file?.index()).to_owned(),
            Referent::Package
            | Referent::Builtin(_)
            | Referent::BuiltinBound(_)
            | Referent::Language(_)
            | Referent::Parameter(..)
            | Referent::Entry(..)
            | Referent::Side(_)
            | Referent::Acceptor(_)
            | Referent::Fingerprint
            | Referent::Direction(_)
            | Referent::Attribute
            | Referent::Rule
            | Referent::Unit
            | Referent::Unknown => return None,
        })
    }

    /// The line of the source page that has a position; `None` if it is in no file of the program.
    pub fn source_address(&self, span: Span) -> Option<String> {
        let file = *self.files.get(&span.source)?;
        let line = self.line(span);
        Some(format!("{}#l{line}", self.addresses.file(file)))
    }

    pub fn line(&self, span: Span) -> usize {
        let source = self.sources.get(span.source);
        source.position(span.start as usize).line
    }

    /// `bank.proto:9`, linked to the line.
    pub fn place(&self, span: Span) -> Html {
        let linked = |address: String| {
            let path = &self.program.files[self.files[&span.source]].path;
            Html::linked(&address, &format!("{path}:{}", self.line(span)))
        };
        self.source_address(span).map_or_else(Html::default, linked)
    }

    /// A range of a text on one line, with its names linked.
    pub fn code(&self, span: Span) -> Html {
        let mut html = Html::default();
        let text = self.sources.get(span.source).text();
        let mut at = span.start as usize;
        let plain = |html: &mut Html, start: usize, end: usize| {
            let mut was_space = false;
            for letter in text.get(start..end).unwrap_or_default().chars() {
                let is_space = letter.is_whitespace();
                match (is_space, was_space) {
                    (true, true) => {}
                    (true, false) => html.push(" "),
                    (false, _) => html.push(letter.encode_utf8(&mut [0; 4])),
                }
                was_space = is_space;
            }
        };
        for found in self.uses_in(span) {
            let (start, end) = (found.span.start as usize, found.span.end as usize);
            if let Some(address) = self.address(found.referent)
                && start >= at
            {
                plain(&mut html, at, start);
                html.link(&address, text.get(start..end).unwrap_or_default());
                at = end;
            }
        }
        plain(&mut html, at, span.end as usize);
        html
    }

    /// A message with what it carries, as it is written.
    pub fn signature(&self, message: &Message) -> Html {
        let mut html = Html::text(message.name.text());
        self.payload(&mut html, &message.entries);
        html
    }

    /// A message with what it carries, or with its beginning if that is long. Of a payload that is repeated on many pages, the
    /// size must not depend on the payload.
    pub fn short_signature(&self, message: &Message) -> Html {
        let entries = message.entries.iter().enumerate();
        let written = entries.flat_map(|(index, entry)| {
            let separator = if index == 0 { "" } else { ", " };
            let ty = self.sources.slice(entry.ty_span);
            match entry.is_derived {
                true => [separator, "", "", ty],
                false => [separator, entry.name.text(), ": ", ty],
            }
        });
        let start: String = written.flat_map(str::chars).take(PAYLOAD + 1).collect();
        if start.chars().count() <= PAYLOAD {
            return self.signature(message);
        }
        let start: String = start.chars().take(PAYLOAD).collect();
        let words: Vec<&str> = start.split_whitespace().collect();
        let mut html = Html::text(message.name.text());
        html.push(&format!("({}\u{2026})", words.join(" ")));
        html
    }

    /// What a message or a variant carries, in parentheses.
    pub fn payload(&self, html: &mut Html, entries: &[duologue::protocol::Entry]) {
        if entries.is_empty() {
            return;
        }
        html.mark("(<wbr>");
        for (index, entry) in entries.iter().enumerate() {
            if index > 0 {
                html.push(", ");
            }
            if !entry.is_derived {
                html.push(entry.name.text());
                html.push(": ");
            }
            html.add(&self.code(entry.ty_span));
        }
        html.push(")");
    }

    /// A state, linked.
    pub fn state(&self, protocol: ProtocolId, state: StateId) -> Html {
        let name = &self.program.protocol(protocol).state(state).name;
        Html::linked(self.addresses.state(protocol, state), name.text())
    }

    pub fn docs(&self, docs: &Docs) -> Html {
        super::markdown::html(docs)
    }
}

/// `the client` or `the server`.
pub fn the(side: Side) -> &'static str {
    match side {
        Side::Client => "the client",
        Side::Server => "the server",
    }
}

/// How many bytes encoded values take.
pub fn bytes(size: Size) -> String {
    let bytes = |count: u64| counted(count, "byte");
    match size.most {
        Some(most) if most == size.least => bytes(most),
        Some(most) => format!("{} to {}", size.least, bytes(most)),
        None => format!("at least {}", bytes(size.least)),
    }
}
