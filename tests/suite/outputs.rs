//! Writing outputs: all or nothing, only what changed, and never over files that something else wrote.

use crate::support::program::Scratch;
use duologue::files::{Change, MARKER, OutputError, Outputs, Tree};
use duologue::languages::{OutputFile, Target};
use std::fs;

fn file(path: &str, body: &str) -> OutputFile {
    OutputFile {
        path: path.to_owned(),
        text: format!("// {MARKER} from bank.proto. Do not edit.\n{body}\n"),
    }
}

fn tree(scratch: &Scratch, target: Target, directory: &str, files: Vec<OutputFile>) -> Tree {
    Tree::of_target(target, scratch.path(directory), files)
}

fn plan(scratch: &Scratch, body: &str) -> Outputs {
    let rust = vec![file("mod.rs", "pub mod bank;"), file("acme/bank.rs", body)];
    let c = vec![file("bank.h", body)];
    let trees = vec![
        tree(scratch, Target::Rust, "out/rust", rust),
        tree(scratch, Target::C, "out/c", c),
    ];
    Outputs::plan(trees).expect("nothing is in the way")
}

fn changes(outputs: &Outputs) -> Vec<Change> {
    outputs.files.iter().map(|file| file.change).collect()
}

#[test]
fn a_second_run_changes_nothing() {
    let scratch = Scratch::new("outputs-twice");
    let first = plan(&scratch, "one");
    assert_eq!(changes(&first), [Change::New; 3]);
    first.write(&[]).expect("it can be written");
    let written = ["out/c/bank.h", "out/rust/acme/bank.rs", "out/rust/mod.rs"];
    assert_eq!(scratch.files("out"), written);
    let stamp = |path: &str| fs::metadata(scratch.path(path)).and_then(|file| file.modified());
    let before = written.map(|path| stamp(path).expect("it is there"));
    let second = plan(&scratch, "one");
    assert_eq!(changes(&second), [Change::Unchanged; 3]);
    second.write(&[]).expect("it can be written");
    assert_eq!(
        before,
        written.map(|path| stamp(path).expect("it is there"))
    );
}

#[test]
fn only_changed_files_are_written() {
    let scratch = Scratch::new("outputs-changed");
    plan(&scratch, "one").write(&[]).expect("it can be written");
    let second = plan(&scratch, "two");
    assert_eq!(
        changes(&second),
        [Change::Unchanged, Change::Updated, Change::Updated]
    );
    second.write(&[]).expect("it can be written");
    assert!(scratch.read("out/c/bank.h").ends_with("\ntwo\n"));
    let with_returns = scratch.read("out/c/bank.h").replace('\n', "\r\n");
    scratch.write("out/c/bank.h", with_returns);
    assert_eq!(changes(&plan(&scratch, "two"))[2], Change::LineEnds);
}

#[test]
fn a_failure_leaves_nothing_behind() {
    let scratch = Scratch::new("outputs-failure");
    scratch.write("out/c", "a file where a directory should be");
    let result = plan_with_file_in_the_way(&scratch).write(&[]);
    assert!(matches!(result, Err(OutputError::Io(..))), "{result:?}");
    assert_eq!(scratch.files("."), ["out/c"]);
    assert!(!scratch.path("out/rust").exists());
}

/// The Rust files can be written, the C file cannot.
fn plan_with_file_in_the_way(scratch: &Scratch) -> Outputs {
    let rust = vec![file("deep/down/mod.rs", "")];
    let trees = vec![
        tree(scratch, Target::Rust, "out/rust", rust),
        tree(scratch, Target::C, "out/c/sub", vec![file("bank.h", "")]),
    ];
    fs::rename(scratch.path("out/c"), scratch.path("aside")).expect("it can be moved");
    let outputs = Outputs::plan(trees).expect("nothing is in the way yet");
    fs::rename(scratch.path("aside"), scratch.path("out/c")).expect("it can be moved back");
    outputs
}

#[test]
fn two_outputs_on_one_path_are_refused() {
    let scratch = Scratch::new("outputs-collision");
    fs::create_dir_all(scratch.path("out")).expect("it can be created");
    let trees = vec![
        tree(&scratch, Target::Rust, "out", vec![file("same", "")]),
        tree(&scratch, Target::C, "./out/../out", vec![file("same", "")]),
    ];
    let refusal = Outputs::plan(trees).expect_err("both go to one place");
    assert!(matches!(refusal, OutputError::Collision(..)), "{refusal:?}");
}

#[test]
fn nothing_leaves_its_directory() {
    let scratch = Scratch::new("outputs-outside");
    for path in ["../up.rs", "a/../../up.rs", "/up.rs"] {
        let trees = vec![tree(&scratch, Target::Rust, "out", vec![file(path, "")])];
        let refusal = Outputs::plan(trees).expect_err(path);
        assert!(matches!(refusal, OutputError::Outside(_)), "{refusal:?}");
    }
}

#[cfg(unix)]
#[test]
fn nothing_leaves_its_directory_through_a_link() {
    let scratch = Scratch::with("outputs-link", &[("elsewhere/keep", ""), ("out/keep", "")]);
    std::os::unix::fs::symlink(scratch.path("elsewhere"), scratch.path("out/acme"))
        .expect("a link can be made");
    let trees = vec![tree(
        &scratch,
        Target::Rust,
        "out",
        vec![file("acme/bank.rs", "")],
    )];
    let result = Outputs::plan(trees).expect("the paths are fine").write(&[]);
    assert!(matches!(result, Err(OutputError::Outside(_))), "{result:?}");
    assert_eq!(scratch.files("elsewhere"), ["elsewhere/keep"]);
}

#[test]
fn orphans_have_our_header_and_no_source_file() {
    let scratch = Scratch::new("outputs-orphans");
    plan(&scratch, "one").write(&[]).expect("it can be written");
    scratch.write("out/rust/acme/old.rs", file("", "").text);
    scratch.write("out/rust/mine.rs", "// mine\n");
    scratch.write("out/rust/old.h", file("", "").text);
    scratch.write("out/c/.hidden/old.h", file("", "").text);
    scratch.write(
        "out/c/other.h",
        file("", "").text.replace("bank.proto", "other.proto"),
    );
    let outputs = plan(&scratch, "one");
    let orphans = outputs
        .orphans(&|origin| origin == "bank.proto")
        .expect("all can be read");
    assert_eq!(orphans, [scratch.path("out/rust/acme/old.rs")]);
}
