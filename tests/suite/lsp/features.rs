//! Repairs of all fixtures, findings that a client asks for, and positions in bytes.

use super::client::{Client, edited, folder, uri, write};
use crate::support::repository;
use duologue::check::RULES;
use duologue_lsp::answer::{Encoding, Lines};
use gen_lsp_types::{InitializeResult, Position};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn whole(uri: &str) -> Value {
    let end = json!({ "line": 9999, "character": 0 });
    json!({
        "textDocument": { "uri": uri },
        "range": { "start": { "line": 0, "character": 0 }, "end": end },
        "context": { "diagnostics": [] },
    })
}

/// The texts of a list of values.
fn texts<'a>(list: &'a Value, pointer: &str) -> Vec<&'a str> {
    let list = list.as_array().expect("a list").iter();
    let texts = list.map(|one| one.pointer(pointer).and_then(Value::as_str));
    texts
        .map(|text| text.unwrap_or_else(|| panic!("no {pointer}")))
        .collect()
}

/// The fixtures of one file, with their rules. One is not UTF-8.
fn fixtures() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for rule in RULES {
        let folder = repository().join("tests/fail").join(rule.name);
        for (_, texts, inputs) in crate::rules::fixtures(&folder) {
            if let ([name], Ok(text)) = (
                &texts.names()[..],
                String::from_utf8(texts.bytes(&inputs[0]).to_vec()),
            ) {
                assert_eq!(*name, inputs[0]);
                found.push((rule.name.to_owned(), text));
            }
        }
    }
    found
}

/// How far from the end of the text the findings of a rule are.
fn places(text: &str, found: &[Value], rule: &str) -> Vec<usize> {
    let lines = Lines::of(text);
    let found = found.iter().filter(|found| found["code"] == rule);
    let places = found.map(|found| {
        let start = found["range"]["start"].clone();
        let start: Position = serde_json::from_value(start).expect("it has its type");
        text.len() - lines.offset(text, start, Encoding::Utf16)
    });
    places.collect()
}

/// Where an action promises to allow a rule or to remove what it found, that is what happens.
#[test]
fn what_is_allowed_or_removed_is_not_found_any_longer() {
    let folder = folder("proposed");
    let mut client = Client::open(&folder);
    let mut tried = [0, 0];
    for (number, (rule, text)) in fixtures().into_iter().enumerate() {
        let uri = uri(&folder.join(format!("{number}.proto")));
        client.did_open(&uri, &text);
        let before = client.findings(&uri, 1);
        let actions = client.request("textDocument/codeAction", whole(&uri));
        let actions = actions.as_array().expect("a list").iter();
        let allows = format!("allow `{rule}` here");
        for (version, action) in (2..).zip(actions) {
            let title = action["title"].as_str().expect("a text");
            let is_removal = title.starts_with("remove ") && rule.starts_with("un");
            if !is_removal && title != allows {
                continue;
            }
            let after = edited(&text, &action["edit"]["changes"][&uri]);
            client.did_change(&uri, version, &after);
            let found = client.findings(&uri, version);
            let shown = || format!("{title}: {found:?}\n{text}\n{after}");
            let now = places(&after, &found, &rule);
            match is_removal {
                true => assert!(
                    now.len() < places(&text, &before, &rule).len(),
                    "{}",
                    shown()
                ),
                false => {
                    let repaired = action["diagnostics"].as_array().expect("a list");
                    let gone = places(&text, repaired, &rule);
                    assert!(!now.contains(&gone[0]), "{}", shown());
                }
            }
            let kinds = |found: &[Value]| {
                let codes = found.iter().map(|found| found["code"].to_string());
                codes.collect::<BTreeSet<String>>()
            };
            assert!(kinds(&found).is_subset(&kinds(&before)), "{}", shown());
            tried[usize::from(is_removal)] += 1;
        }
        let closed = json!({ "textDocument": { "uri": uri } });
        client.notify("textDocument/didClose", closed);
    }
    assert!(tried[0] >= 30 && tried[1] >= 8, "{tried:?}");
}

#[test]
fn a_client_that_asks_for_findings_is_sent_none() {
    let folder = folder("pull");
    write(&folder.join("types.proto"), "type money = u64;\n");
    let mut client = Client::start(&folder);
    let can = json!({ "textDocument": { "diagnostic": {} }, "workspace": { "diagnostics": { "refreshSupport": true } } });
    let answer = client.initialize(&folder, can);
    assert_eq!(
        answer["capabilities"]["diagnosticProvider"]["interFileDependencies"],
        true
    );
    let [types, user] = ["types.proto", "user.proto"].map(|name| uri(&folder.join(name)));
    client.did_open(
        &user,
        "import \"types.proto\";\nproto! p { a:send { pay(money) -> ! } }\n",
    );
    let asked = |uri: &str| json!({ "textDocument": { "uri": uri } });
    let found = client.request("textDocument/diagnostic", asked(&user));
    assert_eq!(found, json!({ "kind": "full", "items": [] }));
    let is_refresh = |message: &Value| message["method"] == "workspace/diagnostic/refresh";
    client.wait("refresh after the workspace is read", is_refresh);
    // A text on which the other depends has changed.
    client.did_open(&types, "type coins = u64;\n");
    client.wait("refresh", is_refresh);
    let found = client.request("textDocument/diagnostic", asked(&user));
    assert!(found.to_string().contains("undeclared-type"), "{found}");
    // Also of a file that is not open, and of one that does not exist.
    write(
        &folder.join("closed.proto"),
        "proto! p { a:send { m -> b } }\n",
    );
    let found = client.request(
        "textDocument/diagnostic",
        asked(&uri(&folder.join("closed.proto"))),
    );
    assert_eq!(texts(&found["items"], "/code"), ["unknown-state"]);
    let found = client.request(
        "textDocument/diagnostic",
        asked(&uri(&folder.join("none.proto"))),
    );
    assert_eq!(found["items"], json!([]));
    client.request("shutdown", Value::Null);
    assert_eq!(client.versions(&user), Vec::<i64>::new());
}

