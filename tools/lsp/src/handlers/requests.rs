//! Requests about one text that change nothing.

use super::{at, view};
use crate::answer::{
    Completion, Item, ItemKind, Lines, SemanticKind, complete, definition, folds, highlights,
    hints, hover, import, name_at, outline, protocol_at, references, selections, semantic_tokens,
    type_definitions,
};
use crate::convert::{View, range_in, uri_of};
use crate::state::State;
use duologue::compile::Files;
use duologue::dual;
use duologue::files::has_protocol_extension;
use duologue::protocol::{Referent, StateId};
use duologue_site::picture;
use gen_lsp_types::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The most entries of a folder that are proposed.
const ENTRIES: usize = 500;
/// The most symbols of a workspace that are returned.
const SYMBOLS: usize = 1000;

pub fn hovered(state: &mut State<'_>, asked: &HoverParams) -> Option<Hover> {
    let (view, offset) = at(state, &asked.text_document_position_params)?;
    let found = hover(&view.snapshot, offset, &view.request.options)?;
    let text = MarkupContent::new(MarkupKind::Markdown, found.text);
    Some(Hover::new(text.into(), Some(view.span_range(found.span))))
}

pub fn defined(state: &mut State<'_>, asked: &DefinitionParams) -> Option<DefinitionResponse> {
    let (view, offset) = at(state, &asked.text_document_position_params)?;
    let (_, declared) = definition(&view.snapshot, offset)?;
    let found = view.location(declared, &state.documents);
    Some(Definition::Location(found).into())
}

/// How many files that may use a name are compiled at once.
const USERS: usize = 64;

pub fn typed(
    state: &mut State<'_>,
    asked: &TypeDefinitionParams,
) -> Option<TypeDefinitionResponse> {
    let (view, offset) = at(state, &asked.text_document_position_params)?;
    let found = type_definitions(&view.snapshot, offset).into_iter();
    let found = found.map(|span| view.location(span, &state.documents));
    Some(Definition::LocationList(found.collect()).into())
}

/// The imports of a text, each with the file that it leads to.
pub fn linked(state: &mut State<'_>, asked: &DocumentLinkParams) -> Option<Vec<DocumentLink>> {
    let view = view(state, &asked.text_document)?;
    let program = view.snapshot.program();
    let names = program.uses.in_source(view.snapshot.source);
    let links = names.filter_map(|found| {
        let Referent::Import(Some(file)) = found.referent else {
            return None;
        };
        let target = view.uri(program.file(file).source, &state.documents);
        let range = view.span_range(found.span);
        Some(DocumentLink::new(range, Some(target), None, None))
    });
    Some(links.collect())
}

/// What is wrong with a text, for a client that asks for it.
pub fn diagnosed(
    state: &mut State<'_>,
    asked: &DocumentDiagnosticParams,
) -> DocumentDiagnosticReport {
    let view = view(state, &asked.text_document);
    let found = view.map(|view| view.findings(&state.documents));
    let report = FullDocumentDiagnosticReport::new(None, found.unwrap_or_default());
    RelatedFullDocumentDiagnosticReport::new(None, report).into()
}

