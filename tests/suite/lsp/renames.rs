//! Renaming, across files and unsaved buffers, and the reasons for which it is refused.

use super::client::{Client, edited, folder, marked, uri};
use serde_json::{Value, json};

fn ask(client: &mut Client, name: &str, text: &str, new: &str) -> Value {
    let (text, position) = marked(text);
    client.did_open(name, &text);
    json!({ "textDocument": { "uri": name }, "position": position, "newName": new })
}

fn renamed(name: &str, text: &str, new: &str) -> String {
    let folder = folder(name);
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("a.proto"));
    let asked = ask(&mut client, &uri, text, new);
    let found = client.request("textDocument/rename", asked);
    edited(&marked(text).0, &found["changes"][&uri])
}

fn refused(name: &str, text: &str, new: &str) -> String {
    let folder = folder(name);
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("a.proto"));
    let asked = ask(&mut client, &uri, text, new);
    client.refused("textDocument/rename", asked)
}

const TEXT: &str =
    "type t = u8;\nproto! p {\n    a:send { m(x: t) -> b, n -> ! }\n    b:recv { m -> a }\n}\n";

fn at(name: &str) -> String {
    TEXT.replacen(name, &format!("{}$0{}", &name[..1], &name[1..]), 1)
}

#[test]
fn every_kind_of_name_can_be_renamed() {
    for (name, old, new) in [
        ("type t", "t", "amount"),
        ("p {", "p", "other"),
        ("b, n", "b", "back"),
        ("n -> !", "n", "leave"),
        ("x: t", "x", "value"),
    ] {
        let found = renamed(
            "kinds",
            &at(name).replace("t$0ype", "type $0").replace("$0 t", "$0t"),
            new,
        );
        assert!(found.contains(new), "{old}: {found}");
        assert_ne!(found, TEXT);
    }
    let states = renamed("states", &at("b, n"), "back");
    assert!(
        states.contains("-> back") && states.contains("back:recv"),
        "{states}"
    );
    // The message of the same name in the other state is another message.
    let messages = renamed("messages", &at("m(x"), "first");
    assert!(
        messages.contains("first(x") && messages.contains("b:recv { m ->"),
        "{messages}"
    );
}

#[test]
fn clashes_keywords_and_built_in_names_are_refused() {
    for (place, new, reason) in [
        ("b, n", "a", "two states named `a`"),
        ("m(x", "n", "`n`"),
        ("b, n", "send", "keyword"),
        ("b, n", "2b", "not a name"),
        ("b, n", "", "not a name"),
        ("b, n", "u8", "built in"),
        ("u8", "x", "built in"),
        ("send", "x", "word of the language"),
    ] {
        let words = refused("refused", &at(place), new);
        assert!(words.contains(reason), "{place} -> {new}: {words}");
    }
    let words = refused(
        "undeclared",
        "proto! p { a:send { m(th$0ing) -> ! } }\n",
        "other",
    );
    assert!(words.contains("not declared"), "{words}");
}

#[test]
fn a_name_in_a_text_with_errors_is_in_the_way() {
    let text = "proto! p {\n    a:send { m -> b$0 }\n    b:recv { n -> a }\n    c:send { x(b c) -> a }\n}\n";
    let words = refused("in-the-way", text, "back");
    assert!(
        words.contains("a.proto:4") && words.contains("repair"),
        "{words}"
    );
    // What follows a message is known although its values are not.
    let text =
        "proto! p {\n    a:send { m -> b$0 }\n    b:recv { n -> a }\n    c:send { x( -> b }\n}\n";
    assert!(renamed("known", text, "back").contains("x( -> back"));
    // An error elsewhere does not matter.
    let text =
        "proto! p {\n    a:send { m -> b$0 }\n    b:recv { n -> a }\n    c:send { x( -> a }\n}\n";
    assert!(renamed("beside", text, "back").contains("back:recv"));
}

#[test]
fn a_rename_reaches_closed_files_and_unsaved_buffers() {
    let folder = folder("everywhere");
    let types = "type money = u64;\n";
    let closed = "import \"types.proto\";\nproto! p { a:send { pay(money) -> ! } }\n";
    std::fs::write(folder.join("types.proto"), types).expect("it can be written");
    std::fs::write(folder.join("closed.proto"), closed).expect("it can be written");
    std::fs::write(folder.join("open.proto"), "proto! q { a { } }\n").expect("it can be written");
    let mut client = Client::open(&folder);
    let [types_uri, closed_uri, open_uri] =
        ["types.proto", "closed.proto", "open.proto"].map(|name| uri(&folder.join(name)));
    let open = "import \"types.proto\";\n\nproto! q { a:send { pay(money$0) -> ! } }\n";
    let asked = ask(&mut client, &open_uri, open, "coins");
    let found = client.request("textDocument/rename", asked.clone());
    let changes = &found["changes"];
    assert_eq!(
        edited(types, &changes[&types_uri]),
        types.replace("money", "coins")
    );
    assert_eq!(
        edited(closed, &changes[&closed_uri]),
        closed.replace("money", "coins")
    );
    let open = marked(open).0;
    assert_eq!(
        edited(&open, &changes[&open_uri]),
        open.replace("money", "coins")
    );
    // A name that another file declares clashes there.
    let more = "import \"types.proto\";\ntype coins = u8;\nproto! r { a:send { pay(money, coins) -> ! } }\n";
    client.did_open(&uri(&folder.join("more.proto")), more);
    let words = client.refused("textDocument/rename", asked);
    assert!(words.contains("`coins`"), "{words}");
}

#[test]
fn a_name_of_another_file_of_the_package_is_refused() {
    let folder = folder("package-mate");
    let other = "package x;\nproto! taken { a:send { m -> ! } }\n";
    std::fs::write(folder.join("other.proto"), other).expect("it can be written");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("a.proto"));
    let text = "package x;\nproto! mine$0 { a:send { m -> ! } }\n";
    let asked = ask(&mut client, &uri, text, "taken");
    let words = client.refused("textDocument/rename", asked.clone());
    assert!(words.contains("`taken`"), "{words}");
    let mut asked = asked;
    asked["newName"] = json!("free");
    let found = client.request("textDocument/rename", asked);
    assert!(edited(&marked(text).0, &found["changes"][&uri]).contains("proto! free"));
}

#[test]
fn what_can_be_renamed_is_known_before() {
    let folder = folder("prepare");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("a.proto"));
    let asked = ask(&mut client, &uri, &at("b, n"), "");
    let found = client.request("textDocument/prepareRename", asked);
    assert_eq!(found["placeholder"], "b");
    let asked = ask(&mut client, &uri, &at("send"), "");
    let words = client.refused("textDocument/prepareRename", asked);
    assert!(words.contains("word of the language"), "{words}");
}
