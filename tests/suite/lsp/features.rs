//! What crosses files, and repairs that only an editor proposes.

use super::client::{Client, edited, folder, marked, uri};
use crate::support::repository;
use duologue_lsp::answer::{Encoding, Lines};
use gen_lsp_types::Position;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const BANK: &str = include_str!("../../../protocols/bank.proto");

fn write(path: &Path, text: &str) {
    let above = path.parent().expect("it is in a folder");
    std::fs::create_dir_all(above).expect("it can be created");
    std::fs::write(path, text).expect("it can be written");
}

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

/// The text after the action with this title.
fn repaired(client: &mut Client, uri: &str, text: &str, title: &str) -> String {
    let actions = client.request("textDocument/codeAction", whole(uri));
    let titles = texts(&actions, "/title");
    let at = titles.iter().position(|found| *found == title);
    let at = at.unwrap_or_else(|| panic!("no `{title}` in {titles:?}"));
    edited(text, &actions[at]["edit"]["changes"][uri])
}

/// A file that imports what it names from three places, with a directory for imports.
fn workspace(name: &str) -> PathBuf {
    let folder = folder(name);
    let settings = "version = 1\nimport-dirs = [\"shared\"]\n";
    write(&folder.join("duologue.toml"), settings);
    write(
        &folder.join("shared/money.proto"),
        "/// Money.\ntype money = u64;\n",
    );
    write(
        &folder.join("app/own/names.proto"),
        "struct name { first: str }\n",
    );
    write(&folder.join("other/bounds.duo"), "extern bound shown;\n");
    let user = "import \"app/main.proto\";\ntype monetary = u8;\nproto! user { a:send { m(monetary) -> ! } }\n";
    write(&folder.join("user.proto"), user);
    folder
}

#[test]
fn every_declaration_of_the_workspace_is_a_symbol() {
    let folder = folder("declarations");
    let text = "extern type host;\nextern bound shown;\ntype alias = u8;\nstruct point { x: u8 }\nenum color { red, blue }\nproto! play { start:send { move(point) -> ! } }\nproto! stream { values:send<T> { one(T) -> values<T>, end -> ! } }\nproto! bytes = stream<u8>;\n";
    write(&folder.join("all.proto"), text);
    let mut client = Client::open(&folder);
    let found = client.request("workspace/symbol", json!({ "query": "" }));
    let names = [
        "host", "shown", "alias", "point", "color", "play", "stream", "bytes", "x", "red", "blue",
        "start", "move", "values", "one", "end",
    ];
    assert_eq!(texts(&found, "/name"), names);
    let found = client.request("workspace/symbol", json!({ "query": "MOV" }));
    assert_eq!(texts(&found, "/containerName"), ["play/start"]);
    assert_eq!(
        found[0]["location"]["range"]["start"],
        json!({ "line": 5, "character": 27 })
    );
    assert_eq!(
        client.request("workspace/symbol", json!({ "query": "r\ns" })),
        json!([])
    );
}

#[test]
fn a_file_that_is_not_open_is_read_from_disk() {
    let folder = folder("not-open");
    let (text, position) = marked(&BANK.replacen("-> connected", "-> conn$0ected", 1));
    write(&folder.join("bank.proto"), &text);
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("bank.proto"));
    let asked = json!({ "textDocument": { "uri": uri }, "position": position });
    let found = client.request("textDocument/definition", asked.clone());
    assert_eq!(found["range"]["start"]["line"], 18);
    let hover = client
        .request("textDocument/hover", asked.clone())
        .to_string();
    assert!(hover.contains("Shortest way here"), "{hover}");
    // It is read again each time, because nothing says that it has changed.
    write(
        &folder.join("bank.proto"),
        &text.replacen("proto! bank", "\nproto! bank", 1),
    );
    let found = client.request("textDocument/documentSymbol", asked);
    assert_eq!(found[1]["selectionRange"]["start"]["line"], 7, "{found}");
}

