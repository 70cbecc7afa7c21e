//! Everything that generated code declares is on the target's list of names, in which clashes are looked for. The generated text is
//! searched for declarations by code that is independent of the generator.

mod c;
mod rust;
mod scala;

use crate::support::rust::{GROUPS, checked, protocols_in};
use duologue::check::CheckedProgram;
use duologue::target::{self, Names, Options, OutputFile, Target};
use std::collections::BTreeSet;

/// A scope in which names are declared, and a name.
type Declared = (String, String);

/// Options that generate everything.
fn options() -> Options {
    let mut options = Options::default();
    options.c.shm = true;
    options.c.inline_bounds = true;
    options.c.events = true;
    options.remote = true;
    options
}

/// The names on the target's list.
fn listed(program: &CheckedProgram, target: Target, options: &Options) -> BTreeSet<Declared> {
    let mut listed = BTreeSet::new();
    let (program, all) = (program.program(), Names::All);
    target::declarations(program, target, options, all, &mut |scope| {
        let names = scope.names.into_iter();
        listed.extend(names.map(|name| plain((scope.place.clone(), name.spelling))));
    });
    listed
}

/// Without the prefix that Rust puts before a keyword: the name of a file does not have it.
fn plain((place, name): Declared) -> Declared {
    (place.replace("r#", ""), name.replace("r#", ""))
}

/// What `find` finds in a file with this text, each a scope and a name in one string.
fn shown(path: &str, text: &str, find: impl Fn(&OutputFile) -> Vec<Declared>) -> Vec<String> {
    let file = OutputFile {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let found = find(&file).into_iter();
    found
        .map(|(place, name)| format!("{place} {name}"))
        .collect()
}

/// Checks, group by group, that what `find` finds in the generated files is on the list.
fn check(target: Target, find: impl Fn(&OutputFile) -> Vec<Declared>) {
    check_with(target, &options(), find);
}

fn check_with(target: Target, options: &Options, find: impl Fn(&OutputFile) -> Vec<Declared>) {
    for group in GROUPS {
        let program = checked(&protocols_in(group));
        let listed = listed(&program, target, options);
        let mut count = 0;
        for file in target::generate(&program, target, options).files {
            for declared in find(&file).into_iter().map(plain) {
                count += 1;
                let (place, name) = &declared;
                let path = &file.path;
                assert!(
                    listed.contains(&declared),
                    "{group}, {path}: `{name}` in {place} is not on the list"
                );
            }
        }
        assert!(count > 30, "{group}: only {count} declarations were found");
    }
}
