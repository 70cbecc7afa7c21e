//! The structure of the repository: which module may use which, how many files a room has, and, in `machine`, that no file is unfinished or
//! mentions the machine it was written on.

mod ignored;
mod machine;
mod mutants;
mod rooms;

use crate::support::repository;
use rooms::{OUTSIDE, OUTWARD, PURE, ROOMS};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A source file without its tests, and without comments.
pub struct Source {
    /// The path relative to the repository, with `/`.
    pub path: String,
    /// The top-level module it belongs to.
    pub room: String,
    /// How deeply its module is nested; `src/wire.rs` has 1.
    depth: usize,
    pub code: String,
}

pub fn relative(path: &Path) -> String {
    let path = path
        .strip_prefix(repository())
        .expect("it is in the repository");
    path.to_str().expect("a UTF-8 name").replace('\\', "/")
}

/// All files below a folder, sorted, without build output, installed packages and Git's own files.
pub fn files(below: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![repository().join(below)];
    pending.retain(|folder| folder.exists());
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("it can be read").path();
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.expect("a UTF-8 name");
            if path.is_dir() && ![".git", "node_modules", "target"].contains(&name) {
                pending.push(path);
            } else if path.is_file() && name != ".git" {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The folders with the sources of the compiler, of the command line and of the tools.
pub const PACKAGES: [&str; 8] = [
    "src",
    "cli/src",
    "tools/lsp/src",
    "tools/peers/src",
    "tools/project/src",
    "tools/reports/src",
    "tools/site/src",
    "tools/traces/src",
];

/// The sources of one of these packages.
pub fn sources(package: &str) -> Vec<Source> {
    let all = files(package)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let sources = all.map(|file| {
        let path = relative(&file);
        let module = path[package.len() + 1..].trim_end_matches(".rs");
        let module = module.trim_end_matches("/mod");
        let text = fs::read_to_string(&file).expect("it can be read");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        Source {
            room: module.split('/').next().unwrap_or_default().to_owned(),
            depth: module.split('/').count(),
            code: lines.collect::<Vec<_>>().join("\n"),
            path,
        }
    });
    sources
        .filter(|source| !source.path.ends_with("/tests.rs"))
        .collect()
}

pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
}

/// The modules that a file uses: after `crate::`, alone or in braces, and after enough `super::`.
fn rooms_named(source: &Source) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    let up = "super::".repeat(source.depth);
    for prefix in ["crate::", up.as_str()] {
        let mut rest = source.code.as_str();
        while let Some(at) = rest.find(prefix) {
            let before = &rest[..at];
            rest = &rest[at + prefix.len()..];
            if before.ends_with("super::") || before.ends_with(|c: char| c.is_alphanumeric()) {
                continue;
            }
            let group = rest
                .strip_prefix('{')
                .and_then(|list| list.split("};").next());
            match group {
                Some(list) => named.extend(heads(list)),
                None => named.extend(words(rest).next().map(str::to_owned)),
            }
        }
    }
    named
}

/// The first word of each item of a list; items may themselves contain lists.
pub fn heads(list: &str) -> Vec<String> {
    let mut depth = 0;
    let mut heads = vec![String::new()];
    for letter in list.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => heads.push(String::new()),
            _ => heads.last_mut().expect("never empty").push(letter),
        }
    }
    let first = |item: &String| words(item.trim()).next().unwrap_or_default().to_owned();
    heads
        .iter()
        .map(first)
        .filter(|head| !head.is_empty())
        .collect()
}

#[test]
fn each_stage_uses_only_earlier_stages() {
    for source in sources("src") {
        let room = ROOMS.iter().find(|(room, _)| *room == source.room);
        let (room, may_name) =
            room.unwrap_or_else(|| panic!("{} is a new module: add it to ROOMS", source.path));
        for named in rooms_named(&source) {
            let is_room = ROOMS.iter().any(|(room, _)| *room == named);
            let allowed = named == *room || may_name.contains(&named.as_str());
            assert!(
                !is_room || allowed,
                "{} uses {named}, which {room} may not",
                source.path
            );
        }
    }
}

/// A room with more files than a reader can keep in mind is cut by subject. How long a file is does not matter.
#[test]
fn a_room_has_at_most_twelve_files() {
    let mut rooms: BTreeMap<String, usize> = BTreeMap::new();
    for source in PACKAGES.into_iter().flat_map(sources) {
        let (room, _) = source.path.rsplit_once('/').expect("it is in a folder");
        *rooms.entry(room.to_owned()).or_default() += 1;
    }
    rooms.retain(|_, files| *files > 12);
    assert_eq!(rooms, BTreeMap::new());
}

#[test]
fn each_external_crate_is_used_in_one_module() {
    for source in sources("src") {
        for (outside, room) in OUTSIDE {
            let path = format!("{outside}::");
            let mut found = source.code.match_indices(&path);
            let is_named = found.any(|(at, _)| {
                !source.code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
            });
            assert!(
                !is_named || room.split(' ').any(|room| source.room == room),
                "{} uses {outside}",
                source.path
            );
        }
    }
    let manifest = fs::read_to_string(repository().join("Cargo.toml")).expect("it is there");
    let table = manifest
        .split("\n[dependencies]\n")
        .nth(1)
        .expect("there are dependencies");
    for line in table.lines().take_while(|line| !line.starts_with('[')) {
        let name = line
            .split([' ', '=', '.'])
            .next()
            .unwrap_or_default()
            .replace('-', "_");
        let is_listed = OUTSIDE.iter().any(|(outside, _)| *outside == name);
        assert!(name.is_empty() || is_listed, "add {name} to OUTSIDE");
    }
}

