//! `duologue gen`: what is written, when, and when not.

use crate::support::program::{Scratch, run};
use insta::assert_snapshot;
use std::collections::BTreeMap;
use std::fs;

const BANK: &str = include_str!("../../protocols/bank.proto");
const LIGHT: &str =
    "proto! light {\n    off:send { on -> on }\n    on:send { off -> off, broken -> ! }\n}\n";

/// The texts of all files below a folder, by path inside it.
fn texts(scratch: &Scratch, below: &str) -> BTreeMap<String, String> {
    let files = scratch.files(below).into_iter();
    let inside = |path: &String| path[below.len()..].to_owned();
    files
        .map(|path| (inside(&path), scratch.read(&path)))
        .collect()
}

#[test]
fn the_same_bytes_from_every_directory() {
    let scratch = Scratch::with("gen-elsewhere", &[("deep/bank.proto", BANK)]);
    let output = run(
        scratch.duologue("gen deep/bank.proto --rust a/rust --c a/c --scala a/scala"),
        b"",
    );
    assert!(output.status.success(), "{output:?}");
    let mut command =
        scratch.duologue("gen bank.proto --rust ../b/rust --c ../b/c --scala ../b/scala");
    command.current_dir(scratch.path("deep"));
    assert!(run(command, b"").status.success());
    let absolute = scratch.path("deep/bank.proto");
    let absolute = absolute.to_str().expect("a UTF-8 path");
    let command = scratch.duologue(&format!(
        "gen {absolute} --rust c/rust --c c/c --scala c/scala"
    ));
    assert!(run(command, b"").status.success());
    assert!(texts(&scratch, "a").len() >= 5);
    assert_eq!(texts(&scratch, "a"), texts(&scratch, "b"));
    assert_eq!(texts(&scratch, "a"), texts(&scratch, "c"));
}

#[test]
fn protoc_style_arguments_give_the_same() {
    let scratch = Scratch::with("gen-protoc", &[("lib/bank.proto", BANK)]);
    for arguments in [
        "gen lib/bank.proto --rust a/rust --c a/c --scala a/scala -I lib",
        "--rust_out=b/rust --c_out=b/c --scala_out=b/scala -I lib bank.proto",
        "-Ilib --rust-out c/rust --c-out c/c --scala-out=c/scala bank.proto",
        "--proto_path=lib --rust_out=d/rust --c_out=d/c --scala_out=d/scala bank.proto",
    ] {
        for folder in arguments
            .split(['/', '=', ' '])
            .filter(|word| word.len() == 1)
            .take(1)
        {
            fs::create_dir_all(scratch.path(folder)).expect("it can be created");
        }
        let output = run(scratch.duologue(arguments), b"");
        assert!(output.status.success(), "{arguments}: {output:?}");
    }
    for other in ["b", "c", "d"] {
        assert_eq!(texts(&scratch, "a"), texts(&scratch, other), "{other}");
    }
}

/// The patch that `--diff` prints turns the files into what `gen` would write.
#[test]
fn drift_as_a_patch() {
    let scratch = Scratch::with("gen-patch", &[("bank.proto", BANK), ("light.proto", LIGHT)]);
    let both = "gen bank.proto light.proto --c out/c --scala out/scala";
    assert!(run(scratch.duologue(both), b"").status.success());
    let text = scratch.read("out/scala/protocols/light.scala");
    let changed = text.replace("def on(): On", "def onn(): On");
    scratch.write("out/scala/protocols/light.scala", changed);
    scratch.write("light.proto", LIGHT.replace("light", "lamp"));
    fs::remove_file(scratch.path("out/c/bank.c")).expect("it was written");
    let before = texts(&scratch, "out");
    let patch = run(scratch.duologue(&format!("{both} --diff")), b"");
    assert_eq!(patch.status.code(), Some(1));
    assert_eq!(texts(&scratch, "out"), before, "nothing is written");
    let mut git = std::process::Command::new("git");
    git.current_dir(scratch.path("."))
        .args(["apply", "--unsafe-paths", "-p1"]);
    git.env("GIT_CEILING_DIRECTORIES", scratch.path(".."));
    let applied = run(git, &patch.stdout);
    assert!(applied.status.success(), "{applied:?}");
    let checked = run(scratch.duologue(&format!("{both} --diff")), b"");
    assert!(
        checked.status.success() && checked.stdout.is_empty(),
        "{checked:?}"
    );
}

/// The sentences about limits, and the line after the comment that each is in.
fn limits_in(text: &str) -> String {
    let mut found = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.contains("Over sockets, ") || line.contains("Between processes, ") {
            let is_comment = |line: &&str| {
                let line = line.trim_start();
                line.starts_with("///") || line.starts_with('*') || line.starts_with("#[")
            };
            let documented = lines.clone().find(|line| !is_comment(line));
            found += &format!("{line}\n{}\n", documented.unwrap_or_default());
        }
    }
    found
}

#[test]
fn limits_are_in_the_documentation_of_generated_code() {
    let limits = "proto! limits {
    open:send {
        /// A page of the book.
        page(text: str<80>, tags: [str<4>; 2]) -> open,
        #[at_most(4 KiB)]
        picture(title: bytes<16>?, pixels: bytes) -> open,
        plain(text: str) -> open,
        ask -> answered
    }
    /// The answer to a question.
    #[within(90s)]
    answered:recv { #[at_most(1 MiB)] answer(str) -> next, none -> ! }
    #[within(1min)]
    next:send { #[at_most(1 B)] next -> open }
}
";
    let scratch = Scratch::with("gen-limits", &[("limits.proto", limits)]);
    for arguments in [
        "--rust out --remote",
        "--c out --remote --c-events",
        "--scala out --remote",
    ] {
        scratch.transcript(&format!("gen limits.proto {arguments}"));
    }
    let files = scratch.files("out").into_iter();
    let found = files.map(|path| format!("== {path}\n{}", limits_in(&scratch.read(&path))));
    let found: Vec<_> = found.filter(|text| text.lines().count() > 1).collect();
    assert_snapshot!(found.join("\n"));
}
