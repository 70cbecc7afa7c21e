//! No file is unfinished, or mentions the machine it was written on.

use super::{files, relative};
use std::fs;
use std::path::PathBuf;

#[test]
fn nothing_mentions_the_machine_it_was_written_on() {
    let places = [
        concat!("/wor", "k/"),
        concat!("/roo", "t/"),
        concat!("/tm", "p/"),
        concat!("/hom", "e/"),
    ];
    let unfinished = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("#[igno", "re]"),
        concat!("tod", "o!("),
        concat!("unimplemen", "ted!("),
    ];
    // The hashes in one are arbitrary letters, and the names in the other are those of the system.
    let is_read = |path: &PathBuf| {
        !path.ends_with("package-lock.json") && !path.ends_with("system_names.txt")
    };
    for path in files("").into_iter().filter(is_read) {
        let Ok(text) = fs::read_to_string(&path) else {
            let name = relative(&path);
            let may_be_binary = [".png", "not_utf8.proto", "module/duologue.wasm.gz"]
                .iter()
                .any(|end| name.ends_with(end));
            assert!(may_be_binary, "{name} is not text");
            continue;
        };
        for words in places.iter().chain(&unfinished) {
            assert!(
                !text.contains(words),
                "{} contains {words}",
                relative(&path)
            );
        }
    }
}
