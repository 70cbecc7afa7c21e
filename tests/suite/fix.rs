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

/// Rules go from an attribute one by one, with their commas; a comment stays, and with it what it may be about.
#[test]
fn suppressions_of_nothing_are_removed() {
    let text = "#[allow(stuck-state, never-ends, unreachable-state, cannot-finish)]\n\
                proto! beat {\n    alive:send { beat -> alive }\n}\n\
                #[allow(stuck-state, /* still one */ cannot-finish)]\n\
                proto! light {\n    on:send { off -> ! }\n}\n";
    let scratch = Scratch::with("fix-suppressions", &[("beat.proto", text)]);
    scratch.transcript("check --fix beat.proto");
    let expected = text.replace(
        "(stuck-state, never-ends, unreachable-state, cannot-finish)",
        "(never-ends)",
    );
    assert_eq!(scratch.read("beat.proto"), expected);
}

/// Two names that are no UTF-8 look the same in reports; a repair of one file must not become the text of the other.
#[cfg(target_os = "linux")]
#[test]
fn files_that_reports_cannot_tell_apart_are_left_alone() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let scratch = Scratch::with("fix-names", &[]);
    let text = |name: &str| format!("proto! {name} {{ a:send {{ x -> done }} done {{ }} }}\n");
    let paths = [b'\xfe', b'\xff'].map(|byte| {
        let name = [b'n', byte, b'.', b'p', b'r', b'o', b't', b'o'];
        scratch.path(".").join(OsStr::from_bytes(&name))
    });
    for (path, name) in paths.iter().zip(["one", "other"]) {
        std::fs::write(path, text(name)).expect("it can be written");
    }
    let answer = scratch.transcript("check --fix --format short .");
    assert_eq!(answer.matches("[verbose-terminal]").count(), 2, "{answer}");
    for (path, name) in paths.iter().zip(["one", "other"]) {
        let now = std::fs::read_to_string(path).expect("it can be read");
        assert_eq!(now, text(name));
    }
}

/// A file that cannot be written is named as the user named it.
#[test]
fn a_file_that_cannot_be_written_is_named_as_it_was_given() {
    let text = "proto! p { a:send { x -> done } done { } }\n";
    let scratch = Scratch::with("fix-read-only", &[("p.proto", text)]);
    let path = scratch.path("p.proto");
    let mut permissions = std::fs::metadata(&path).expect("it is there").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).expect("it can be protected");
    let answer = scratch.transcript("check --fix p.proto");
    assert!(answer.contains("error: cannot write p.proto: "), "{answer}");
    assert!(answer.ends_with("--- exit 3 ---\n"), "{answer}");
}
