//! The layers of the C runtime, which are its folders. A file uses another one by including it, or by naming a function that is defined there.
//! Tables of functions count too. An inline function of a header belongs to each file that calls it.

use super::Uses;
use super::listed::{Use, assert_none, circles, code};
use crate::circles::compare;
use crate::support::repository;
use crate::tidy::{files, relative, words};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

const LIST: &str = "tests/suite/layers/c.rs";

/// The layers, from the lowest, each with those that it may use. Shared memory, sockets and TLS can each be left out of a program, so nothing
/// below uses them, and one transport does not use the other: `link` and `many` call them through the table in `link/transport.h`.
const LAYERS: &[(&str, &str)] = &[
    ("floor", ""),
    ("text", ""),
    ("record", "floor text"),
    ("ring", "floor record"),
    ("link", "floor text record ring"),
    ("many", "floor ring link"),
    ("wire", "floor text link"),
    ("shm", "floor ring link wire"),
    ("transport", "floor"),
    ("net", "floor text record ring link wire transport"),
    ("listen", "floor text link wire transport net"),
    ("health", "floor text link listen"),
    ("tls", "floor transport"),
    ("nats", "floor transport net listen"),
    ("robots", "text link"),
];

/// What a program compiles: each includes all files of its layers. `net_health.c` includes generated code.
const UNITS: &[&str] = &["duologue.c", "wire.c", "shm.c", "net.c"];

/// Files that use each other, and why they stay together.
const CIRCLES: &[(&[&str], &str)] = &[(
    &["link/payload.c", "link/session.c"],
    "a message that is sent claims the endpoints in it, and one that is destroyed closes them",
)];

/// The text of each file, except for the units.
fn texts() -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for (folder, prefix) in [
        ("runtime/c/src/", ""),
        ("runtime/c/tls/", "tls/"),
        ("runtime/c/nats/", "nats/"),
        ("runtime/c/robots/", "robots/"),
    ] {
        for file in files(folder) {
            let name = relative(&file).replacen(folder, prefix, 1);
            let text = fs::read_to_string(&file).expect("it can be read");
            if !UNITS.contains(&name.as_str()) {
                texts.insert(name, text);
            }
        }
    }
    texts
}

/// The layer of a file, with those that it may use; none if it is in none.
fn layer(file: &str) -> Option<&'static (&'static str, &'static str)> {
    let folder = match file {
        "net_health.c" => "health",
        _ => file.split_once('/')?.0,
    };
    LAYERS.iter().find(|(name, _)| *name == folder)
}

/// What is wrong with the layers of these files.
fn faults<'f>(files: impl Iterator<Item = &'f String>, uses: &[Use]) -> Vec<String> {
    let unknown = files.filter(|file| layer(file).is_none());
    let mut faults: Vec<String> = unknown
        .map(|file| {
            format!("{file} is in no layer: move it to the lowest one that may use what it uses")
        })
        .collect();
    for Use { file, name, of } in uses {
        let (Some((from, may_use)), Some((to, _))) = (layer(file), layer(of)) else {
            continue;
        };
        if from != to && !may_use.split(' ').any(|may| may == *to) {
            faults.push(format!(
                "{file} uses {name} of {of}, which is in the layer `{to}`; what is in `{from}` may use only: {from} {may_use}. \
                 Move what {file} needs to a lower layer, or what needs it to a higher one"
            ));
        }
    }
    faults
}

/// A function that a file defines.
struct Function {
    name: String,
    is_static: bool,
    body: String,
}

/// The functions of a file. The braces of a function are at the beginning of a line.
fn functions(code: &str) -> Vec<Function> {
    let mut functions = Vec::new();
    for (at, _) in code.match_indices("\n{\n") {
        let before = code[..at].trim_end();
        let begin = ["\n\n", ";\n", "}\n"].map(|end| before.rfind(end));
        let head = &before[begin.into_iter().flatten().max().unwrap_or_default()..];
        let body = code[at..].split("\n}\n").next().unwrap_or_default();
        // The name is before the parenthesis that belongs to the last one.
        let mut depth = 0;
        let opening = head.char_indices().rev().find(|(_, letter)| {
            depth += match letter {
                ')' => 1,
                '(' => -1,
                _ => 0,
            };
            *letter == '(' && depth == 0
        });
        let name =
            opening.and_then(|(at, _)| words(&head[..at]).filter(|word| !word.is_empty()).last());
        functions.push(Function {
            name: name.unwrap_or_default().to_owned(),
            is_static: words(head).any(|word| word == "static"),
            body: body.to_owned(),
        });
    }
    functions
}

/// The words of a text that may be names of functions: those that are called, and those of the runtime.
fn names(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut rest = code;
    while let Some(word) = words(rest).find(|word| !word.is_empty()) {
        let end = rest.find(word).unwrap_or_default() + word.len();
        rest = &rest[end..];
        if word.starts_with("duo_") || rest.trim_start().starts_with('(') {
            names.insert(word.to_owned());
        }
    }
    names
}

