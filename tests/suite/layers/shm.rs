//! The layers of `duologue-shm`: each module uses only modules that come before it. A module and those in its folder are one subject.

use super::{code, paths};
use crate::tidy::{files, relative};
use std::collections::BTreeSet;
use std::fs;

const FOLDER: &str = "runtime/rust/shm/src/";

/// The modules, from the lowest. What the root exports is used under the names of the modules that have it.
const LAYERS: [&str; 10] = [
    "error", "memory", "lock", "region", "end", "position", "messages", "helper", "session",
    "attach",
];

/// The module that has what a path names.
fn module_of(path: &str) -> &str {
    match path.split("::").next().unwrap_or_default() {
        "Error" => "error",
        "Region" => "region",
        module => module,
    }
}

#[test]
fn no_module_of_the_shared_memory_uses_a_later_one() {
    let mut found = BTreeSet::new();
    let mut count = 0;
    for file in files(FOLDER) {
        let path = relative(&file);
        let path = path.trim_start_matches(FOLDER).trim_end_matches(".rs");
        if path == "lib" {
            continue;
        }
        let module = path.split('/').next().unwrap_or_default().to_owned();
        let height = |name: &str| LAYERS.iter().position(|layer| *layer == name);
        let own = height(&module).unwrap_or_else(|| panic!("{path} is in no layer"));
        let text = code(&fs::read_to_string(&file).expect("it can be read"));
        for used in paths(&path.replace('/', "::"), &text) {
            let used = module_of(&used);
            let of =
                height(used).unwrap_or_else(|| panic!("{path} uses {used}, which is in no layer"));
            assert!(of <= own, "{path} uses {used}, which is in a higher layer");
            count += 1;
        }
        found.insert(module);
    }
    assert!(
        LAYERS.iter().all(|layer| found.contains(*layer)),
        "{found:?}"
    );
    assert!(count > 30, "uses are not found");
}