pub fn referenced(state: &mut State<'_>, asked: &ReferenceParams) -> Option<Vec<Location>> {
    let (view, offset) = at(state, &asked.text_document_position_params)?;
    let with_declaration = asked.context.include_declaration;
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
    let mut seen = BTreeSet::new();
    // What several parts import is in each of them.
    locations.retain(|at| seen.insert((at.uri.0.clone(), at.range.start, at.range.end)));
    Some(locations)
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

pub fn highlighted(
    state: &mut State<'_>,
    asked: &DocumentHighlightParams,
) -> Option<Vec<DocumentHighlight>> {
    let (view, offset) = at(state, &asked.text_document_position_params)?;
    let found = highlights(&view.snapshot, offset).into_iter().map(|found| {
        let kind = match found.is_declaration {
            true => DocumentHighlightKind::Write,
            false => DocumentHighlightKind::Read,
        };
        DocumentHighlight::new(view.span_range(found.span), Some(kind))
    });
    Some(found.collect())
}

pub fn completed(state: &mut State<'_>, asked: &CompletionParams) -> Option<CompletionResponse> {
    let (view, offset) = at(state, &asked.text_document_position_params)?;
    let own = view.path(view.snapshot.source);
    let folders: Vec<_> = std::iter::once(own.parent().map(Path::to_path_buf))
        .flatten()
        .chain(view.request.import_dirs.iter().cloned())
        .collect();
    let paths = |start: &str| entries(&folders, start, &own);
    let path = state.path(&asked.text_document_position_params.text_document.uri);
    let mut is_incomplete = false;
    let mut elsewhere = |is_wanted: &dyn Fn(ItemKind, &str) -> bool| {
        let found = state.elsewhere(&path, is_wanted);
        // More of them may have what is typed next.
        is_incomplete = !found.is_empty();
        found
    };
    let items = complete(&view.snapshot, offset, &paths, &mut elsewhere);
    let items = items.into_iter().map(|item| proposal(&view, item));
    let items = items.collect();
    let list = CompletionList {
        is_incomplete,
        items,
        ..CompletionList::default()
    };
    Some(list.into())
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

fn proposal(view: &View, item: Completion) -> CompletionItem {
    let edit = TextEdit::new(view.range(&item.replaced), item.text.clone());
    let import = item.import.map(|path| import(view.snapshot.text(), &path));
    CompletionItem {
        additional_text_edits: import.map(|edit| view.edits(&[edit])),
        label: item.text.clone(),
        kind: Some(item.kind),
        detail: Some(item.detail),
        filter_text: Some(item.text),
        text_edit: Some(edit.into()),
        ..CompletionItem::default()
    }
}

pub fn symbol_kind(kind: ItemKind) -> SymbolKind {
    match kind {
        ItemKind::Alias | ItemKind::ExternType => SymbolKind::Class,
        ItemKind::Struct => SymbolKind::Struct,
        ItemKind::Enum => SymbolKind::Enum,
        ItemKind::ExternBound => SymbolKind::Interface,
        ItemKind::Instance | ItemKind::Protocol => SymbolKind::Module,
        ItemKind::State => SymbolKind::Property,
        ItemKind::Message => SymbolKind::Method,
        ItemKind::Field => SymbolKind::Field,
        ItemKind::Variant => SymbolKind::EnumMember,
    }
}

#[allow(deprecated)]
fn symbol(view: &View, item: &Item) -> DocumentSymbol {
    DocumentSymbol {
        name: item.name.clone(),
        kind: symbol_kind(item.kind),
        range: view.range(&item.at),
        selection_range: view.range(&item.name_at),
        children: Some(
            item.children
                .iter()
                .map(|item| symbol(view, item))
                .collect(),
        ),
        detail: None,
        tags: None,
        deprecated: None,
    }
}

pub fn symbols(
    state: &mut State<'_>,
    asked: &DocumentSymbolParams,
) -> Option<DocumentSymbolResponse> {
    let view = view(state, &asked.text_document)?;
    let items = view.snapshot.outline().iter();
    let found: Vec<_> = items.map(|item| symbol(&view, item)).collect();
    Some(found.into())
}

/// The declarations of the workspace whose names contain the query, those that are in no other first. Only files with such a name are read.
pub fn workspace_symbols(
    state: &mut State<'_>,
    asked: &WorkspaceSymbolParams,
) -> Option<WorkspaceSymbolResponse> {
    let query = asked.query.to_lowercase();
    let (mut found, mut inner) = (Vec::new(), Vec::new());
    let all = state.workspace(&[]).all();
    for (path, _) in all.filter(|(_, heads)| heads.names.contains(&query)) {
        let Ok(bytes) = state.documents.read(path) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes);
        let lines = Lines::of(&text);
        let uri = uri_of(path, &state.documents);
        let items = outline(&text);
        let mut open: Vec<(&Item, String)> =
            items.iter().map(|item| (item, String::new())).collect();
        open.reverse();
        while let Some((item, within)) = open.pop() {
            let name = match within.is_empty() {
                true => item.name.clone(),
                false => format!("{within}/{}", item.name),
            };
            let children = item.children.iter().rev();
            open.extend(children.map(|child| (child, name.clone())));
            let list = match within.is_empty() {
                true => &mut found,
                false => &mut inner,
            };
            if list.len() < SYMBOLS && item.name.to_lowercase().contains(&query) {
                let range = range_in(&text, &lines, &item.name_at, state.encoding);
                list.push(WorkspaceSymbol {
                    location: Location::new(uri.clone(), range).into(),
                    base_symbol_information: BaseSymbolInformation {
                        kind: symbol_kind(item.kind),
                        name: item.name.clone(),
                        tags: None,
                        container_name: (!within.is_empty()).then_some(within),
                    },
                    data: None,
                });
            }
        }
        if found.len() >= SYMBOLS {
            break;
        }
    }
    found.extend(inner);
    found.truncate(SYMBOLS);
    Some(found.into())
}

pub fn folded(state: &mut State<'_>, asked: &FoldingRangeParams) -> Option<Vec<FoldingRange>> {
    let view = view(state, &asked.text_document)?;
    let found = folds(view.snapshot.text()).into_iter().filter_map(|fold| {
        let [start, end] = [fold.at.start, fold.at.end].map(|offset| view.place(offset).line);
        // The line of the closing bracket stays visible.
        let is_region = fold.kind == FoldingRangeKind::Region;
        let end_line = end.saturating_sub(is_region.into());
        (end_line > start).then(|| FoldingRange {
            start_line: start,
            end_line,
            kind: Some(fold.kind),
            ..FoldingRange::default()
        })
    });
    Some(found.collect())
}

pub fn selected(
    state: &mut State<'_>,
    asked: &SelectionRangeParams,
) -> Option<Vec<SelectionRange>> {
    let view = view(state, &asked.text_document)?;
    let places = asked.positions.iter().take(1000);
    let offsets: Vec<usize> = places.map(|place| view.offset(*place)).collect();
    let found = selections(view.snapshot.text(), &offsets).into_iter();
    let chains = found.filter_map(|ranges| {
        ranges.iter().rev().fold(None, |parent, at| {
            let parent = parent.map(Box::new);
            Some(SelectionRange::new(view.range(at), parent))
        })
    });
    Some(chains.collect())
}

pub fn colored(
    state: &mut State<'_>,
    of: &TextDocumentIdentifier,
    within: Option<Range>,
) -> Option<SemanticTokens> {
    let view = view(state, of)?;
    let whole = 0..view.snapshot.text().len();
    let within = within.map_or(whole, |range| view.bytes(range));
    let mut data = Vec::new();
    let mut last = Position::default();
    for token in semantic_tokens(&view.snapshot, &within) {
        let [start, end] = [token.at.start, token.at.end].map(|offset| view.place(offset));
        let delta_line = start.line - last.line;
        data.push(SemanticToken {
            delta_line,
            delta_start: match delta_line {
                0 => start.character - last.character,
                _ => start.character,
            },
            length: end.character - start.character,
            token_type: token.kind as u32,
            token_modifiers_bitset: u32::from(token.is_declaration),
        });
        last = start;
    }
    Some(SemanticTokens::new(None, data))
}

/// The names of the meanings of tokens.
pub fn legend() -> Value {
    json!({ "tokenTypes": SemanticKind::ALL, "tokenModifiers": ["declaration"] })
}

pub fn hinted(state: &mut State<'_>, asked: &InlayHintParams) -> Option<Vec<InlayHint>> {
    let view = view(state, &asked.text_document)?;
    let within = view.bytes(asked.range);
    let found = hints(&view.snapshot, &within).into_iter();
    let found = found.map(|hint| {
        let (at, tooltip) = (view.place(hint.at), Some(hint.tooltip.into()));
        InlayHint::new(
            at,
            hint.text.into(),
            None,
            None,
            tooltip,
            Some(true),
            None,
            None,
        )
    });
    Some(found.collect())
}

/// The text of the file from the server's side.
pub fn turned(state: &mut State<'_>, asked: &DocumentSymbolParams) -> Option<Value> {
    let view = view(state, &asked.text_document)?;
    let file = view.snapshot.file()?;
    let sources = &view.snapshot.compilation.sources;
    Some(json!({ "text": dual::file(view.snapshot.program(), sources, file) }))
}

/// The protocol at a position as a picture. Of a large one, the surroundings of the state at the position.
pub fn drawn(state: &mut State<'_>, asked: &TextDocumentPositionParams) -> Option<Value> {
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
        let contains = |id: &StateId| protocol.state(*id).span.range().contains(&offset);
        let center = states.find(contains).unwrap_or(StateId::new(0));
        picture::surroundings(protocol, sources, center)
    });
    let layout = picture::Layout::of(&picture);
    Some(json!({
        "name": picture.name,
        "summary": picture.summary,
        "svg": picture::svg(&picture, &layout),
    }))
}
