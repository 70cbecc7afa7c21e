//! The layers of the C runtime. A file uses another one by including it, or by naming a function that is defined there. Tables of functions
//! count too. An inline function of a header belongs to each file that calls it.
//!
//! A new file of `runtime/c/src`, `runtime/c/tls`, `runtime/c/nats` or `runtime/c/robots` goes into a layer below.

use super::Uses;
use super::listed::{Layer, Use, assert_none, circles, code, faults};
use crate::circles::compare;
use crate::tidy::{files, relative, words};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

const LIST: &str = "tests/suite/layers/c.rs";

/// The layers, from the lowest. The two transports and TLS can each be left out of a program, so nothing below uses them, and one transport
/// does not use the other: `session` and `many` call them through the table in `transport.h`.
const LAYERS: &[Layer] = &[
    Layer {
        name: "floor",
        may_use: "",
        files: "backoff.c backoff.h barrier.c cancel.c escape.c futex.h limit.c memory.c processor.c record.c record.h registry.c session.h tag.h text.c utf8.c utf8.h wait.c",
    },
    Layer {
        name: "ring",
        may_use: "floor",
        files: "layout.c pool.c position.h ring.h transport.h",
    },
    Layer {
        name: "link",
        may_use: "floor ring",
        files: "arming.c credit.c handle.c lane.c leave.c park.c payload.c peer.c",
    },
    Layer {
        name: "session",
        may_use: "floor ring link",
        files: "copy.c recorded.c session.c",
    },
    Layer {
        name: "many",
        may_use: "floor ring link session",
        files: "ports.c ports.h ports_wake.c select.c shared.c",
    },
    Layer {
        name: "wire",
        may_use: "floor",
        files: "wire.c wire.h",
    },
    Layer {
        name: "shm",
        may_use: "floor ring link wire",
        files: "shm.c shm.h shm_attach.c shm_lines.h shm_long.c shm_recv.c shm_region.c shm_send.c shm_wait.c shm_watch.c",
    },
    Layer {
        name: "net",
        may_use: "floor ring link wire",
        files: "net.c net.h net_accept.c net_accept.h net_address.c net_buffer.c net_connect.c net_descriptor.c net_greet.c \
                net_hello.c net_lane.c net_listen.c net_listener.h net_observe.c net_peers.c net_recv.c net_send.c \
                net_serve.c net_stream.h net_system.c net_value.c net_waiting.c net_watch.c net_writer.c",
    },
    Layer {
        name: "health",
        may_use: "floor ring link session wire net",
        files: "net_health.c health/health.c health/health.h health/health_net.h health/health_types.c health/health_types.h \
                health/health_wire.c health/health_wire.h",
    },
    Layer {
        name: "tls",
        may_use: "floor net",
        files: "tls/failure.c tls/peer.c tls/stream.c tls/tls.c tls/tls.h",
    },
    Layer {
        name: "nats",
        may_use: "floor net",
        files: "nats/announce.c nats/directory.c nats/nats.h",
    },
    Layer {
        name: "robots",
        may_use: "floor ring link session many",
        files: "robots/choices.c robots/coverage.c robots/play.c robots/robots.h robots/text.c robots/values.c",
    },
];

/// Files that use each other, and why they stay together.
const CIRCLES: &[(&[&str], &str)] = &[
    (
        &["leave.c", "payload.c"],
        "a side that disconnects destroys the messages that it has not read, and the endpoints in them disconnect in turn",
    ),
    (
        &[
            "net.c",
            "net_lane.c",
            "net_recv.c",
            "net_send.c",
            "net_watch.c",
            "net_writer.c",
        ],
        "each operation may find that the connection is over, and ending a session writes what was sent before; \
         net.c has the table of the operations",
    ),
    (
        &[
            "shm.c",
            "shm_attach.c",
            "shm_long.c",
            "shm_recv.c",
            "shm_region.c",
            "shm_send.c",
            "shm_wait.c",
            "shm_watch.c",
        ],
        "each operation may find that the peer is dead, or is the first to meet it, and detaches or completes the attachment; \
         shm.c has the table of the operations",
    ),
];

/// The text of each file.
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
            texts.insert(name, text);
        }
    }
    texts
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

/// The includes between files, except for the headers in `include`, which are for programs.
fn inclusions(texts: &BTreeMap<String, String>) -> Vec<Use> {
    let mut uses = Vec::new();
    for (file, text) in texts {
        let folder = file.split_once('/').map_or("", |(folder, _)| folder);
        for included in includes(text) {
            let beside = if folder.is_empty() {
                included.clone()
            } else {
                format!("{folder}/{included}")
            };
            let found = [included.trim_start_matches("../src/"), beside.as_str()];
            let of = found.into_iter().find(|of| texts.contains_key(*of));
            uses.extend(of.map(|of| Use::new(file, "the declarations", of)));
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
    let files = texts.keys().cloned().collect();
    let uses: Vec<Use> = calls.into_iter().chain(inclusions).collect();
    assert_none(&faults(LAYERS, &files, &uses, LIST), LIST);
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
            uses.insert(name, includes(&text).into_iter().collect());
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
fn calls_are_recognized() {
    let header = "static inline int short_way(int x)\n{\n    return duo_c(x);\n}\n";
    let a = "static int claim(void)\n{\n    return 0;\n}\n\n__attribute__((unused)) int duo_a(int (*f)(int))\n{\n    return short_way(1) + claim();\n}\n";
    let b = "\nint duo_b(void)\n{\n    return duo_a(duo_c);\n}\n";
    let c = "\nint duo_c(int x)\n{\n    int short_way = x;\n    return short_way;\n}\n";
    let inline = BTreeMap::from([("short_way".to_owned(), names(&functions(header)[0].body))]);
    let functions: Vec<String> = functions(a)
        .into_iter()
        .map(|function| function.name)
        .collect();
    assert_eq!(functions, ["claim", "duo_a"]);
    let of_runtime = |code: &str| {
        let named = named(code, &inline).into_iter();
        named
            .filter(|name| name.starts_with("duo_"))
            .collect::<Vec<_>>()
    };
    assert_eq!(of_runtime(a), ["duo_c"]);
    assert_eq!(of_runtime(b), ["duo_a", "duo_c"]);
    assert_eq!(of_runtime(c), [""; 0]);
}
