//! `check --fix`: safe repairs, and nothing else.

use crate::support::program::Scratch;
use insta::assert_snapshot;

const WRONG: &str = "\
// A comment at the top.
proto! light {
    off:send {
        on   -> on   // two blanks, kept
        leave -> over /* kept */;
        stay => off
    },
    on:send { off -> off, broken -> over }

    /// Nothing is said any more.
    over { }
}

type brightness = u8
proto! other { a:send { x(brightnes) -> aa } }
";

#[test]
fn repairs_are_made_until_none_is_left() {
    let scratch = Scratch::with(
        "fix",
        &[
            ("light.proto", WRONG),
            ("fine.proto", "proto! fine { a:send { x -> ! } }\n"),
        ],
    );
    assert_snapshot!(
        "fix-transcript",
        scratch.transcript("check --fix --format short .")
    );
    assert_snapshot!("fix-text", scratch.read("light.proto"));
    let again = scratch.transcript("check --fix --format short .");
    assert!(!again.contains("fixed"), "{again}");
}

#[test]
fn standard_input_is_not_repaired() {
    let scratch = Scratch::new("fix-stdin");
    assert_snapshot!("fix-stdin", scratch.transcript("check --fix -"));
}
