//! What `duologue fmt` writes, and what it leaves alone.

use crate::support::program::{Scratch, run};
use std::fs;

const UGLY: &str =
    "proto! light{off:send{on->on , } // click\n\n\n  on:send { off->off, broken -> ! }}";
const NEAT: &str = "proto! light {\n    off:send { on -> on } // click\n\n    on:send { off -> off, broken -> ! }\n}\n";

#[test]
fn only_changed_files_are_written() {
    let scratch = Scratch::with("fmt-unchanged", &[("neat.proto", NEAT)]);
    let modified = || {
        let file = fs::metadata(scratch.path("neat.proto")).expect("it is there");
        file.modified().expect("it has a time")
    };
    let before = modified();
    assert!(
        run(scratch.duologue("fmt neat.proto"), b"")
            .status
            .success()
    );
    assert_eq!(before, modified());
}

/// `patch` could apply what `--diff` prints: context lines and removed lines are those of the old text, in order.
#[test]
fn diffs_turn_the_old_text_into_the_new() {
    for seed in 0..40 {
        let mut writer = super::Writer::new(seed);
        writer.file();
        let gaps = super::Gaps::Comments;
        let old = super::joined(&writer.words, gaps, &mut writer.choices);
        let scratch = Scratch::with("fmt-diff", &[("a.proto", &old)]);
        let output = run(scratch.duologue("fmt a.proto --diff"), b"");
        let diff = String::from_utf8(output.stdout).expect("text");
        assert_eq!(output.status.code(), Some(i32::from(!diff.is_empty())));
        assert_eq!(applied(&old, &diff), super::formatted(&old), "{diff}");
    }
}

/// The text after a unified diff, which must fit exactly.
fn applied(old: &str, diff: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let mut new = String::new();
    let mut at = 0;
    let mut lines = diff.split_inclusive('\n').skip(2).peekable();
    while let Some(line) = lines.next() {
        if let Some(place) = line.strip_prefix("@@ -") {
            let place = place.split(' ').next().expect("a place");
            let mut numbers = place
                .split(',')
                .map(|part| part.parse::<usize>().expect("a number"));
            let start = numbers.next().expect("a line");
            let start = if numbers.next() == Some(0) {
                start
            } else {
                start - 1
            };
            new.extend(old[at..start].iter().copied());
            at = start;
            continue;
        }
        let is_last = lines.peek().is_some_and(|next| next.starts_with('\\'));
        let words = if is_last {
            line[1..].trim_end_matches('\n')
        } else {
            &line[1..]
        };
        match &line[..1] {
            "+" => new += words,
            " " | "-" => {
                assert_eq!(old[at], words);
                new += if line.starts_with(' ') { words } else { "" };
                at += 1;
            }
            other => assert_eq!(other, "\\"),
        }
    }
    new.extend(old[at..].iter().copied());
    new
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn permissions_and_links_stay() {
        let scratch = Scratch::with("fmt-unix", &[("real/ugly.proto", UGLY)]);
        let real = scratch.path("real/ugly.proto");
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("it can be set");
        symlink("real/ugly.proto", scratch.path("link.proto")).expect("links can be made");
        assert!(
            run(scratch.duologue("fmt link.proto"), b"")
                .status
                .success()
        );
        assert_eq!(scratch.read("real/ugly.proto"), NEAT);
        let link = fs::symlink_metadata(scratch.path("link.proto")).expect("it is there");
        assert!(link.is_symlink());
        let mode = fs::metadata(&real)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o640);
    }
}
