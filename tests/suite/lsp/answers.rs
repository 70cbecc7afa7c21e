//! Answers to requests, about texts in which `$0` marks the position.

use super::client::{Client, edited, folder, marked, uri};
use gen_lsp_types::InitializeResult;
use serde_json::{Value, json};

const BANK: &str = include_str!("../../../protocols/bank.proto");

/// Opens a marked text, and returns the parameters of a request at the mark.
fn open(client: &mut Client, uri: &str, text: &str) -> Value {
    let (text, position) = marked(text);
    client.did_open(uri, &text);
    json!({ "textDocument": { "uri": uri }, "position": position })
}

/// The labels of the proposals at the mark.
fn labels(name: &str, text: &str) -> Vec<String> {
    let folder = folder(name);
    let mut client = Client::open(&folder);
    let asked = open(&mut client, &uri(&folder.join("a.proto")), text);
    let found = client.request("textDocument/completion", asked);
    let items = found["items"].as_array().expect("a list").iter();
    let labels = items.map(|item| item["label"].as_str().expect("a text").to_owned());
    labels.collect()
}

fn has(name: &str, text: &str, wanted: &[&str], unwanted: &[&str]) {
    let labels = labels(name, text);
    for wanted in wanted {
        assert!(
            labels.iter().any(|label| label == wanted),
            "{text}: no {wanted} in {labels:?}"
        );
    }
    for unwanted in unwanted {
        assert!(
            labels.iter().all(|label| label != unwanted),
            "{text}: {unwanted} in {labels:?}"
        );
    }
}

#[test]
fn states_follow_an_arrow() {
    let text = "proto! p {\n a:send { m -> $0 }\n b:recv { x -> !, }\n}\n";
    has("next", text, &["a", "b", "!"], &["u8", "m", "send"]);
    // Also in a state that does not parse, and after what is already typed.
    let text = "proto! p {\n a:send { m( -> b$0\n b:recv { x -> ! }\n}\n";
    has("next-broken", text, &["b"], &["u8"]);
}

#[test]
fn types_are_in_payloads() {
    let text = "type t = u8;\nproto! p {\n a:send { m(x: $0) -> ! }\n}\n";
    has("types", text, &["t", "str", "p"], &["a", "!"]);
    has(
        "field",
        "struct s {\n x: $0\n}\n",
        &["bytes", "s"],
        &["proto!"],
    );
    has("list", "type t = [$0", &["u64"], &["proto!"]);
    let text = "proto! p {\n a:send { m(p::$0) -> ! }\n}\n";
    has("side", text, &["client", "server"], &["a"]);
    let text = "proto! p {\n a:send { m(p::client::$0) -> ! }\n}\n";
    has("endpoint", text, &["a"], &["client"]);
}

#[test]
fn messages_of_other_states_are_proposed() {
    let text = "proto! p {\n a:send { m -> b, n -> b }\n b:recv { m -> a, $0 }\n}\n";
    has("messages", text, &["n"], &["m", "a"]);
}

#[test]
fn keywords_are_where_they_can_be() {
    has("items", "$0", &["proto!", "import", "struct"], &["send"]);
    has("items-after", "type t = u8;\n$0", &["proto!"], &["u8"]);
    has("extern", "extern $0", &["type", "bound"], &["proto!"]);
    has(
        "direction",
        "proto! p {\n a:$0 {\n}\n",
        &["send", "recv"],
        &["u8"],
    );
    has("bound", "extern type t: $0;", &["copy", "hash"], &["u8"]);
    has(
        "language",
        "extern type t {\n $0 }",
        &["rust", "c", "scala"],
        &[],
    );
}

#[test]
fn attributes_have_rules_protocols_and_units() {
    has(
        "attribute",
        "#[$0]\nproto! p {\n}\n",
        &["allow", "within", "dual_of"],
        &[],
    );
    has(
        "rule",
        "#[allow(stuck-$0)]\nproto! p {\n}\n",
        &["stuck-state"],
        &["syntax"],
    );
    has(
        "dual",
        "proto! q { a { } }\n#[dual_of($0)]\nproto! p {\n}\n",
        &["q"],
        &["client"],
    );
    has(
        "size",
        "#[at_most(4 $0)]\nproto! p {\n}\n",
        &["KiB"],
        &["ms"],
    );
}

