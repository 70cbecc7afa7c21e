//! `duologue gen`: what is written, when, and when not.

use crate::support::program::{Scratch, run, transcript};
use insta::assert_snapshot;
use std::collections::BTreeMap;
use std::fs;

const BANK: &str = include_str!("../../protocols/bank.proto");
const LIGHT: &str =
    "proto! light {\n    off:send { on -> on }\n    on:send { off -> off, broken -> ! }\n}\n";
const ALL: &str = "gen bank.proto --rust out/rust --c out/c --scala out/scala";

/// The texts of all files below a folder, by path inside it.
fn texts(scratch: &Scratch, below: &str) -> BTreeMap<String, String> {
    let files = scratch.files(below).into_iter();
    let inside = |path: &String| path[below.len()..].to_owned();
    files
        .map(|path| (inside(&path), scratch.read(&path)))
        .collect()
}

#[test]
fn the_line_for_a_folder_in_src_declares_a_module() {
    let scratch = Scratch::with("gen-usage", &[("bank.proto", BANK)]);
    for (folder, line) in [
        ("src/protocols", "rust   mod protocols;"),
        ("shop/src/wire", "rust   mod wire;"),
        (
            "src/my-protocols",
            "#[path = \"src/my-protocols/mod.rs\"] mod protocols;",
        ),
        ("gen", "#[path = \"gen/mod.rs\"] mod protocols;"),
    ] {
        let text = scratch.transcript(&format!("gen bank.proto --rust {folder}"));
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn three_languages_and_a_summary() {
    let scratch = Scratch::with("gen-bank", &[("bank.proto", BANK)]);
    assert_snapshot!(scratch.transcript(ALL));
    let first = scratch.files("out");
    let stamp = |path: &String| fs::metadata(scratch.path(path)).and_then(|file| file.modified());
    let stamps: Vec<_> = first
        .iter()
        .map(|path| stamp(path).expect("it is there"))
        .collect();
    assert_snapshot!(scratch.transcript(ALL));
    assert_eq!(scratch.files("out"), first);
    let again: Vec<_> = first
        .iter()
        .map(|path| stamp(path).expect("it is there"))
        .collect();
    assert_eq!(
        stamps, again,
        "files that did not change keep their time stamps"
    );
    assert_snapshot!(scratch.transcript(&format!("{ALL} -v --ascii")));
    assert_snapshot!(scratch.transcript(&format!("{ALL} -q")));
}

/// The header for sockets includes the others.
#[test]
fn the_summary_names_the_header_for_sockets() {
    let scratch = Scratch::with("gen-bank-remote", &[("bank.proto", BANK)]);
    let printed = scratch.transcript("gen bank.proto --c out --remote");
    assert!(
        printed.contains("c      #include \"bank_net.h\"\n"),
        "{printed}"
    );
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

#[test]
fn standard_input() {
    let scratch = Scratch::new("gen-stdin");
    let output = run(scratch.duologue("gen - --c out"), BANK.as_bytes());
    assert_snapshot!(transcript("gen - --c out < bank.proto", &output));
}

#[test]
fn errors_prevent_writing() {
    let wrong = BANK.replace("-> connected", "-> conected");
    let scratch = Scratch::with("gen-errors", &[("bank.proto", &wrong)]);
    assert_snapshot!(scratch.transcript(&format!("{ALL} --format short")));
    assert_eq!(scratch.files("."), ["bank.proto"]);
}

#[test]
fn foreign_files_are_not_overwritten() {
    let mine = "// written by hand\n";
    let files = [
        ("bank.proto", BANK),
        ("out/c/bank.h", mine),
        ("out/rust/mod.rs", mine),
    ];
    let scratch = Scratch::with("gen-foreign", &files);
    assert_snapshot!(scratch.transcript(ALL));
    assert_eq!(scratch.files("out"), ["out/c/bank.h", "out/rust/mod.rs"]);
    assert_eq!(scratch.read("out/c/bank.h"), mine);
    let forced = run(scratch.duologue(&format!("{ALL} --force")), b"");
    assert!(forced.status.success(), "{forced:?}");
    assert!(
        scratch
            .read("out/c/bank.h")
            .contains("@generated by duologue")
    );
}

#[test]
fn a_write_that_fails_leaves_nothing() {
    let scratch = Scratch::with(
        "gen-fails",
        &[("bank.proto", BANK), ("out/scala", "a file")],
    );
    assert_snapshot!(scratch.transcript(ALL));
    assert_eq!(scratch.files("out"), ["out/scala"]);
    let blocked = Scratch::with(
        "gen-blocked",
        &[("bank.proto", BANK), ("out/c/bank.h/x", "")],
    );
    assert_snapshot!(blocked.transcript(ALL));
    assert_eq!(blocked.files("out"), ["out/c/bank.h/x"]);
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
    assert_snapshot!(scratch.transcript(&format!("{both} --diff")));

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

#[test]
fn drift() {
    let scratch = Scratch::with("gen-drift", &[("bank.proto", BANK), ("light.proto", LIGHT)]);
    let both = "gen bank.proto light.proto --c out/c --scala out/scala";
    assert_snapshot!(scratch.transcript(&format!("{both} --check")));
    assert!(!scratch.path("out").exists(), "nothing is written");
    assert!(run(scratch.duologue(both), b"").status.success());
    assert_snapshot!(scratch.transcript(&format!("{both} --check")));

    scratch.write("light.proto", LIGHT.replace("light", "lamp"));
    fs::remove_file(scratch.path("out/c/bank.c")).expect("it was written");
    let header = scratch.read("out/c/bank.h");
    scratch.write("out/c/bank.h", header.replace('\n', "\r\n"));
    scratch.write("out/c/mine.c", "/* by hand */\n");
    let before = texts(&scratch, "out");
    assert_snapshot!(scratch.transcript(&format!("{both} --check")));
    assert_eq!(texts(&scratch, "out"), before, "nothing is written");

    assert_snapshot!(scratch.transcript(&format!("{both} --clean")));
    assert!(
        run(scratch.duologue(&format!("{both} --check")), b"")
            .status
            .success()
    );
    assert!(scratch.path("out/c/mine.c").exists());
}

#[test]
fn runs_that_share_a_directory_leave_each_other_alone() {
    let scratch = Scratch::with(
        "gen-shared",
        &[("bank.proto", BANK), ("light.proto", LIGHT)],
    );
    for file in ["bank.proto", "light.proto"] {
        assert!(
            run(
                scratch.duologue(&format!("gen {file} --c out --clean")),
                b""
            )
            .status
            .success()
        );
    }
    for file in ["bank.proto", "light.proto"] {
        let checked = run(
            scratch.duologue(&format!("gen {file} --c out --check")),
            b"",
        );
        assert!(checked.status.success(), "{checked:?}");
    }
}

#[test]
fn what_build_systems_ask() {
    let files = [
        (
            "p.proto",
            "import \"lib/money.proto\";\nproto! p { s:send { pay(money) -> ! } }\n",
        ),
        (
            "lib/money.proto",
            "import \"base.proto\";\ntype money = amount;\n",
        ),
        ("lib/base.proto", "type amount = f64;\n"),
    ];
    let scratch = Scratch::with("gen-depfile", &files);
    assert_snapshot!(scratch.transcript("gen p.proto --c out --list-outputs"));
    assert!(!scratch.path("out").exists(), "nothing is written");
    let output = run(
        scratch.duologue("gen p.proto --c out --depfile out/p.d"),
        b"",
    );
    assert!(output.status.success(), "{output:?}");
    assert_snapshot!(scratch.read("out/p.d"));
}

/// The JVM allows 64 KiB of code in a method, of which each value of a payload takes about 16 bytes.
#[test]
fn no_method_of_scala_is_too_large() {
    let entries: Vec<String> = (0..100).map(|entry| format!("e{entry}: u64")).collect();
    let messages = (0..256).map(|message| format!("m{message}({}) -> s", entries.join(", ")));
    let messages: Vec<String> = messages.collect();
    let text = format!("proto! large {{ s:send {{ {} }} }}", messages.join(","));
    let scratch = Scratch::with("gen-large-methods", &[("large.proto", &text)]);
    let output = run(scratch.duologue("gen large.proto --scala gen"), b"");
    assert!(output.status.success());
    let texts = texts(&scratch, "gen");
    let text = texts
        .values()
        .find(|text| text.contains("def open("))
        .expect("a receiver opens");
    let methods: Vec<&str> = text.split(" def open").skip(1).collect();
    let values = |method: &&str| method.matches("values._").count();
    assert_eq!(methods.iter().map(values).sum::<usize>(), 25_600);
    assert!(methods.iter().map(values).max() < Some(3_000));
}

/// A second run into the same folder keeps the files of the first, and reports which modules are missing from the new `mod.rs`.
#[test]
fn a_module_that_another_run_has_written_is_reported_as_missing() {
    let protocol = |name: &str| format!("proto! {name} {{ s:send {{ m -> ! }} }}\n");
    let scratch = Scratch::new("generation-shared");
    scratch.write("a.proto", protocol("a"));
    scratch.write("b.proto", protocol("b"));
    let first = scratch.transcript("gen a.proto --rust d");
    assert!(!first.contains("note"), "{first}");
    let second = scratch.transcript("gen b.proto --rust d");
    let note = "note d/mod.rs no longer has the module `a`, whose file d/a.rs was written by another run; give all \
                protocol files to one run, or use another directory\n";
    assert!(second.contains(note), "{second}");
    let both = scratch.transcript("gen a.proto b.proto --rust d");
    assert!(!both.contains("note"), "{both}");
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
