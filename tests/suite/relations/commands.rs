//! `duologue breaking` and `duologue dual --against`: what they print, in repositories, folders and shallow clones.

use crate::support::program::Scratch;
use crate::support::sarif::keeps_to_schema;
use insta::assert_snapshot;
use serde_json::Value;

const OLD: &str = "import \"types.proto\";
proto! bank {
    login:send { login(str) -> answer }
    answer:recv { ok(money) -> open, invalid -> login }
    open:send { deposit(money) -> open, quit -> ! }
}
proto! gone { a:send { b -> ! } }
proto! light { off:send { on -> on } on:send { off -> off, broken -> ! } }
proto! asks { a:send { b -> ! } }
";
const NEW: &str = "import \"types.proto\";
proto! bank {
    login:send { login(str) -> answer, register -> ! }
    answer:recv { ok(money) -> open, invalid -> login, locked -> ! }
    open:send { deposit(money) -> open, quit -> ! }
}
proto! came { a:send { b -> ! } }
proto! light { off:send { on -> shining } shining:send { off -> off, broken -> ! } }
proto! asks { a:send { b -> !, c -> ! } }
";
const TYPES: &str = "type money = f64;\n";

fn commit(scratch: &Scratch, tag: &str) {
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "--quiet", "--message", tag]);
    scratch.git(&["tag", tag]);
}

/// A repository with an old version at `v1`, and a new one in its working tree.
fn history(name: &str) -> Scratch {
    let scratch = Scratch::with(
        name,
        &[
            ("protocols/bank.proto", OLD),
            ("protocols/types.proto", TYPES),
            (
                "protocols/deep/asks.proto",
                "proto! asks_on { a:recv { b -> ! } }\n",
            ),
        ],
    );
    scratch.git(&["init", "--quiet", "--initial-branch=main"]);
    commit(&scratch, "v1");
    scratch.write("protocols/bank.proto", NEW);
    scratch.write(
        "protocols/deep/asks.proto",
        "proto! asks_on { a:recv { b -> !, c -> ! } }\n",
    );
    scratch
}

/// In a clone that has only the last commit, older ones must be fetched first.
#[test]
fn a_shallow_clone_gets_the_command_that_fetches() {
    let origin = history("breaking-origin");
    commit(&origin, "v2");
    let clone = Scratch::new("breaking-clone");
    let from = format!("file://{}", origin.path(".").display());
    clone.git(&["clone", "--quiet", "--depth=1", "--no-tags", &from, "."]);
    assert_snapshot!(clone.transcript("breaking --against HEAD~1"));
    assert_snapshot!(clone.transcript("breaking --against origin/release"));
    assert_snapshot!(clone.transcript("breaking --against v1"));
    clone.git(&["fetch", "--quiet", "origin", "tag", "v1"]);
    clone.said("breaking --against v1 --format short -q", 1, &[]);
}

fn printed(scratch: &Scratch, command: &str) -> Value {
    let output = scratch.duologue(command).output().expect("it runs");
    serde_json::from_slice(&output.stdout).expect("a JSON document")
}

/// The item of a list that has this rule.
fn find<'a>(list: &'a Value, key: &str, rule: &str) -> &'a Value {
    let mut list = list.as_array().expect("a list").iter();
    let found = list.find(|found| found[key] == rule);
    found.unwrap_or_else(|| panic!("there is no {rule}"))
}

/// File, line, column and words of each step.
fn steps(dialogue: &Value) -> Vec<String> {
    let step = |step: &Value| {
        let (path, label, start) = (&step["path"], &step["label"], &step["range"]["start"]);
        located(path, &start["line"], &start["column"], label)
    };
    dialogue
        .as_array()
        .expect("a list")
        .iter()
        .map(step)
        .collect()
}

fn located(path: &Value, line: &Value, column: &Value, label: &Value) -> String {
    let [path, label] = [path, label].map(|text| text.as_str().expect("a text"));
    format!("{path}:{line}:{column}: {label}")
}

