//! Requests about one text that change nothing.

use super::params;
use crate::answer::{
    Completion, CompletionKind, FoldKind, Item, ItemKind, SemanticKind, complete, definition,
    folds, highlights, hints, hover, name_at, outline, protocol_at, references, selections,
    semantic_tokens,
};
use crate::convert::{View, position, uri_of};
use crate::state::State;
use duologue::dual;
use duologue::files::has_protocol_extension;
use duologue::protocol::Referent;
use duologue_site::picture;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The most entries of a folder that are proposed.
const ENTRIES: usize = 500;
/// The most symbols of a workspace that are returned.
const SYMBOLS: usize = 1000;

/// The text of a request, and the byte of its position.
pub fn at(state: &mut State<'_>, asked: &Value) -> Option<(Rc<View>, usize)> {
    let path = state.opened(params::uri(asked)?)?;
    let place = params::place(asked.get("position")?)?;
    let view = state.view(&path)?;
    let offset = view.offset(place);
    Some((view, offset))
}

fn view(state: &mut State<'_>, asked: &Value) -> Option<Rc<View>> {
    let path = state.opened(params::uri(asked)?)?;
    state.view(&path)
}

/// The answer to a request; `None` if it is unknown. Whatever is asked about a text that is not open has an empty answer.
pub fn answer(state: &mut State<'_>, method: &str, asked: &Value) -> Option<Value> {
    let found = match method {
        "textDocument/hover" => hovered(state, asked),
        "textDocument/definition" => defined(state, asked),
        "textDocument/references" => Some(referenced(state, asked)),
        "textDocument/documentHighlight" => highlighted(state, asked),
        "textDocument/completion" => completed(state, asked),
        "textDocument/documentSymbol" => symbols(state, asked),
        "workspace/symbol" => Some(workspace_symbols(state, asked)),
        "textDocument/foldingRange" => folded(state, asked),
        "textDocument/selectionRange" => selected(state, asked),
        "textDocument/semanticTokens/full" | "textDocument/semanticTokens/range" => {
            colored(state, asked)
        }
        "textDocument/inlayHint" => hinted(state, asked),
        "duologue/dual" => turned(state, asked),
        "duologue/picture" => drawn(state, asked),
        _ => return None,
    };
    Some(found.unwrap_or(Value::Null))
}

fn hovered(state: &mut State<'_>, asked: &Value) -> Option<Value> {
    let (view, offset) = at(state, asked)?;
    let found = hover(&view.snapshot, offset, &view.request.options)?;
    Some(json!({
        "contents": { "kind": "markdown", "value": found.text },
        "range": view.span_range(found.span),
    }))
}

fn defined(state: &mut State<'_>, asked: &Value) -> Option<Value> {
    let (view, offset) = at(state, asked)?;
    let (_, declared) = definition(&view.snapshot, offset)?;
    Some(view.location(declared, &state.documents))
}

/// How many files that may use a name are compiled at once.
const USERS: usize = 64;

fn referenced(state: &mut State<'_>, asked: &Value) -> Value {
    let find = |state: &mut State<'_>| {
        let (view, offset) = at(state, asked)?;
        let with_declaration = params::is_true(asked, "/context/includeDeclaration");
        let mut locations = Vec::new();
        let mut add = |view: &View, offset: usize, state: &State<'_>| {
            let found = references(&view.snapshot, offset).into_iter();
            for found in found.filter(|found| with_declaration || !found.is_declaration) {
                locations.push(view.location(found.span, &state.documents));
            }
        };
        match declared(&view, offset, state)? {
            None => add(&view, offset, state),
            Some(declared) => {
                let users = state.users(&declared.path, &declared.name, None);
                // The file that declares the name is compiled in any case.
                let parts = users
                    .chunks(USERS)
                    .chain(users.is_empty().then_some(&[][..]));
                for part in parts {
                    let mut inputs = vec![declared.path.clone()];
                    inputs.extend_from_slice(part);
                    let view = state.compiled(inputs, false)?;
                    add(&view, declared.offset, state);
                }
            }
        }
        Some(locations)
    };
    let mut seen = BTreeSet::new();
    let mut found = find(state).unwrap_or_default();
    // What several parts import is in each of them.
    found.retain(|location| seen.insert(location.to_string()));
    json!(found)
}

/// Where a name is declared.
struct Declared {
    path: PathBuf,
    offset: usize,
    name: String,
}

/// Where the name at a position is declared; `Some(None)` if it is declared nowhere, and `None` if there is no name.
fn declared(view: &View, offset: usize, state: &State<'_>) -> Option<Option<Declared>> {
    let found = *name_at(&view.snapshot, offset)?;
    let is_import = matches!(found.referent, Referent::Import(_));
    let declared = definition(&view.snapshot, offset).filter(|_| !is_import);
    Some(declared.map(|(_, declared)| Declared {
        path: state.documents.identity_of(&view.path(declared.source)),
        offset: declared.start as usize,
        name: view.snapshot.compilation.sources.slice(declared).to_owned(),
    }))
}

