//! `check --fix`: safe repairs, and nothing else.

use crate::rules::fixtures;
use crate::support::choices::Choices;
use crate::support::program::Scratch;
use crate::support::repository;
use crate::syntax::leaves;
use duologue::compile::{Compilation, Input, Request, compile};
use duologue::diagnostic::Level;
use duologue::files::Disk;
use duologue::repair::repair;
use insta::assert_snapshot;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const WRONG: &str = "\
// A comment at the top.
proto! light {
    off:send {
        on   -> on   // two spaces, kept
        leave -> over /* kept */;
        stay => off
    },
    on:send { off -> off, broken -> over }

    /// Nothing is said any more.
    over { }
}

type brightness = u8
proto! other { a:send { x(brightnes) -> aa } }
";

#[test]
fn repairs_are_made_until_none_is_left() {
    let scratch = Scratch::with(
        "fix",
        &[
            ("light.proto", WRONG),
            ("fine.proto", "proto! fine { a:send { x -> ! } }\n"),
        ],
    );
    assert_snapshot!(
        "fix-transcript",
        scratch.transcript("check --fix --format short .")
    );
    assert_snapshot!("fix-text", scratch.read("light.proto"));
    let again = scratch.transcript("check --fix --format short .");
    assert!(!again.contains("fixed"), "{again}");
}

/// A comment marker inside a string starts no comment: the semicolon comes after the string.
#[test]
fn a_semicolon_after_a_path_is_written_once() {
    let text = "import \"a//b.proto\"\nproto! light { on:send { off -> ! } }\n";
    let files = [
        ("light.proto", text),
        ("a/b.proto", "type brightness = u8;\n"),
    ];
    let scratch = Scratch::with("fix-path", &files);
    scratch.transcript("check --fix light.proto");
    let repaired = text.replacen("b.proto\"", "b.proto\";", 1);
    assert_eq!(scratch.read("light.proto"), repaired);
}

#[test]
fn standard_input_is_not_repaired() {
    let scratch = Scratch::new("fix-stdin");
    assert_snapshot!("fix-stdin", scratch.transcript("check --fix -"));
}

/// Rules are removed from an attribute one by one, with their commas. A comment stays, and so does the rule it may be about.
#[test]
fn suppressions_of_nothing_are_removed() {
    let text = "#[allow(stuck-state, never-ends, unreachable-state, cannot-finish)]\n\
                proto! beat {\n    alive:send { beat -> alive }\n}\n\
                #[allow(stuck-state, /* still one */ cannot-finish)]\n\
                proto! light {\n    on:send { off -> ! }\n}\n";
    let scratch = Scratch::with("fix-suppressions", &[("beat.proto", text)]);
    scratch.transcript("check --fix beat.proto");
    let expected = text.replace(
        "(stuck-state, never-ends, unreachable-state, cannot-finish)",
        "(never-ends)",
    );
    assert_eq!(scratch.read("beat.proto"), expected);
}

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

/// A file that cannot be written is named as the user named it.
#[test]
fn a_file_that_cannot_be_written_is_named_as_it_was_given() {
    let text = "proto! p { a:send { x -> done } done { } }\n";
    let scratch = Scratch::with("fix-read-only", &[("p.proto", text)]);
    let path = scratch.path("p.proto");
    let mut permissions = std::fs::metadata(&path).expect("it is there").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).expect("it can be protected");
    scratch.said("check --fix p.proto", 3, &["error: cannot write p.proto: "]);
}

