//! What the server can do, and what it uses of what the client can do.

use super::requests::legend;
use crate::answer::Encoding;
use crate::uri;
use gen_lsp_types::Uri;
use serde_json::{Value, json};
use std::path::PathBuf;

/// What the client can do. A field of the wrong type counts as missing: nothing else would work otherwise.
#[derive(Default)]
pub struct Client {
    pub counts_bytes: bool,
    pub can_watch: bool,
    pub can_refresh_lenses: bool,
    pub can_refresh_hints: bool,
    pub can_refresh_findings: bool,
    /// Whether it asks for findings, so that none have to be sent.
    pub asks_for_findings: bool,
}

impl Client {
    /// From the parameters of `initialize`.
    pub fn of(asked: &Value) -> Client {
        let all = &asked["capabilities"];
        let (general, workspace) = (&all["general"], &all["workspace"]);
        let encodings = general["positionEncodings"].as_array();
        let is_true = |value: &Value| value.as_bool() == Some(true);
        Client {
            counts_bytes: encodings.is_some_and(|all| all.contains(&json!("utf-8"))),
            can_watch: is_true(&workspace["didChangeWatchedFiles"]["dynamicRegistration"]),
            can_refresh_lenses: is_true(&workspace["codeLens"]["refreshSupport"]),
            can_refresh_hints: is_true(&workspace["inlayHint"]["refreshSupport"]),
            can_refresh_findings: is_true(&workspace["diagnostics"]["refreshSupport"]),
            asks_for_findings: all["textDocument"]["diagnostic"].is_object(),
        }
    }
}

/// The folders of the workspace, from the parameters of `initialize`.
pub fn folders(asked: &Value) -> Vec<PathBuf> {
    let folders = asked["workspaceFolders"].as_array();
    let folders = folders.into_iter().flatten().map(|folder| &folder["uri"]);
    let path = |uri: &Value| Some(uri::path_of(&Uri(uri.as_str()?.to_owned())));
    let found: Vec<PathBuf> = folders.filter_map(path).collect();
    match found.is_empty() {
        true => path(&asked["rootUri"]).into_iter().collect(),
        false => found,
    }
}

/// The answer to `initialize`.
pub fn of(encoding: Encoding, client: &Client) -> Value {
    let encoding = match encoding {
        Encoding::Utf8 => "utf-8",
        Encoding::Utf16 => "utf-16",
    };
    let mut answer = json!({
        "serverInfo": { "name": "duologue", "version": env!("CARGO_PKG_VERSION") },
        "capabilities": {
            "positionEncoding": encoding,
            "textDocumentSync": { "openClose": true, "change": 2, "save": true },
            "hoverProvider": true,
            "completionProvider": { "triggerCharacters": [":", ">", "(", "\"", "/", "[", "{", ","] },
            "definitionProvider": true,
            "typeDefinitionProvider": true,
            "callHierarchyProvider": true,
            "documentLinkProvider": { "resolveProvider": false },
            "referencesProvider": true,
            "documentHighlightProvider": true,
            "renameProvider": { "prepareProvider": true },
            "codeActionProvider": { "codeActionKinds": ["quickfix", "source.fixAll", "source.organizeImports"] },
            "codeLensProvider": { "resolveProvider": false },
            "documentFormattingProvider": true,
            "documentRangeFormattingProvider": true,
            "documentSymbolProvider": true,
            "workspaceSymbolProvider": true,
            "foldingRangeProvider": true,
            "selectionRangeProvider": true,
            "semanticTokensProvider": { "legend": legend(), "full": true, "range": true },
            "inlayHintProvider": true,
            "workspace": { "workspaceFolders": { "supported": true, "changeNotifications": true } },
            "experimental": { "duologueDual": true, "duologuePicture": true },
        },
    });
    if client.asks_for_findings {
        let options = json!({ "interFileDependencies": true, "workspaceDiagnostics": true });
        answer["capabilities"]["diagnosticProvider"] = options;
    }
    answer
}
