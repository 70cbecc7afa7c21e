//! What is generated: it compiles as C and as C++ without a warning, and reads well.

use super::{generate, generate_with, hosts, protocols};
use crate::support::c::{Compiler, Program, Watch, files_in, sources_in};
use crate::support::repository;
use std::path::{Path, PathBuf};

/// Every source and every header by itself compiles as C and as C++, without a warning.
fn check_compiles(generated: &Path, hosts: &[PathBuf]) {
    let mut sources = sources_in(generated);
    assert!(!sources.is_empty(), "nothing was generated");
    let alone = generated.join("alone");
    std::fs::create_dir(&alone).expect("the folder is ours");
    for header in files_in(generated, "h") {
        let name = header
            .file_name()
            .expect("it is a file")
            .to_string_lossy()
            .into_owned();
        let source = alone.join(format!("{name}.c"));
        std::fs::write(&source, format!("#include \"{name}\"\n")).expect("the folder is ours");
        sources.push(source);
    }
    let as_cpp = sources.iter().map(|source| {
        let name = source
            .file_stem()
            .expect("it is a file")
            .to_string_lossy()
            .into_owned();
        let copy = alone.join(format!("{name}.cpp"));
        std::fs::copy(source, &copy).expect("the folder is ours");
        copy
    });
    let sources: Vec<PathBuf> = sources.iter().cloned().chain(as_cpp).collect();
    let mut includes = vec![generated.to_owned()];
    includes.extend(hosts.iter().cloned());
    for compiler in Compiler::all() {
        let program = Program {
            compiler,
            watch: Watch::Plain,
            sources: &sources,
            objects: &[],
            includes: &includes,
            flags: &["-fsyntax-only"],
            shim: &[],
            folder: &alone,
        };
        if let Err(complaint) = program.objects() {
            panic!("{complaint}");
        }
    }
}

#[test]
fn all_protocols_compile() {
    check_compiles(
        &generate_with("protocols", &protocols(), &["--c-shm"]),
        &hosts(),
    );
}

#[test]
fn names_that_others_claim_compile() {
    let folder = repository().join("tests/nasty");
    check_compiles(&generate("names", &[folder.join("names.proto")]), &[folder]);
}

#[test]
fn protocols_that_mention_each_other_compile() {
    let folder = repository().join("tests/nasty");
    check_compiles(&generate("shapes", &[folder.join("shapes.proto")]), &[]);
}

#[test]
fn what_travels_between_processes_compiles() {
    let files = ["wire/payloads.proto", "processes/talk.proto"];
    for (number, file) in files.into_iter().enumerate() {
        let proto = repository().join("tests").join(file);
        let generated = generate_with(&format!("wire-{number}"), &[proto], &["--c-shm"]);
        check_compiles(&generated, &[]);
    }
}

/// What is generated, beside what it is generated from; of the last also what is for processes.
#[test]
fn generated_text() {
    for case in ["pingpong", "oneshot", "double_buffer", "smtp"] {
        let proto = repository().join(format!("protocols/{case}.proto"));
        let further: &[&str] = if case == "smtp" { &["--c-shm"] } else { &[] };
        let protos = std::slice::from_ref(&proto);
        let folder = generate_with(&format!("text-{case}"), protos, further);
        let mut text = std::fs::read_to_string(&proto).expect("the protocol is there");
        let mut files = files_in(&folder, "h");
        files.extend(sources_in(&folder));
        files.sort();
        if case == "smtp" {
            files.retain(|file| file.to_string_lossy().contains("_shm."));
        }
        for file in files {
            let name = file
                .file_name()
                .expect("it is a file")
                .to_string_lossy()
                .into_owned();
            let written = std::fs::read_to_string(&file).expect("it was just written");
            text.push_str(&format!("\n======== {name}\n{written}"));
        }
        insta::assert_snapshot!(format!("c@{case}"), text);
    }
}
