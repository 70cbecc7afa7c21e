//! What the server can do.

use super::requests::legend;
use crate::answer::Encoding;
use serde_json::{Value, json};

/// The answer to `initialize`.
pub fn of(encoding: Encoding) -> Value {
    let encoding = match encoding {
        Encoding::Utf8 => "utf-8",
        Encoding::Utf16 => "utf-16",
    };
    json!({
        "serverInfo": { "name": "duologue", "version": env!("CARGO_PKG_VERSION") },
        "capabilities": {
            "positionEncoding": encoding,
            "textDocumentSync": { "openClose": true, "change": 2, "save": true },
            "hoverProvider": true,
            "completionProvider": { "triggerCharacters": [":", ">", "(", "\"", "/", "[", "{", ","] },
            "definitionProvider": true,
            "referencesProvider": true,
            "documentHighlightProvider": true,
            "renameProvider": { "prepareProvider": true },
            "codeActionProvider": { "codeActionKinds": ["quickfix", "source.fixAll"] },
            "codeLensProvider": { "resolveProvider": false },
            "documentFormattingProvider": true,
            "documentSymbolProvider": true,
            "workspaceSymbolProvider": true,
            "foldingRangeProvider": true,
            "selectionRangeProvider": true,
            "semanticTokensProvider": { "legend": legend(), "full": true, "range": true },
            "inlayHintProvider": true,
            "workspace": { "workspaceFolders": { "supported": true, "changeNotifications": true } },
            "experimental": { "duologueDual": true, "duologuePicture": true },
        },
    })
}
