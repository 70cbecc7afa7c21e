//! Generation from a `build.rs`: the package in `tests/example` is copied out of the repository, built and run.

use crate::support::program::{Scratch, run};
use crate::support::{cargo, edit, repository};
use std::fs;
use std::path::Path;
use std::process::Output;

/// A copy of the example package.
///
/// It has a name of its own: copies with the same name would share Cargo's records about them.
struct Example {
    scratch: Scratch,
    name: String,
}

impl Example {
    fn new(name: &str) -> Example {
        let name = format!("example-{name}");
        let scratch = Scratch::new(&name);
        let source = repository().join("tests/example");
        for path in [
            "Cargo.toml",
            "build.rs",
            "src/main.rs",
            "protocols/bank.proto",
            "protocols/money.proto",
        ] {
            let text = fs::read_to_string(source.join(path)).expect("the example is there");
            let root = repository()
                .to_str()
                .expect("a UTF-8 path")
                .replace('\\', "/");
            let text = text.replace("path = \"../..", &format!("path = \"{root}"));
            let text = text.replace("name = \"example\"", &format!("name = \"{name}\""));
            scratch.write(path, text);
        }
        let lock = fs::read(repository().join("Cargo.lock")).expect("the lock file is there");
        scratch.write("Cargo.lock", lock);
        Example { scratch, name }
    }

    /// Runs Cargo in the package. It has the target folder and the profile of the workspace, so that most dependencies are built already.
    fn cargo(&self, arguments: &str) -> Output {
        let mut command = cargo();
        command
            .current_dir(self.scratch.path(""))
            .args(arguments.split_whitespace());
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
        let target = target.expect("it is in the folder of the workspace");
        command
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            .env("CARGO_PROFILE_DEV_INCREMENTAL", "false")
            .env("CARGO_TARGET_DIR", target)
            .env("CARGO_TERM_COLOR", "never");
        command.env("RUST_BACKTRACE", "1").env_remove("RUSTFLAGS");
        run(command, b"")
    }

    fn build(&self) -> Output {
        self.cargo("build --offline -v")
    }

    #[track_caller]
    fn builds(&self) -> String {
        let output = self.build();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words}");
        words
    }

    /// A second build has nothing to do.
    #[track_caller]
    fn rests(&self) {
        assert!(is_fresh(&self.builds()));
    }

    #[track_caller]
    fn fails(&self) -> String {
        let output = self.build();
        assert!(!output.status.success(), "it should not build");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn change(&self, path: &str, from: &str, to: &str) {
        edit(&self.scratch.path(path), from, to);
    }
}

fn is_fresh(words: &str) -> bool {
    words
        .lines()
        .any(|line| line.trim_start().starts_with("Fresh example-"))
}

#[test]
#[ignore = "slow: build scripts"]
fn a_package_generates_its_protocols_and_runs() {
    let example = Example::new("runs");
    let output = example.cargo("run --offline -q");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "got 30.00\n",
        "{errors}"
    );
    example.rests();
    example.change("protocols/money.proto", "f64", "i64");
    example.change("src/main.rs", "f64", "i64");
    example.change("src/main.rs", "100.0", "100");
    example.change("src/main.rs", "30.0", "30");
    example.change("src/main.rs", "0.0", "0");
    assert!(!is_fresh(&example.builds()), "an imported file has changed");
    example.rests();
}

#[test]
#[ignore = "slow: build scripts"]
fn errors_are_shown_unchanged() {
    let example = Example::new("errors");
    // The commands that build the dependencies have words of their own.
    example.builds();
    example.change("protocols/bank.proto", "ok -> connected", "ok -> conected");
    let words = example.fails();
    let report = run(
        example
            .scratch
            .duologue("check --ascii -q -I protocols protocols/bank.proto"),
        b"",
    );
    let report = String::from_utf8_lossy(&report.stdout);
    assert!(report.contains("unknown-state"), "{report}");
    let prefix = format!("error: {}@0.0.0: ", example.name);
    let shown = words
        .lines()
        .filter_map(|line| line.strip_prefix(prefix.as_str()));
    let shown: Vec<&str> = shown.map(str::trim_end).collect();
    let expected: Vec<&str> = report.trim_end().lines().map(str::trim_end).collect();
    assert_eq!(shown, expected);
    for noise in ["panicked", "backtrace", "\\n", "unwrap"] {
        assert!(!words.contains(noise), "`{noise}` in\n{words}");
    }
    example.change("protocols/bank.proto", "conected", "connected");
    example.builds();
}

