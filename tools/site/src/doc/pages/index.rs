//! The first page, which lists everything, and the list for the search.

use super::page::Page;
use crate::doc::Comparison;
use crate::doc::addresses::INDEX;
use crate::doc::changes::FindingView;
use crate::doc::context::Context;
use crate::doc::html::Html;
use crate::doc::markdown::summary;
use askama::Template;
use duologue::name::Name;
use duologue::protocol::{Definition, Docs, FileId, ProtocolId, TypeId};
use serde_json::json;
use std::collections::BTreeMap;

#[derive(Template)]
#[template(path = "index.html")]
struct Index<'a> {
    title: &'a str,
    files: Vec<FileView>,
    findings: Vec<FindingView>,
    against: &'a str,
    changes: Vec<ChangeView>,
}

struct FileView {
    path: Html,
    package: String,
    docs: Html,
    protocols: Vec<ProtocolView>,
    types: Vec<Item>,
}

struct ProtocolView {
    item: Item,
    states: Vec<Html>,
}

struct Item {
    kind: &'static str,
    name: Html,
    summary: Html,
}

struct ChangeView {
    name: Html,
    words: &'static str,
}

impl Context<'_> {
    pub fn index(
        &self,
        title: &str,
        findings: Vec<FindingView>,
        versions: Option<&Comparison<'_>>,
    ) -> Page {
        let files = (0..self.program.files.len()).map(FileId::new);
        let compared = versions.map_or(&[][..], |versions| versions.compared);
        let pages = self.pages();
        let changes = compared.iter().map(|compared| {
            let full_name = &compared.verdict.name;
            let mut name = Html::default();
            match pages.get(full_name) {
                Some(page) => name.link(page, full_name),
                None => name.push(full_name),
            }
            let words = compared.verdict.outcome.words();
            ChangeView { name, words }
        });
        let template = Index {
            title,
            files: files.map(|id| self.file(id)).collect(),
            findings,
            against: versions.map_or("", |versions| versions.against),
            changes: changes.collect(),
        };
        Page {
            address: INDEX.to_owned(),
            title: "Everything".to_owned(),
            crumbs: Vec::new(),
            content: template.render(),
        }
    }

    /// The page of each protocol and instance, by full name.
    fn pages(&self) -> BTreeMap<String, &str> {
        let program = self.program;
        let protocols = program.protocols.iter().enumerate();
        let protocols = protocols.map(|(index, protocol)| {
            let page = self.addresses.protocol(ProtocolId::new(index));
            (
                self.program.full_name(protocol.file, protocol.name.text()),
                page,
            )
        });
        let instances = program.instances.iter().map(|instance| {
            let page = self.addresses.protocol(instance.protocol);
            (
                self.program.full_name(instance.file, instance.name.text()),
                page,
            )
        });
        protocols.chain(instances).collect()
    }

    fn file(&self, id: FileId) -> FileView {
        let file = self.program.file(id);
        let item = |kind, address: &str, name: &str, docs: &Docs| {
            let mut html = Html::default();
            html.link(address, name);
            Item {
                kind,
                name: html,
                summary: Html::text(&summary(docs)),
            }
        };
        let protocols = file.protocols.iter().map(|id| {
            let protocol = self.program.protocol(*id);
            let address = self.addresses.protocol(*id);
            let states = protocol.state_ids();
            ProtocolView {
                item: item("protocol", address, protocol.name.text(), &protocol.docs),
                states: states.map(|state| self.state(*id, state)).collect(),
            }
        });
        let types = file.types.iter().map(|id| {
            let declared = self.program.ty(*id);
            let kind = kind(&declared.definition);
            item(
                kind,
                self.addresses.ty(*id),
                declared.name.text(),
                &declared.docs,
            )
        });
        let instances = file.instances.iter().map(|id| {
            let instance = self.program.instance(*id);
            let address = self.addresses.protocol(instance.protocol);
            item("instance", address, instance.name.text(), &instance.docs)
        });
        let bounds = file.bounds.iter().map(|id| {
            let bound = self.program.bound(*id);
            let address = self.source_address(bound.name.span).unwrap_or_default();
            item("bound", &address, bound.name.text(), &bound.docs)
        });
        let mut path = Html::default();
        path.link(self.addresses.file(id.index()), &file.path);
        let package: Vec<&str> = file.package.iter().map(Name::text).collect();
        FileView {
            path,
            package: package.join("."),
            docs: self.docs(&file.docs),
            protocols: protocols.collect(),
            types: types.chain(instances).chain(bounds).collect(),
        }
    }

    /// The list for the search, for the script: name, kind, address and summary.
    pub fn search(&self) -> String {
        let mut entries = Vec::new();
        for (index, protocol) in self.program.protocols.iter().enumerate() {
            let id = ProtocolId::new(index);
            let name = self.program.full_name(protocol.file, protocol.name.text());
            let address = self.addresses.protocol(id);
            entries.push(json!([name, "protocol", address, summary(&protocol.docs)]));
            for state in protocol.state_ids() {
                let declared = protocol.state(state);
                let messages = declared.messages.iter().map(|message| message.name.text());
                let messages: Vec<&str> = messages.collect();
                let full = format!("{name}/{}", declared.name);
                let address = self.addresses.state(id, state);
                entries.push(json!([full, "state", address, messages.join(" ")]));
            }
        }
        for (index, declared) in self.program.types.iter().enumerate() {
            let id = TypeId::new(index);
            let name = self.program.full_name(declared.file, declared.name.text());
            let kind = kind(&declared.definition);
            let address = self.addresses.ty(id);
            entries.push(json!([name, kind, address, summary(&declared.docs)]));
        }
        for instance in &self.program.instances {
            let name = self.program.full_name(instance.file, instance.name.text());
            let address = self.addresses.protocol(instance.protocol);
            entries.push(json!([name, "instance", address, summary(&instance.docs)]));
        }
        let mut text = String::from("const everything = [\n");
        for entry in &entries {
            text += &entry.to_string();
            text += ",\n";
        }
        text + "];\n"
    }
}

fn kind(definition: &Definition) -> &'static str {
    match definition {
        Definition::Alias(_) => "alias",
        Definition::Struct(_) => "struct",
        Definition::Enum(_) => "enum",
        Definition::Extern(..) => "external type",
        Definition::Undeclared => "undeclared type",
    }
}
