//! `gen --plugin`: what a plugin reads, what happens to its answer, and that a faulty one does no harm. Most plugins here are
//! scripts of the shell.

mod faulty;

use crate::support::program::{Scratch, run, transcript};
use crate::support::repository;
use crate::support::rust::protocols_in;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const LIGHT: &str =
    "proto! light {\n    off:send { on -> on }\n    on:send { off -> off, broken -> ! }\n}\n";

/// A folder with a protocol and a plugin, `duologue-gen-test`, whose script is given.
fn with_script(name: &str, script: &str) -> Scratch {
    let scratch = Scratch::with(name, &[("light.proto", LIGHT)]);
    write_script(
        &scratch,
        "duologue-gen-test",
        &format!("#!/bin/sh\n{script}"),
    );
    scratch
}

fn write_script(scratch: &Scratch, path: &str, text: &str) {
    scratch.write(path, text);
    let permissions = fs::Permissions::from_mode(0o755);
    fs::set_permissions(scratch.path(path), permissions).expect("it is ours");
}

/// A plugin that prints this answer.
fn answering(name: &str, answer: &Value) -> Scratch {
    let scratch = with_script(name, "cat > question.json\ncat answer.json\n");
    scratch.write("answer.json", answer.to_string());
    scratch
}

const RUN: &str = "gen light.proto --plugin ./duologue-gen-test=out";

#[test]
fn a_plugin_reads_the_model_and_its_options() {
    let scratch = answering("plugin-question", &json!({}));
    let options = "--plugin-option test:title=a=b --plugin-option test:empty=";
    let printed = scratch.transcript(&format!("{RUN} {options} -q"));
    assert_eq!(
        printed,
        format!("$ duologue {RUN} {options} -q\n--- exit 0 ---\n")
    );
    let mut question: Value = serde_json::from_str(&scratch.read("question.json")).expect("JSON");
    let model = question["model"].take();
    let about = json!({ "name": "test", "options": { "title": "a=b", "empty": "" } });
    assert_eq!(
        question,
        json!({ "version": 1, "plugin": about, "model": null })
    );
    let printed = run(scratch.duologue("model light.proto"), b"").stdout;
    let printed: Value = serde_json::from_slice(&printed).expect("JSON");
    assert_eq!(model, printed);
}

#[test]
fn a_plugin_is_found_in_path() {
    let scratch = answering("plugin-path", &json!({ "notes": ["It was found."] }));
    let mut command = scratch.duologue("gen light.proto --plugin test=out");
    let path = std::env::var("PATH").expect("there is a path");
    let own = scratch.path("");
    command.env("PATH", format!("{}:{path}", own.display()));
    let printed = transcript("gen", &run(command, b""));
    assert!(printed.contains("note test: It was found."), "{printed}");
}

/// A plugin need not read its input, however long that is, and what it prints for people is shown.
#[test]
fn a_plugin_may_ignore_its_input() {
    let scratch = with_script("plugin-ignores", "echo 'a warning' >&2; echo '{}'");
    let many = |index: usize| LIGHT.replace("light", &format!("light{index}"));
    let text: String = (0..300).map(many).collect();
    scratch.write("light.proto", text);
    scratch.said(RUN, 0, &["a warning\n"]);
}

#[test]
fn findings_keep_to_the_schema_of_sarif() {
    let span = json!({ "file": 0, "start": { "byte": 1 }, "end": { "byte": 2 } });
    let finding = json!({ "level": "warning", "message": "a lamp burns", "span": span });
    let scratch = answering("plugin-findings", &json!({ "findings": [finding] }));
    scratch.said(
        format!("{RUN} --report sarif=out.sarif -q"),
        0,
        &["a lamp burns"],
    );
    let report = serde_json::from_str(&scratch.read("out.sarif")).expect("JSON");
    crate::support::sarif::keeps_to_schema(&report);
    scratch.said("explain plugin", 0, &["# Models and plugins"]);
}

/// The plugin of the page on plugins.
fn documented() -> String {
    let page = fs::read_to_string(repository().join("docs/plugins.md")).expect("it is there");
    let code = page.split("```python\n").nth(1).expect("it has a plugin");
    code.split("```").next().expect("it ends").to_owned()
}

#[test]
#[ignore = "with python3"]
fn plugins_in_python() {
    let scratch = Scratch::new("plugin-python");
    let mermaid = repository().join("tests/plugins/mermaid.py");
    let lines = fs::read_to_string(&mermaid).expect("it is there");
    assert!(
        lines.lines().count() <= 60,
        "it is an example of a short plugin"
    );
    let mut compared = 0;
    for folder in ["protocols", "tests/corpus/2012", "tests/corpus/literature"] {
        for path in protocols_in(folder) {
            let file = path.to_str().expect("UTF-8");
            let name = path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .expect("UTF-8");
            let mut command = scratch.duologue("gen -q");
            command.args([file, "--plugin", &format!("{}={name}", mermaid.display())]);
            let output = run(command, b"");
            assert!(output.status.success(), "{output:?}");
            for written in scratch.files(name) {
                let Some(own) = written.strip_suffix(".mmd") else {
                    continue;
                };
                let protocol = own
                    .rsplit(['.', '/'])
                    .next()
                    .expect("there is always a last part");
                let mut command = scratch.duologue("graph --format mermaid");
                command.args([file, protocol]);
                let drawn = run(command, b"").stdout;
                // A file that imports others has their protocols in its model, but `graph` shows only its own.
                if !drawn.is_empty() {
                    assert_eq!(
                        scratch.read(&written),
                        String::from_utf8_lossy(&drawn),
                        "{file}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared >= 60, "only {compared} pictures were compared");

    scratch.write("light.proto", LIGHT);
    write_script(&scratch, "duologue-gen-documented", &documented());
    let printed =
        scratch.transcript("gen light.proto --plugin ./duologue-gen-documented --format short");
    let found =
        "light.proto:2:16: warning[plugin]: documented: message `on` has no documentation\n";
    assert!(printed.contains(found), "{printed}");
}
