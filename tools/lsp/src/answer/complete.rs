//! Proposals for what to write at a position.

use super::hover::attribute;
use super::{Elsewhere, Search, Snapshot};
use crate::answer::tree::context::{Expected, context};
use crate::answer::tree::symbols::{Item, ItemKind};
use duologue::check::every_rule;
use duologue::protocol::{Bound, Builtin, FileId, LANGUAGES, Protocol};
use std::collections::BTreeSet;
use std::ops::Range;

/// What is proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CompletionKind {
    Keyword,
    Type,
    TypeParameter,
    Bound,
    Protocol,
    State,
    Message,
    Rule,
    Attribute,
    Unit,
    File,
    Folder,
}

/// A proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What it is.
    pub kind: CompletionKind,
    /// The text that replaces the word.
    pub text: String,
    /// About it, on one line.
    pub detail: String,
    /// The word that it replaces.
    pub replaced: Range<usize>,
    /// The path that has to be imported for it.
    pub import: Option<String>,
}

/// Proposals at a position. `paths` lists the entries of the folder that the beginning of an import's path names; folders end with `/`.
/// `elsewhere` lists what other files declare that is of a kind and whose name has the written beginning.
#[must_use]
pub fn complete(
    snapshot: &Snapshot,
    offset: usize,
    paths: &dyn Fn(&str) -> Vec<String>,
    elsewhere: &mut Search<'_>,
) -> Vec<Completion> {
    let text = snapshot.text();
    let context = context(text, offset);
    let mut proposals = Proposals {
        snapshot,
        items: snapshot.outline().to_vec(),
        replaced: context.word.clone(),
        seen: BTreeSet::new(),
        list: Vec::new(),
    };
    let own = proposals
        .items
        .iter()
        .find(|item| item.at.start == context.item && item.kind == ItemKind::Protocol)
        .cloned();
    let is_meant = context.expected.declared();
    proposals.fill(context.expected, own.as_ref(), offset, paths);
    if let Some(is_meant) = is_meant {
        let start = text[context.word.start..offset.max(context.word.start)].to_lowercase();
        let seen = &proposals.seen;
        proposals.elsewhere(elsewhere(&|kind, name| {
            is_meant(kind) && !seen.contains(name) && name.to_lowercase().starts_with(&start)
        }));
    }
    proposals.list
}

struct Proposals<'a> {
    snapshot: &'a Snapshot,
    items: Vec<Item>,
    replaced: Range<usize>,
    seen: BTreeSet<String>,
    list: Vec<Completion>,
}