/// The same findings as are sent for open texts. Each has an id, so that nothing is sent twice.
#[test]
fn a_client_asks_for_the_findings_of_files_that_are_not_open() {
    let folder = folder("pull-workspace");
    let wrong = "import \"types.proto\";\nproto! p { a:send { pay(money) -> b } }\n";
    for (name, text) in [
        ("types.proto", "type money = u64;\n"),
        ("user.proto", wrong),
        ("open.proto", wrong),
        ("right.proto", "proto! r { a:send { m -> ! } }\n"),
    ] {
        write(&folder.join(name), text);
    }
    let uris = ["types", "user", "open", "right"];
    let [types, user, open, right] = uris.map(|name| uri(&folder.join(format!("{name}.proto"))));
    let mut client = Client::start(&folder);
    let can = json!({
        "textDocument": { "diagnostic": {} },
        "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } },
    });
    let answer = client.initialize(&folder, can);
    let options = &answer["capabilities"]["diagnosticProvider"];
    assert_eq!(options["workspaceDiagnostics"], true);
    client.did_open(&open, wrong);
    let ask = |client: &mut Client, known: &[(&str, &str)]| {
        let known = known.iter();
        let known = known.map(|(uri, id)| json!({ "uri": uri, "value": id }));
        let asked = json!({ "previousResultIds": known.collect::<Vec<_>>() });
        client.request("workspace/diagnostic", asked)["items"].take()
    };
    let id = |report: &Value| report["resultId"].as_str().expect("an id").to_owned();

    let all = ask(&mut client, &[]);
    assert_eq!(texts(&all, "/uri"), [user.as_str()], "{all}");
    let first = id(&all[0]);
    // As if the file were open.
    let asked = json!({ "textDocument": { "uri": user } });
    let one = client.request("textDocument/diagnostic", asked);
    assert_eq!(all[0]["items"], one["items"]);
    assert_eq!(texts(&all[0]["items"], "/code"), ["unknown-state"]);

    let unchanged =
        json!([{ "uri": user, "version": null, "kind": "unchanged", "resultId": first }]);
    assert_eq!(ask(&mut client, &[(&user, &first)]), unchanged);
    // What a client believes of a file without findings is corrected, and nothing is said about open texts.
    let full = json!({ "uri": right, "version": null, "kind": "full", "items": [] });
    let found = ask(&mut client, &[(&user, &first), (&right, "x"), (&open, "y")]);
    assert_eq!(found, json!([unchanged[0], full]));

    // A text that a file imports has changed, and then the file.
    client.did_open(&types, "type coins = u64;\n");
    let changed = ask(&mut client, &[(&user, &first)]);
    let codes = texts(&changed[0]["items"], "/code");
    assert_eq!(codes, ["undeclared-type", "unknown-state"]);
    assert_ne!(id(&changed[0]), first);
    write(
        &folder.join("user.proto"),
        "proto! p { a:send { m -> ! } }\n",
    );
    let changes = json!({ "changes": [{ "uri": user, "type": 2 }] });
    client.notify("workspace/didChangeWatchedFiles", changes);
    let found = ask(&mut client, &[(&user, &first)]);
    assert_eq!(found[0]["items"], json!([]), "{found}");

    let words = client.refused("workspace/diagnostic", json!({ "previousResultIds": 1 }));
    assert!(words.contains("shape"), "{words}");
    assert_eq!(client.end(), Some(0));
}

/// Without such notifications, a file is read whenever the client asks.
#[test]
fn files_are_read_again_for_a_client_that_does_not_watch_them() {
    let folder = folder("pull-unwatched");
    let file = folder.join("a.proto");
    write(&file, "proto! p { a:send { m -> b } }\n");
    let mut client = Client::start(&folder);
    client.initialize(&folder, json!({ "textDocument": { "diagnostic": {} } }));
    let asked = json!({ "previousResultIds": [] });
    let found = client.request("workspace/diagnostic", asked.clone());
    assert_eq!(
        texts(&found["items"][0]["items"], "/code"),
        ["unknown-state"]
    );
    write(&file, "proto! p { a:send { m -> ! } }\n");
    let found = client.request("workspace/diagnostic", asked);
    assert_eq!(found["items"], json!([]));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn positions_are_in_bytes_where_the_client_offers_it() {
    let folder = folder("bytes");
    let mut client = Client::start(&folder);
    let offered = json!({ "general": { "positionEncodings": ["utf-16", "utf-8"] } });
    let answer = client.initialize(&folder, offered);
    assert_eq!(answer["capabilities"]["positionEncoding"], "utf-8");
    let typed: InitializeResult = serde_json::from_value(answer.clone()).expect("it has its type");
    assert_eq!(json!(typed), answer, "a field is misspelled");
    let uri = uri(&folder.join("a.proto"));
    client.did_open(&uri, "/* \u{e9}\u{1f600} */ type t = u8;\n");
    let asked = |column: usize| json!({ "textDocument": { "uri": uri }, "position": { "line": 0, "character": column } });
    let at = "/* \u{e9}\u{1f600} */ type ".len();
    let found = client.request("textDocument/definition", asked(at));
    assert_eq!(found["range"]["start"]["character"], json!(at));
}