#[test]
fn nothing_is_proposed_in_comments_and_strings() {
    for text in [
        "// $0",
        "/* $0 */",
        "/* a $0",
        "/// a$0\nproto! p { }",
        "extern type t { c = \"$0\"; }",
    ] {
        assert_eq!(labels("nothing", text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn paths_of_imports_are_proposed() {
    let folder = folder("paths");
    std::fs::create_dir_all(folder.join("more")).expect("it can be created");
    for name in ["b.proto", "more/c.duo", "d.txt"] {
        std::fs::write(folder.join(name), "").expect("it can be written");
    }
    let mut client = Client::open(&folder);
    for (text, expected) in [
        ("import \"$0\";", vec!["b.proto", "more/"]),
        ("import \"more/$0", vec!["more/c.duo"]),
    ] {
        let asked = open(&mut client, &uri(&folder.join("a.proto")), text);
        let found = client.request("textDocument/completion", asked);
        let items = found["items"].as_array().expect("a list").iter();
        let labels: Vec<&str> = items.filter_map(|item| item["label"].as_str()).collect();
        assert_eq!(labels, expected, "{text}");
    }
}

fn hover(name: &str, text: &str) -> String {
    let folder = folder(name);
    let mut client = Client::open(&folder);
    let asked = open(&mut client, &uri(&folder.join("a.proto")), text);
    let found = client.request("textDocument/hover", asked);
    found["contents"]["value"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn hovering_says_who_sends_the_ways_and_the_names_in_each_language() {
    let text = BANK.replacen("connected:send", "conn$0ected:send", 1);
    insta::assert_snapshot!(hover("hover-state", &text));
    let text = BANK.replacen("invalid -> login", "inv$0alid -> login", 1);
    insta::assert_snapshot!(hover("hover-message", &text));
    let text = BANK.replacen("proto! bank", "proto! ba$0nk", 1);
    insta::assert_snapshot!(hover("hover-protocol", &text));
    let rule = hover(
        "hover-rule",
        "#[allow(stuck$0-state)]\nproto! p { a { } }\n",
    );
    assert!(rule.contains("stuck-state"), "{rule}");
}

/// A long way to a state is shown with its end, and a long way out of it with its beginning.
#[test]
fn hovering_shows_the_nearest_steps_of_a_long_way() {
    let chain = |at: usize| {
        let states = (0..30).map(|state| {
            let mark = if state == at { "$0" } else { "" };
            let next = if state == 29 {
                "!"
            } else {
                &format!("s{}", state + 1)
            };
            format!(" {mark}s{state}:send {{ m{state} -> {next} }}\n")
        });
        format!("proto! p {{\n{}}}\n", states.collect::<String>())
    };
    let steps = |range: std::ops::Range<usize>| {
        let steps = range.map(|state| format!("client `m{state}`"));
        steps.collect::<Vec<_>>().join(", ")
    };
    for (at, start, here) in [
        (12, "", 0..12),
        (13, "after 1 earlier message, ", 1..13),
        (29, "after 17 earlier messages, ", 17..29),
    ] {
        let text = hover("hover-long", &chain(at));
        let here = format!("\nShortest way here: {start}{}\n", steps(here));
        assert!(text.contains(&here), "{text}");
    }
    let text = hover("hover-long", &chain(0));
    let out = format!("\nShortest way out: {}, and 18 more\n", steps(0..12));
    assert!(text.contains(&out), "{text}");
}

#[test]
fn definitions_and_references_cross_files_and_buffers() {
    let folder = folder("crossing");
    let types = "/// Money.\ntype money = u64;\n";
    std::fs::write(folder.join("types.proto"), types).expect("it can be written");
    let user = "import \"types.proto\";\nproto! p { a:send { pay(money) -> ! } }\n";
    std::fs::write(folder.join("closed.proto"), user).expect("it can be written");
    let mut client = Client::open(&folder);
    let path = uri(&folder.join("a.proto"));
    let text = "import \"types.proto\";\nproto! q { a:send { pay(mo$0ney), b -> ! } }\n";
    let asked = open(&mut client, &path, &text.replace("), b", ") -> !, b"));
    let found = client.request("textDocument/definition", asked.clone());
    assert_eq!(found["uri"], uri(&folder.join("types.proto")));
    assert_eq!(
        found["range"]["start"],
        json!({ "line": 1, "character": 5 })
    );
    let mut asked = asked;
    asked["context"] = json!({ "includeDeclaration": true });
    // The files of the workspace are read on another thread; the answer waits for it.
    let expected = ["a.proto", "closed.proto", "types.proto"].map(|name| uri(&folder.join(name)));
    let references = client.request("textDocument/references", asked.clone());
    let references = references.as_array().expect("a list").iter();
    let mut found: Vec<&str> = references
        .map(|found| found["uri"].as_str().expect("a text"))
        .collect();
    found.sort_unstable();
    assert_eq!(found, expected);
    asked["context"] = json!({ "includeDeclaration": false });
    let references = client.request("textDocument/references", asked.clone());
    assert_eq!(references.as_array().map(Vec::len), Some(2));
    let highlights = client.request("textDocument/documentHighlight", asked);
    assert_eq!(highlights.as_array().map(Vec::len), Some(1));
}

#[test]
fn findings_have_related_places_and_follow_the_imports() {
    let folder = folder("related");
    let mut client = Client::open(&folder);
    let [types, user] = ["types.proto", "user.proto"].map(|name| uri(&folder.join(name)));
    client.did_open(&types, "type money = u64;\n");
    client.did_open(
        &user,
        "import \"types.proto\";\nproto! p { a:send { pay(money) -> ! } }\n",
    );
    assert_eq!(client.findings(&user, 1), Vec::<Value>::new());
    client.did_change(&types, 2, "type coins = u64;\n");
    let found = client.wait("findings of the user", |message| {
        message["params"]["uri"] == json!(user) && message["params"]["diagnostics"] != json!([])
    });
    let found = &found["params"]["diagnostics"];
    let rules = found.as_array().expect("a list").iter();
    let rules: Vec<&Value> = rules.map(|found| &found["code"]).collect();
    assert!(rules.contains(&&json!("undeclared-type")), "{found}");
    let twice = "proto! p { a:send { m -> ! } a:send { m -> ! } }\n";
    client.did_change(&user, 2, twice);
    let found = client.findings(&user, 2);
    let related = &found[0]["relatedInformation"][0];
    assert_eq!(related["location"]["uri"], json!(user));
    assert_eq!(related["message"], "first declared here");
}

#[test]
fn the_configuration_sets_levels() {
    let folder = folder("configuration");
    let text = "proto! p { a:send { m -> b } b:recv { n -> a } }\n";
    let settings = "version = 1\n\n[rules]\nmissing-docs = \"deny\"\n";
    std::fs::write(folder.join("duologue.toml"), settings).expect("it can be written");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("a.proto"));
    client.did_open(&uri, text);
    let found = client.findings(&uri, 1);
    let docs = found.iter().filter(|found| found["code"] == "missing-docs");
    let levels: Vec<&Value> = docs.map(|found| &found["severity"]).collect();
    assert!(
        !levels.is_empty() && levels.iter().all(|level| **level == json!(1)),
        "{found:?}"
    );
}

#[test]
fn every_fix_of_check_is_an_action() {
    let folder = folder("actions");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("a.proto"));
    let text = "proto! p {\r\n    a:send { m -> ! };\r\n    b:send { n -> ! }\r\n}\r\n";
    client.did_open(&uri, text);
    let whole =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 9, "character": 0 } });
    let mut asked = json!({
        "textDocument": { "uri": uri },
        "range": whole,
        "context": { "diagnostics": [] },
    });
    let actions = client.request("textDocument/codeAction", asked.clone());
    let kinds: Vec<&Value> = actions
        .as_array()
        .expect("a list")
        .iter()
        .map(|action| &action["kind"])
        .collect();
    assert!(
        kinds.len() == 1 && kinds.iter().all(|kind| **kind == "quickfix"),
        "{actions}"
    );
    assert_eq!(actions[0]["isPreferred"], true);
    asked["context"] = json!({ "diagnostics": [], "only": ["source.fixAll"] });
    let actions = client.request("textDocument/codeAction", asked);
    let edits = &actions[0]["edit"]["changes"][&uri];
    let expected = "proto! p {\r\n    a:send { m -> ! }\r\n    b:send { n -> ! }\r\n}\r\n";
    assert_eq!(edited(text, edits), expected);
}

#[test]
fn a_text_is_formatted_or_the_reason_is_given() {
    let folder = folder("formatting");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("a.proto"));
    let text = "/// \u{e9}\u{1f600}\nproto!  p { a:send { m->! } }\n";
    client.did_open(&uri, text);
    let asked = json!({ "textDocument": { "uri": uri }, "options": { "tabSize": 4, "insertSpaces": true } });
    let edits = client.request("textDocument/formatting", asked.clone());
    let formatted = edited(text, &edits);
    assert!(formatted.contains("proto! p {"), "{formatted}");
    client.did_change(&uri, 2, &formatted);
    assert_eq!(
        client.request("textDocument/formatting", asked.clone()),
        json!([])
    );
    client.did_change(&uri, 3, "proto! p {");
    let reason = client.refused("textDocument/formatting", asked);
    assert!(reason.contains("syntax errors"), "{reason}");
}