#[test]
fn what_other_files_declare_is_completed_with_its_import() {
    let folder = workspace("auto-import");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("app/main.proto"));
    client.request("workspace/symbol", json!({ "query": "" }));
    let head = "//! Main.\n\n/// A protocol.\n";
    for (text, label, import) in [
        (
            "proto! main { a:send { m(mon$0) -> ! } }\n",
            "money",
            "money.proto",
        ),
        (
            "proto! main { a:send { m($0) -> ! } }\n",
            "name",
            "own/names.proto",
        ),
        (
            "proto! main { a:send<T: sh$0> { m(T) -> ! } }\n",
            "shown",
            "../other/bounds.duo",
        ),
    ] {
        let (text, position) = marked(&format!("{head}{text}"));
        client.did_open(&uri, &text);
        let asked = json!({ "textDocument": { "uri": uri }, "position": position });
        let found = client.request("textDocument/completion", asked);
        let items = found["items"].as_array().expect("a list");
        let labels = texts(&found["items"], "/label");
        // What imports the file cannot be imported.
        assert!(!labels.contains(&"monetary"), "{labels:?}");
        let item = items.iter().find(|item| item["label"] == label);
        let item = item.unwrap_or_else(|| panic!("no {label} in {labels:?}"));
        let mut edits = item["additionalTextEdits"]
            .as_array()
            .expect("edits")
            .clone();
        edits.push(item["textEdit"].clone());
        let after = edited(&text, &json!(edits));
        assert!(
            after.starts_with(&format!("//! Main.\n\nimport \"{import}\";\n\n/// A")),
            "{after}"
        );
        client.did_change(&uri, 2, &after);
        assert_eq!(client.findings(&uri, 2), Vec::<Value>::new(), "{after}");
        // Now it is visible, and proposed once.
        let asked = json!({ "textDocument": { "uri": uri }, "position": { "line": 5, "character": position["character"] } });
        let found = client.request("textDocument/completion", asked);
        let labels = texts(&found["items"], "/label");
        assert_eq!(
            labels.iter().filter(|found| **found == label).count(),
            1,
            "{labels:?}"
        );
    }
}

#[test]
fn protocols_of_the_package_are_completed_without_an_import() {
    let folder = folder("auto-package");
    write(
        &folder.join("a.proto"),
        "package p;\nproto! first { a:send { m -> ! } }\n",
    );
    write(
        &folder.join("b.proto"),
        "proto! second { a:send { m -> ! } }\n",
    );
    let mut client = Client::open(&folder);
    client.request("workspace/symbol", json!({ "query": "" }));
    let uri = uri(&folder.join("c.proto"));
    let (text, position) =
        marked("package p;\n#[dual_of($0)]\nproto! third { a:recv { m -> ! } }\n");
    client.did_open(&uri, &text);
    let asked = json!({ "textDocument": { "uri": uri }, "position": position });
    let found = client.request("textDocument/completion", asked);
    let items = found["items"].as_array().expect("a list").iter();
    let items = items.map(|item| {
        (
            item["label"].as_str(),
            item["additionalTextEdits"][0]["newText"].as_str(),
        )
    });
    let mut items: Vec<_> = items.collect();
    items.sort_unstable();
    let import = Some("\n\nimport \"b.proto\";");
    assert_eq!(
        items,
        [
            (Some("first"), None),
            (Some("second"), import),
            (Some("third"), None)
        ]
    );
}