/// Which of two words is the type is clear if one is a type and the other is not, and no import can change that.
#[test]
fn a_type_before_its_name_is_moved_only_where_there_is_no_other_reading() {
    let message = |payload: &str| format!("proto! p {{ s:send {{ m({payload}) -> ! }} }}\n");
    let texts = [
        (
            "struct item { str name, u32 price }\n".to_owned(),
            "struct item { name: str, price: u32 }\n".to_owned(),
        ),
        (
            "struct money { cents: u64 }\nstruct item { money price, id u64 }\n".to_owned(),
            "struct money { cents: u64 }\nstruct item { price: money, id: u64 }\n".to_owned(),
        ),
        (
            message("str name, password str"),
            message("name: str, password: str"),
        ),
        (
            "proto! p { s:send<T> { m(T value) -> ! } }\n".to_owned(),
            "proto! p { s:send<T> { m(value: T) -> ! } }\n".to_owned(),
        ),
    ];
    for (index, (text, expected)) in texts.iter().enumerate() {
        let scratch = Scratch::with(&format!("fix-turned-{index}"), &[("a.proto", text)]);
        scratch.transcript("check --fix a.proto");
        assert_eq!(&scratch.read("a.proto"), expected);
    }
    let either = [
        "struct item { money price }\n",
        "struct item { str u32 }\n",
        "import \"t.proto\";\nstruct item { str name }\n",
        "import \"t.proto\";\nstruct item { name str }\n",
        "type money = unsigned int\n",
        "type money = u64 cents;\n",
        "package acme bank;\n",
        "import \"t.proto\" as t;\n",
    ];
    let either = either.map(str::to_owned).into_iter();
    let payloads = [
        "optional str",
        "repeated str",
        "unsigned int",
        "u8 u16",
        "money price",
    ];
    for (index, text) in either.chain(payloads.map(message)).enumerate() {
        let scratch = Scratch::with(
            &format!("fix-either-{index}"),
            &[("a.proto", &text), ("t.proto", "type t = u8;\n")],
        );
        scratch.transcript("check --fix a.proto");
        assert_eq!(scratch.read("a.proto"), text);
    }
}

/// A separator is not replaced where the text after it is not what it would separate.
#[test]
fn a_bracket_that_is_missing_or_closes_too_early_is_not_repaired_by_guessing() {
    for (index, text) in [
        "proto! p { s:send { a -> s; t:recv { b -> ! } }\n",
        "proto! p { s:send { a -> s }, b -> ! } }\n",
        "proto! p { s:send { a -> s b { c -> ! } } }\n",
    ]
    .into_iter()
    .enumerate()
    {
        let scratch = Scratch::with(&format!("fix-bracket-{index}"), &[("a.proto", text)]);
        scratch.transcript("check --fix a.proto");
        assert_eq!(scratch.read("a.proto"), text);
    }
}

/// A state is removed with its line and with the blank line that separated it. A comment inside a state stays, and so does the
/// state.
#[test]
fn a_removed_state_leaves_no_trace_and_removes_no_comment() {
    let before = "proto! p {\n    a:send { x -> done }\n\n    done { }\n}\n";
    let after = "proto! p {\n    a:send { x -> ! }\n}\n";
    let kept = "proto! p {\n    a:send { x -> done }\n    done { /* why */ }\n}\n";
    let scratch = Scratch::with("fix-terminals", &[("a.proto", before)]);
    scratch.transcript("check --fix a.proto");
    assert_eq!(scratch.read("a.proto"), after);
    scratch.write("a.proto", kept);
    scratch.transcript("check --fix a.proto");
    assert_eq!(scratch.read("a.proto"), kept);
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
    let mut texts: Vec<PathBuf> = Vec::new();
    for folder in [
        "protocols",
        "tests/corpus/literature",
        "tests/corpus/2012",
        "tests/fail/verbose-terminal",
        "tests/fail/unused-suppression",
    ] {
        let entries = fs::read_dir(repository().join(folder)).expect("the folder can be read");
        texts.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    texts.retain(|path| path.extension().is_some_and(|end| end == "proto"));
    texts.sort();
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

/// What looks like a repair but has a second reading, or leaves another error: the texts stay.
#[test]
fn a_repair_whose_result_is_not_better_is_not_made() {
    for (index, message) in [
        "login(username: str password: str) -> !",
        "buy(amount: u32 where amount > 0) -> !",
        "volume(level: u8 in 0..10) -> !",
        "ring -> s | busy",
        "push(stream u32) -> !",
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("proto! p {{ s:send {{ {message} }} }}\n");
        let scratch = Scratch::with(&format!("fix-worse-{index}"), &[("a.proto", &text)]);
        let answer = scratch.transcript("check --fix --format json a.proto");
        assert_eq!(scratch.read("a.proto"), text);
        assert!(!answer.contains("\"safe\""), "{answer}");
    }
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
    let examples = fs::read_dir(repository().join("protocols")).expect("the folder can be read");
    let mut examples: Vec<PathBuf> = examples
        .map(|entry| entry.expect("an entry").path())
        .collect();
    examples.sort();
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
