//! What the server sends has the shapes of the specification: each answer is read into the type that was generated from it, and is the same
//! after it is written again, so no field is misspelled or missing.

use super::client::{Client, folder, uri};
use gen_lsp_types::{
    CodeAction, CodeLens, CompletionList, DocumentHighlight, DocumentSymbol, FoldingRange, Hover,
    InitializeResult, InlayHint, Location, PublishDiagnosticsParams, SelectionRange,
    SemanticTokens, SymbolInformation, TextEdit, WorkspaceEdit,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const TEXT: &str = include_str!("../../../protocols/bank.proto");

fn fits<T: DeserializeOwned + Serialize>(what: &str, value: &Value) {
    assert!(!value.is_null() && *value != json!([]), "{what} is empty");
    let typed: T = serde_json::from_value(value.clone())
        .unwrap_or_else(|error| panic!("{what}: {error}\n{value}"));
    let again = serde_json::to_value(typed).expect("it can be written");
    assert_eq!(again, *value, "{what}");
}

#[test]
fn answers_have_the_shapes_of_the_specification() {
    let folder = folder("shapes");
    let mut client = Client::start(&folder);
    fits::<InitializeResult>("initialize", &client.initialize(&folder, json!({})));
    let uri = uri(&folder.join("bank.proto"));
    let text = TEXT.replace("quit -> !", "quit -> !; stop -> conected");
    client.did_open(&uri, &text.replace("; stop -> conected", ""));
    let place = json!({ "line": 18, "character": 6 });
    let whole =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let asked = json!({
        "textDocument": { "uri": uri }, "position": place, "positions": [place], "range": whole,
        "context": { "diagnostics": [], "includeDeclaration": true }, "newName": "online",
    });
    let mut ask = |method: &str| client.request(method, asked.clone());
    fits::<Hover>("hover", &ask("textDocument/hover"));
    fits::<Location>("definition", &ask("textDocument/definition"));
    fits::<Vec<Location>>("references", &ask("textDocument/references"));
    fits::<Vec<DocumentHighlight>>("highlights", &ask("textDocument/documentHighlight"));
    fits::<Vec<DocumentSymbol>>("symbols", &ask("textDocument/documentSymbol"));
    fits::<Vec<FoldingRange>>("folds", &ask("textDocument/foldingRange"));
    fits::<Vec<SelectionRange>>("selections", &ask("textDocument/selectionRange"));
    fits::<SemanticTokens>("tokens", &ask("textDocument/semanticTokens/full"));
    fits::<SemanticTokens>("tokens", &ask("textDocument/semanticTokens/range"));
    fits::<Vec<InlayHint>>("hints", &ask("textDocument/inlayHint"));
    fits::<WorkspaceEdit>("rename", &ask("textDocument/rename"));
    let found = client.request("workspace/symbol", json!({ "query": "" }));
    fits::<Vec<SymbolInformation>>("workspace symbols", &found);
    client.did_change(&uri, 2, &text.replace("; stop", ", stop"));
    let published = client.wait("findings", |message| message["params"]["version"] == 2);
    fits::<PublishDiagnosticsParams>("findings", &published["params"]);
    fits::<Vec<CodeAction>>(
        "actions",
        &client.request("textDocument/codeAction", asked.clone()),
    );
    let mut at_arrow = asked.clone();
    at_arrow["position"] = json!({ "line": 9, "character": 60 });
    fits::<CompletionList>(
        "completion",
        &client.request("textDocument/completion", at_arrow),
    );
    client.did_change(&uri, 3, &TEXT.replace("quit -> !", "quit->!"));
    fits::<Vec<TextEdit>>(
        "formatting",
        &client.request("textDocument/formatting", asked),
    );

    let folder = super::editors::workspace("shapes-lens");
    let mut client = Client::open(&folder);
    let uri = super::client::uri(&folder.join("bank.proto"));
    client.did_open(&uri, TEXT);
    let lenses = client.request(
        "textDocument/codeLens",
        json!({ "textDocument": { "uri": uri } }),
    );
    fits::<Vec<CodeLens>>("lenses", &lenses);
}