#[test]
fn an_unknown_name_is_imported_from_the_file_that_declares_it() {
    let folder = workspace("import-fix");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("app/main.proto"));
    let mut text = "import \"own/names.proto\";\r\n\r\nproto! main {\r\n    a:send<T: shown> { m(money, name, T) -> ! }\r\n}\r\n".to_owned();
    client.did_open(&uri, &text);
    assert_eq!(client.findings(&uri, 1).len(), 2);
    let titles = [
        "import `money` from `money.proto`",
        "import `shown` from `../other/bounds.duo`",
    ];
    for (version, title) in (2..).zip(titles) {
        text = repaired(&mut client, &uri, &text, title);
        client.did_change(&uri, version, &text);
    }
    assert_eq!(client.findings(&uri, 3), Vec::<Value>::new(), "{text}");
    assert!(
        text.starts_with("import \"own/names.proto\";\r\nimport \"money.proto\";\r\nimport \"../"),
        "{text}"
    );
}

#[test]
fn imports_are_sorted_and_needless_ones_removed() {
    let folder = folder("organize");
    for name in ["a", "b", "c", "d"] {
        write(
            &folder.join(format!("{name}.proto")),
            &format!("type {name} = u8;\n"),
        );
    }
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("main.proto"));
    let uses = "\nproto! main { s:send { m(a, b, d) -> ! } }\n";
    for (before, after) in [
        (
            "import \"b.proto\";\nimport \"c.proto\";\nimport \"a.proto\";\nimport \"a.proto\";\n\nimport \"d.proto\";\n",
            "import \"a.proto\";\nimport \"b.proto\";\n\nimport \"d.proto\";\n",
        ),
        (
            "import \"d.proto\";\n// The others.\nimport \"b.proto\"; // Used.\nimport \"a.proto\";\n",
            "import \"d.proto\";\n// The others.\nimport \"b.proto\"; // Used.\nimport \"a.proto\";\n",
        ),
        (
            "import \"c.proto\";\n\nimport \"a.proto\";\nimport \"b.proto\";\nimport \"d.proto\";\n",
            "import \"a.proto\";\nimport \"b.proto\";\nimport \"d.proto\";\n",
        ),
    ] {
        let text = format!("{before}{uses}");
        client.did_open(&uri, &text);
        let mut asked = whole(&uri);
        asked["context"]["only"] = json!(["source.organizeImports"]);
        let actions = client.request("textDocument/codeAction", asked);
        let found = match actions[0]["edit"]["changes"].get(&uri) {
            Some(edits) => edited(&text, edits),
            None => text.clone(),
        };
        assert_eq!(found, format!("{after}{uses}"));
    }
}

#[test]
fn imports_are_links() {
    let folder = workspace("links");
    let mut client = Client::open(&folder);
    let uri_of = |name: &str| uri(&folder.join(name));
    let uri = uri_of("app/main.proto");
    client.did_open(
        &uri,
        "import \"money.proto\";\nimport \"none.proto\";\nimport \"own/names.proto\";\n",
    );
    let asked = json!({ "textDocument": { "uri": uri } });
    let links = client.request("textDocument/documentLink", asked);
    let targets = ["shared/money.proto", "app/own/names.proto"].map(uri_of);
    assert_eq!(texts(&links, "/target"), targets);
    assert_eq!(
        links[0]["range"]["end"],
        json!({ "line": 0, "character": 20 })
    );
}

/// The fixtures of one file whose report has a finding of their rule.
fn fixtures() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let rules = std::fs::read_dir(repository().join("tests/fail")).expect("it is there");
    for rule in rules {
        let rule = rule.expect("it can be read").path();
        let name = rule
            .file_name()
            .expect("it has a name")
            .to_string_lossy()
            .into_owned();
        for file in std::fs::read_dir(&rule).expect("it is a folder") {
            let file = file.expect("it can be read").path();
            // One is not UTF-8.
            let text = std::fs::read_to_string(&file);
            if file.extension().is_some_and(|found| found == "proto") {
                found.extend(text.ok().map(|text| (name.clone(), text)));
            }
        }
    }
    found.sort();
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
fn a_missing_state_is_created_after_the_one_that_leads_to_it() {
    let folder = folder("missing-state");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("a.proto"));
    let text = "proto! p {\r\n    a:send {\r\n        m -> later\r\n    }\r\n}\r\n";
    client.did_open(&uri, text);
    let after = repaired(&mut client, &uri, text, "create state `later`");
    let expected = text.replace(
        "    }\r\n}",
        "    }\r\n\r\n    later:recv {\r\n        done -> !\r\n    }\r\n}",
    );
    assert_eq!(after, expected);
    client.did_change(&uri, 2, &after);
    assert_eq!(client.findings(&uri, 2), Vec::<Value>::new());
    // The state of an endpoint belongs to another protocol.
    client.did_change(&uri, 3, "proto! p { a:send { m(p::client::b) -> ! } }\n");
    let actions = client.request("textDocument/codeAction", whole(&uri));
    assert!(!actions.to_string().contains("create state"), "{actions}");
}

