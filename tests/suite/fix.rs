//! `check --fix`: safe repairs, and nothing else.

use crate::rules::fixtures;
use crate::support::choices::Choices;
use crate::support::program::Scratch;
use crate::support::repository;
use crate::support::rust::protocols_in;
use crate::syntax::leaves;
use duologue::compile::{Compilation, Input, Request, compile};
use duologue::diagnostic::Level;
use duologue::files::Disk;
use duologue::repair::repair;
use insta::assert_snapshot;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Two names that are not UTF-8 can look the same in reports; a repair of one file must not become the text of the other.
#[cfg(target_os = "linux")]
#[test]
fn files_that_reports_cannot_tell_apart_are_left_alone() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let scratch = Scratch::with("fix-names", &[]);
    let text = |name: &str| format!("proto! {name} {{ a:send {{ x -> done }} done {{ }} }}\n");
    let paths = [b'\xfe', b'\xff'].map(|byte| {
        let name = [b'n', byte, b'.', b'p', b'r', b'o', b't', b'o'];
        scratch.path(".").join(OsStr::from_bytes(&name))
    });
    for (path, name) in paths.iter().zip(["one", "other"]) {
        std::fs::write(path, text(name)).expect("it can be written");
    }
    let answer = scratch.transcript("check --fix --format short .");
    assert_eq!(answer.matches("[verbose-terminal]").count(), 2, "{answer}");
    for (path, name) in paths.iter().zip(["one", "other"]) {
        let now = std::fs::read_to_string(path).expect("it can be read");
        assert_eq!(now, text(name));
    }
}

/// All fixtures with something to repair, and the results. Repaired files parse, except for the cases named here, which have a
/// second mistake that only a person can repair.
#[test]
fn fixtures_after_their_repairs() {
    let fail = fs::read_dir(repository().join("tests/fail")).expect("the folder can be read");
    let mut folders: Vec<PathBuf> = fail.map(|entry| entry.expect("an entry").path()).collect();
    folders.push(repository().join("tests/beginners"));
    folders.sort();
    let mut all = String::new();
    let mut still_wrong = Vec::new();
    for folder in folders {
        let rule = folder
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        for (case, texts, inputs) in fixtures(&folder) {
            let scratch = Scratch::new("fix-fixtures");
            for name in texts.names() {
                scratch.write(name.to_str().expect("a UTF-8 name"), texts.bytes(&name));
            }
            let inputs: Vec<&str> = inputs.iter().filter_map(|path| path.to_str()).collect();
            let inputs = inputs.join(" ");
            let report = scratch.transcript(&format!("check --format short --fix {inputs}"));
            for name in texts.names() {
                let now = fs::read(scratch.path(".").join(&name)).expect("it is there");
                if now == texts.bytes(&name) {
                    continue;
                }
                let now = String::from_utf8(now).expect("repairs are UTF-8");
                let name = name.display();
                writeln!(all, "===== {rule}/{case}: {name}\n{now}")
                    .expect("writing to a string cannot fail");
                if report.contains("error[syntax]") {
                    still_wrong.push(format!("{rule}/{case}"));
                }
            }
        }
    }
    assert_snapshot!("fix-fixtures", all);
    assert_eq!(still_wrong, ["beginners/record_of_typescript"]);
}

/// Repairs of a program without errors do not change its protocols.
#[test]
fn repairs_of_a_sound_program_keep_its_fingerprints() {
    let folders = [
        "protocols",
        "tests/corpus/literature",
        "tests/corpus/2012",
        "tests/fail/verbose-terminal",
        "tests/fail/unused-suppression",
    ];
    let texts = folders.into_iter().flat_map(protocols_in);
    let mut repaired = 0;
    for path in texts {
        let text = fs::read_to_string(&path).expect("it can be read");
        let allowed = "#[allow(verbose-terminal)]";
        let text = text.replace(allowed, "");
        repaired += usize::from(keeps_its_fingerprints(&path, &text));
    }
    assert!(repaired >= 5, "only {repaired} files were repaired");
}