/// The functions that a file names, including those that are named in the inline functions that it calls. Its own functions hide others
/// of the same name.
fn named(code: &str, inline: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let own: BTreeSet<String> = functions(code)
        .into_iter()
        .map(|function| function.name)
        .collect();
    let mut named = BTreeSet::new();
    let mut open: Vec<String> = names(code).into_iter().collect();
    while let Some(name) = open.pop() {
        if own.contains(&name) || !named.insert(name.clone()) {
            continue;
        }
        open.extend(inline.get(&name).into_iter().flatten().cloned());
    }
    named
}

/// Whether a file is not a header.
fn is_source(file: &str) -> bool {
    file.rsplit('.').next() == Some("c")
}

/// The calls between files.
fn calls(codes: &BTreeMap<String, String>) -> Vec<Use> {
    let mut owners: BTreeMap<String, &str> = BTreeMap::new();
    let mut inline: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, code) in codes {
        for function in functions(code) {
            if !is_source(file) {
                inline
                    .entry(function.name)
                    .or_default()
                    .extend(names(&function.body));
            } else if !function.is_static {
                let before = owners.insert(function.name.clone(), file);
                assert!(
                    before.is_none_or(|before| before == file),
                    "{} is defined in {file} and in another file",
                    function.name
                );
            }
        }
    }
    assert!(
        owners.len() > 150 && inline.len() > 50,
        "functions are not found"
    );
    let mut calls = Vec::new();
    for (file, code) in codes.iter().filter(|(file, _)| is_source(file)) {
        for name in named(code, &inline) {
            let owner = owners.get(&name).filter(|owner| **owner != file.as_str());
            calls.extend(owner.map(|owner| Use::new(file, &name, owner)));
        }
    }
    calls
}

/// The files that a C file includes, as it names them.
fn includes(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| {
        let name = line.trim_start().strip_prefix("#include ")?.trim();
        Some(name.trim_matches(['"', '<', '>']).to_owned())
    });
    lines.collect()
}

/// The file that this one includes under a name.
fn included_by(file: &str, name: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in name.trim_start_matches("../src/").split('/') {
        match part {
            ".." => {
                parts.pop();
            }
            _ if name.starts_with("../src/") && parts.len() == 1 => parts = vec![part],
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// The includes between files, except for the headers in `include`, which are for programs.
fn inclusions(texts: &BTreeMap<String, String>) -> Vec<Use> {
    let mut uses = Vec::new();
    for (file, text) in texts {
        for included in includes(text) {
            let of = included_by(file, &included);
            if texts.contains_key(&of) {
                uses.push(Use::new(file, "the declarations", &of));
            }
        }
    }
    uses
}

#[test]
fn no_file_of_the_c_runtime_uses_a_higher_layer() {
    let texts = texts();
    let codes = texts
        .iter()
        .map(|(file, text)| (file.clone(), code(text)))
        .collect();
    let (calls, inclusions) = (calls(&codes), inclusions(&texts));
    assert!(
        calls.len() > 200 && inclusions.len() > 60,
        "uses are not found"
    );
    let uses: Vec<Use> = calls.into_iter().chain(inclusions).collect();
    assert_none(&faults(texts.keys(), &uses), LIST);
}

#[test]
fn files_of_the_c_runtime_call_each_other_only_where_it_is_listed() {
    let codes = texts()
        .into_iter()
        .map(|(file, text)| (file, code(&text)))
        .collect();
    assert_none(&circles(&calls(&codes), CIRCLES), LIST);
}

#[test]
fn no_files_of_the_c_runtime_include_each_other() {
    let mut uses = Uses::new();
    for folder in ["runtime/c/src/", "runtime/c/include/"] {
        for file in files(folder) {
            let text = fs::read_to_string(&file).expect("it can be read");
            let path = relative(&file);
            let name = path.trim_start_matches(folder).to_owned();
            let included = includes(&text).into_iter();
            let included = included.map(|included| included_by(&name, &included));
            uses.insert(name.clone(), included.collect());
        }
    }
    let known: BTreeSet<String> = uses.keys().cloned().collect();
    let mut count = 0;
    for used in uses.values_mut() {
        used.retain(|name| known.contains(name));
        count += used.len();
    }
    assert!(count > 50, "includes are not found");
    assert_eq!(compare(&uses, &[]), [""; 0]);
}

#[test]
fn each_file_is_in_one_unit() {
    let folder = repository().join("runtime/c/src");
    let mut included = Vec::new();
    for unit in UNITS {
        let text = fs::read_to_string(folder.join(unit)).expect("it can be read");
        included.extend(includes(&text).into_iter().filter(|file| is_source(file)));
    }
    included.sort();
    let is_outside = |file: &str| {
        let layer = file.split('/').next().unwrap_or_default();
        ["health", "net_health.c", "tls", "nats", "robots"].contains(&layer)
    };
    let texts = texts().into_keys();
    let sources: Vec<String> = texts
        .filter(|file| is_source(file) && !is_outside(file))
        .collect();
    assert_eq!(included, sources);
}
