//! The command line, as far as scripts in `commands` cannot show it.

mod manual;
mod mixed;
mod page;
mod progress;
mod robots;
mod top;
mod unreadable;

use crate::support::program::{Scratch, run};
use crate::support::rust::protocols_in;
use crate::support::stem;
use insta::assert_snapshot;

const BANK: &str = include_str!("../../protocols/bank.proto");
const LIGHT: &str =
    "proto! light {\n    off:send { on -> on }\n    on:send { off -> off, broken -> ! }\n}\n";
const WRONG: &str = "proto! light {\n    off:send { on -> onn }\n    on:send { off -> off }\n}\n";

/// Larger than any file of protocols, so that it is not read.
#[test]
fn a_file_that_is_too_large_is_an_error() {
    let scratch = Scratch::new("check-large");
    let large = std::fs::File::create(scratch.path("large.proto")).expect("it can be created");
    large.set_len((64 << 20) + 1).expect("a sparse file");
    assert_snapshot!(scratch.transcript("check large.proto"));
}

#[test]
fn colors_are_only_where_they_are_wanted() {
    let scratch = Scratch::with("color", &[("light.proto", WRONG)]);
    let is_colored = |arguments: &str, variable: Option<&str>| {
        let mut command = scratch.duologue(arguments);
        if let Some(name) = variable {
            command.env(name, "1");
        }
        run(command, b"").stdout.contains(&0x1b)
    };
    for (options, variable, expected) in [
        ("", None, false),
        ("--color always", None, true),
        ("", Some("CLICOLOR_FORCE"), true),
        ("--color never", Some("CLICOLOR_FORCE"), false),
    ] {
        let found = is_colored(&format!("check light.proto {options}"), variable);
        assert_eq!(found, expected, "{options} {variable:?}");
    }
}

/// The name of a rule is a link to its page where the terminal shows links, and nowhere else.
#[test]
fn a_rule_links_to_its_page() {
    let files = [("p.proto", "proto! p { s:send { m -> t } t:recv { } }\n")];
    let scratch = Scratch::with("links", &files);
    let shown = |color: &str, links: &str| {
        let mut command = scratch.duologue(&format!("check p.proto --color {color}"));
        command.env("FORCE_HYPERLINK", links);
        String::from_utf8_lossy(&run(command, b"").stdout).into_owned()
    };
    let link = "\u{1b}]8;;https://github.com/duologue/duologue/blob/v";
    let text = shown("always", "1");
    assert!(text.contains(link), "{text}");
    assert!(
        text.contains("/docs/rules/stuck-state.md\u{1b}\\"),
        "{text}"
    );
    assert!(!shown("always", "0").contains(link));
    assert!(!shown("never", "1").contains(link));
}

#[test]
fn the_dual_of_the_dual_is_the_same_text() {
    let mut seen = 0;
    for path in ["protocols", "tests/corpus/2012", "tests/corpus/literature"]
        .into_iter()
        .flat_map(protocols_in)
    {
        let scratch = Scratch::new("dual-of-dual");
        let folder = path.parent().expect("it is in a folder").display();
        let name = format!("{}.proto", stem(&path));
        let dual = |file: &str, input: &[u8]| {
            let dual = format!("dual -q -A all -I {folder} {file}");
            run(scratch.duologue(&dual), input)
        };
        let once = dual(&name, b"");
        if once.status.success() {
            let twice = dual("-", &once.stdout);
            let text = std::fs::read(&path).expect("it can be read");
            let shown = String::from_utf8_lossy(&twice.stdout);
            assert_eq!(shown, String::from_utf8_lossy(&text), "{name}: {twice:?}");
            seen += usize::from(once.stdout != text);
        }
    }
    assert!(seen >= 20, "only {seen} files have a dual");
}

#[test]
fn version() {
    let output = run(Scratch::new("version").duologue("--version"), b"");
    let version = format!("duologue {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), version);
}
