//! Requests whose answers are edits.

use super::requests::everywhere;
use super::{at, view};
use crate::answer::{
    ItemKind, automatic_fixes, fixes, formatted, organized, prepare, rename, unknown_names,
};
use crate::state::State;
use gen_lsp_types::*;
use std::collections::HashMap;

pub fn prepared(
    state: &mut State<'_>,
    asked: &PrepareRenameParams,
) -> Result<Option<PrepareRenameResult>, String> {
    let Some((view, offset)) = at(state, &asked.text_document_position_params) else {
        return Ok(None);
    };
    let found = prepare(&view.snapshot, offset)?;
    let name = view.snapshot.compilation.sources.slice(found.span);
    let found = PrepareRenamePlaceholder::new(view.span_range(found.span), name.to_owned());
    Ok(Some(found.into()))
}

pub fn renamed(
    state: &mut State<'_>,
    asked: &RenameParams,
) -> Result<Option<WorkspaceEdit>, String> {
    let Some((view, offset)) = at(state, &asked.text_document_position_params) else {
        return Ok(None);
    };
    let new = &asked.new_name;
    prepare(&view.snapshot, offset)?;
    let (view, offset) = everywhere(state, view, offset, new).ok_or("there is no name here")?;
    let files = &state.documents;
    let renaming = rename(&view.snapshot, offset, new, &view.request, files)?;
    let mut changes: HashMap<Uri, Vec<TextEdit>> = HashMap::new();
    for span in renaming.spans {
        let edit = TextEdit::new(view.span_range(span), new.clone());
        let edits = changes.entry(view.uri(span.source, files));
        edits.or_default().push(edit);
    }
    Ok(Some(changed(changes)))
}

fn changed(changes: HashMap<Uri, Vec<TextEdit>>) -> WorkspaceEdit {
    WorkspaceEdit {
        changes: Some(changes),
        ..WorkspaceEdit::default()
    }
}

pub fn actions(state: &mut State<'_>, asked: CodeActionParams) -> Option<Vec<CodeActionResponse>> {
    let uri = asked.text_document.uri.clone();
    let path = state.path(&uri);
    let view = state.view(&path)?;
    let within = view.bytes(asked.range);
    let only = asked.context.only.unwrap_or_default();
    let is_wanted = |kind: &CodeActionKind| {
        let kind = kind.to_string();
        let includes = |wanted: &CodeActionKind| {
            let wanted = wanted.to_string();
            let rest = kind.strip_prefix(&wanted);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || wanted.is_empty())
        };
        only.is_empty() || only.iter().any(includes)
    };
    let edit = |edits: Vec<TextEdit>| Some(changed(HashMap::from([(uri.clone(), edits)])));
    let mut actions = Vec::new();
    if is_wanted(&CodeActionKind::QuickFix) {
        let names = unknown_names(&view.snapshot, &within);
        let is_wanted = |kind: ItemKind, name: &str| {
            let mut names = names.iter();
            names.any(|(wanted, is_meant)| wanted == name && is_meant(kind))
        };
        let elsewhere = match names.is_empty() {
            true => Vec::new(),
            false => state.elsewhere(&path, &is_wanted),
        };
        let (files, request) = (&state.documents, &view.request);
        for fix in fixes(&view.snapshot, &within, request, files, &elsewhere) {
            actions.push(CodeAction {
                title: fix.title,
                kind: Some(CodeActionKind::QuickFix),
                is_preferred: Some(fix.is_preferred),
                diagnostics: Some(vec![view.finding(fix.finding, &state.documents)]),
                edit: edit(view.edits(&fix.edits)),
                ..CodeAction::default()
            });
        }
    }
    let edits = match is_wanted(&CodeActionKind::SourceOrganizeImports) {
        true => organized(&view.snapshot),
        false => Vec::new(),
    };
    if !edits.is_empty() {
        actions.push(CodeAction {
            title: "Organize imports".to_owned(),
            kind: Some(CodeActionKind::SourceOrganizeImports),
            edit: edit(view.edits(&edits)),
            ..CodeAction::default()
        });
    }
    // Only where it is asked for: otherwise it would be in every list.
    if !only.is_empty() && is_wanted(&CodeActionKind::SourceFixAll) {
        let repaired = automatic_fixes(&view.snapshot, &view.request, &state.documents);
        if let Some(change) = repaired {
            actions.push(CodeAction {
                title: "Make all safe repairs".to_owned(),
                kind: Some("source.fixAll.duologue".into()),
                edit: edit(view.edits(&[change])),
                ..CodeAction::default()
            });
        }
    }
    Some(actions.into_iter().map(Into::into).collect())
}

pub fn reformatted(
    state: &mut State<'_>,
    of: &TextDocumentIdentifier,
    within: Option<Range>,
) -> Result<Option<Vec<TextEdit>>, String> {
    let Some(view) = view(state, of) else {
        return Ok(None);
    };
    let within = within.map(|range| view.bytes(range));
    match formatted(&view.snapshot, within.as_ref()) {
        Ok(change) => Ok(Some(view.edits(change.as_slice()))),
        Err(_) => Err("the file has syntax errors: repair them first".to_owned()),
    }
}
