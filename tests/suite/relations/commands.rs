//! `duologue breaking` and `duologue dual --against`: what they print, in repositories, folders and shallow clones.

use crate::support::program::Scratch;
use insta::assert_snapshot;
use std::process::Command;

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

fn git(scratch: &Scratch, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(scratch.path("."));
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
    let output = command.args(arguments).output();
    let output = output.expect("git runs; install it with `apt-get install git`");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
}

fn commit(scratch: &Scratch, tag: &str) {
    git(scratch, &["add", "--all"]);
    git(scratch, &["commit", "--quiet", "--message", tag]);
    git(scratch, &["tag", tag]);
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
    git(&scratch, &["init", "--quiet", "--initial-branch=main"]);
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

/// In a clone that has the last commit only, older ones are to be fetched first.
#[test]
fn a_shallow_clone_is_told_what_to_fetch() {
    let origin = history("breaking-origin");
    commit(&origin, "v2");
    let clone = Scratch::new("breaking-clone");
    let from = format!("file://{}", origin.path(".").display());
    git(
        &clone,
        &["clone", "--quiet", "--depth=1", "--no-tags", &from, "."],
    );
    assert_snapshot!(clone.transcript("breaking --against HEAD~1"));
    assert_snapshot!(clone.transcript("breaking --against origin/release"));
    assert_snapshot!(clone.transcript("breaking --against v1"));
    git(&clone, &["fetch", "--quiet", "origin", "tag", "v1"]);
    let answer = clone.transcript("breaking --against v1 --format short -q");
    assert!(answer.ends_with("--- exit 1 ---\n"), "{answer}");
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