#[test]
fn only_the_outward_modules_do_io() {
    let compiler = sources("src").into_iter();
    let compiler = compiler.filter(|source| !OUTWARD.contains(&source.room.as_str()));
    let tools = PURE.into_iter().flat_map(sources);
    let touches = "println! print! std::fs std::process std::env env:: fs::";
    for source in compiler.chain(tools) {
        for touch in touches.split(' ') {
            let mut found = source.code.match_indices(touch);
            let touches = found.any(|(at, _)| !source.code[..at].ends_with(char::is_alphanumeric));
            assert!(!touches, "{} has {touch}", source.path);
        }
    }
}

/// The core of a session over bytes takes bytes and the time, and gives bytes.
#[test]
fn the_core_of_a_session_does_no_io() {
    let sources = sources("runtime/rust/net/src");
    let core = sources.iter().filter(|source| {
        let path = source.path.strip_prefix("runtime/rust/net/src/core");
        path.is_some_and(|path| !path.starts_with("/tests"))
    });
    assert!(core.clone().count() > 1, "the core is somewhere else");
    for source in core {
        for touch in
            "Instant::now elapsed thread Mutex Atomic std::io rustix crate::transport crate::remote"
                .split(' ')
        {
            assert!(!source.code.contains(touch), "{} has {touch}", source.path);
        }
    }
}

/// Iterating over a hash map gives a different order in every run, unless the result is sorted.
#[test]
fn no_hash_map_is_iterated() {
    let calls = "iter keys values into_iter drain into_keys into_values";
    for source in PACKAGES.into_iter().flat_map(sources) {
        for name in hashed(&source.code) {
            if source.code.contains(&format!("{name}.sort")) {
                continue;
            }
            let calls = calls.split(' ').map(|call| format!("{name}.{call}("));
            for found in calls.chain(["in ", "in &"].map(|start| format!("{start}{name} {{"))) {
                let mut places = source.code.match_indices(&found);
                let is_found = places.any(|(at, _)| {
                    let before = &source.code[..at];
                    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
                    before.ends_with("self.") || !before.ends_with(is_part)
                });
                assert!(!is_found, "{}: `{found}` has no order", source.path);
            }
        }
    }
}

/// Names of variables and fields that hold hash maps or sets.
fn hashed(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in code.lines() {
        let Some(at) = line.find("HashMap").or_else(|| line.find("HashSet")) else {
            continue;
        };
        let name = line[..at].split([':', '=']).next().unwrap_or_default();
        let name = words(name).filter(|word| !word.is_empty()).last();
        names.extend(name.filter(|name| *name != "use").map(str::to_owned));
    }
    names
}

/// What is between the braces of each tag of a template.
fn tags(template: &str) -> Vec<&str> {
    let mut tags = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        rest = &rest[at + 1..];
        let end = match rest.as_bytes().first() {
            Some(b'{') => "}}",
            Some(b'%') => "%}",
            _ => continue,
        };
        let (tag, after) = rest[1..].split_once(end).expect("the tag ends");
        tags.push(tag.trim_matches(['-', ' ']));
        rest = after;
    }
    tags
}

/// The macros that a template defines.
fn macros(template: &str) -> impl Iterator<Item = &str> {
    let names = tags(template).into_iter();
    names.filter_map(|tag| tag.strip_prefix("macro ")?.split('(').next())
}

/// The calls and filters in a template's tags, except for macros and the text that their callers pass, questions whether something is
/// there, and `fill`, which breaks lines. A value that has a template for code with it and one for code without it is a template too.
fn calls<'t>(template: &'t str, macros: &BTreeSet<&str>) -> Vec<&'t str> {
    let mut calls = Vec::new();
    for tag in tags(template) {
        for (at, _) in tag.match_indices('(') {
            let name = tag[..at].rfind(|c: char| !(c.is_alphanumeric() || c == '_'));
            let name = &tag[name.map_or(0, |before| before + 1)..at];
            let is_question =
                ["is_empty", "is_some"].contains(&name) && tag[at..].starts_with("()");
            let is_template = ["encoded", "decoded", "made", "shown"].contains(&name);
            let is_macro = macros.contains(name) || name == "caller";
            let is_pattern = name.starts_with(char::is_uppercase);
            let is_known = is_question || is_template || is_macro || is_pattern;
            if !is_known && !name.is_empty() {
                calls.push(name);
            }
        }
        let is_filter = tag.starts_with("filter ") && tag != "filter fill";
        let is_pattern = tag.starts_with("when ");
        if is_filter || !is_pattern && tag.replace("||", "").contains('|') {
            calls.push(tag);
        }
    }
    calls
}

#[test]
fn templates_call_only_macros_and_templates() {
    let mut read = 0;
    let read_all = files("templates").into_iter().map(|path| {
        let text = fs::read_to_string(&path).expect("it can be read");
        (path, text)
    });
    let templates: Vec<(PathBuf, String)> = read_all.collect();
    let known = templates.iter().flat_map(|(_, text)| macros(text));
    let known: BTreeSet<&str> = known.collect();
    for (path, text) in &templates {
        let calls = calls(text, &known);
        read += text.matches("{%").count();
        assert!(calls.is_empty(), "{} calls {calls:?}", relative(path));
    }
    assert!(read > 200, "tags are not found");
    let template = "f(x) {{ a.b }} {{ a.b() }} {% if a.is_empty() && (b || c.has(1)) %} {{ d|e }} {{ f(g) }}\
                    {% if let Some(h) = h.i() %} {%- filter fill %} {% filter trim %} { j(); }\
                    {%- macro k(l) -%} {{ m::k(n) }} {%- when O::P(q) | O::R -%} {{ s.shown(t) }} {{ caller() }}";
    let known = macros(template).collect();
    assert_eq!(
        calls(template, &known),
        ["b", "has", "d|e", "f", "i", "filter trim"]
    );
}
