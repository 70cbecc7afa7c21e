//! The CI kit: every command that it runs exists, and the page shows what the program prints.

use crate::support::program::{Scratch, run};
use crate::support::{is_current, repository};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The commands that a file runs, without their arguments.
fn commands(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim);
    let called = lines.filter_map(|line| {
        let line = line.strip_prefix("- ").unwrap_or(line);
        let line = line
            .strip_prefix("run: ")
            .or(line.strip_prefix("entry: "))
            .unwrap_or(line);
        line.strip_prefix("duologue ")
    });
    called
        .filter_map(|words| words.split_whitespace().next())
        .collect()
}

#[test]
fn every_command_exists() {
    let scratch = Scratch::new("ci-commands");
    for name in [".pre-commit-hooks.yaml", "docs/ci.md"] {
        let text = fs::read_to_string(repository().join(name)).expect("the file is there");
        let commands = commands(&text);
        assert!(!commands.is_empty(), "{name} runs nothing");
        for command in commands {
            let output = run(scratch.duologue(&format!("{command} --help")), b"");
            assert!(
                output.status.success(),
                "{name} calls `duologue {command}`, which is not a command"
            );
        }
    }
}

/// The block after a marker: where its text starts and ends.
fn block(page: &str, marker: &str) -> (usize, usize) {
    let at = page
        .find(marker)
        .unwrap_or_else(|| panic!("the page has a block `{marker}`"));
    let open = at + page[at..].find("```").expect("a block follows its marker");
    let start = open + page[open..].find('\n').expect("a block has lines") + 1;
    (
        start,
        start + page[start..].find("```").expect("a block is closed"),
    )
}

#[test]
fn the_page_shows_what_is_printed() {
    let page = fs::read_to_string(repository().join("docs/ci.md"));
    let mut page = page.expect("the page is there");
    let scratch = Scratch::new("ci-page");
    let (start, end) = block(&page, "<!-- file: protocols/light.proto -->");
    scratch.write("protocols/light.proto", &page[start..end]);
    let output = run(scratch.duologue("check protocols --format github"), b"");
    let printed = String::from_utf8(output.stdout).expect("reports are UTF-8");
    let (start, end) = block(&page, "--format github -->");
    page.replace_range(start..end, &printed);
    is_current("docs/ci.md", &page);
}

/// The environment in which a runner of GitHub calls a script of the action: the variables that the step sets from inputs, and its own.
struct Runner {
    scratch: Scratch,
    inputs: BTreeMap<&'static str, &'static str>,
}

impl Runner {
    /// Runs what the step of this name runs, in the folder `work`, with these programs before all others in `PATH`.
    fn step(&self, name: &str, programs: &Path) -> (bool, String) {
        let action = fs::read_to_string(repository().join("action.yml")).expect("it is there");
        let step = action
            .split("    - name: ")
            .find(|step| step.starts_with(name));
        let step = step.unwrap_or_else(|| panic!("the action has no step `{name}`"));
        let script = step.split_once("run: '").expect("it runs a script").1;
        let script = script.split('\'').next().expect("it is quoted");
        let mut command = Command::new("bash");
        command
            .args(["-c", script])
            .current_dir(self.scratch.path("work"));
        for line in step.lines() {
            let Some((key, input)) = line.trim().split_once(": ${{ inputs.") else {
                continue;
            };
            let input = input.trim_end_matches(" }}");
            let marker = format!("\n  {input}:\n");
            let declared = action.split_once(&marker).expect("the input is declared").1;
            let default = declared
                .split_once("default: ")
                .expect("it has a default")
                .1;
            let default = default.lines().next().expect("a line").trim_matches('"');
            let value = self.inputs.get(input).copied().unwrap_or(default);
            match key {
                "working-directory" => command.current_dir(self.scratch.path("work").join(value)),
                _ => command.env(key, value),
            };
        }
        let path = std::env::var("PATH").expect("there is a path");
        command
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_ACTION_PATH", repository())
            .env("GITHUB_ACTION_REPOSITORY", "duologue/duologue")
            .env(
                "GITHUB_SERVER_URL",
                format!("file://{}", self.scratch.path("server").display()),
            )
            .env("GITHUB_STEP_SUMMARY", self.scratch.path("summary.md"))
            .env("GITHUB_WORKSPACE", self.scratch.path("work"))
            .env("RUNNER_OS", "Linux")
            .env("RUNNER_ARCH", "X64")
            .env("RUNNER_TEMP", self.scratch.path("temp"));
        if let Some(version) = self.inputs.get("ref") {
            command.env("ACTION_REF", version);
        }
        let output = run(command, b"");
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8(text).expect("UTF-8"),
        )
    }
}

const OLD: &str = "proto! bank { login:send { login(user: str) -> ! } }\n\
                   proto! shop { buy:send { buy -> ! } }\n";
const NEW: &str =
    "proto! bank { login:send { login( user: str, pin: u16) -> stuck, pay -> nowhere } }\n";

