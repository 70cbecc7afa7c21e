//! The command: what it writes and what it leaves alone.

use crate::support::program::{Scratch, run};
use std::fs;

const OLD: &str = "proto! bank {\n    login:send { login(name: str) -> answer }\n    answer:recv { ok -> !, invalid -> login }\n}\n";
const NEW: &str = "proto! bank {\n    login:send { login(name: str) -> answer }\n    answer:recv { ok -> !, invalid -> login, locked -> ! }\n}\n";

fn doc(scratch: &Scratch, arguments: &str) -> (i32, String) {
    let output = run(scratch.duologue(&format!("doc {arguments}")), b"");
    let text = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    (output.status.code().unwrap_or(-1), text)
}

#[test]
fn files_are_written_once_and_others_are_not_overwritten() {
    let two = format!("{OLD}type money = f64;\nproto! other {{ a:send {{ b(money) -> ! }} }}\n");
    let scratch = Scratch::with("doc-files", &[("bank.proto", two.as_str())]);
    assert_eq!(doc(&scratch, "bank.proto -o site --check").0, 1);
    assert!(!scratch.path("site").exists());
    assert_eq!(doc(&scratch, "bank.proto -o site").0, 0);
    let time = |path: &str| {
        let metadata = fs::metadata(scratch.path(path)).expect("it was written");
        metadata.modified().expect("disks have times")
    };
    let before = time("site/bank.html");
    assert_eq!(doc(&scratch, "bank.proto -o site").0, 0);
    assert_eq!(time("site/bank.html"), before);
    assert_eq!(doc(&scratch, "bank.proto -o site --check").0, 0);

    // What is gone is reported, and removed on request.
    scratch.write("bank.proto", OLD);
    scratch.write("site/mine.html", "<p>mine</p>\n");
    let (code, text) = doc(&scratch, "bank.proto -o site --check");
    assert_eq!(code, 1);
    assert!(
        text.contains("orphaned  site/other.html") && text.contains("--clean"),
        "{text}"
    );
    assert!(!text.contains("mine.html"), "{text}");
    assert_eq!(doc(&scratch, "bank.proto -o site --clean").0, 0);
    assert!(!scratch.path("site/other.html").exists() && scratch.path("site/mine.html").exists());
    assert_eq!(doc(&scratch, "bank.proto -o site --check").0, 0);

    // A file that duologue did not write.
    scratch.write("site/index.html", "<p>mine</p>\n");
    scratch.write("bank.proto", NEW);
    let old = scratch.read("site/bank.html");
    let (code, text) = doc(&scratch, "bank.proto -o site");
    assert_eq!(code, 3);
    assert!(
        text.contains("site/index.html") && text.contains("--force"),
        "{text}"
    );
    assert_eq!(scratch.read("site/bank.html"), old);
    assert_eq!(doc(&scratch, "bank.proto -o site --force").0, 0);
    assert!(
        scratch.read("site/index.html").contains("locked")
            || scratch.read("site/bank.html").contains("locked")
    );
}

#[test]
fn errors_write_nothing() {
    let scratch = Scratch::with(
        "doc-errors",
        &[("bank.proto", "proto! bank { a:send { b -> c } }")],
    );
    let (code, text) = doc(&scratch, "bank.proto -o site");
    assert_eq!(code, 1);
    assert!(text.contains("nothing was written"), "{text}");
    assert!(!scratch.path("site").exists());
}

#[test]
fn the_last_tag_is_compared() {
    let scratch = Scratch::with("doc-tag", &[("bank.proto", OLD)]);
    scratch.git(&["init", "--quiet"]);
    scratch.git(&["add", "."]);
    scratch.git(&["commit", "--quiet", "-m", "one"]);
    assert_eq!(doc(&scratch, "bank.proto -o site").0, 0);
    assert!(!scratch.read("site/bank.html").contains("Since"));
    scratch.git(&["tag", "v1"]);
    scratch.write("bank.proto", NEW);
    assert_eq!(doc(&scratch, "bank.proto -o site").0, 0);
    let page = scratch.read("site/bank.html");
    assert!(page.contains("<h2>Since v1</h2>"), "{page}");
    assert!(
        page.contains("clients first") || page.contains("client first"),
        "{page}"
    );
    // The dialogue that the old client does not understand opens in the stepper.
    assert!(page.contains("href=\"bank.html#play/login"), "{page}");
    assert!(scratch.read("site/index.html").contains("Since v1"));
    assert_eq!(doc(&scratch, "bank.proto -o site --no-against").0, 0);
    assert!(!scratch.read("site/bank.html").contains("Since"));
    assert_eq!(doc(&scratch, "bank.proto -o site --against nothing").0, 3);
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
