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

#[test]
fn a_revision_is_compared_without_a_checkout() {
    let scratch = history("breaking-git");
    assert_snapshot!(scratch.transcript("breaking --against v1 --ascii"));
    assert_snapshot!(scratch.transcript("breaking --against HEAD --format short -v"));
    assert_snapshot!(
        scratch.transcript("breaking protocols/deep --against v1 --require any-order --ascii")
    );
    let mut below = scratch.duologue("breaking deep --against v1 --format short");
    below.current_dir(scratch.path("protocols"));
    let output = crate::support::program::run(below, b"");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.starts_with("deep/asks.proto:1:35: warning[incompatible-with-old-client]"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_same_text_is_the_same_protocol() {
    let scratch = history("breaking-same");
    scratch.write(
        "protocols/bank.proto",
        OLD.replace('\n', "   \n") + "// a comment\n",
    );
    scratch.write(
        "protocols/deep/asks.proto",
        "proto! asks_on { a:recv { b -> ! } }\n",
    );
    assert_snapshot!(scratch.transcript("breaking --against v1 --require any-order"));
}

#[test]
fn a_file_and_a_directory_can_be_the_old_version() {
    let scratch = Scratch::with(
        "breaking-paths",
        &[
            ("old/bank.proto", OLD),
            ("old/types.proto", TYPES),
            ("new/bank.proto", NEW),
            ("new/types.proto", "type money = f32;\n"),
        ],
    );
    assert_snapshot!(scratch.transcript("breaking new --against old --format short"));
    assert_snapshot!(
        scratch.transcript("breaking new/bank.proto --against old/bank.proto -q --format short")
    );
}

#[test]
fn what_cannot_be_compared() {
    let scratch = history("breaking-missing");
    assert_snapshot!(scratch.transcript("breaking --against v2"));
    let zero = format!("breaking --against {}", "0".repeat(40));
    assert_snapshot!(scratch.transcript(&zero));
    assert_snapshot!(scratch.transcript("breaking"));
    assert_snapshot!(scratch.transcript("breaking - --against v1"));
    scratch.write(
        "protocols/bank.proto",
        "proto! bank { s:send { a -> t } }\n",
    );
    assert_snapshot!(scratch.transcript("breaking --against v1 --format short"));
    commit(&scratch, "v2");
    scratch.write("protocols/bank.proto", OLD);
    assert_snapshot!(scratch.transcript("breaking --against v2 --format short"));
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

#[test]
fn two_teams_compare_their_protocols() {
    let theirs = "package acme;\nproto! bank {
    login:send { login(str) -> answer }
    answer:recv { ok(f64) -> open, invalid -> login }
    open:send { deposit(f64) -> open, quit -> ! }
}
proto! other { s:send { a -> ! } }
";
    let ours = "type money = f64;
proto! bank_server {
    waiting:recv { login(str) -> deciding }
    deciding:send { invalid -> waiting, ok(money) -> serving }
    serving:recv { deposit(money) -> again, quit -> done }
    again:recv { deposit(money) -> serving, quit -> ! }
    done { }
}
proto! hasty {
    waiting:recv { login(str) -> deciding }
    deciding:send { invalid -> waiting, ok(money) -> serving }
    serving:recv { deposit(money) -> serving }
}
";
    let files = [("theirs.proto", theirs), ("ours.proto", ours)];
    let scratch = Scratch::with("dual-against", &files);
    let against = "dual --ascii --against theirs.proto";
    assert_snapshot!(scratch.transcript(&format!("{against}#bank ours.proto#bank_server")));
    assert_snapshot!(scratch.transcript(&format!("{against}#bank ours.proto#hasty")));
    assert_snapshot!(scratch.transcript(&format!("{against} ours.proto hasty")));
    assert_snapshot!(scratch.transcript(&format!("{against}#bank ours.proto#nasty")));
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

#[test]
fn files_that_are_gone_are_removed_protocols() {
    let scratch = history("breaking-gone");
    std::fs::remove_file(scratch.path("protocols/deep/asks.proto")).expect("it was there");
    assert_snapshot!(scratch.transcript("breaking protocols/deep --against v1 --format short"));
    std::fs::remove_dir(scratch.path("protocols/deep")).expect("it is empty");
    for path in ["protocols/deep", "protocols/deep/asks.proto"] {
        let answer = scratch.transcript(&format!("breaking {path} --against v1 --format short"));
        let removed = "protocols/deep/asks.proto @ v1:1:8: error[protocol-removed]";
        assert!(answer.contains(removed), "{answer}");
    }
    scratch.said("breaking protocols/never --against v1", 3, &[]);
}

/// A send that blocks its thread has the same name as one that never waits.
#[test]
fn sends_that_may_wait_from_now_on_are_named() {
    let door = |more: &str| {
        format!(
            "proto! door {{ out:send {{ knock(name: str) -> answer{more} }} answer:recv {{ come_in -> !, go_away -> out }} }}\n"
        )
    };
    let files = [
        ("old.proto", door("")),
        ("new.proto", door(", ring -> out")),
    ];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    let scratch = Scratch::with("breaking-waits", &files);
    let note = "note: in state `door.out` a send may now wait";
    let answer = scratch.transcript("breaking new.proto --against old.proto");
    assert_eq!(answer.matches(note).count(), 1, "{answer}");
    let answer = scratch.transcript("breaking old.proto --against new.proto");
    assert!(!answer.contains("may now wait"), "{answer}");
}

/// Each way in which two versions can be incompatible has its own advice.
#[test]
fn advice_fits_the_change() {
    let rows = [
        ("s:send { m -> ! }", "s:recv { m -> ! }"),
        ("s:send { m -> ! }", "s:send { m -> t } t:send { m -> ! }"),
        ("s:send { m(u8) -> ! }", "s:send { m(u16) -> ! }"),
        ("s:send { m -> ! }", "s:send { n -> ! }"),
        ("s:recv { m -> ! }", "s:recv { n -> ! }"),
    ];
    let mut all = String::new();
    for (number, (old, new)) in rows.into_iter().enumerate() {
        let scratch = Scratch::new(&format!("breaking-advice-{number}"));
        scratch.write("old.proto", format!("proto! p {{ {old} }}\n"));
        scratch.write("new.proto", format!("proto! p {{ {new} }}\n"));
        all += &scratch.transcript("breaking new.proto --against old.proto --ascii");
    }
    assert_snapshot!("advice", all);
}

/// Two versions that are the same by name may be unable to talk between processes, where messages travel as their positions.
#[test]
fn moved_positions_are_noted_and_with_wire_an_error() {
    let old = "proto! moved { a:send { x -> !, y -> a } }\n\
               proto! grown { a:send { x -> !, y -> a } }\n\
               proto! inside { a:send { x -> !, y(inside::client::a) -> a } }\n";
    let new = "proto! moved { a:send { y -> a, x -> ! } }\n\
               proto! grown { a:send { z -> !, x -> !, y -> a } }\n\
               proto! inside { a:send { y(inside::client::a) -> a, x -> ! } }\n";
    let scratch = Scratch::with("breaking-wire", &[("old.proto", old), ("new.proto", new)]);
    let command = "breaking new.proto --against old.proto --format short";
    assert_snapshot!("wire-note", scratch.transcript(command));
    assert_snapshot!(
        "wire-error",
        scratch.transcript(&format!("{command} --wire"))
    );
    let found = printed(
        &scratch,
        "breaking new.proto --against old.proto --format json",
    );
    let wire = |at: usize| found["protocols"][at]["wire"].as_str();
    let moved =
        "message `x` has position 0 in state `a` of the old version and 1 in `a` of the new one";
    assert_eq!(
        [wire(0), wire(1), wire(2)],
        [Some(moved), None, Some(moved)]
    );
}

/// Each message that the versions disagree about is reported once, and not only the first.
#[test]
fn every_incompatible_message_is_reported() {
    let old = "proto! shop {\n    browse:send { pay(code: str) -> answer, look -> shelf, quit -> ! }\n    \
               answer:recv { paid -> browse, refused -> browse }\n    shelf:recv { item(name: str, price: u32) -> browse }\n}\n";
    let new = old
        .replace("code: str", "code: str, pin: u16")
        .replace("quit", "help -> browse, quit")
        .replace("refused", "later -> browse, refused")
        .replace("price: u32", "price: u64");
    let scratch = Scratch::with("breaking-each", &[("old.proto", old), ("new.proto", &new)]);
    let said = scratch.transcript("breaking new.proto --against old.proto --format short -q");
    assert_snapshot!(said);
}