#[test]
fn documentation_is_removed_with_what_it_documents_and_what_is_used_stays() {
    let folder = folder("removal");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("a.proto"));
    let rest = "proto! p {\n    a:send { m -> ! }\n}\n";
    let text = format!(
        "// Kept.\n\n/// A struct\n/// of two lines.\n#[allow(missing-docs)]\nstruct s {{\n    x: u8,\n}}\n\n{rest}"
    );
    client.did_open(&uri, &text);
    let after = repaired(&mut client, &uri, &text, "remove `s`");
    assert_eq!(after, format!("// Kept.\n\n{rest}"));
    // Two states that lead to each other are removed together, unless an endpoint is in one of them.
    let states = "proto! p {\n    a:send { m -> ! }\n\n    /// First.\n    b:send { m -> c }\n\n    c:recv { m -> b }\n}\n";
    client.did_change(&uri, 2, states);
    let after = repaired(
        &mut client,
        &uri,
        states,
        "remove all 2 states that no dialogue leads to",
    );
    assert_eq!(after, rest);
    client.did_change(
        &uri,
        3,
        &states.replace("a:send { m ", "a:send { m(p::client::c) "),
    );
    let actions = client.request("textDocument/codeAction", whole(&uri));
    assert_eq!(
        texts(&actions, "/title"),
        ["allow `unreachable-state` here"]
    );
}

#[test]
fn a_type_parameter_is_removed_with_its_arguments() {
    let folder = folder("parameter");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("a.proto"));
    let text = "proto! p {\n    a:send<T> { m(T) -> b<T, u8, str> }\n    b:recv<A, B, C> { n(A, C) -> b<A, [B], C>, end -> c<A>, q(p::server::b<A, u8, C>) -> ! }\n    c:send<D> { m -> ! }\n}\n";
    client.did_open(&uri, text);
    let after = repaired(&mut client, &uri, text, "remove the type parameter `D`");
    assert_eq!(
        after,
        text.replace("c<A>", "c").replace("c:send<D>", "c:send")
    );
    let text = text.replace("[B]", "u16");
    client.did_change(&uri, 2, &text);
    let after = repaired(&mut client, &uri, &text, "remove the type parameter `B`");
    let rest = text.replace("u8, ", "").replace("u16, ", "");
    assert_eq!(after, rest.replace("<A, B, C>", "<A, C>"));
    client.did_change(
        &uri,
        3,
        "proto! p { a:send<T, U> { m(U) -> ! } }\nproto! i = p<u8, u16>;\n",
    );
    let actions = client.request("textDocument/codeAction", whole(&uri));
    let titles = texts(&actions, "/title");
    assert_eq!(titles, ["allow `unused-type-parameter` here"]);
}