/// The same for the single code flow of a SARIF result.
fn flow(result: &Value) -> Vec<String> {
    let flows = result["codeFlows"].as_array().expect("a dialogue");
    assert_eq!(flows.len(), 1);
    let steps = flows[0]["threadFlows"][0]["locations"].as_array();
    let step = |step: &Value| {
        let place = &step["location"]["physicalLocation"];
        let (path, region) = (&place["artifactLocation"]["uri"], &place["region"]);
        let label = &step["location"]["message"]["text"];
        located(path, &region["startLine"], &region["startColumn"], label)
    };
    steps.expect("a list").iter().map(step).collect()
}

#[test]
fn a_dialogue_goes_into_reports_for_machines() {
    let scratch = history("breaking-steps");
    let found = printed(
        &scratch,
        "breaking protocols/bank.proto --against v1 --format json",
    );
    let locked = [
        "protocols/bank.proto @ v1:3:18: client: login",
        "protocols/bank.proto:4:56: server: locked",
    ];
    let rule = "incompatible-with-old-client";
    let finding = find(&found["diagnostics"], "rule", rule);
    assert_eq!(steps(&finding["dialogue"]), locked);
    let sarif = printed(
        &scratch,
        "breaking protocols/bank.proto --against v1 --format sarif",
    );
    keeps_to_schema(&sarif);
    // Lines of the old version are none of the file.
    let escaped = locked.map(|step| step.replace(" @ v1:3:18", ":null:null"));
    let result = find(&sarif["runs"][0]["results"], "ruleId", rule);
    assert_eq!(flow(result), escaped);
}

#[test]
fn a_dialogue_that_two_files_disagree_on_is_shown_step_by_step() {
    let bank =
        "proto! bank { login:send { login -> answer } answer:recv { ok -> !, no -> login } }\n";
    let claim = "import \"bank.proto\";\n#[dual_of(bank)]\n\
                 proto! served { in:recv { login -> out } out:send { ok -> !, no -> in, never -> ! } }\n";
    let scratch = Scratch::with(
        "dual-steps",
        &[("bank.proto", bank), ("served.proto", claim)],
    );
    let expected = [
        "served.proto:3:27: server: login",
        "served.proto:3:72: client: never",
    ];
    let found = printed(&scratch, "check served.proto --format json");
    assert_eq!(found["diagnostics"][0]["rule"], "not-dual");
    assert_eq!(steps(&found["diagnostics"][0]["dialogue"]), expected);
    let sarif = printed(&scratch, "check served.proto --format sarif");
    keeps_to_schema(&sarif);
    assert_eq!(flow(&sarif["runs"][0]["results"][0]), expected);
    let command = "dual served.proto#served --against bank.proto#bank --report json=found.json";
    let output = scratch.duologue(command).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let written = std::fs::read(scratch.path("found.json")).expect("the report was written");
    let found: Value = serde_json::from_slice(&written).expect("a JSON document");
    assert_eq!(steps(&found["diagnostics"][0]["dialogue"]), expected);
}

#[test]
fn verdicts_are_part_of_json() {
    let scratch = history("breaking-json");
    let found = printed(&scratch, "breaking --against v1 --format json");
    let pretty = serde_json::to_string_pretty(&found["protocols"]);
    assert_snapshot!("verdicts", pretty.expect("it is JSON"));
    let mut command = scratch.duologue("breaking --against v1 -q --report json=found.json");
    let summary = scratch.path("summary.md");
    command
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", &summary);
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let read = |name: &str| std::fs::read_to_string(scratch.path(name)).expect("it was written");
    let written: Value = serde_json::from_str(&read("found.json")).expect("a JSON document");
    assert_eq!(written["protocols"], found["protocols"]);
    assert_snapshot!(read("summary.md"));
    let same = printed(&scratch, "breaking --against . --format json");
    let verdicts = same["protocols"].as_array().expect("a verdict for each");
    assert!(
        verdicts.iter().all(|verdict| verdict["verdict"] == "same"),
        "{same}"
    );
    let check = printed(&scratch, "check --format json");
    assert_eq!(check.get("protocols"), None);
}
