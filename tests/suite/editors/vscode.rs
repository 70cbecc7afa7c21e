//! The TextMate grammar and the extension for VS Code, as far as they work without VS Code: Node runs the grammar as VS Code does, and the extension
//! with stand-ins for VS Code. The package is built, and has what the extension needs.

use crate::support::program::Scratch;
use crate::support::rust::tool;
use crate::support::{copy, repository, succeed};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const NODE: &str = "apt-get install nodejs npm";

/// The extension with its packages installed, in a copy of the folders that it uses.
pub fn extension() -> &'static Path {
    static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        let scratch = Scratch::new("vscode");
        for name in [
            "tools/editors/vscode",
            "tools/editors/textmate",
            "protocols",
        ] {
            copy(&repository().join(name), &scratch.path(name));
        }
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let text = std::fs::read(repository().join(name));
            scratch.write(name, text.expect("the license is there"));
        }
        let folder = scratch.path("tools/editors/vscode");
        succeed(tool("npm", NODE).current_dir(&folder).arg("ci"))?;
        Ok(folder)
    });
    let installed = installed.as_deref();
    installed.unwrap_or_else(|failure| panic!("{failure}"))
}

fn done(command: &mut Command) -> String {
    succeed(command).unwrap_or_else(|failure| panic!("{failure}"))
}

fn json(path: &Path) -> Value {
    let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
#[ignore = "nightly: editors"]
fn the_textmate_grammar_and_the_extension_pass_their_tests() {
    let folder = extension();
    let printed = done(tool("npm", NODE).current_dir(folder).arg("test"));
    assert!(printed.contains("\n# fail 0\n"), "{printed}");
    let passed = printed
        .lines()
        .find_map(|line| line.strip_prefix("# pass "));
    let passed: usize = passed.and_then(|count| count.parse().ok()).unwrap_or(0);
    assert!(passed >= 24, "{printed}");
}

#[test]
#[ignore = "nightly: editors"]
fn the_package_of_the_extension_is_complete() {
    let folder = extension();
    done(
        tool("npm", NODE)
            .current_dir(folder)
            .args(["run", "package"]),
    );
    let unpacked = Scratch::new("vscode-unpacked");
    let mut unzip = tool("python3", "apt-get install python3");
    unzip.args(["-m", "zipfile", "-e"]);
    done(
        unzip
            .arg(folder.join("duologue.vsix"))
            .arg(unpacked.path(".")),
    );
    let inside = unpacked.path("extension");
    let manifest = json(&inside.join("package.json"));
    let contributes = &manifest["contributes"];
    // Every file that the manifest names is in the package, and is JSON where VS Code expects it.
    let listed = [
        &contributes["languages"][0]["configuration"],
        &contributes["grammars"][0]["path"],
        &contributes["snippets"][0]["path"],
    ];
    for path in listed {
        let path = path.as_str().expect("a path");
        assert!(json(&inside.join(path)).is_object(), "{path}");
    }
    let grammar = inside.join("syntaxes/duologue.tmLanguage.json");
    let own = repository().join("tools/editors/textmate/duologue.tmLanguage.json");
    assert_eq!(json(&grammar), json(&own));
    assert_eq!(
        json(&own)["scopeName"],
        contributes["grammars"][0]["scopeName"]
    );
    // It runs without this repository and without any network.
    let mut node = tool("node", NODE);
    node.arg(folder.join("test/loads.js")).arg(&inside);
    let loaded = done(node.current_dir(unpacked.path(".")));
    assert_eq!(
        loaded,
        "function function\nnode_modules/vscode-languageclient\n"
    );
    let files = unpacked.files("extension");
    let is_left_out = |path: &String| {
        ["/test/", "node_modules/@vscode/", ".d.ts"]
            .iter()
            .any(|part| path.contains(part))
    };
    let extra: Vec<&String> = files.iter().filter(|path| is_left_out(path)).collect();
    assert!(extra.is_empty(), "{extra:?}");
    // Each library is there with its license.
    let split = |path: &String| {
        let (before, rest) = path.rsplit_once("/node_modules/")?;
        let (library, inner) = rest.split_once('/')?;
        Some((format!("{before}/{library}"), inner.to_lowercase()))
    };
    let mut licensed: BTreeMap<String, bool> = BTreeMap::new();
    for (library, inner) in files.iter().filter_map(split) {
        *licensed.entry(library).or_default() |= inner.starts_with("license");
    }
    assert!(licensed.len() > 5, "{licensed:?}");
    assert!(licensed.values().all(|has| *has), "{licensed:?}");
}

/// Every snippet, with its placeholders filled in, is a text that the compiler reads.
#[test]
fn every_snippet_is_correct() {
    let snippets = json(&repository().join("tools/editors/vscode/snippets/duologue.json"));
    let snippets = snippets.as_object().expect("an object");
    assert!(snippets.len() > 8);
    for (name, snippet) in snippets {
        let lines = snippet["body"].as_array().expect("lines").iter();
        let lines: Vec<&str> = lines.map(|line| line.as_str().expect("text")).collect();
        let text = filled(&lines.join("\n"));
        let text = match snippet["prefix"].as_str() {
            Some("send" | "recv") => format!("proto! p {{ {text} }}"),
            Some("at_most" | "within" | "allow") => {
                format!("proto! p {{ {text} a:send {{ m -> ! }} }}")
            }
            _ => text,
        };
        let (_, errors) = duologue::syntax::parse(source(), &text);
        assert!(errors.is_empty(), "{name}: {errors:?}\n{text}");
    }
}

fn source() -> duologue::source::SourceId {
    duologue::source::Sources::default().add("snippet", String::new())
}

/// A snippet with each placeholder replaced by its text, or by its first choice.
fn filled(snippet: &str) -> String {
    let mut text = String::new();
    let mut rest = snippet;
    while let Some((before, after)) = rest.split_once('$') {
        text += before;
        rest = match after.strip_prefix('{') {
            None => after.trim_start_matches(|letter: char| letter.is_ascii_digit()),
            Some(after) => {
                let (placeholder, after) = after.split_once('}').expect("it is closed");
                let value = placeholder.trim_start_matches(|letter: char| letter.is_ascii_digit());
                let choice = value.trim_matches('|').split(',').next();
                text += match value.starts_with('|') {
                    true => choice.unwrap_or_default(),
                    false => value.trim_start_matches(':'),
                };
                after
            }
        };
    }
    text + rest
}

/// The grammars and the extension have the version of the compiler.
#[test]
fn the_versions_are_those_of_the_compiler() {
    let editors = repository().join("tools/editors");
    let package = json(&editors.join("vscode/package.json"));
    let lock = json(&editors.join("vscode/package-lock.json"));
    let tree_sitter = json(&editors.join("tree-sitter-duologue/tree-sitter.json"));
    for version in [
        &package["version"],
        &lock["version"],
        &tree_sitter["metadata"]["version"],
    ] {
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
    }
}