/// A pull request in a shallow clone, whose protocols are in a subfolder: each check runs although earlier ones fail, and the
/// annotations name files as the repository does.
#[test]
fn the_action_runs_every_check_of_a_pull_request() {
    let runner = |inputs: &[(&'static str, &'static str)], new: &str| {
        let scratch = Scratch::with("ci-action", &[("origin/service/protocols/bank.proto", OLD)]);
        let origin = scratch.path("origin");
        let origin = origin.to_str().expect("UTF-8");
        scratch.git(&["init", "--quiet", "--initial-branch=main", "origin"]);
        scratch.git(&["-C", origin, "add", "."]);
        scratch.git(&["-C", origin, "commit", "--quiet", "-m", "old"]);
        scratch.git(&["-C", origin, "checkout", "--quiet", "-b", "change"]);
        scratch.write("origin/service/protocols/bank.proto", new);
        scratch.git(&["-C", origin, "commit", "--quiet", "-a", "-m", "new"]);
        let from = format!("file://{origin}");
        scratch.git(&[
            "clone",
            "--quiet",
            "--depth=1",
            "--branch=change",
            &from,
            "work",
        ]);
        let inputs = inputs.iter().copied().collect();
        Runner { scratch, inputs }
    };
    let program = Path::new(env!("CARGO_BIN_EXE_duologue"));
    let programs = program.parent().expect("it is in a folder");
    let inputs = [
        ("working-directory", "service"),
        ("paths", "protocols"),
        ("check", "-D warnings"),
        ("gen", "protocols --rust src"),
        ("breaking", "origin/main"),
        ("sarif", "duologue.sarif"),
    ];
    let wrong = runner(&inputs, NEW);
    let (is_good, text) = wrong.step("Check", programs);
    assert!(!is_good, "{text}");
    assert!(text.contains("failed: check fmt gen breaking"), "{text}");
    let place = "::error file=service/protocols/bank.proto,line=1,";
    for title in ["title=unknown-state", "title=fmt"] {
        let is_it = |line: &str| line.starts_with(place) && line.contains(title);
        assert!(text.lines().any(is_it), "{title} in {text}");
    }
    let sarif = wrong.scratch.read("work/service/duologue.sarif");
    assert!(
        sarif.contains("\"uri\": \"service/protocols/bank.proto\""),
        "{sarif}"
    );
    assert!(
        !sarif.contains("\"uri\": \"protocols/bank.proto\""),
        "{sarif}"
    );
    drop(wrong);
    let sound = NEW.replace("-> stuck, pay -> nowhere", "-> !, pay -> !");
    let breaking = runner(&inputs, &sound);
    let (_, text) = breaking.step("Check", programs);
    assert!(text.contains("failed: fmt gen breaking"), "{text}");
    for line in [
        "title=incompatible-with-old-client",
        "title=incompatible-with-old-server",
        "::error file=service/protocols/bank.proto,title=protocol-removed",
        "::error file=service/src/bank.rs,line=1,title=gen",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(
        !text.contains("file=service/protocols/bank.proto @"),
        "{text}"
    );
    drop(breaking);
    let order = |require, wire| {
        let inputs = [
            ("paths", "service"),
            ("format", "false"),
            ("breaking", "origin/main"),
            ("require", require),
            ("wire", wire),
        ];
        let new = OLD.replace("{ buy -> ! }", "{ look -> !, buy -> ! }");
        runner(&inputs, &new).step("Check", programs).0
    };
    let accepted = [
        order("some-order", "false"),
        order("any-order", "false"),
        order("some-order", "true"),
    ];
    assert_eq!(accepted, [true, false, false]);
}

/// The program of the release that the workflow names is installed if its sum is right; other sources are built.
#[test]
fn the_action_installs_the_program_of_a_release() {
    const ARCHIVE: &str = "duologue-0.1.0-x86_64-linux";
    let releases = "server/duologue/duologue/releases/download/v0.1.0";
    let scratch = Scratch::with(
        "ci-install",
        &[
            ("programs/cargo", "#!/bin/sh\necho \"cargo $*\"\n"),
            (
                &format!("{ARCHIVE}/bin/duologue"),
                "#!/bin/sh\necho released\n",
            ),
            ("work/empty", ""),
            (&format!("{releases}/SHA256SUMS"), ""),
        ],
    );
    let shell = |text: &str| {
        let mut command = Command::new("bash");
        command.args(["-ec", text]).current_dir(scratch.path("."));
        assert!(run(command, b"").status.success(), "{text}");
    };
    shell(&format!(
        "chmod +x programs/cargo {ARCHIVE}/bin/duologue; tar -czf {releases}/{ARCHIVE}.tar.gz {ARCHIVE}; \
         cd {releases}; sha256sum *.tar.gz > SHA256SUMS"
    ));
    let programs = scratch.path("programs");
    let mut runner = Runner {
        scratch,
        inputs: BTreeMap::new(),
    };
    for version in ["main", "v1"] {
        runner.inputs.insert("ref", version);
        let (is_good, text) = runner.step("Install the compiler", &programs);
        assert!(
            is_good && text.contains("cargo install --locked --path cli --root "),
            "{text}"
        );
    }
    runner.inputs.insert("ref", "v0.1.0");
    let (is_good, text) = runner.step("Install the compiler", &programs);
    assert!(
        is_good && text.contains("installed the program of v0.1.0"),
        "{text}"
    );
    assert!(
        runner
            .scratch
            .read("temp/duologue/bin/duologue")
            .contains("released")
    );
    let sums = format!("{releases}/SHA256SUMS");
    let changed = runner
        .scratch
        .read(&sums)
        .replacen(|c: char| c.is_ascii_hexdigit(), "x", 1);
    runner.scratch.write(&sums, changed);
    let (is_good, text) = runner.step("Install the compiler", &programs);
    assert!(!is_good && !text.contains("cargo"), "{text}");
}
