//! The command: what it writes and what it leaves alone.

use crate::support::program::{Scratch, run};
use std::fs;

const OLD: &str = "proto! bank {\n    login:send { login(name: str) -> answer }\n    answer:recv { ok -> !, invalid -> login }\n}\n";

fn doc(scratch: &Scratch, arguments: &str) -> (i32, String) {
    let output = run(scratch.duologue(&format!("doc {arguments}")), b"");
    let text = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    (output.status.code().unwrap_or(-1), text)
}

/// On a disk on which upper case does not count, a page that has just been written may have another name than the one it was written by.
#[cfg(unix)]
#[test]
fn a_page_is_not_removed_by_another_spelling_of_its_name() {
    let scratch = Scratch::with("doc-spelling", &[("bank.proto", OLD)]);
    assert_eq!(doc(&scratch, "bank.proto -o site").0, 0);
    let (one, other) = (
        scratch.path("site/bank.html"),
        scratch.path("site/BANK.html"),
    );
    fs::rename(&one, &other).expect("it was written");
    std::os::unix::fs::symlink("BANK.html", &one).expect("links are possible");
    let (code, text) = doc(&scratch, "bank.proto -o site --clean");
    assert_eq!(code, 0, "{text}");
    assert!(one.exists() && other.exists(), "{text}");
    assert_eq!(doc(&scratch, "bank.proto -o site --check").0, 0);
}

/// The stepper does not open a dialogue of more than 100 messages.
#[test]
fn a_long_dialogue_is_not_an_address() {
    use std::fmt::Write as _;
    let text = |length: usize, more: &str| {
        let mut text = String::from("proto! bank {\n");
        for state in 0..length {
            let _ = writeln!(text, "s{state}:send {{ m -> s{} }}", state + 1);
        }
        text + &format!("s{length}:recv {{ ok -> !{more} }}\n}}\n")
    };
    let scratch = Scratch::new("doc-long");
    for (length, is_linked) in [(90, true), (120, false)] {
        scratch.write("old.proto", text(length, ""));
        scratch.write("bank.proto", text(length, ", locked -> !"));
        assert_eq!(doc(&scratch, "bank.proto -o site --against old.proto").0, 0);
        let page = scratch.read("site/bank.html");
        assert!(page.contains("Since old.proto"), "{page}");
        assert_eq!(page.contains("bank.html#play/m/"), is_linked, "{page}");
    }
}