/// Checks one program; returns whether there was something to repair.
fn keeps_its_fingerprints(path: &Path, text: &str) -> bool {
    let scratch = Scratch::with("fix-sound", &[("a.proto", text)]);
    let print = || scratch.transcript("fingerprint a.proto");
    let before = print();
    scratch.transcript("check --fix a.proto");
    if !before.ends_with("--- exit 0 ---\n") {
        return false;
    }
    assert_eq!(print(), before, "{}", path.display());
    scratch.read("a.proto") != text
}

fn is_comment(token: &&str) -> bool {
    token.starts_with("//") || token.starts_with("/*")
}

/// Words and characters that other languages have where protocols have something else.
const FOREIGN: &[&str] = &[
    "|", "in", "where", "stream", "optional", "=>", "=", ";", ",", ":", "..", "?", "*", "end",
    "state", "(", ")", "{", "}", "[", "]", "<", ">", "!", "->", "u8", "str", "and", "&", "+",
    "return", "async", "0", "@", "#", ".", "'",
];

/// Changes some tokens of a text that are not comments.
fn changed(text: &str, choices: &mut Choices) -> String {
    let mut tokens = leaves(text);
    for _ in 0..=choices.below(3) {
        let movable = |token: &&str| !is_comment(token) && !token.trim().is_empty();
        let places: Vec<usize> = (0..tokens.len())
            .filter(|at| movable(&tokens[*at]))
            .collect();
        if places.len() < 2 {
            break;
        }
        let [at, other] = [0; 2].map(|_| places[choices.below(places.len())]);
        match choices.below(6) {
            0 | 1 => drop(tokens.remove(at)),
            2 => tokens.swap(
                at,
                places[places.partition_point(|place| *place <= at) % places.len()],
            ),
            3 => tokens[at] = tokens[other],
            4 => tokens[at] = choices.one_of(FOREIGN),
            _ => tokens
                .splice(at..at, [choices.one_of(FOREIGN), " "])
                .for_each(drop),
        }
    }
    tokens.concat()
}

/// Each example with random changes. `DUOLOGUE_CHANGES=COUNT` makes more of them.
#[test]
fn repairs_of_random_changes_leave_fewer_errors() {
    let count = std::env::var("DUOLOGUE_CHANGES").map_or(400, |count| {
        count.parse().expect("DUOLOGUE_CHANGES is a number")
    });
    let examples = protocols_in("protocols");
    let texts: Vec<String> = examples
        .iter()
        .map(|path| fs::read_to_string(path).expect("it can be read"))
        .collect();
    let request = |path: &Path, text: &str| {
        let mut request = Request::default();
        let (path, bytes) = (path.to_owned(), text.as_bytes().to_owned());
        request.inputs = vec![Input::Text { path, bytes }];
        request
    };
    let repaired = |path: &Path, text: &str| {
        let repaired = repair(&request(path, text), &Disk, &|_| true).expect("it can be read");
        repaired.texts.into_values().next()
    };
    let errors = |path: &Path, text: &str| {
        let compiled: Compilation = compile(&request(path, text), &Disk).expect("it can be read");
        let errors = compiled
            .diagnostics
            .iter()
            .filter(|found| found.level == Level::Deny);
        (errors.count(), compiled.diagnostics.len())
    };
    let comments = |text: &str| -> Vec<String> {
        let all = leaves(text).into_iter().filter(is_comment);
        all.map(str::to_owned).collect()
    };
    let mut repairs = 0;
    for seed in 0..count {
        let mut choices = Choices::new(seed);
        let at = choices.below(examples.len());
        let (path, text) = (&examples[at], changed(&texts[at], &mut choices));
        let Some(after) = repaired(path, &text) else {
            continue;
        };
        repairs += 1;
        let about = || format!("seed {seed}, {}:\n{text}\nbecomes\n{after}", path.display());
        assert_eq!(
            comments(&text),
            comments(&after),
            "a comment is lost: {}",
            about()
        );
        let [old, new] = [&text, &after].map(|text| errors(path, text));
        let is_better = new.0 < old.0 || old.0 == 0 && new.0 == 0 && new.1 < old.1;
        assert!(is_better, "{old:?} findings, then {new:?}: {}", about());
        assert_eq!(
            repaired(path, &after),
            None,
            "a second run changes something: {}",
            about()
        );
    }
    println!("{repairs} of {count} texts were repaired");
    assert!(
        repairs > count / 50,
        "only {repairs} of {count} texts were repaired"
    );
}