#[test]
fn a_range_is_formatted_with_the_declarations_that_it_touches() {
    let folder = folder("range");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("a.proto"));
    let text = "type  a=u8;\nproto! p{\n  one:send{m->two}\n  two:recv{m->!}\n}\ntype  b=u8;\n";
    client.did_open(&uri, text);
    let mut format = |start: (u32, u32), end: (u32, u32)| {
        let place = |(line, character)| json!({ "line": line, "character": character });
        let edits = client.request(
            "textDocument/rangeFormatting",
            json!({
                "textDocument": { "uri": uri },
                "range": { "start": place(start), "end": place(end) },
                "options": { "tabSize": 4, "insertSpaces": true },
            }),
        );
        edited(text, &edits)
    };
    let one = "    one:send { m -> two }\n";
    assert_eq!(
        format((2, 5), (2, 9)),
        text.replace("p{\n  one:send{m->two}\n", &format!("p {{\n{one}"))
            .replace("p {", "p{")
    );
    assert_eq!(
        format((0, 3), (0, 4)),
        text.replace("type  a=u8;", "type a = u8;")
    );
    let all = format((0, 0), (99, 0));
    assert!(all.contains(one) && all.contains("type b = u8;"), "{all}");
    assert_eq!(
        format((5, 0), (5, 9)),
        text.replace("type  b=u8;", "\ntype b = u8;")
    );
}

#[test]
fn states_have_a_call_hierarchy() {
    let folder = folder("hierarchy");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("bank.proto"));
    let (text, position) = marked(&BANK.replacen("connected:send", "conn$0ected:send", 1));
    client.did_open(&uri, &text);
    let asked = json!({ "textDocument": { "uri": uri }, "position": position });
    let items = client.request("textDocument/prepareCallHierarchy", asked);
    assert_eq!(
        (&items[0]["name"], &items[0]["detail"]),
        (&json!("connected"), &json!("bank, client sends"))
    );
    let asked = json!({ "item": items[0] });
    let from = client.request("callHierarchy/incomingCalls", asked.clone());
    assert_eq!(
        texts(&from, "/from/name"),
        ["login_response", "connected", "withdrawal_response"]
    );
    assert_eq!(from[2]["fromRanges"].as_array().map(Vec::len), Some(2));
    let to = client.request("callHierarchy/outgoingCalls", asked);
    assert_eq!(texts(&to, "/to/name"), ["connected", "withdrawal_response"]);
    let line = &to[1]["fromRanges"][0]["start"]["line"];
    assert_eq!(
        text.lines()
            .nth(line.as_u64().expect("a number") as usize)
            .map(str::trim),
        Some("withdrawal(amount: money) -> withdrawal_response,")
    );
}

#[test]
fn types_of_values_and_payloads_are_found() {
    let folder = folder("type-definition");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("a.proto"));
    let declarations = "type money = u64;\nstruct pair { left: money, right: [name] }\nstruct name { text: str }\nenum some { both(one: pair) }\n";
    for (text, lines) in [
        (
            "proto! p { a:send { pay(amo$0unt: money, name) -> ! } }",
            vec![0],
        ),
        (
            "proto! p { a:send { p$0ay(amount: money, name) -> ! } }",
            vec![0, 2],
        ),
        (
            "struct own { x: pair }\ntype other = o$0wn;\nproto! p { a:send { m(other) -> ! } }",
            vec![],
        ),
        (
            "type other = pair;\nproto! p { a:send { m(oth$0er) -> ! } }",
            vec![1],
        ),
        (
            "proto! p { a:send { m(p::client::a) -> !, n$0(p::server::a) -> ! } }",
            vec![4],
        ),
        ("enum more { o$0ne(some) }", vec![3]),
        ("proto! p { a:send { m -> a$0 } }", vec![]),
    ] {
        let (text, position) = marked(&format!("{declarations}{text}"));
        client.did_open(&uri, &text);
        let asked = json!({ "textDocument": { "uri": uri }, "position": position });
        let found = client.request("textDocument/typeDefinition", asked);
        let found = found.as_array().expect("a list").iter();
        let found: Vec<u64> = found
            .map(|at| at["range"]["start"]["line"].as_u64().expect("a number"))
            .collect();
        assert_eq!(found, lines, "{text}");
    }
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
