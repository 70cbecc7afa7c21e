//! Functions of generated headers as symbols of a shared library, for programs in other languages: DUO_SYMBOLS.

use super::{generate_with, quiet};
use crate::support::c::{Compiler, Program, Watch, sources_in};
use crate::support::{repository, succeed};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const HEADERS: [&str; 3] = ["bank.h", "bank_events.h", "bank_net.h"];

/// The generated code of the bank, with the file that turns its functions into symbols.
fn bank(name: &str) -> PathBuf {
    let proto = repository().join("protocols/bank.proto");
    let generated = generate_with(name, &[proto], &["--c-events", "--remote"]);
    let includes = HEADERS.map(|header| format!("#include \"{header}\"\n"));
    let text = format!("#define DUO_SYMBOLS\n{}", includes.concat());
    std::fs::write(generated.join("symbols.c"), text).expect("it can be written");
    generated
}

/// The names of the functions that the generated headers define.
fn defined(generated: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for header in HEADERS {
        let text = std::fs::read_to_string(generated.join(header)).expect("it was generated");
        for (at, _) in text.match_indices("DUO_API ") {
            let head = text[at..]
                .split('(')
                .next()
                .expect("there is always a first part");
            let name = head.split([' ', '*']).next_back();
            names.insert(name.expect("there is always a last part").to_owned());
        }
    }
    names
}

/// The functions that others can link with.
fn symbols(file: &Path, arguments: &[&str]) -> BTreeSet<String> {
    let mut list = Command::new("nm");
    let listed = succeed(list.args(arguments).arg(file)).expect("nm comes with gcc");
    let names = listed
        .lines()
        .filter_map(|line| line.rsplit_once(" T ").map(|(_, name)| name.to_owned()));
    names.collect()
}

/// A shared library with the runtime and the bank.
fn library(generated: &Path) -> PathBuf {
    let sources = sources_in(generated);
    let includes = [generated.to_owned()];
    let program = Program {
        flags: &["-fPIC", "-shared"],
        runtime: &["-fPIC"],
        ..quiet(Watch::Plain, &sources, &includes, generated)
    };
    program
        .link()
        .unwrap_or_else(|complaint| panic!("{complaint}"))
}

/// Every compiler, with the short paths in the headers and without them.
#[test]
fn every_function_of_a_header_can_be_a_symbol() {
    let generated = bank("symbols");
    let defined = defined(&generated);
    assert!(defined.contains("bank_client_login_send_login"));
    let sources = [generated.join("symbols.c")];
    let includes = [generated.clone()];
    for compiler in Compiler::all() {
        for size in ["-O2", "-Os"] {
            let file = Program {
                compiler,
                flags: &[size],
                ..quiet(Watch::Plain, &sources, &includes, &generated)
            };
            let objects = file
                .objects()
                .unwrap_or_else(|complaint| panic!("{compiler:?}:\n{complaint}"));
            let found = symbols(&objects[0], &[]);
            assert!(found.is_superset(&defined), "{compiler:?} {size}");
            assert!(found.contains("duo_writable"), "{compiler:?} {size}");
        }
    }
}

/// The file that defines DUO_SYMBOLS is the only one that has them, and a program that does without it has none.
#[test]
fn a_library_exports_each_function_once() {
    let generated = bank("symbols-library");
    let defined = defined(&generated);
    let exported = symbols(&library(&generated), &["-D"]);
    assert!(exported.is_superset(&defined));
    assert!(exported.contains("duo_status_text"));
    std::fs::remove_file(generated.join("symbols.c")).expect("it was written");
    let exported = symbols(&library(&generated), &["-D"]);
    assert_eq!(exported.intersection(&defined).count(), 0);
}

#[test]
#[ignore = "with python3"]
fn python_uses_a_session() {
    let generated = bank("symbols-python");
    let mut run = Command::new("python3");
    run.arg(repository().join("tests/bindings/bank.py"));
    let printed = succeed(run.arg(library(&generated)))
        .unwrap_or_else(|failure| panic!("{failure}\napt-get install -y python3"));
    assert_eq!(
        printed,
        "holk logs in with søren\ndeposit 100.5\nwithdrawal 50.25\nmoney 50.25\nthe peer closed the session\n"
    );
}