#[test]
#[ignore = "slow: build scripts"]
fn a_missing_import_that_appears_is_noticed() {
    let example = Example::new("missing");
    let money = example.scratch.read("protocols/money.proto");
    fs::remove_file(example.scratch.path("protocols/money.proto")).expect("it can be removed");
    let words = example.fails();
    assert!(words.contains("error[unresolved-import]"), "{words}");
    example.scratch.write("protocols/money.proto", money);
    example.builds();
    example.rests();
}

#[test]
#[ignore = "slow: build scripts"]
fn all_files_of_a_directory_are_watched() {
    let example = Example::new("all");
    example.change("build.rs", ".protocol(\"bank.proto\")", ".all()");
    example.builds();
    example.rests();
    example.scratch.write(
        "protocols/deep/light.proto",
        "proto! light { off:send { on -> ! } }\n",
    );
    assert!(!is_fresh(&example.builds()), "a file has been added");
    example.change(
        "src/main.rs",
        "fn main() {",
        "fn main() {\n    let _ = protocols::light::init();",
    );
    example.builds();
    example.rests();
}

/// The lines that Cargo shows as errors of the build script.
fn shown(example: &Example) -> Vec<String> {
    let prefix = format!("error: {}@0.0.0: ", example.name);
    let words = example.fails();
    let lines = words
        .lines()
        .filter_map(|line| line.strip_prefix(prefix.as_str()));
    lines.map(|line| line.trim_end().to_owned()).collect()
}

#[test]
#[ignore = "slow: build scripts"]
fn a_builder_reports_impossible_requests() {
    let example = Example::new("impossible");
    let script = example.scratch.read("build.rs");
    let build = |from: &str, to: &str| {
        assert!(script.contains(from), "the script has no {from}");
        example.scratch.write("build.rs", script.replace(from, to));
        shown(&example).join("\n")
    };
    let missing = build("bank.proto", "bnak.proto");
    assert!(
        missing.starts_with("cannot read protocols/bnak.proto: "),
        "{missing}"
    );
    let nothing = build(".protocol(\"bank.proto\")", "");
    assert!(nothing.starts_with("nothing to generate: "), "{nothing}");
    let rootless = build(".root(\"protocols\")", ".all()");
    assert!(
        rootless.starts_with("`all` needs the directory of the protocol files"),
        "{rootless}"
    );
    let empty = build(".root(\"protocols\")", ".root(\"src\").all()");
    assert!(empty.contains("src"), "{empty}");
    let level = "duologue_compiler::diagnostic::Level::Deny";
    let unknown = build(
        ".generate()",
        &format!(".level(\"stuck\", {level}).generate()"),
    );
    assert_eq!(unknown, "there is no rule `stuck`");
    let denied = build(
        ".generate()",
        &format!(".level(\"missing-docs\", {level}).generate()"),
    );
    assert!(denied.starts_with("error[missing-docs]: "), "{denied}");

    // What is wrong with derives and attributes is reported before anything is written.
    let wrong = ".derive(\"serde\").field_attribute(\".\", \"#[a\").derive(\"Hash\").generate()";
    let wrong = build(".generate()", wrong);
    let expected = "`#[a` is not an attribute; write one such as `#[serde(default)]`\n\
        `Hash` needs no option: it is derived for every type whose fields allow it";
    assert_eq!(wrong, expected);
    let unknown = ".type_attribute(\"bnak\", \"#[a]\").generate()";
    let unknown = build(".generate()", unknown);
    assert_eq!(unknown, "there is no struct or enum `bnak`");

    let call = format!(".level(\"missing-docs\", {level}).try_generate().unwrap()");
    example
        .scratch
        .write("build.rs", script.replace(".generate()", &call));
    let words = example.fails();
    assert!(words.contains("--> protocols/"), "{words}");
    assert!(
        !words.contains("\\n"),
        "an unwrapped error must be readable:\n{words}"
    );
}

#[test]
fn the_library_alone_is_small() {
    let mut command = cargo();
    let arguments = "tree --offline -p duologue --no-default-features -e normal,build --prefix none --format {p}";
    command.current_dir(repository()).args(arguments.split(' '));
    let output = run(command, b"");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("names are ASCII");
    let names = text.lines().filter_map(|line| line.split(' ').next());
    let names: std::collections::BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
    for name in ["clap", "anstream", "ignore"] {
        assert!(!names.contains(name), "the library needs {name}");
    }
    // Four of them are the hash crate for fingerprints and its dependencies, and one is the grammar.
    assert!(names.len() <= 49, "{} packages: {names:?}", names.len());
}