/// The text that declares the name at a position, checked with every file that contains it or its new name, and where the name is
/// declared. If it is declared nowhere, the text itself.
pub fn everywhere(
    state: &mut State<'_>,
    view: Rc<View>,
    offset: usize,
    new: &str,
) -> Option<(Rc<View>, usize)> {
    let Some(declared) = declared(&view, offset, state)? else {
        return Some((view, offset));
    };
    let users = state.users(&declared.path, &declared.name, Some(new));
    let inputs = std::iter::once(declared.path).chain(users);
    let whole = state.compiled(inputs.collect(), false)?;
    Some((Rc::new(whole), declared.offset))
}

fn highlighted(state: &mut State<'_>, asked: &Value) -> Option<Value> {
    let (view, offset) = at(state, asked)?;
    let found = highlights(&view.snapshot, offset).into_iter().map(|found| {
        let kind = if found.is_declaration { 3 } else { 2 };
        json!({ "range": view.span_range(found.span), "kind": kind })
    });
    Some(found.collect())
}

fn completed(state: &mut State<'_>, asked: &Value) -> Option<Value> {
    let (view, offset) = at(state, asked)?;
    let own = view.path(view.snapshot.source);
    let folders: Vec<_> = std::iter::once(own.parent().map(Path::to_path_buf))
        .flatten()
        .chain(view.request.import_dirs.iter().cloned())
        .collect();
    let paths = |start: &str| entries(&folders, start, &own);
    let items = complete(&view.snapshot, offset, &paths);
    let items: Vec<Value> = items.iter().map(|item| proposal(&view, item)).collect();
    Some(json!({ "isIncomplete": false, "items": items }))
}

/// The protocol files and folders in a folder that an import may name.
fn entries(folders: &[PathBuf], start: &str, own: &Path) -> Vec<String> {
    let mut found = BTreeSet::new();
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(folder.join(start)) else {
            continue;
        };
        let names = entries.flatten().filter_map(|entry| {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') || path == own {
                return None;
            }
            match path.is_dir() {
                true => Some(name + "/"),
                false => has_protocol_extension(&path).then_some(name),
            }
        });
        found.extend(names.take(ENTRIES));
    }
    found.into_iter().take(ENTRIES).collect()
}

fn proposal(view: &View, item: &Completion) -> Value {
    let kind = match item.kind {
        CompletionKind::Keyword => 14,
        CompletionKind::Type => 22,
        CompletionKind::TypeParameter => 25,
        CompletionKind::Bound => 8,
        CompletionKind::Protocol => 7,
        CompletionKind::State => 6,
        CompletionKind::Message => 2,
        CompletionKind::Rule => 12,
        CompletionKind::Attribute => 10,
        CompletionKind::Unit => 11,
        CompletionKind::File => 17,
        CompletionKind::Folder => 19,
    };
    json!({
        "label": item.text,
        "kind": kind,
        "detail": item.detail,
        "filterText": item.text,
        "textEdit": { "range": view.range(&item.replaced), "newText": item.text },
    })
}

fn symbol_kind(kind: ItemKind) -> u8 {
    match kind {
        ItemKind::Alias | ItemKind::ExternType => 5,
        ItemKind::Struct => 23,
        ItemKind::Enum => 10,
        ItemKind::ExternBound => 11,
        ItemKind::Instance | ItemKind::Protocol => 2,
        ItemKind::State => 7,
        ItemKind::Message => 6,
        ItemKind::Field => 8,
        ItemKind::Variant => 22,
    }
}

fn symbol(view: &View, item: &Item) -> Value {
    let children: Vec<Value> = item
        .children
        .iter()
        .map(|item| symbol(view, item))
        .collect();
    json!({
        "name": item.name,
        "kind": symbol_kind(item.kind),
        "range": view.range(&item.at),
        "selectionRange": view.range(&item.name_at),
        "children": children,
    })
}

fn symbols(state: &mut State<'_>, asked: &Value) -> Option<Value> {
    let view = view(state, asked)?;
    let items = view.snapshot.outline();
    Some(items.iter().map(|item| symbol(&view, item)).collect())
}

/// The protocols of the workspace whose names contain the query. Only files with such a protocol are read.
fn workspace_symbols(state: &mut State<'_>, asked: &Value) -> Value {
    use duologue::compile::Files;
    let query = params::text(asked, "/query")
        .unwrap_or_default()
        .to_lowercase();
    let matches = |name: &str| name.to_lowercase().contains(&query);
    let mut found = Vec::new();
    for (path, heads) in state.workspace(&[]).all() {
        if found.len() >= SYMBOLS || !heads.protocols.iter().any(|name| matches(name)) {
            continue;
        }
        let Ok(bytes) = state.documents.read(path) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes);
        let lines = crate::answer::Lines::of(&text);
        for item in outline(&text) {
            let is_protocol = matches!(item.kind, ItemKind::Protocol | ItemKind::Instance);
            if is_protocol && matches(&item.name) {
                let range = crate::convert::range_in(&text, &lines, &item.name_at, state.encoding);
                let uri = uri_of(path, &state.documents);
                found.push(json!({
                    "name": item.name,
                    "kind": symbol_kind(item.kind),
                    "location": { "uri": uri, "range": range },
                }));
            }
        }
    }
    json!(found)
}

