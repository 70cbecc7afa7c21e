//! The modules of the compiler and the tools that use each other: in no folder do files form a cycle. Which of the top-level modules may use which is in `tidy`.

use crate::layers::{Uses, parent, paths};
use crate::tidy::{PACKAGES, Source, sources};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use std::collections::{BTreeMap, BTreeSet};
use syn::{Item, UseTree};

/// The code of each module by its path, such as `languages::c::names`.
fn modules(package: &str) -> BTreeMap<String, String> {
    let named = sources(package)
        .into_iter()
        .map(|Source { path, code, .. }| {
            let module = path[package.len() + 1..].trim_end_matches(".rs");
            (module.trim_end_matches("/mod").replace('/', "::"), code)
        });
    named.filter(|(module, _)| module != "lib").collect()
}

/// The names that a module has from modules inside it, with their paths. Modules beside those may use them under these names.
fn passed_on(module: &str, code: &str, modules: &BTreeMap<String, String>) -> Uses {
    let file = syn::parse_file(code).expect("it is Rust");
    let mut passed_on = Uses::new();
    let mut open = Vec::new();
    for item in file.items {
        if let Item::Use(used) = item {
            open.push((module.to_owned(), used.tree));
        }
    }
    while let Some((path, tree)) = open.pop() {
        match tree {
            UseTree::Path(inner) => {
                let path = format!("{path}::{}", inner.ident);
                if path.matches("::").count() > module.matches("::").count() + 1
                    || modules.contains_key(&path)
                {
                    open.push((path, *inner.tree));
                }
            }
            UseTree::Group(group) => {
                open.extend(group.items.into_iter().map(|tree| (path.clone(), tree)));
            }
            UseTree::Name(name) if path != module => {
                let paths = passed_on.entry(name.ident.to_string()).or_default();
                paths.insert(format!("{path}::{}", name.ident));
            }
            UseTree::Rename(name) if path != module => {
                let paths = passed_on.entry(name.rename.to_string()).or_default();
                paths.insert(format!("{path}::{}", name.ident));
            }
            UseTree::Name(_) | UseTree::Rename(_) | UseTree::Glob(_) => {}
        }
    }
    passed_on
}

/// For each folder, its files, each with those that it uses. What is in a folder below belongs to the file of the same name.
fn folders(modules: &BTreeMap<String, String>) -> BTreeMap<String, Uses> {
    let passed_on: BTreeMap<&str, Uses> = modules
        .iter()
        .map(|(module, code)| (module.as_str(), passed_on(module, code, modules)))
        .collect();
    // The module that a path leads to.
    let leads_to = |path: String| {
        let mut path = path;
        loop {
            let mut module = path.clone();
            while !module.is_empty() && !modules.contains_key(&module) {
                module = parent(&module);
            }
            let rest = path[module.len()..].trim_start_matches("::");
            let name = rest.split("::").next().unwrap_or_default();
            let names = passed_on.get(module.as_str());
            let further = names.and_then(|names| names.get(name)?.first());
            match further {
                Some(further) if *further != path => path.clone_from(further),
                _ => return module,
            }
        }
    };
    let mut folders: BTreeMap<String, Uses> = BTreeMap::new();
    for (module, code) in modules {
        for path in paths(module, code) {
            let used = leads_to(path);
            let (mut of, mut to) = (module.split("::"), used.split("::"));
            let mut folder = Vec::new();
            let mut next = || (of.next(), to.next());
            while let (Some(of), Some(to)) = next() {
                if of != to {
                    let files = folders.entry(folder.join("::")).or_default();
                    files
                        .entry(of.to_owned())
                        .or_default()
                        .insert(to.to_owned());
                    break;
                }
                folder.push(of);
            }
        }
    }
    folders
}

/// The groups of files that use each other, directly or not.
fn circles(uses: &Uses) -> BTreeSet<BTreeSet<&str>> {
    let graph = DiGraphMap::<&str, ()>::from_edges(
        uses.iter()
            .flat_map(|(file, used)| used.iter().map(|used| (file.as_str(), used.as_str()))),
    );
    let groups = tarjan_scc(&graph).into_iter();
    let is_circle = |group: &Vec<&str>| group.len() > 1 || graph.contains_edge(group[0], group[0]);
    groups.filter(is_circle).map(BTreeSet::from_iter).collect()
}

/// How the circles of these files differ from those that are listed, each with the reason why it stays.
pub fn compare(uses: &Uses, listed: &[(&[&str], &str)]) -> Vec<String> {
    let mut listed: BTreeSet<BTreeSet<&str>> = listed
        .iter()
        .map(|(files, _)| files.iter().copied().collect())
        .collect();
    let mut differences = Vec::new();
    for circle in circles(uses) {
        if listed.remove(&circle) {
            continue;
        }
        let mut text = "these files use each other; move what they share to one of them or to a new file, or list them in CIRCLES \
                        with the reason why they stay together:"
            .to_owned();
        for file in &circle {
            let used = uses[*file]
                .iter()
                .filter(|used| circle.contains(used.as_str()));
            let used = used.cloned().collect::<Vec<_>>().join(", ");
            text += &format!("\n    {file} uses {used}");
        }
        differences.push(text);
    }
    for circle in listed {
        let files = circle.into_iter().collect::<Vec<_>>().join(", ");
        differences.push(format!(
            "these files do not form a circle any more, but are listed in CIRCLES: {files}"
        ));
    }
    differences
}

#[test]
fn no_files_of_a_folder_use_each_other() {
    let mut count = 0;
    let mut found = Vec::new();
    for package in PACKAGES {
        for (folder, uses) in folders(&modules(package)) {
            count += uses.values().map(BTreeSet::len).sum::<usize>();
            let differences = compare(&uses, &[]).into_iter();
            found.extend(differences.map(|text| format!("in {package}/{folder}, {text}")));
        }
    }
    assert!(count > 150, "only {count} uses are found");
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn circles_are_compared_with_the_list() {
    let uses = [("a", "b"), ("b", "a"), ("c", "a"), ("d", "e"), ("e", "d")];
    let uses: Uses = uses
        .map(|(file, used)| (file.to_owned(), BTreeSet::from([used.to_owned()])))
        .into();
    let first: (&[&str], &str) = (&["b", "a"], "");
    let second: (&[&str], &str) = (&["d", "e"], "");
    let gone: (&[&str], &str) = (&["a", "b", "c"], "");
    assert_eq!(compare(&uses, &[first, second]), [""; 0]);
    let unlisted = compare(&uses, &[first]);
    assert!(unlisted.len() == 1 && unlisted[0].ends_with("    d uses e\n    e uses d"));
    let differences = compare(&uses, &[first, second, gone]);
    assert!(differences.len() == 1 && differences[0].ends_with("CIRCLES: a, b, c"));
}
