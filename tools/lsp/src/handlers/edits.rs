//! Requests whose answers are edits.

use super::params;
use super::requests::{at, everywhere};
use crate::answer::{automatic_fixes, fixes, formatted, prepare, rename};
use crate::state::State;
use serde_json::{Map, Value, json};

/// The answer to a request, or why it is refused; `None` if the request is unknown.
pub fn answer(state: &mut State<'_>, method: &str, asked: &Value) -> Option<Result<Value, String>> {
    Some(match method {
        "textDocument/prepareRename" => prepared(state, asked),
        "textDocument/rename" => renamed(state, asked),
        "textDocument/codeAction" => Ok(actions(state, asked).unwrap_or_else(|| json!([]))),
        "textDocument/formatting" => reformatted(state, asked),
        _ => return None,
    })
}

fn prepared(state: &mut State<'_>, asked: &Value) -> Result<Value, String> {
    let Some((view, offset)) = at(state, asked) else {
        return Ok(Value::Null);
    };
    let found = prepare(&view.snapshot, offset)?;
    let name = view.snapshot.compilation.sources.slice(found.span);
    Ok(json!({ "range": view.span_range(found.span), "placeholder": name }))
}

fn renamed(state: &mut State<'_>, asked: &Value) -> Result<Value, String> {
    let Some((view, offset)) = at(state, asked) else {
        return Ok(Value::Null);
    };
    let new = params::text(asked, "/newName").unwrap_or_default();
    prepare(&view.snapshot, offset)?;
    let (view, offset) = everywhere(state, view, offset, new).ok_or("there is no name here")?;
    let files = &state.documents;
    let renaming = rename(&view.snapshot, offset, new, &view.request, files)?;
    let mut changes: Vec<(String, Vec<Value>)> = Vec::new();
    for span in renaming.spans {
        let uri = view.uri(span.source, files);
        let edit = json!({ "range": view.span_range(span), "newText": new });
        match changes.iter_mut().find(|(known, _)| *known == uri) {
            Some((_, edits)) => edits.push(edit),
            None => changes.push((uri, vec![edit])),
        }
    }
    let changes: Map<String, Value> = changes
        .into_iter()
        .map(|(uri, edits)| (uri, json!(edits)))
        .collect();
    Ok(json!({ "changes": changes }))
}

fn actions(state: &mut State<'_>, asked: &Value) -> Option<Value> {
    let uri = params::uri(asked)?.to_owned();
    let path = state.opened(&uri)?;
    let range = params::range(asked.get("range")?)?;
    let view = state.view(&path)?;
    let within = view.bytes(range);
    let only: Vec<&str> = params::list(asked, "/context/only")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let is_wanted = |kind: &str| {
        let includes = |wanted: &&str| {
            let rest = kind.strip_prefix(*wanted);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || wanted.is_empty())
        };
        only.is_empty() || only.iter().any(includes)
    };
    let edit = |edits: Vec<Value>| {
        let mut changes = Map::new();
        changes.insert(uri.clone(), json!(edits));
        json!({ "changes": changes })
    };
    let mut actions = Vec::new();
    if is_wanted("quickfix") {
        for fix in fixes(&view.snapshot, &within, &view.request, &state.documents) {
            actions.push(json!({
                "title": fix.title,
                "kind": "quickfix",
                "isPreferred": fix.is_automatic,
                "diagnostics": [view.finding(fix.finding, &state.documents)],
                "edit": edit(view.edits(&fix.edits)),
            }));
        }
    }
    // Only where it is asked for: otherwise it would be in every list.
    if !only.is_empty() && is_wanted("source.fixAll") {
        let repaired = automatic_fixes(&view.snapshot, &view.request, &state.documents);
        if let Some(change) = repaired {
            actions.push(json!({
                "title": "Make all safe repairs",
                "kind": "source.fixAll.duologue",
                "edit": edit(view.edits(&[change])),
            }));
        }
    }
    Some(json!(actions))
}

fn reformatted(state: &mut State<'_>, asked: &Value) -> Result<Value, String> {
    let path = params::uri(asked).and_then(|uri| state.opened(uri));
    let Some(view) = path.and_then(|path| state.view(&path)) else {
        return Ok(json!([]));
    };
    match formatted(&view.snapshot) {
        Ok(None) => Ok(json!([])),
        Ok(Some(edit)) => Ok(json!(view.edits(&[edit]))),
        Err(_) => Err("the file has syntax errors: repair them first".to_owned()),
    }
}
