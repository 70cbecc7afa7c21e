//! The English of pages, comments, diagnostics and help texts: phrases that do not appear, each with what to write instead.

use crate::support::repository;
use crate::tidy::files;
use std::fs;
use std::path::Path;

/// What readers would stumble over, in lower case, and the usual words for it.
const PHRASES: &[(&str, &str)] = &[
    ("for ever", "forever"),
    ("in vain", "without success"),
    ("whoever", "the side that, the thread that"),
    ("too much alike", "collide, produce the same name"),
    ("every so many", "every N"),
    ("so many bytes", "that many bytes, N bytes"),
    ("so many messages", "that many messages, N messages"),
    ("under way", "in flight, in progress"),
    ("has the word", "is the active side"),
    ("stands behind", "follows, comes after"),
    ("stands before", "precedes, comes before"),
    ("is told", "is reported, learns"),
    ("are told", "are reported, learn"),
    ("made anew", "regenerated, new"),
    ("blanks", "whitespace"),
    ("turn them round", "swap them"),
    ("gives up behind", "stops after"),
    ("as you like", "at your option"),
    ("in one go", "in one run, at once"),
    ("put off", "defer, postpone"),
    ("dear", "expensive"),
    ("on the way", "in transit, before it"),
    ("so long until", "until"),
    ("as they stand here", "unchanged"),
    ("imported ones included", "including imported ones"),
    ("also after", "even after"),
    ("some microseconds", "a few microseconds"),
    ("some milliseconds", "a few milliseconds"),
    ("some seconds", "a few seconds"),
    ("turns the direction", "reverses the direction"),
    ("direction turns", "direction changes"),
    ("nobody else", "nothing else, no other thread"),
    ("foreign code", "user code"),
    ("is used up", "is consumed, counts as used"),
    ("not used up", "not consumed"),
    ("gives the session back", "releases the session"),
    ("the shim", "the runtime"),
    ("initialiser", "initializer"),
    ("behaviour", "behavior"),
    ("optimised", "optimized"),
    ("recognised", "recognized"),
    ("learnt", "learned"),
];

/// Where text is not ours to change: inputs that tests quote, and names of tests, which pages link to by name.
const INPUTS: &[&str] = &[
    "tests/beginners",
    "tests/corpus",
    "tests/fail",
    "tests/format",
    "tests/names",
    "tests/nasty",
    "tests/fuzz/duologue.dict",
];

/// What a reader reads of a file: all of a page, all string literals and comments of the compiler, the comments of other sources.
/// Code between backticks names things, and is left out.
fn prose<'a>(path: &str, line: &'a str) -> Option<String> {
    let ending = Path::new(path).extension()?.to_str()?;
    let comment = |marks: &[&str]| -> Option<&'a str> {
        let trimmed = line.trim_start();
        if trimmed.starts_with('*') {
            return Some(trimmed);
        }
        let at = marks.iter().filter_map(|mark| line.find(mark)).min()?;
        Some(&line[at..])
    };
    let text = match ending {
        // Pages link to tests by their names.
        "md" => line.split("](").next()?,
        "rs" if path.starts_with("src/") => line,
        "jinja" => line,
        "rs" | "c" | "h" | "java" | "scala" | "sbt" | "pest" => comment(&["//", "/*"])?,
        "toml" | "yml" | "cmake" => comment(&["#"])?,
        _ => return None,
    };
    let parts = text.split('`').step_by(2);
    Some(parts.collect::<Vec<_>>().join("`").to_lowercase())
}

/// The phrase, where no other letter touches it.
fn has(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        let is_letter =
            |one: Option<char>| one.is_some_and(|one| one.is_alphanumeric() || one == '_');
        !is_letter(before) && !is_letter(after)
    })
}

#[test]
fn pages_comments_and_diagnostics_use_the_usual_words() {
    let mut found = Vec::new();
    let mut read = 0;
    for file in files(".") {
        let path = file.strip_prefix(repository()).expect("below it");
        let path = path.to_str().expect("a UTF-8 name").replace('\\', "/");
        let path = path.trim_start_matches("./");
        if INPUTS.iter().any(|input| path.starts_with(input)) || path == "tests/suite/wording.rs" {
            continue;
        }
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        for (number, line) in (1..).zip(text.lines()) {
            let Some(prose) = prose(path, line) else {
                continue;
            };
            read += 1;
            for (phrase, better) in PHRASES {
                if has(&prose, phrase) {
                    found.push(format!("{path}:{number}: \"{phrase}\": write {better}"));
                }
            }
        }
    }
    assert!(read > 10_000, "only {read} lines are prose");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn phrases_are_found() {
    for (path, line) in [
        ("docs/x.md", "It waits for ever."),
        ("src/x.rs", "    .help(\"turn them round\")"),
        ("runtime/c/src/x.c", " * whoever reads it"),
        ("runtime/rust/src/x.rs", "call(); // Looks in vain."),
    ] {
        let prose = prose(path, line).expect("it is prose");
        assert!(
            PHRASES.iter().any(|(phrase, _)| has(&prose, phrase)),
            "{line}"
        );
    }
    for (path, line) in [
        ("docs/x.md", "`for ever` is a name"),
        ("runtime/rust/src/x.rs", "fn whoever_reads() {}"),
        ("src/x.rs", "let toolong = forever;"),
    ] {
        let prose = prose(path, line);
        let is_found =
            prose.is_some_and(|prose| PHRASES.iter().any(|(phrase, _)| has(&prose, phrase)));
        assert!(!is_found, "{line}");
    }
}
