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

const SPELLED: &str = r"
#[allow(all)]
proto! con { s:recv {
    login_response -> s, SayHello -> s, a1_b2 -> s, x_1 -> s, s12 -> s, a__b -> s, _a -> s, _1st -> s, b_ -> s, type -> s, Self -> s, gen -> s,
    /// a */ b /* c ??/ d \
    ///
    /// ```
    ///     let x;
    /// ```
    long(first_parameter: [u8], second_parameter: [u8], third_parameter: [u8], fourth_parameter: [u8]) -> s
} }
";

/// The words that follow one text and precede another, line by line.
fn between(text: &str, before: &str, after: &str) -> String {
    let found = text.lines().filter_map(|line| {
        let (_, rest) = line.split_once(before)?;
        Some(rest.split_once(after)?.0)
    });
    found.collect::<Vec<_>>().join(" ")
}

/// Words end at underscores and before capitals. What would be a keyword, a number or a device of Windows is changed.
#[test]
fn names_are_spelled_as_each_language_does() {
    let scratch = Scratch::with("gen-names", &[("a.proto", SPELLED)]);
    let generated = run(
        scratch.duologue("gen a.proto --rust rust --c c --scala scala"),
        b"",
    );
    assert!(generated.status.success(), "{generated:?}");
    let rust = scratch.read("rust/con_.rs");
    assert_eq!(
        between(&rust, "    ", "(client::S),"),
        "LoginResponse SayHello A1B2 X1 S12 AB A N1st B Type Self_ Gen"
    );
    let (_, server) = rust.split_once("pub mod server {").expect("a server");
    assert_eq!(
        between(
            server,
            "pub fn ",
            "(self) -> Result<S, ::duologue::SendError<()>>"
        ),
        "login_response say_hello a1_b2 x_1 s12 a_b a _1st b r#type self_ r#gen"
    );
    let c = scratch.read("c/con_.h");
    assert_eq!(
        between(&c, "    case CON_S_", ": return"),
        "LOGIN_RESPONSE SAY_HELLO A1_B2 X_1 S12 A_B A _1ST B TYPE SELF GEN LONG"
    );
    let scala = scratch.read("scala/protocols/con_.scala");
    assert_eq!(
        between(&scala, "final case class ", "(next: client.S)"),
        "LoginResponse SayHello A1B2 X1 S12 AB A _1st B Type Self Gen"
    );
    assert_eq!(
        between(&scala, "      def ", "(): S = {"),
        "loginResponse sayHello a1B2 x1 s12 aB a _1st b `type` self gen"
    );
}

/// Comments end where they should, code in them is no test, and each entry of a long list has its line.
#[test]
fn comments_stay_comments_and_long_lines_are_broken() {
    let scratch = Scratch::with("gen-lines", &[("a.proto", SPELLED)]);
    let generated = run(scratch.duologue("gen a.proto --rust rust --c c"), b"");
    assert!(generated.status.success(), "{generated:?}");
    let rust = scratch.read("rust/con_.rs");
    let list = "
            self, // An endpoint in a field: see `duologue::Held`.
            first_parameter: Vec<u8>,
            second_parameter: Vec<u8>,
            third_parameter: Vec<u8>,
            fourth_parameter: Vec<u8>,
        ) -> Result<
            S,
            ";
    assert!(rust.contains(&format!("pub fn try_long({list}")), "{rust}");
    let comment =
        "    /// a */ b /* c ??/ d \\\n    ///\n    /// ```text\n    ///     let x;\n    /// ```\n";
    assert!(rust.contains(comment), "{rust}");
    let c = scratch.read("c/con_.h");
    assert!(
        c.contains(" * a * / b / * c ? ?/ d (\\)\n *\n * ```\n *     let x;\n"),
        "{c}"
    );
    let mut code = c
        .lines()
        .filter(|line| !line.starts_with('#') && !line.ends_with('\\'));
    assert!(code.all(|line| line.len() <= 100), "{c}");
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
