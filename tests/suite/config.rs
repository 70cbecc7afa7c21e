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
    assert_snapshot!(
        "rules",
        scratch.transcript("rules protocols -W stuck-state")
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
    let broken = scratch("config-broken", "version = \n");
    assert_snapshot!("no-toml", broken.transcript("check protocols"));
    assert_snapshot!(
        "missing",
        broken.transcript("check protocols --config nowhere.toml")
    );
}
