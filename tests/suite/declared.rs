//! What generated C declares is on its list of names, in which clashes are looked for. The generated text is searched for declarations
//! by words that begin one. Where names are in modules and objects, the compilers of other targets find what is declared twice.

use crate::support::rust::{GROUPS, checked, protocols_in};
use duologue::languages::{self, Options, Target};
use std::collections::BTreeSet;
use std::fs;

/// The name at the beginning of a text.
fn name(text: &str) -> Option<&str> {
    let end = text.find(|part: char| !part.is_alphanumeric() && part != '_');
    Some(&text[..end.unwrap_or(text.len())]).filter(|name| !name.is_empty())
}

/// The name that a line of code declares, except for what is local or internal.
fn declared(line: &str) -> Option<&str> {
    let function = line.strip_prefix("DUO_API ");
    let function = function.and_then(|rest| rest.split_once('('));
    let function = function.and_then(|(head, _)| head.rsplit([' ', '*']).next());
    let end = line
        .strip_prefix("} ")
        .and_then(|rest| rest.strip_suffix(';'));
    let new = line.strip_prefix("#define ").and_then(name);
    let new = new.map(|new| new.strip_prefix("DUO_HAS_").unwrap_or(new));
    let is_internal = |name: &&str| name.starts_with("duo_") && name.contains("_of_");
    let is_guard = |name: &&str| name.starts_with("DUO_") && name.contains("_OF_");
    let declared = function.or(end).or(new);
    declared.filter(|name| !is_internal(name) && !is_guard(name))
}

#[test]
fn what_c_declares_is_listed() {
    let mut options = Options::default();
    options.c.shm = true;
    options.c.inline_bounds = true;
    options.c.events = true;
    options.remote = true;
    options.robots = true;
    options.targets = vec![Target::C];
    for group in GROUPS {
        let inputs = protocols_in(group);
        let program = checked(&inputs);
        // The names of a protocol's states are listed if those of another could be equal, as those of a type that is called like it are.
        let folder = crate::support::rust::scratch("declared");
        let names = languages::public_names(program.program(), Target::C, &options);
        let named = names.protocols.iter().chain(&names.instances).flatten();
        // Of a generic protocol only some states may have names.
        let generic = program.program().protocols.iter();
        let generic = generic.filter(|protocol| protocol.is_generic());
        let others = named.map(|names| names.name.clone());
        let others = others.chain(generic.map(|protocol| protocol.name.to_string()));
        // No name is longer than 100 characters.
        let (others, long): (Vec<_>, Vec<_>) = others.partition(|name| name.len() <= 98);
        let is_long = |name: &str| long.iter().any(|long| name.starts_with(&**long));
        let others = others.iter().map(|name| format!("type {name}_x = u8;\n"));
        let others: BTreeSet<String> = others.collect();
        let other = folder.join("others.proto");
        fs::write(&other, String::from_iter(others)).expect("it can be written");
        let with_others = checked(&[inputs, vec![other]].concat());
        let mut listed = BTreeSet::new();
        languages::spellings(with_others.program(), &options, &mut |scope| {
            listed.extend(scope.names.into_iter().map(|name| name.spelling));
        });
        let files = languages::generate(&program, Target::C, &options).files;
        let lines = files.iter().flat_map(|file| file.text.lines());
        let found: BTreeSet<&str> = lines.filter_map(declared).collect();
        assert!(found.len() > 30, "{group}: {} declarations", found.len());
        let missing: Vec<&&str> = found
            .iter()
            .filter(|name| !listed.contains(**name) && !is_long(&name.to_ascii_lowercase()))
            .collect();
        assert!(missing.is_empty(), "{group}: not on the list: {missing:?}");
    }
}