#[test]
fn the_outline_folds_selections_tokens_and_hints_of_the_bank() {
    let folder = folder("shape");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("bank.proto"));
    let (text, place) = marked(&BANK.replacen("amount: money", "am$0ount: money", 1));
    client.did_open(&uri, &text);
    let range =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let asked = json!({ "textDocument": { "uri": uri }, "range": range, "positions": [place], "position": place });
    let mut shown = String::new();
    for method in [
        "textDocument/documentSymbol",
        "textDocument/foldingRange",
        "textDocument/selectionRange",
        "textDocument/semanticTokens/full",
        "textDocument/inlayHint",
    ] {
        let found = client.request(method, asked.clone());
        shown += &format!("{method}\n{found}\n");
    }
    insta::assert_snapshot!(shown);
    let dual = client.request("duologue/dual", asked.clone());
    assert!(
        dual["text"]
            .as_str()
            .expect("a text")
            .contains("login:recv")
    );
    let picture = client.request("duologue/picture", asked);
    assert!(picture["svg"].as_str().expect("a text").starts_with("<svg"));
    let found = client.request("workspace/symbol", json!({ "query": "BAN" }));
    assert_eq!(found[0]["name"], "bank");
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

#[test]
fn lenses_compare_with_a_revision() {
    let folder = super::editors::workspace("lens");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("bank.proto"));
    client.did_open(
        &uri,
        &BANK.replace("quit -> !", "quit -> !,\n        stop -> !"),
    );
    let asked = json!({ "textDocument": { "uri": uri } });
    let lenses = client.request("textDocument/codeLens", asked.clone());
    let title = lenses[0]["command"]["title"]
        .as_str()
        .expect("a text")
        .to_owned();
    assert!(
        title.contains("since HEAD") && title.contains("server"),
        "{title}"
    );
    client.did_change(&uri, 2, &BANK.replace("quit -> !", "stop -> !"));
    let lenses = client.request("textDocument/codeLens", asked.clone());
    assert!(lenses.to_string().contains("incompatible"), "{lenses}");
    client.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": { "duologue": { "against": "no-such" } } }),
    );
    assert_eq!(client.request("textDocument/codeLens", asked), json!([]));
}
