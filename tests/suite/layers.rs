//! The layers of the runtimes: which module may use which. The Rust runtime is in this file, the others are in `c` and `scala`. The
//! compiler's own modules are in `tidy`, and the files in them in `circles`.

mod c;
mod listed;
mod scala;
mod shm;

use crate::circles::compare;
use crate::tidy::{files, heads, relative};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The layers of the Rust runtime, from the lowest.
const LAYERS: [&str; 7] = ["floor", "ring", "link", "typed", "remote", "many", "robot"];

/// Each file with the files that it uses.
pub type Uses = BTreeMap<String, BTreeSet<String>>;

/// The Rust code of a file without its tests, comments and strings of documentation.
fn code(text: &str) -> String {
    let code = text
        .split("#[cfg(all(test, not(duologue_loom)))]\nmod tests {")
        .next()
        .unwrap_or_default();
    let lines = code.lines();
    lines
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The modules of the Rust runtime by their paths, such as `link::message::grow`, with their code. Modules that only declare others
/// are not among them, nor are tests.
fn modules() -> BTreeMap<String, String> {
    let folder = "runtime/rust/src/";
    let mut modules = BTreeMap::new();
    for file in files(folder) {
        let path = relative(&file);
        let path = path.trim_start_matches(folder);
        let layer = path.split('/').next().unwrap_or_default();
        let Some(name) = path.strip_suffix(".rs").filter(|_| path.contains('/')) else {
            continue;
        };
        assert!(
            LAYERS.contains(&layer),
            "{path} is in a folder that is not a layer"
        );
        let name = name.trim_end_matches("/mod").replace('/', "::");
        let text = fs::read_to_string(&file).expect("it can be read");
        if LAYERS.contains(&name.as_str()) {
            assert!(
                !code(&text).contains("use "),
                "{path} only declares modules"
            );
        } else if !name.ends_with("::tests") {
            modules.insert(name, code(&text));
        }
    }
    modules
}

/// The paths that a module names after `use` or in an expression, resolved to the crate's root.
pub fn paths(module: &str, code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (prefix, base) in [("crate::", String::new()), ("super::", parent(module))] {
        for (at, _) in code.match_indices(prefix) {
            let before = &code[..at];
            if before.ends_with("super::") || before.ends_with(['$', '_', '"']) {
                continue;
            }
            let (mut base, mut rest) = (base.clone(), &code[at + prefix.len()..]);
            while let Some(further) = rest.strip_prefix("super::") {
                (base, rest) = (parent(&base), further);
            }
            let end = |c: char| !(c.is_alphanumeric() || c == '_' || c == ':');
            let path = rest.split(end).next().unwrap_or_default();
            let group = rest[path.len()..].strip_prefix('{');
            let group = group.and_then(|list| list.split("};").next());
            let path = path.trim_end_matches("::");
            match group {
                Some(list) => {
                    let heads = heads(list).into_iter();
                    found.extend(heads.map(|head| joined(&[&base, path, &head])));
                }
                None => found.push(joined(&[&base, path])),
            }
        }
    }
    found
}

/// A path of those parts that are not empty.
fn joined(parts: &[&str]) -> String {
    let parts = parts.iter().copied().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("::")
}

pub fn parent(module: &str) -> String {
    let parent = module.rsplit_once("::");
    parent.map_or_else(String::new, |(parent, _)| parent.to_owned())
}

/// What each module uses: of each path, the longest beginning that is a module.
fn uses(modules: &BTreeMap<String, String>) -> Uses {
    let resolve = |path: &String| {
        let mut path = path.clone();
        while !path.is_empty() && !modules.contains_key(&path) {
            path = parent(&path);
        }
        path
    };
    let of = |module: &String, code: &String| {
        let mut used = BTreeSet::new();
        for path in paths(module, code) {
            // What is in a layer but in none of its modules belongs to a module inside this file.
            let first = path.split("::").next().unwrap_or_default();
            assert!(
                LAYERS.contains(&first),
                "{module} uses {path}: name the module that has it"
            );
            used.insert(resolve(&path));
        }
        used.remove(module);
        used.remove("");
        used
    };
    let all = modules.iter();
    all.map(|(module, code)| (module.clone(), of(module, code)))
        .collect()
}

/// The operations on the ring, each with the module of `link` that has it, as far as no other module has one of the same name. They are
/// methods of `Pipe`, which other modules call without naming the module.
fn operations(modules: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, code) in modules {
        for (at, _) in code.match_indices("fn ") {
            let name = code[at + 3..].split(['(', '<']).next();
            let of = all.entry(name.unwrap_or_default().to_owned());
            of.or_default().insert(module.clone());
        }
    }
    let in_link = |(name, mut of): (String, BTreeSet<String>)| {
        let module = of.pop_first().filter(|_| of.is_empty())?;
        module.starts_with("link::").then_some((name, module))
    };
    all.into_iter().filter_map(in_link).collect()
}

/// What each module uses, including the operations that it calls.
fn uses_and_calls(modules: &BTreeMap<String, String>) -> Uses {
    let operations = operations(modules);
    assert!(operations.len() > 30, "operations are not found");
    let mut uses = uses(modules);
    for (module, code) in modules {
        let called = |name: &&String| code.contains(&format!(".{name}("));
        let of: Vec<&String> = operations.keys().filter(called).collect();
        let of = of.into_iter().map(|name| operations[name].clone());
        let used = uses.entry(module.clone()).or_default();
        used.extend(of.filter(|of| of != module));
    }
    uses
}

fn layer(module: &str) -> usize {
    let name = module.split("::").next().unwrap_or_default();
    let layer = LAYERS.iter().position(|layer| *layer == name);
    layer.unwrap_or_else(|| panic!("{module} is in no layer"))
}

#[test]
fn no_module_of_the_rust_runtime_uses_a_higher_layer() {
    let modules = modules();
    assert!(modules.len() > 30, "modules are not found");
    let mut count = 0;
    for (module, used) in uses_and_calls(&modules) {
        for used in used {
            count += 1;
            assert!(
                layer(&used) <= layer(&module),
                "{module} uses {used}, which is in a higher layer"
            );
        }
    }
    assert!(count > 80, "uses are not found");
}

/// A module and the modules in it may use each other: together they are one subject.
#[test]
fn no_modules_of_the_rust_runtime_use_each_other() {
    let modules = modules();
    let mut subjects = Uses::new();
    let subject = |module: &str| {
        let parts: Vec<&str> = module.split("::").take(2).collect();
        parts.join("::")
    };
    for (module, used) in uses_and_calls(&modules) {
        let of = subject(&module);
        let used = used.iter().map(|used| subject(used));
        let used: Vec<String> = used.filter(|used| *used != of).collect();
        subjects.entry(of).or_default().extend(used);
    }
    assert_eq!(compare(&subjects, &[]), [""; 0]);
}
