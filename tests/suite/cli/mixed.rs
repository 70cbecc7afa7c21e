//! Both extensions of protocol files, and repositories in which some `.proto` files belong to Protocol Buffers.

use super::LIGHT;
use crate::support::program::{Scratch, run};
use duologue::files::protocol_files;
use insta::assert_snapshot;

/// Ten files of Protocol Buffers: with and without a syntax line, with each kind of declaration first, and one that is not UTF-8.
const FOREIGN: [(&str, &[u8]); 10] = [
    (
        "api/v1/login.proto",
        b"syntax = \"proto3\";\nmessage login { string user = 1; }\n",
    ),
    (
        "api/v1/old.proto",
        b"package old;\n\nmessage old { required string a = 1; }\n",
    ),
    (
        "api/v2/edition.proto",
        b"// An edition.\nedition = \"2023\";\n",
    ),
    (
        "api/v2/service.proto",
        b"import \"login.proto\";\nservice s { rpc get(login) returns (login); }\n",
    ),
    (
        "api/v2/levels.proto",
        b"package a.b;\nenum level { LOW = 0; HIGH = 1; }\n",
    ),
    ("api/options.proto", b"option java_package = \"a.b\";\n"),
    (
        "api/extend.proto",
        b"import \"old.proto\";\nextend old { optional string b = 2; }\n",
    ),
    ("api/public.proto", b"import public \"old.proto\";\n"),
    ("latin.proto", b"/* caf\xe9 */ syntax = \"proto2\";\n"),
    ("text.proto", b"/* proto! bank { } */\nsyntax = 'proto3';\n"),
];

fn mixed(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    for (path, text) in FOREIGN {
        scratch.write(path, text);
    }
    scratch.write("api/light.proto", LIGHT);
    scratch.write("money.duo", "type money = f64;\n");
    let bank = "import \"money.duo\";\n\nproto! bank {\n    open:send { pay(money) -> ! }\n}\n";
    scratch.write("bank.duo", bank);
    scratch
}

#[test]
fn files_of_protocol_buffers_are_skipped_unless_they_are_named() {
    let scratch = mixed("mixed-check");
    assert_snapshot!("check", scratch.transcript("check"));
    assert_snapshot!("check-verbose", scratch.transcript("check -v --ascii"));
    assert_snapshot!("check-quiet", scratch.transcript("check -q"));
    assert_snapshot!("format", scratch.transcript("fmt --check"));
    assert_snapshot!("generate", scratch.transcript("gen . --c out/c"));
    let named = "check latin.proto text.proto bank.duo --format short";
    assert_snapshot!("named", scratch.transcript(named));
    assert_snapshot!("none-left", scratch.transcript("check api/v1"));
    let excluding = "version = 1\nexclude = [\"api/v*/\", \"/*.proto\", \"!text.proto\"]\n";
    scratch.write("duologue.toml", excluding);
    assert_snapshot!("excluded", scratch.transcript("check -v --ascii"));
    assert_snapshot!("excluded-format", scratch.transcript("fmt --check -v"));
    assert_snapshot!(
        "excluded-but-named",
        scratch.transcript("check latin.proto --format short")
    );
    scratch.write("duologue.toml", "version = 1\nexclude = [\"**\"]\n");
    let printed = scratch.transcript("check");
    let words = "`exclude` in the configuration leaves out ";
    assert!(
        printed.contains(words) && printed.ends_with("--- exit 2 ---\n"),
        "{printed}"
    );
    scratch.write("duologue.toml", "version = 1\nexclude = [\"a\", \"{b\"]\n");
    assert_snapshot!("pattern", scratch.transcript("check"));
}

#[test]
fn a_build_script_finds_both_extensions() {
    let scratch = mixed("mixed-build");
    let found = protocol_files(&scratch.path("")).expect("the directory can be read");
    let names = |paths: &[std::path::PathBuf]| -> Vec<String> {
        let below = |path: &std::path::PathBuf| {
            path.strip_prefix(scratch.path(""))
                .map(|path| path.to_string_lossy().replace('\\', "/"))
        };
        paths
            .iter()
            .map(|path| below(path).expect("it is below"))
            .collect()
    };
    assert_eq!(
        names(&found.protocols),
        ["api/light.proto", "bank.duo", "money.duo"]
    );
    let mut foreign: Vec<&str> = FOREIGN.iter().map(|(path, _)| *path).collect();
    foreign.sort_unstable();
    assert_eq!(names(&found.skipped), foreign);
}

/// The files that are gone by now are recognized by what the revision holds.
#[test]
fn an_old_revision_has_files_of_protocol_buffers_too() {
    let scratch = mixed("mixed-revision");
    for arguments in [
        &["init", "-q"][..],
        &["add", "."],
        &["commit", "-q", "-m", "one"],
    ] {
        scratch.git(arguments);
    }
    for (path, _) in FOREIGN {
        std::fs::remove_file(scratch.path(path)).expect("it was written");
    }
    let output = run(scratch.duologue("breaking --against HEAD"), b"");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.contains("bank") && said.contains("light"), "{said}");
}

/// Hidden files and those that git ignores are skipped, and noted.
#[test]
fn hidden_and_ignored_files_are_noted() {
    let files = [
        ("a.proto", LIGHT),
        (".hidden/b.proto", LIGHT),
        ("made/c.proto", LIGHT),
        (".gitignore", "made/\n"),
        (".git/d.proto", LIGHT),
    ];
    let scratch = Scratch::with("mixed-hidden", &files);
    assert_snapshot!("hidden", scratch.transcript("check"));
    assert_snapshot!("hidden-verbose", scratch.transcript("fmt --check -v"));
}