fn folded(state: &mut State<'_>, asked: &Value) -> Option<Value> {
    let view = view(state, asked)?;
    let mut found = Vec::new();
    for fold in folds(view.snapshot.text()) {
        let [start, end] = [fold.at.start, fold.at.end].map(|offset| view.place(offset));
        // The line of the closing bracket stays visible.
        let (kind, last) = match fold.kind {
            FoldKind::Comment => ("comment", end.line),
            FoldKind::Imports => ("imports", end.line),
            FoldKind::Region => ("region", end.line.saturating_sub(1)),
        };
        if last > start.line {
            found.push(json!({ "startLine": start.line, "endLine": last, "kind": kind }));
        }
    }
    Some(json!(found))
}

fn selected(state: &mut State<'_>, asked: &Value) -> Option<Value> {
    let view = view(state, asked)?;
    let places = params::list(asked, "/positions").iter().take(1000);
    let offsets: Vec<usize> = places
        .map(|place| params::place(place).map_or(0, |place| view.offset(place)))
        .collect();
    let chain = |ranges: Vec<Range<usize>>| {
        ranges.iter().rev().fold(Value::Null, |outer, at| {
            let mut range = json!({ "range": view.range(at) });
            if !outer.is_null() {
                range["parent"] = outer;
            }
            range
        })
    };
    let found = selections(view.snapshot.text(), &offsets).into_iter();
    Some(found.map(chain).collect())
}

fn colored(state: &mut State<'_>, asked: &Value) -> Option<Value> {
    let view = view(state, asked)?;
    let text = view.snapshot.text();
    let within = asked.get("range").and_then(params::range);
    let within = within.map_or(0..text.len(), |range| view.bytes(range));
    let mut data: Vec<u32> = Vec::new();
    let mut last = crate::answer::Place::default();
    for token in semantic_tokens(&view.snapshot, &within) {
        let [start, end] = [token.at.start, token.at.end].map(|offset| view.place(offset));
        let lines = start.line - last.line;
        let columns = match lines {
            0 => start.column - last.column,
            _ => start.column,
        };
        let length = end.column - start.column;
        let kind = token.kind as u32;
        data.extend([
            lines,
            columns,
            length,
            kind,
            u32::from(token.is_declaration),
        ]);
        last = start;
    }
    Some(json!({ "data": data }))
}

/// The names of the meanings of tokens.
pub fn legend() -> Value {
    json!({ "tokenTypes": SemanticKind::LEGEND, "tokenModifiers": ["declaration"] })
}

fn hinted(state: &mut State<'_>, asked: &Value) -> Option<Value> {
    let view = view(state, asked)?;
    let within = asked.get("range").and_then(params::range);
    let within = within.map_or(0..view.snapshot.text().len(), |range| view.bytes(range));
    let found = hints(&view.snapshot, &within).into_iter().map(|hint| {
        json!({
            "position": position(view.place(hint.at)),
            "label": hint.text,
            "tooltip": hint.tooltip,
            "paddingLeft": true,
        })
    });
    Some(found.collect())
}

/// The text of the file from the server's side.
fn turned(state: &mut State<'_>, asked: &Value) -> Option<Value> {
    let view = view(state, asked)?;
    let file = view.snapshot.file()?;
    let sources = &view.snapshot.compilation.sources;
    Some(json!({ "text": dual::file(view.snapshot.program(), sources, file) }))
}

/// The protocol at a position as a picture. Of a large one, the surroundings of the state at the position.
fn drawn(state: &mut State<'_>, asked: &Value) -> Option<Value> {
    let (view, offset) = at(state, asked)?;
    let program = view.snapshot.program();
    let id = protocol_at(&view.snapshot, offset)?;
    let protocol = program.protocol(id);
    if protocol.states.is_empty() {
        return None;
    }
    let sources = &view.snapshot.compilation.sources;
    let picture = picture::whole(protocol, sources).unwrap_or_else(|_| {
        let mut states = protocol.state_ids();
        let contains =
            |id: &duologue::protocol::StateId| protocol.state(*id).span.range().contains(&offset);
        let start = duologue::protocol::StateId::new(0);
        let center = states.find(contains).unwrap_or(start);
        picture::surroundings(protocol, sources, center)
    });
    let layout = picture::Layout::of(&picture);
    Some(json!({
        "name": picture.name,
        "summary": picture.summary,
        "svg": picture::svg(&picture, &layout),
    }))
}
