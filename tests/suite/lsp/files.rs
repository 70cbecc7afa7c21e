//! Files on disk: what belongs to the workspace, and what a repository may not do.

use super::client::{Client, folder, uri, write};
use super::editors::workspace;
use crate::support::succeed;
use serde_json::{Value, json};
use std::process::Command;

/// The names of the protocols of the workspace.
fn protocols(client: &mut Client) -> Vec<String> {
    let found = client.request("workspace/symbol", json!({ "query": "" }));
    let found = found.as_array().expect("a list").iter();
    // States are in them.
    let found = found.filter(|found| found.get("containerName").is_none());
    let names = found.map(|found| found["name"].as_str().expect("a text").to_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn changes_on_disk_follow_the_rules_of_a_search() {
    let folder = folder("watched");
    let outside = super::client::folder("watched-outside");
    let settings = "version = 1\nexclude = [\"build/\"]\n";
    write(&folder.join("duologue.toml"), settings);
    write(&folder.join("first.proto"), "proto! first { a { } }\n");
    let mut client = Client::open(&folder);
    assert_eq!(protocols(&mut client), ["first"]);
    let files = [
        (folder.join("new.proto"), "proto! new { a { } }\n"),
        (folder.join("more/new.duo"), "proto! more { a { } }\n"),
        (folder.join("build/b.proto"), "proto! excluded { a { } }\n"),
        (folder.join(".own/c.proto"), "proto! hidden { a { } }\n"),
        (folder.join("d.txt"), "proto! text { a { } }\n"),
        (
            folder.join("e.proto"),
            "syntax = \"proto3\";\nproto! foreign { a { } }\n",
        ),
        (outside.join("f.proto"), "proto! outside { a { } }\n"),
    ];
    for (path, text) in &files {
        write(path, text);
    }
    let changes = files.iter().map(|(path, _)| path);
    let changes = changes.map(|path| json!({ "uri": uri(path), "type": 1 }));
    let changes = json!({ "changes": changes.collect::<Vec<Value>>() });
    client.notify("workspace/didChangeWatchedFiles", changes);
    assert_eq!(protocols(&mut client), ["first", "more", "new"]);
    std::fs::remove_file(folder.join("new.proto")).expect("it is there");
    write(&folder.join("duologue.toml"), "version = 1\n");
    let changes = ["new.proto", "duologue.toml", "first.proto"]
        .map(|name| json!({ "uri": uri(&folder.join(name)), "type": 2 }));
    client.notify(
        "workspace/didChangeWatchedFiles",
        json!({ "changes": changes }),
    );
    assert_eq!(protocols(&mut client), ["excluded", "first", "more"]);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn no_program_that_a_repository_names_is_run() {
    let folder = workspace("partial");
    let run = |arguments: &[&str]| {
        let mut git = Command::new("git");
        succeed(git.arg("-C").arg(&folder).args(arguments)).expect("git works")
    };
    // An object is missing, and the repository says how to fetch it.
    let object = run(&["rev-parse", "HEAD:bank.proto"]);
    let (first, rest) = object.trim().split_at(2);
    let objects = folder.join(".git/objects");
    std::fs::remove_file(objects.join(first).join(rest)).expect("it is there");
    let trace = folder.join("trace");
    let program = format!("touch {}; false", trace.display());
    let place = folder.display().to_string();
    for (name, value) in [
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", &place),
        ("remote.origin.promisor", "true"),
        ("remote.origin.uploadpack", &program),
    ] {
        run(&["config", name, value]);
    }
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("bank.proto"));
    client.did_open(&uri, include_str!("../../../protocols/bank.proto"));
    let asked = json!({ "textDocument": { "uri": uri } });
    assert_eq!(client.request("textDocument/codeLens", asked), json!([]));
    assert_eq!(client.end(), Some(0));
    assert!(!trace.exists());
    // Git alone does run it.
    let mut git = Command::new("git");
    let shown = git.arg("-C").arg(&folder);
    let shown = shown.args(["cat-file", "-p", "HEAD:bank.proto"]).output();
    assert!(!shown.expect("git runs").status.success() && trace.exists());
}
