//! `duologue.toml`: which file is read, what it configures, and how its mistakes are reported.

use crate::support::program::Scratch;
use insta::assert_snapshot;

const ENDLESS: &str = "proto! beat { alive:send { beat -> alive } }\n#[allow(never-ends)]\nproto! quiet { alive:send { beat -> alive } }\n";

/// A folder with a configuration and a protocol below it. It counts as a repository, so nothing above it is searched.
fn scratch(name: &str, config: &str) -> Scratch {
    let files = [
        ("duologue.toml", config),
        ("protocols/beat.proto", ENDLESS),
        (".git/HEAD", ""),
    ];
    Scratch::with(name, &files)
}

#[test]
fn levels_come_from_the_configuration_attributes_and_flags() {
    let scratch = scratch(
        "config-levels",
        "version = 1\n\n[rules]\nnever-ends = \"deny\"\nall = \"allow\"\n",
    );
    assert_snapshot!(
        "project",
        scratch.transcript("check protocols --format short")
    );
    assert_snapshot!(
        "flags",
        scratch.transcript("check protocols --format short -W never-ends")
    );
    assert_snapshot!("without", scratch.transcript("check protocols --no-config"));
    assert_snapshot!("rules", scratch.transcript("explain -W stuck-state"));
}

/// `-D warnings` fails on what is reported, and reports nothing else.
#[test]
fn warnings_can_be_made_to_fail() {
    let stuck = "proto! p { s:send { m -> t } t:recv { } }\n";
    let scratch = Scratch::with("config-warnings", &[("p.proto", stuck), (".git/HEAD", "")]);
    let check =
        |levels: &str| scratch.transcript(&format!("check p.proto --format short {levels}"));
    let plain = check("");
    assert!(plain.ends_with("--- exit 0 ---\n"), "{plain}");
    let denied = check("-D warnings");
    assert!(denied.ends_with("--- exit 1 ---\n"), "{denied}");
    let without_head = |text: &str| {
        text.lines()
            .skip(1)
            .map(|line| line.to_owned() + "\n")
            .collect::<String>()
    };
    let expected = without_head(&plain.replace("exit 0", "exit 1")).replace("warning", "error");
    assert_eq!(without_head(&denied), expected);
    assert!(check("-D all").contains("missing-docs"));
    assert!(check("-D warnings -W stuck-state").ends_with("--- exit 0 ---\n"));
    let rules = scratch.transcript("explain -D warnings");
    let line = |rule: &str| {
        rules
            .lines()
            .find(|line| line.starts_with(rule))
            .expect("a rule")
            .to_owned()
    };
    assert!(
        line("stuck-state").contains("deny   command line"),
        "{rules}"
    );
    assert!(line("missing-docs").contains("allow  default"), "{rules}");
}

#[test]
fn directories_of_imports_have_to_exist() {
    let scratch = scratch(
        "config-nowhere",
        "version = 1\nimport-dirs = [\"nosuch\"]\n",
    );
    assert_snapshot!(
        "no-import-dir",
        scratch.transcript("check protocols --ascii")
    );
    assert_snapshot!(
        "no-import-dir-option",
        scratch.transcript("check protocols --no-config -I nosuch")
    );
}

#[test]
fn imports_are_found_where_the_configuration_says() {
    let scratch = scratch(
        "config-imports",
        "version = 1\nimport-dirs = [\"shared\"]\n",
    );
    scratch.write("shared/money.proto", "type money = f64;\n");
    scratch.write(
        "protocols/pay.proto",
        "import \"money.proto\";\nproto! pay { a:send { pay(money) -> ! } }\n",
    );
    assert_snapshot!("imports", scratch.transcript("check protocols/pay.proto"));
    assert_snapshot!(
        "imports-without",
        scratch.transcript("check protocols/pay.proto --no-config")
    );
}

#[test]
fn mistakes_are_reported_with_their_positions() {
    let wrong =
        "version = 2\n[rules]\nnever-end = \"warn\"\nsyntax = \"deny\"\nstuck-state = \"x\"\n";
    assert_snapshot!(
        "mistakes",
        scratch("config-mistakes", wrong).transcript("check protocols")
    );
    let unknown = scratch("config-unknown", "version = 1\nimport_dirs = []\n");
    assert_snapshot!("unknown-key", unknown.transcript("check protocols"));
    for (case, text) in [
        ("not-a-list", "version = 1\nimport-dirs = \"shared\"\n"),
        ("not-text", "version = 1\n[rules]\nnever-ends = 3\n"),
        ("twice", "version = 1\nversion = 1\n"),
        ("no-session", "version = 1\n[traces.a]\nmessage = \"/a\"\n"),
    ] {
        let wrong = scratch(&format!("config-{case}"), text);
        assert_snapshot!(case, wrong.transcript("check protocols --ascii"));
    }
    let broken = scratch("config-broken", "version = \n");
    assert_snapshot!("no-toml", broken.transcript("check protocols"));
    assert_snapshot!(
        "missing",
        broken.transcript("check protocols --config nowhere.toml")
    );
}
