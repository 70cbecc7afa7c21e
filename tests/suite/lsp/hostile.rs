//! Messages that are malformed, in the wrong order, or about nothing; the session goes on.

use super::client::{Client, folder, uri};
use serde_json::{Value, json};

const TEXT: &str = "proto! p {\n    a:send {\n        m -> !\n    }\n}\n";

#[test]
fn malformed_messages_are_logged_and_the_session_goes_on() {
    let folder = folder("malformed");
    let mut client = Client::open(&folder);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep = format!("content-length: {}\r\n\r\n{deep}", deep.len());
    let long = format!("X: {}\r\n\r\n", "x".repeat(10_000));
    for bytes in [
        &b"Content-Length: 3\r\n\r\n{]}"[..],
        b"Content-Length: x\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 2\r\n\r\n{}",
        b"Content-Length: 4\r\n\r\nnull",
        b"Content-Length: 2\r\n\r\n\xff\xff",
        deep.as_bytes(),
        long.as_bytes(),
    ] {
        client.send_bytes(bytes);
        let logged = client.wait("log", |message| message["method"] == "window/logMessage");
        let words = logged["params"]["message"].as_str().expect("a text");
        assert!(words.starts_with("a message cannot be read: "), "{words}");
    }
    let unknown = client.response("textDocument/nothing", json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
    for params in [Value::Null, json!({})] {
        let missing = client.response("textDocument/hover", params);
        assert_eq!(missing["error"]["code"], -32602);
    }
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_message_that_is_too_large_ends_the_session_before_it_takes_memory() {
    for length in ["134217729", "99999999999999", "18446744073709551615"] {
        let mut client = Client::open(&folder("too-large"));
        client.send_bytes(format!("Content-Length: {length}\r\n\r\n").as_bytes());
        client.wait("log", |message| message.to_string().contains("128 MiB"));
        assert_eq!(client.exit_code(), Some(1));
    }
}

#[test]
fn a_session_begins_and_ends_as_agreed() {
    let folder = folder("order");
    let mut client = Client::start(&folder);
    let early = client.response("textDocument/hover", json!({}));
    assert_eq!(early["error"]["code"], -32002);
    client.initialize(&folder, json!({}));
    let again = client.response("initialize", json!({ "capabilities": {} }));
    assert_eq!(again["error"]["code"], -32600);
    client.request("shutdown", Value::Null);
    let late = client.response("textDocument/hover", json!({}));
    assert_eq!(late["error"]["code"], -32600);
    client.notify("exit", Value::Null);
    assert_eq!(client.exit_code(), Some(0));

    let mut client = Client::open(&folder);
    client.notify("exit", Value::Null);
    assert_eq!(client.exit_code(), Some(1));
    let mut client = Client::open(&folder);
    client.close_input();
    assert_eq!(client.exit_code(), Some(1));
}

#[test]
fn what_is_not_open_has_empty_answers() {
    let folder = folder("closed");
    let mut client = Client::open(&folder);
    let document = json!({ "uri": uri(&folder.join("none.proto")) });
    let place = json!({ "line": 0, "character": 0 });
    let asked = json!({
        "textDocument": document,
        "position": place,
        "positions": [place],
        "range": { "start": place, "end": place },
        "context": { "diagnostics": [], "includeDeclaration": true, "triggerKind": 1 },
        "newName": "x",
    });
    for method in METHODS {
        let found = client.request(method, asked.clone());
        let is_empty = found.is_null() || found == json!([]);
        assert!(is_empty, "{method}: {found}");
    }
    client.notify(
        "textDocument/didChange",
        json!({ "textDocument": document, "contentChanges": [{ "text": TEXT }] }),
    );
    client.notify("textDocument/didClose", json!({ "textDocument": document }));
    assert_eq!(client.end(), Some(0));
}

/// Every request about a text.
pub const METHODS: [&str; 20] = [
    "textDocument/hover",
    "textDocument/definition",
    "textDocument/typeDefinition",
    "textDocument/documentLink",
    "textDocument/prepareCallHierarchy",
    "textDocument/references",
    "textDocument/documentHighlight",
    "textDocument/completion",
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/selectionRange",
    "textDocument/semanticTokens/full",
    "textDocument/semanticTokens/range",
    "textDocument/inlayHint",
    "textDocument/prepareRename",
    "textDocument/rename",
    "textDocument/codeAction",
    "textDocument/codeLens",
    "duologue/dual",
    "duologue/picture",
];

#[test]
fn positions_outside_the_text_count_as_the_nearest_inside() {
    let folder = folder("outside");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("a.proto"));
    client.did_open(&uri, TEXT);
    let asked = |line: u64, character: u64| {
        let place = json!({ "line": line, "character": character });
        json!({
            "textDocument": { "uri": uri },
            "position": place,
            "positions": [place],
            "range": { "start": place, "end": { "line": 0, "character": 0 } },
            "context": { "diagnostics": [], "includeDeclaration": true, "triggerKind": 1 },
        })
    };
    for (outside, inside) in [
        ((0, 999), (0, 10)),
        ((2, 1 << 30), (2, 14)),
        ((99, 0), (5, 0)),
        ((4_294_967_295, 4_294_967_295), (5, 0)),
    ] {
        for method in METHODS.iter().filter(|method| !method.ends_with("ename")) {
            let found = client.request(method, asked(outside.0, outside.1));
            let expected = client.request(method, asked(inside.0, inside.1));
            assert_eq!(found, expected, "{method} at {outside:?}");
        }
    }
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_request_can_be_cancelled() {
    let folder = folder("cancelled");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("a.proto"));
    let states =
        (0..3000).map(|at| format!("    s{at}:send {{ m -> s{}, q -> ! }}\n", (at + 1) % 3000));
    client.did_open(
        &uri,
        &format!("proto! p {{\n{}}}\n", states.collect::<String>()),
    );
    // Each change makes the next hover compute everything again, so that the last request waits.
    let asked =
        json!({ "textDocument": { "uri": uri }, "position": { "line": 1, "character": 5 } });
    for version in 2..12 {
        client.notify(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": uri, "version": version },
                "contentChanges": [{ "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } }, "text": " " }],
            }),
        );
        client.ask("textDocument/hover", asked.clone());
    }
    let last = client.ask("textDocument/hover", asked);
    client.notify("$/cancelRequest", json!({ "id": last }));
    client.notify("$/cancelRequest", json!({ "id": "never" }));
    let answer = client.wait("answer", |message| message["id"] == json!(last));
    assert_eq!(answer["error"]["code"], -32800);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn only_the_newest_version_is_published_last() {
    let folder = folder("versions");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("a.proto"));
    client.did_open(&uri, TEXT);
    for version in 2..200 {
        client.did_change(&uri, version, &TEXT.replace("-> !", "-> b"));
    }
    client.did_change(&uri, 200, TEXT);
    assert_eq!(client.findings(&uri, 200), Vec::<Value>::new());
    let before = client.versions(&uri);
    assert!(
        before.is_sorted() && before.iter().all(|version| *version <= 200),
        "{before:?}"
    );
    // The answer to `shutdown` is the last message. The newest version may have been checked again with the files of the folder.
    client.request("shutdown", Value::Null);
    let after = client.versions(&uri);
    assert!(after.iter().all(|version| *version == 200), "{after:?}");
    client.notify("exit", Value::Null);
    assert_eq!(client.exit_code(), Some(0));
}

#[test]
fn brackets_in_very_many_others_have_few_selections() {
    const DEPTH: usize = 50_000;
    let folder = folder("selections");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("a.proto"));
    let text = format!("{}\n{}", "(".repeat(DEPTH), ")".repeat(DEPTH));
    client.did_open(&uri, &text);
    let found = client.request(
        "textDocument/selectionRange",
        json!({ "textDocument": { "uri": uri }, "positions": [{ "line": 1, "character": 0 }] }),
    );
    let mut outermost = &found[0];
    let mut levels = 1;
    while let Some(parent) = outermost.get("parent") {
        outermost = parent;
        levels += 1;
    }
    assert_eq!(levels, 64);
    let whole = json!({
        "start": { "line": 0, "character": 0 },
        "end": { "line": 1, "character": DEPTH },
    });
    assert_eq!(outermost["range"], whole);
    assert_eq!(client.end(), Some(0));
}