impl Proposals<'_> {
    fn add(&mut self, kind: CompletionKind, text: &str, detail: impl Into<String>) {
        if self.seen.insert(text.to_owned()) {
            self.list.push(Completion {
                kind,
                text: text.to_owned(),
                detail: detail.into(),
                replaced: self.replaced.clone(),
                import: None,
            });
        }
    }

    /// Declarations of other files, of which some may have the same name.
    fn elsewhere(&mut self, found: Vec<Elsewhere>) {
        let proposals = found.into_iter().map(|found| Completion {
            kind: match (found.kind.is_type(), found.kind.is_protocol()) {
                (true, _) => CompletionKind::Type,
                (false, true) => CompletionKind::Protocol,
                (false, false) => CompletionKind::Bound,
            },
            text: found.name,
            detail: match &found.import {
                Some(path) => format!("import \"{path}\""),
                None => "of the same package".to_owned(),
            },
            replaced: self.replaced.clone(),
            import: found.import,
        });
        self.list.extend(proposals);
    }

    fn words(&mut self, kind: CompletionKind, words: &[(&str, &str)]) {
        for (word, detail) in words {
            self.add(kind, word, *detail);
        }
    }

    /// The files whose declarations the text can name without a path.
    fn visible(&self) -> Vec<FileId> {
        let program = self.snapshot.program();
        let Some(own) = self.snapshot.file() else {
            return Vec::new();
        };
        let imports = program.file(own).imports.iter().copied();
        std::iter::once(own).chain(imports).collect()
    }

    fn fill(
        &mut self,
        expected: Expected,
        own: Option<&Item>,
        offset: usize,
        paths: &dyn Fn(&str) -> Vec<String>,
    ) {
        match expected {
            Expected::Nothing => {}
            Expected::Item => self.words(
                CompletionKind::Keyword,
                &[
                    ("proto!", "a protocol, or an instance of a generic one"),
                    ("type", "another name for a type"),
                    ("struct", "a record"),
                    ("enum", "a choice"),
                    ("extern", "a type or bound of the host program"),
                    ("import", "another file"),
                    ("package", "the package of this file"),
                ],
            ),
            Expected::External => self.words(
                CompletionKind::Keyword,
                &[
                    ("type", "a type of the host program"),
                    ("bound", "a bound of the host program"),
                ],
            ),
            Expected::Path(start) => {
                let (folder, _) = start.rsplit_once('/').unwrap_or(("", ""));
                let prefix = match folder.is_empty() {
                    true => String::new(),
                    false => format!("{folder}/"),
                };
                for entry in paths(&prefix) {
                    let kind = match entry.ends_with('/') {
                        true => CompletionKind::Folder,
                        false => CompletionKind::File,
                    };
                    self.add(kind, &format!("{prefix}{entry}"), "");
                }
            }
            Expected::Attribute => {
                for name in [
                    "allow", "warn", "deny", "dual_of", "accepts", "at_most", "within",
                ] {
                    self.add(
                        CompletionKind::Attribute,
                        name,
                        attribute(name).unwrap_or_default(),
                    );
                }
            }
            Expected::Rule => {
                for rule in every_rule().filter(|rule| rule.default.is_some()) {
                    self.add(CompletionKind::Rule, rule.name, rule.summary);
                }
            }
            Expected::Side => self.words(
                CompletionKind::Keyword,
                &[("client", "the client"), ("server", "the server")],
            ),
            Expected::Size => self.words(
                CompletionKind::Unit,
                &[("B", "bytes"), ("KiB", "1024 bytes"), ("MiB", "1024 KiB")],
            ),
            Expected::Duration => self.words(
                CompletionKind::Unit,
                &[
                    ("ms", "milliseconds"),
                    ("s", "seconds"),
                    ("min", "minutes"),
                    ("h", "hours"),
                ],
            ),
            Expected::Direction => self.words(
                CompletionKind::Keyword,
                &[("send", "the client sends"), ("recv", "the server sends")],
            ),
            Expected::Language => {
                for language in &LANGUAGES {
                    self.add(CompletionKind::Keyword, language.word, language.title);
                }
            }
            Expected::Bound => self.bounds(),
            Expected::Protocol => self.protocols(false),
            Expected::Generic => self.protocols(true),
            Expected::StateOf(protocol) => self.states_of(&protocol),
            Expected::State => {
                // States that messages lead to, and that are not there yet.
                self.missing_states(own);
            }
            Expected::Next => {
                if let Some(own) = own {
                    self.own_states(own);
                }
                self.add(CompletionKind::Keyword, "!", "the session is over");
            }
            Expected::Message => self.messages(own, offset),
            Expected::Type => self.types(own, offset),
        }
    }

    fn bounds(&mut self) {
        for (word, _) in Bound::BUILTINS {
            self.add(CompletionKind::Bound, word, "built in");
        }
        let program = self.snapshot.program();
        for file in self.visible() {
            for id in &program.file(file).bounds {
                let name = program.bound(*id).name.to_string();
                self.add(CompletionKind::Bound, &name, "of the host program");
            }
        }
    }

    /// The protocols that the text can name.
    fn callable(&self) -> Vec<&Protocol> {
        let program = self.snapshot.program();
        let visible = self.visible();
        let package = |file: FileId| {
            let parts = program.file(file).package.iter();
            parts.map(|part| part.text()).collect::<Vec<_>>()
        };
        let own = self.snapshot.file().map(package);
        let is_visible = |file: FileId| visible.contains(&file) || Some(package(file)) == own;
        let all = program.protocols.iter();
        all.filter(|protocol| is_visible(protocol.file)).collect()
    }

    fn protocols(&mut self, generic_only: bool) {
        let callable = self.callable().into_iter();
        let found = callable
            .filter(|protocol| {
                !generic_only || !protocol.states.is_empty() && protocol.is_generic()
            })
            .map(|protocol| (protocol.name.to_string(), protocol.docs.first().cloned()));
        for (name, docs) in found.collect::<Vec<_>>() {
            self.add(CompletionKind::Protocol, &name, docs.unwrap_or_default());
        }
        if !generic_only {
            let items = self.items.iter();
            let own = items.filter(|item| item.kind == ItemKind::Protocol);
            for name in own.map(|item| item.name.clone()).collect::<Vec<_>>() {
                self.add(CompletionKind::Protocol, &name, "");
            }
        }
    }

    fn states_of(&mut self, name: &str) {
        let callable = self.callable().into_iter();
        let mut named = callable.filter(|protocol| protocol.name.text() == name);
        let states = named.next().map_or_else(Vec::new, |protocol| {
            let states = protocol.states.iter();
            states.map(|state| state.name.to_string()).collect()
        });
        for state in states {
            self.add(CompletionKind::State, &state, "");
        }
        let is_own = |item: &&Item| item.kind == ItemKind::Protocol && item.name == name;
        if let Some(own) = self.items.iter().find(is_own).cloned() {
            self.own_states(&own);
        }
    }

    fn own_states(&mut self, own: &Item) {
        let text = self.snapshot.text();
        for state in &own.children {
            let head = text.get(state.name_at.end..state.head.end);
            let head = head.unwrap_or_default();
            let detail = match head.trim_start().strip_prefix(':').map(str::trim_start) {
                Some(rest) if rest.starts_with("send") => "client sends",
                Some(rest) if rest.starts_with("recv") => "server sends",
                _ => "",
            };
            self.add(CompletionKind::State, &state.name, detail);
        }
    }

    fn missing_states(&mut self, own: Option<&Item>) {
        let Some(own) = own else { return };
        let text = self.snapshot.text();
        let known: BTreeSet<&str> = own.children.iter().map(|item| item.name.as_str()).collect();
        let messages = own.children.iter().flat_map(|state| &state.children);
        let mut wanted = Vec::new();
        for message in messages {
            let written = text.get(message.at.clone()).unwrap_or_default();
            let next = written.rsplit_once("->").map(|(_, next)| next.trim());
            let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let next = next
                .unwrap_or_default()
                .split(|letter| !is_part(letter))
                .next();
            wanted.extend(next.filter(|next| !next.is_empty() && !known.contains(next)));
        }
        for next in wanted {
            self.add(CompletionKind::State, next, "a message leads here");
        }
    }

    /// Messages of other states of the protocol, which are often repeated.
    fn messages(&mut self, own: Option<&Item>, offset: usize) {
        let Some(own) = own else { return };
        let is_here = |state: &&Item| state.at.start <= offset && offset <= state.at.end;
        let here = own.children.iter().find(is_here);
        let known: BTreeSet<&str> = here.map_or_else(BTreeSet::new, |state| {
            let messages = state.children.iter();
            let others = messages.filter(|message| message.name_at != self.replaced);
            others.map(|message| message.name.as_str()).collect()
        });
        for state in own.children.iter().filter(|state| !is_here(state)) {
            for message in &state.children {
                if !known.contains(message.name.as_str()) {
                    let detail = format!("also in `{}`", state.name);
                    self.add(CompletionKind::Message, &message.name, detail);
                }
            }
        }
    }

    fn types(&mut self, own: Option<&Item>, offset: usize) {
        let program = self.snapshot.program();
        let own_name = own.map(|own| own.name.as_str());
        let parameters = program.protocols.iter().filter(|protocol| {
            Some(protocol.name.text()) == own_name
                && protocol.name.span.source == self.snapshot.source
        });
        let states = parameters.flat_map(|protocol| &protocol.states);
        let states = states.filter(|state| {
            let range = state.span.range();
            range.start <= offset && offset <= range.end
        });
        let names = states.flat_map(|state| &state.parameters);
        for name in names
            .map(|found| found.name.to_string())
            .collect::<Vec<_>>()
        {
            self.add(CompletionKind::TypeParameter, &name, "type parameter");
        }
        let items = self.items.iter().filter(|item| {
            matches!(
                item.kind,
                ItemKind::Alias | ItemKind::Struct | ItemKind::Enum | ItemKind::ExternType
            )
        });
        for name in items.map(|item| item.name.clone()).collect::<Vec<_>>() {
            self.add(CompletionKind::Type, &name, "");
        }
        for file in self.visible() {
            for id in &program.file(file).types {
                let declared = program.ty(*id);
                let docs = declared.docs.first().cloned().unwrap_or_default();
                self.add(CompletionKind::Type, &declared.name.to_string(), docs);
            }
        }
        for (word, _) in Builtin::WORDS {
            self.add(CompletionKind::Type, word, "built in");
        }
        self.protocols(false);
    }
}
