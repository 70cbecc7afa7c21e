//! The layers of the Scala runtime and of its sessions over sockets, which are folders. A file uses another one by naming a class, an object,
//! a trait or a type that is defined there at the top level, or in a package object. Functions of package objects are not taken into account.

use super::listed::{Use, assert_none, circles, code};
use crate::tidy::{files, relative, words};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

const LIST: &str = "tests/suite/layers/scala.rs";

/// The folders of a package. What is in the second may use what is in the first.
const FOLDERS: [(&str, &str); 3] = [
    ("runtime/scala/src/main/java/duologue/", ""),
    ("runtime/scala/src/main/scala/duologue/", ""),
    ("runtime/scala/net/src/main/scala/duologue/net/", "net/"),
];

/// The layers, from the lowest: each may use those before it. The empty one has the files of the package's own folder: the package objects
/// and what only generated code or Java calls.
const LAYERS: [&str; 17] = [
    "strict",
    "floor",
    "wire",
    "ring",
    "link",
    "core",
    "typed",
    "observe",
    "",
    "many",
    "robots",
    "net/core",
    "net/observe",
    "net/transport",
    "net/healthprotocol",
    "net/listen",
    "net",
];

/// Files that use each other, and why they stay together.
const CIRCLES: &[(&[&str], &str)] = &[
    (
        &["typed/Endpoint.scala", "typed/Select.scala"],
        "`endpoint.on` makes a case of a select, which programs name `Select.Case`",
    ),
    (
        &[
            "observe/Registry.scala",
            "observe/RegistrySnapshot.scala",
            "observe/RegistryText.scala",
        ],
        "what a snapshot consists of is part of `Registry`, by whose name programs find it",
    ),
];

/// The position of a file's layer; none if it is in none.
fn layer(file: &str) -> Option<usize> {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    LAYERS.iter().position(|layer| *layer == folder)
}

/// What is wrong with the layers of these files.
fn faults(files: &BTreeSet<String>, uses: &[Use]) -> Vec<String> {
    let unknown = files.iter().filter(|file| layer(file).is_none());
    let mut faults: Vec<String> = unknown
        .map(|file| {
            format!("{file} is in no layer: move it to the lowest one that may use what it uses")
        })
        .collect();
    let upward = uses
        .iter()
        .filter(|used| layer(&used.of) > layer(&used.file));
    faults.extend(upward.map(|Use { file, name, of }| {
        format!("{file} uses {name} of {of}, which is in a higher layer: move what {file} needs to a lower one, or {file} to a higher one")
    }));
    faults
}

/// The code of each file.
fn codes() -> BTreeMap<String, String> {
    let mut codes = BTreeMap::new();
    for (folder, prefix) in FOLDERS {
        for file in files(folder) {
            let name = relative(&file).replacen(folder, prefix, 1);
            let text = fs::read_to_string(&file).expect("it can be read");
            codes.insert(name, code(&text));
        }
    }
    codes
}

/// The names of types that a file defines for other files. In a package object they are indented.
fn definitions(file: &str, code: &str) -> BTreeSet<String> {
    let kinds = [
        "class",
        "interface",
        "enum",
        "record",
        "object",
        "trait",
        "type",
    ];
    let indentation = if file.ends_with("package.scala") {
        "  "
    } else {
        ""
    };
    let lines = code.lines().filter_map(|line| {
        let line = line.strip_prefix(indentation)?;
        let is_indented = line.starts_with([' ', '*', '}']);
        let mut words = words(line).skip_while(|word| !kinds.contains(word)).skip(1);
        words.next().filter(|_| !is_indented).map(str::to_owned)
    });
    lines
        .filter(|name| name.starts_with(|first: char| first.is_ascii_uppercase()))
        .collect()
}

/// The inner package of a file that other packages do not see; empty for all others.
fn package(file: &str) -> &str {
    match file.split_once('/') {
        Some((inner @ ("net" | "robots"), _)) => inner,
        _ => "",
    }
}

fn uses(codes: &BTreeMap<String, String>) -> Vec<Use> {
    let mut owners: BTreeMap<(&str, String), &str> = BTreeMap::new();
    for (file, code) in codes {
        for name in definitions(file, code) {
            owners.insert((package(file), name), file);
        }
    }
    let mut uses = Vec::new();
    for (file, code) in codes {
        let named: BTreeSet<&str> = words(code).collect();
        for name in named {
            // The names of an inner package hide those of `duologue`.
            let mut owner = [package(file), ""]
                .into_iter()
                .filter_map(|package| owners.get(&(package, name.to_owned())));
            let owner = owner.next().filter(|owner| **owner != file);
            uses.extend(owner.map(|owner| Use::new(file, name, owner)));
        }
    }
    uses
}

#[test]
fn no_file_of_the_scala_runtime_uses_a_higher_layer() {
    let codes = codes();
    let uses = uses(&codes);
    assert!(uses.len() > 150, "only {} uses are found", uses.len());
    let files = codes.keys().cloned().collect();
    assert_none(&faults(&files, &uses), LIST);
    let mut rooms: BTreeMap<(Option<usize>, bool), usize> = BTreeMap::new();
    for file in &files {
        *rooms
            .entry((layer(file), file.ends_with(".java")))
            .or_default() += 1;
    }
    assert!(
        rooms.values().all(|count| *count <= 12),
        "a folder has more than twelve files: {rooms:?}"
    );
    for Use { file, name, of } in &uses {
        let is_java = of.ends_with(".java") || !file.ends_with(".java");
        assert!(
            is_java,
            "{file} uses {name} of {of}: a build may compile the sources in Java first"
        );
    }
    for (file, code) in codes.iter().filter(|(file, _)| !file.starts_with("net/")) {
        assert!(
            !code.contains("duologue.net"),
            "{file} uses `duologue.net`, which a program may not have"
        );
    }
}

#[test]
fn files_of_the_scala_runtime_use_each_other_only_where_it_is_listed() {
    assert_none(&circles(&uses(&codes()), CIRCLES), LIST);
}
