//! What the server answers to requests.

pub mod capabilities;
mod edits;
mod hierarchy;
mod requests;

use crate::convert::View;
use crate::state::State;
use gen_lsp_types::*;
use lsp_server::ErrorCode;
use serde_json::Value;
use std::rc::Rc;

macro_rules! own_requests {
    ($($(#[$doc:meta])* $name:ident $method:literal $params:ty;)*) => {$(
        $(#[$doc])*
        enum $name {}

        impl Request for $name {
            type Params = $params;
            type Result = Option<Value>;
            const METHOD: LspRequestMethod<'static> = LspRequestMethod::Custom($method);
            const MESSAGE_DIRECTION: MessageDirection = MessageDirection::ClientToServer;
        }
    )*};
}

own_requests! {
    /// A file from the server's side.
    DualRequest "duologue/dual" DocumentSymbolParams;
    /// A protocol as a picture.
    PictureRequest "duologue/picture" TextDocumentPositionParams;
}

macro_rules! answers {
    ($method:ident, $params:ident: $($request:ident => $run:expr,)*) => {$(
        if $method == $request::METHOD.as_str() {
            return answered::<$request>($params, $run);
        }
    )*};
}

/// The answer to a request, or why it is refused.
pub fn answer(
    state: &mut State<'_>,
    method: &str,
    params: Value,
) -> Result<Value, (ErrorCode, String)> {
    answers! { method, params:
        HoverRequest => |asked| Ok(requests::hovered(state, &asked)),
        DefinitionRequest => |asked| Ok(requests::defined(state, &asked)),
        TypeDefinitionRequest => |asked| Ok(requests::typed(state, &asked)),
        DocumentLinkRequest => |asked| Ok(requests::linked(state, &asked)),
        DocumentDiagnosticRequest => |asked| Ok(requests::diagnosed(state, &asked)),
        CallHierarchyPrepareRequest => |asked| Ok(hierarchy::prepared(state, &asked)),
        CallHierarchyIncomingCallsRequest => |asked| Ok(hierarchy::incoming(state, &asked)),
        CallHierarchyOutgoingCallsRequest => |asked| Ok(hierarchy::outgoing(state, &asked)),
        ReferencesRequest => |asked| Ok(requests::referenced(state, &asked)),
        DocumentHighlightRequest => |asked| Ok(requests::highlighted(state, &asked)),
        CompletionRequest => |asked| Ok(requests::completed(state, &asked)),
        DocumentSymbolRequest => |asked| Ok(requests::symbols(state, &asked)),
        WorkspaceSymbolRequest => |asked| Ok(requests::workspace_symbols(state, &asked)),
        FoldingRangeRequest => |asked| Ok(requests::folded(state, &asked)),
        SelectionRangeRequest => |asked| Ok(requests::selected(state, &asked)),
        SemanticTokensRequest => |asked| Ok(requests::colored(state, &asked.text_document, None)),
        SemanticTokensRangeRequest => |asked| {
            Ok(requests::colored(state, &asked.text_document, Some(asked.range)))
        },
        InlayHintRequest => |asked| Ok(requests::hinted(state, &asked)),
        DualRequest => |asked| Ok(requests::turned(state, &asked)),
        PictureRequest => |asked| Ok(requests::drawn(state, &asked)),
        PrepareRenameRequest => |asked| edits::prepared(state, &asked),
        RenameRequest => |asked| edits::renamed(state, &asked),
        CodeActionRequest => |asked| Ok(edits::actions(state, asked)),
        DocumentFormattingRequest => |asked| {
            edits::reformatted(state, &asked.text_document, None)
        },
        DocumentRangeFormattingRequest => |asked| {
            edits::reformatted(state, &asked.text_document, Some(asked.range))
        },
    }
    let words = format!("there is no method `{method}`");
    Err((ErrorCode::MethodNotFound, words))
}

fn answered<R: Request>(
    params: Value,
    run: impl FnOnce(R::Params) -> Result<R::Result, String>,
) -> Result<Value, (ErrorCode, String)> {
    let params = serde_json::from_value(params)
        .map_err(|error| (ErrorCode::InvalidParams, error.to_string()))?;
    let found = run(params).map_err(|words| (ErrorCode::RequestFailed, words))?;
    serde_json::to_value(found).map_err(|error| (ErrorCode::InternalError, error.to_string()))
}

fn view(state: &mut State<'_>, of: &TextDocumentIdentifier) -> Option<Rc<View>> {
    let path = state.path(&of.uri);
    state.view(&path)
}

/// The text of a request, and the byte of its position.
fn at(state: &mut State<'_>, asked: &TextDocumentPositionParams) -> Option<(Rc<View>, usize)> {
    let view = view(state, &asked.text_document)?;
    let offset = view.offset(asked.position);
    Some((view, offset))
}
