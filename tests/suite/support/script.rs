//! Scripts of tests: lines that begin with a mark, and the texts below them.

use super::repository;
use std::fs;

/// A line of a script: its mark, the words after it, and the lines below it.
pub struct Line {
    pub mark: String,
    pub words: String,
    pub text: String,
}

/// The lines of a script in `tests/`. Below the marks in `files` are texts of files, without the empty lines at their ends. Elsewhere
/// lines that begin with `#` are comments.
pub fn read(path: &str, files: &[&str], others: &[&str]) -> Vec<Line> {
    let script = fs::read_to_string(repository().join("tests").join(path)).expect("it is there");
    let mut lines: Vec<Line> = Vec::new();
    for line in script.lines() {
        let (mark, words) = line.split_once(' ').unwrap_or((line, ""));
        let is_comment = mark == "#"
            && !lines
                .last()
                .is_some_and(|last| files.contains(&&*last.mark));
        if files.contains(&mark) || others.contains(&mark) {
            let (mark, words) = (mark.to_owned(), words.to_owned());
            lines.push(Line {
                mark,
                words,
                text: String::new(),
            });
        } else if !is_comment && (!line.is_empty() || !lines.is_empty()) {
            let last = lines.last_mut();
            let last = last.unwrap_or_else(|| panic!("{path}: what is `{line}`?"));
            last.text += &format!("{line}\n");
        }
    }
    for line in &mut lines {
        let length = line.text.trim_end_matches('\n').len();
        line.text.truncate(if length == 0 { 0 } else { length + 1 });
        let may_have =
            files.contains(&&*line.mark) || line.text.lines().all(|line| line.starts_with('<'));
        assert!(may_have, "{path}: what is `{}`?", line.text);
    }
    lines
}

/// One test for each of the scripts in a folder of `tests/`, with a snapshot of what playing it returns.
macro_rules! scripts {
    ($folder:literal, $play:path: $($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                insta::assert_snapshot!(stringify!($name), $play(stringify!($name)));
            }
        )*

        #[test]
        fn every_script_is_played() {
            let folder = $crate::support::repository().join("tests").join($folder);
            let files = $crate::support::files_in(&folder, "txt");
            let names: Vec<&str> = files.iter().map(|file| $crate::support::stem(file)).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}
pub(crate) use scripts;
