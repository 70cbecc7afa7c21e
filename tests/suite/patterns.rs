//! `docs/patterns.md`: the code that it shows is part of the programs in `tests/patterns`, and they run in every language.

use crate::c::{generate_with, quiet};
use crate::support::c::{Watch, files_in, sources_in};
use crate::support::rust::{Edition, generate, protocols_in, rustc, scratch};
use crate::support::scala::{Scala, folder, generate as generate_scala};
use crate::support::{repository, succeed};
use duologue::languages::Options;
use std::fs;
use std::process::Command;

const FOLDER: &str = "tests/patterns";

#[test]
fn the_page_shows_programs_that_run() {
    let page = fs::read_to_string(repository().join("docs/patterns.md")).expect("there is a page");
    let blocks = page.split("\n```").skip(1).step_by(2);
    let blocks = blocks.filter_map(|block| block.split_once('\n'));
    let mut count = 0;
    for (language, text) in blocks {
        let programs = repository().join(FOLDER);
        let programs = match language {
            "proto" => files_in(&programs, "proto"),
            "rust" => files_in(&programs.join("rust"), "rs"),
            "c" | "scala" => files_in(&programs.join(language), language),
            other => panic!("which programs are in {other}?"),
        };
        let is_shown = programs.iter().any(|program| {
            let program = fs::read_to_string(program).expect("it can be read");
            flush(&program).contains(&flush(text))
        });
        assert!(is_shown, "no program in {language} contains:\n{text}");
        count += 1;
    }
    assert!(count >= 15, "only {count} blocks were found");
}

/// A text without indentation.
fn flush(text: &str) -> String {
    let lines = text.lines().map(str::trim_start);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_patterns_run_in_rust() {
    let folder = scratch("patterns");
    generate(
        &protocols_in(FOLDER),
        &Options::default(),
        &folder.join("tree"),
    );
    let mut compiler = rustc(Edition::E2024);
    compiler.env("PROTOCOLS", folder.join("tree/mod.rs"));
    compiler.args(["-Dwarnings", "--out-dir"]).arg(&folder);
    compiler.arg(repository().join(FOLDER).join("rust/main.rs"));
    let binary = folder
        .join("main")
        .with_extension(std::env::consts::EXE_EXTENSION);
    let ran = succeed(&mut compiler).and_then(|_| succeed(&mut Command::new(binary)));
    ran.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn the_patterns_run_in_c() {
    let generated = generate_with("patterns", &protocols_in(FOLDER), &[]);
    let includes = [generated.clone()];
    let objects = quiet(
        Watch::Address,
        &sources_in(&generated),
        &includes,
        &generated,
    )
    .objects();
    let objects = objects.unwrap_or_else(|complaint| panic!("{complaint}"));
    for source in sources_in(&repository().join(FOLDER).join("c")) {
        let own = [source];
        let mut program = quiet(Watch::Address, &own, &includes, &generated);
        program.objects = &objects;
        let ran = program.run();
        ran.unwrap_or_else(|complaint| panic!("{}: {complaint}", own[0].display()));
    }
}

#[test]
fn the_patterns_run_in_scala() {
    let out = folder("patterns");
    generate_scala(&protocols_in(FOLDER), None, &out.join("generated"));
    let mut sources = files_in(&repository().join(FOLDER).join("scala"), "scala");
    let programs = sources.clone();
    sources.extend(files_in(&out.join("generated/protocols"), "scala"));
    let (scala, classes) = (Scala::Three, out.join("classes"));
    let compiled = scala.compile(&sources, &[scala.runtime()], &classes);
    compiled.unwrap_or_else(|failure| panic!("{failure}"));
    for program in programs {
        let name = program.file_stem().expect("it ends in .scala");
        let main = format!("patterns.{}", name.to_string_lossy());
        let printed = scala.run(&[classes.clone(), scala.runtime()], &main, &[]);
        assert_eq!(printed.unwrap_or_else(|failure| panic!("{failure}")), "");
    }
}
