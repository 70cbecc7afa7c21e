//! Plugins that answer wrongly, fail, hang or never stop printing.

use super::{RUN, answering, with_script};
use crate::support::program::{run, transcript};
use insta::assert_snapshot;
use serde_json::json;
use std::fs::File;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Answers that cannot be used, each with a part of the message.
#[test]
fn faulty_answers_are_refused() {
    let file = |path: &str| json!({ "files": [{ "path": path, "text": "" }] }).to_string();
    let span = |file: usize, start: usize, end: usize| {
        let span = json!({ "file": file, "start": { "byte": start }, "end": { "byte": end } });
        json!({ "findings": [{ "level": "error", "message": "m", "span": span }] }).to_string()
    };
    let both = |one: &str, other: &str| {
        let file = |path: &str| json!({ "path": path, "text": "" });
        json!({ "files": [file(one), file(other)] }).to_string()
    };
    let answers = [
        String::new(),
        "{".to_owned(),
        "[]".to_owned(),
        "{} {}".to_owned(),
        "[".repeat(1_000_000),
        json!({ "file": [] }).to_string(),
        json!({ "findings": [{ "level": "fatal" }] }).to_string(),
        file("../up.txt"),
        file("/up.txt"),
        file("a/../../up.txt"),
        file("./a"),
        file("a\\b"),
        file(""),
        file("\u{1b}[31m"),
        file(".duologue-test"),
        file("a/.duologue-other"),
        both("a", "a"),
        both("a", "a/b/c"),
        span(0, 5, 100_000),
        span(0, 7, 6),
        span(9, 0, 1),
    ];
    let scratch = answering("plugin-faulty", &json!({}));
    let mut all = String::new();
    for answer in answers {
        scratch.write("answer.json", &answer);
        let printed = transcript(RUN, &run(scratch.duologue(RUN), b""));
        let shown: String = answer.chars().take(80).collect();
        let is_refused = printed.contains("nothing was written");
        assert!(
            is_refused && printed.ends_with("--- exit 3 ---\n"),
            "{shown}: {printed}"
        );
        assert!(!scratch.path("out").exists() && !scratch.path("up.txt").exists());
        all += &format!("{shown:?}\n{printed}");
    }
    assert_snapshot!(all);
}

/// Programs that fail, and ones that never end or print without end. Each is over long before the test is given up.
#[test]
fn faulty_programs_are_stopped() {
    let (late, limit) = ("did not answer within 1 s", "--plugin-timeout 1");
    let broken = "it printed:\n\u{241b}[31mbroken";
    let cases = [
        ("exit 7", "failed with exit code 7", ""),
        ("printf '\\033[31mbroken' >&2; exit 1", broken, ""),
        ("kill -9 $$", "was ended by a signal", ""),
        ("sleep 1000", late, limit),
        // The answer is there, but the output stays open, or the program does not end.
        ("sleep 1000 & printf '{}'", late, limit),
        ("printf '{}'; exec >&-; sleep 1000", late, limit),
        ("yes '                          '", "more than 64 MiB", ""),
        ("yes >&2", late, limit),
    ];
    let start = Instant::now();
    for (number, (script, words, options)) in cases.into_iter().enumerate() {
        let script = script.replace("sleep 1000", "sleep 20");
        let scratch = with_script(
            &format!("plugin-stopped-{number}"),
            &(script.clone() + "\n"),
        );
        let mut command = scratch.duologue(RUN);
        command.args(options.split_whitespace());
        // A process that the plugin leaves behind would keep a pipe open.
        let errors = File::create(scratch.path("errors.txt")).expect("it can be created");
        command.stdout(Stdio::null()).stderr(errors);
        let status = command.status().expect("it starts");
        let printed = scratch.read("errors.txt");
        assert_eq!(status.code(), Some(3), "{script}: {printed}");
        assert!(
            printed.contains("error: plugin `test` "),
            "{script}: {printed}"
        );
        assert!(printed.contains(words), "{script}: {printed}");
        assert!(!scratch.path("out").exists(), "{script}");
    }
    assert!(
        start.elapsed() < Duration::from_secs(300),
        "they are not stopped"
    );
}
