//! Proposals for what to write at a position.

use super::hover::attribute;
use super::{Elsewhere, Search, Snapshot};
use crate::answer::tree::context::{Expected, context};
use crate::answer::tree::symbols::{Item, ItemKind};
use duologue::check::every_rule;
use duologue::protocol::{Bound, Builtin, FileId, LANGUAGES, Protocol};
use gen_lsp_types::CompletionItemKind as Kind;
use std::collections::BTreeSet;
use std::ops::Range;

/// A proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What it is.
    pub kind: Kind,
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
        items: snapshot.outline(),
        replaced: context.word.clone(),
        seen: BTreeSet::new(),
        list: Vec::new(),
    };
    let is_own = |item: &&Item| item.at.start == context.item && item.kind == ItemKind::Protocol;
    let own = snapshot.outline().iter().find(is_own);
    let is_meant = context.expected.declared();
    proposals.fill(context.expected, own, offset, paths);
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
    items: &'a [Item],
    replaced: Range<usize>,
    seen: BTreeSet<String>,
    list: Vec<Completion>,
}

impl<'a> Proposals<'a> {
    fn add(&mut self, kind: Kind, text: &str, detail: impl Into<String>) {
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
                (true, _) => Kind::Struct,
                (false, true) => Kind::Class,
                (false, false) => Kind::Interface,
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

    fn words(&mut self, kind: Kind, words: &[(&str, &str)]) {
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
                Kind::Keyword,
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
                Kind::Keyword,
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
                        true => Kind::Folder,
                        false => Kind::File,
                    };
                    self.add(kind, &format!("{prefix}{entry}"), "");
                }
            }
            Expected::Attribute => {
                for name in [
                    "allow", "warn", "deny", "dual_of", "accepts", "at_most", "within",
                ] {
                    self.add(Kind::Property, name, attribute(name).unwrap_or_default());
                }
            }
            Expected::Rule => {
                for rule in every_rule().filter(|rule| rule.default.is_some()) {
                    self.add(Kind::Value, rule.name, rule.summary);
                }
            }
            Expected::Side => self.words(
                Kind::Keyword,
                &[("client", "the client"), ("server", "the server")],
            ),
            Expected::Size => self.words(
                Kind::Unit,
                &[("B", "bytes"), ("KiB", "1024 bytes"), ("MiB", "1024 KiB")],
            ),
            Expected::Duration => self.words(
                Kind::Unit,
                &[
                    ("ms", "milliseconds"),
                    ("s", "seconds"),
                    ("min", "minutes"),
                    ("h", "hours"),
                ],
            ),
            Expected::Direction => self.words(
                Kind::Keyword,
                &[("send", "the client sends"), ("recv", "the server sends")],
            ),
            Expected::Language => {
                for language in &LANGUAGES {
                    self.add(Kind::Keyword, language.word, language.title);
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
                self.add(Kind::Keyword, "!", "the session is over");
            }
            Expected::Message => self.messages(own, offset),
            Expected::Type => self.types(own, offset),
        }
    }

    fn bounds(&mut self) {
        for (word, _) in Bound::BUILTINS {
            self.add(Kind::Interface, word, "built in");
        }
        let program = self.snapshot.program();
        for file in self.visible() {
            for id in &program.file(file).bounds {
                let name = program.bound(*id).name.text();
                self.add(Kind::Interface, name, "of the host program");
            }
        }
    }

    /// The protocols that the text can name.
    fn callable(&self) -> Vec<&'a Protocol> {
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
        for protocol in self.callable() {
            if !generic_only || !protocol.states.is_empty() && protocol.is_generic() {
                let docs = protocol.docs.first().cloned().unwrap_or_default();
                self.add(Kind::Class, protocol.name.text(), docs);
            }
        }
        let own = self.items.iter().filter(|_| !generic_only);
        for item in own.filter(|item| item.kind == ItemKind::Protocol) {
            self.add(Kind::Class, &item.name, "");
        }
    }

    fn states_of(&mut self, name: &str) {
        let mut callable = self.callable().into_iter();
        let named = callable.find(|protocol| protocol.name.text() == name);
        for state in named.into_iter().flat_map(|protocol| &protocol.states) {
            self.add(Kind::Variable, state.name.text(), "");
        }
        let is_own = |item: &&Item| item.kind == ItemKind::Protocol && item.name == name;
        if let Some(own) = self.items.iter().find(is_own) {
            self.own_states(own);
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
            self.add(Kind::Variable, &state.name, detail);
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
            self.add(Kind::Variable, next, "a message leads here");
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
                    self.add(Kind::Method, &message.name, detail);
                }
            }
        }
    }

    fn types(&mut self, own: Option<&Item>, offset: usize) {
        let program = self.snapshot.program();
        let own_name = own.map(|own| own.name.as_str());
        let source = self.snapshot.source;
        let parameters = program.protocols.iter().filter(|protocol| {
            Some(protocol.name.text()) == own_name && protocol.name.span.source == source
        });
        let states = parameters.flat_map(|protocol| &protocol.states);
        let states = states.filter(|state| {
            let range = state.span.range();
            range.start <= offset && offset <= range.end
        });
        let names = states.flat_map(|state| &state.parameters);
        for found in names {
            self.add(Kind::TypeParameter, found.name.text(), "type parameter");
        }
        for item in self.items.iter().filter(|item| item.kind.is_type()) {
            self.add(Kind::Struct, &item.name, "");
        }
        for file in self.visible() {
            for id in &program.file(file).types {
                let declared = program.ty(*id);
                let docs = declared.docs.first().cloned().unwrap_or_default();
                self.add(Kind::Struct, declared.name.text(), docs);
            }
        }
        for (word, _) in Builtin::WORDS {
            self.add(Kind::Struct, word, "built in");
        }
        self.protocols(false);
    }
}
