//! The first page, which lists everything, and the list for the search.

use super::page::Page;
use crate::doc::Comparison;
use crate::doc::addresses::INDEX;
use crate::doc::changes::FindingView;
use crate::doc::context::Context;
use crate::doc::markdown::summary;
use crate::html::Html;
use askama::Template;
use duologue::diagnostic::counted;
use duologue::protocol::{Definition, Docs, ProtocolId, TypeDeclaration, TypeId};
use serde_json::json;
use std::collections::BTreeMap;

#[derive(Template)]
#[template(path = "index.html")]
struct Index<'a> {
    title: &'a str,
    folders: Vec<Folder>,
    findings: Vec<FindingView>,
    against: &'a str,
    changes: Vec<ChangeView>,
}

struct Folder {
    path: String,
    rows: Vec<Row>,
}

struct Row {
    name: Html,
    kind: String,
    summary: Html,
}

struct ChangeView {
    name: Html,
    words: &'static str,
}

pub fn page(
    context: &Context<'_>,
    title: &str,
    findings: Vec<FindingView>,
    versions: Option<&Comparison<'_>>,
) -> Page {
    let compared = versions.map_or(&[][..], |versions| versions.compared);
    let pages = pages(context);
    let changes = compared.iter().map(|compared| {
        let full_name = &compared.verdict.name;
        ChangeView {
            name: match pages.get(full_name) {
                Some(page) => Html::linked(page, full_name),
                None => Html::text(full_name),
            },
            words: compared.verdict.outcome.words(),
        }
    });
    let template = Index {
        title,
        folders: folders(context),
        findings,
        against: versions.map_or("", |versions| versions.against),
        changes: changes.collect(),
    };
    Page::new(INDEX, "Everything".to_owned(), &template)
}

/// The page of each protocol and instance, by full name.
fn pages<'a>(context: &'a Context<'_>) -> BTreeMap<String, &'a str> {
    let program = context.program;
    let protocols = program.protocols.iter().enumerate();
    let protocols = protocols.map(|(index, protocol)| {
        let page = context.addresses.protocol(ProtocolId::new(index));
        (context.full_name(protocol.file, &protocol.name), page)
    });
    let instances = program.instances.iter().map(|instance| {
        let page = context.addresses.protocol(instance.protocol);
        (context.full_name(instance.file, &instance.name), page)
    });
    protocols.chain(instances).collect()
}

/// The folders in order, each with its protocols before all else.
fn folders(context: &Context<'_>) -> Vec<Folder> {
    let mut folders: BTreeMap<&str, [Vec<Row>; 3]> = BTreeMap::new();
    for (index, file) in context.program.files.iter().enumerate() {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let [protocols, others, files] = folders.entry(folder).or_default();
        let row = |kind: &str, address: &str, name: &str, docs: &Docs| Row {
            kind: kind.to_owned(),
            name: Html::linked(address, name),
            summary: Html::text(&first_sentence(&summary(docs))),
        };
        for id in &file.protocols {
            let protocol = context.program.protocol(*id);
            let address = context.addresses.protocol(*id);
            let states = counted(protocol.states.len(), "state");
            protocols.push(row(&states, address, protocol.name.text(), &protocol.docs));
        }
        for id in &file.types {
            let declared = context.program.ty(*id);
            let address = context.addresses.ty(*id);
            let kind = kind(declared);
            others.push(row(kind, address, declared.name.text(), &declared.docs));
        }
        for id in &file.instances {
            let instance = context.program.instance(*id);
            let address = context.addresses.protocol(instance.protocol);
            others.push(row(
                "instance",
                address,
                instance.name.text(),
                &instance.docs,
            ));
        }
        for id in &file.bounds {
            let bound = context.program.bound(*id);
            let address = context.source_address(bound.name.span).unwrap_or_default();
            others.push(row("bound", &address, bound.name.text(), &bound.docs));
        }
        files.push(row(
            "file",
            context.addresses.file(index),
            &file.path,
            &file.docs,
        ));
    }
    let folders = folders.into_iter().map(|(path, rows)| Folder {
        path: path.to_owned(),
        rows: rows.into_iter().flatten().collect(),
    });
    folders.collect()
}

/// The list for the search, as the script reads it: name, kind, address and summary.
pub fn search(context: &Context<'_>) -> String {
    let mut entries = Vec::new();
    for (index, protocol) in context.program.protocols.iter().enumerate() {
        let id = ProtocolId::new(index);
        let name = context.full_name(protocol.file, &protocol.name);
        let address = context.addresses.protocol(id);
        entries.push(json!([name, "protocol", address, summary(&protocol.docs)]));
        for state in protocol.state_ids() {
            let declared = protocol.state(state);
            let messages = declared.messages.iter().map(|message| message.name.text());
            let messages: Vec<&str> = messages.collect();
            let full = format!("{name}/{}", declared.name);
            let address = context.addresses.state(id, state);
            entries.push(json!([full, "state", address, messages.join(" ")]));
        }
    }
    for (index, declared) in context.program.types.iter().enumerate() {
        let id = TypeId::new(index);
        let name = context.full_name(declared.file, &declared.name);
        let kind = kind(declared);
        let address = context.addresses.ty(id);
        entries.push(json!([name, kind, address, summary(&declared.docs)]));
    }
    for instance in &context.program.instances {
        let name = context.full_name(instance.file, &instance.name);
        let address = context.addresses.protocol(instance.protocol);
        entries.push(json!([name, "instance", address, summary(&instance.docs)]));
    }
    let mut text = String::from("[\n");
    for entry in &entries {
        text += &entry.to_string();
        text += ",\n";
    }
    text + "]"
}

fn first_sentence(text: &str) -> String {
    text.split_once(". ")
        .map_or_else(|| text.to_owned(), |(first, _)| format!("{first}."))
}

fn kind(declared: &TypeDeclaration) -> &'static str {
    match &declared.definition {
        Definition::Alias(_) => "alias",
        Definition::Struct(_) => "struct",
        Definition::Enum(_) => "enum",
        Definition::Extern(..) if declared.is_declared => "external type",
        Definition::Extern(..) => "undeclared type",
    }
}
