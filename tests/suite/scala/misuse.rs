//! Programs with a mistake: each is rejected for the stated reason and no other, and accepted once the line is corrected.
//!
//! The first line of a file says how the mistake is reported. The line that ends with `// wrong` makes the mistake; the line
//! `// right: ...` below it is the correction.

use super::read;
use crate::support::repository;
use crate::support::scala::{Scala, folder, sources_in};
use std::fs;
use std::path::{Path, PathBuf};

/// One program.
pub struct Misuse {
    pub name: String,
    pub path: PathBuf,
    /// `error`, `warning` or `throws`.
    pub how: String,
    /// A part of the compiler's message, or all of the exception's.
    pub what: String,
    text: String,
}

/// All programs of a folder of `tests/misuse`.
pub fn all(folder: &str) -> Vec<Misuse> {
    let files = sources_in(&repository().join("tests/misuse").join(folder));
    files.into_iter().map(Misuse::of).collect()
}

impl Misuse {
    fn of(path: PathBuf) -> Misuse {
        let text = read(&path);
        let first = text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("// "));
        let (how, what) = first
            .and_then(|line| line.split_once(": "))
            .expect("the first line says what is wrong");
        let name = path
            .file_stem()
            .expect("it ends in .scala")
            .to_string_lossy()
            .into_owned();
        Misuse {
            name,
            how: how.to_owned(),
            what: what.to_owned(),
            path,
            text,
        }
    }

    fn wrong_line(&self) -> usize {
        let mut lines = self.text.lines();
        1 + lines
            .position(|line| line.ends_with("// wrong"))
            .expect("a line is marked as wrong")
    }

    /// Writes the corrected program.
    pub fn write_right(&self, folder: &Path) -> PathBuf {
        let lines = self.text.lines().filter(|line| !line.ends_with("// wrong"));
        let right: Vec<&str> = lines.collect();
        let right = right
            .join(
                "
",
            )
            .replace("// right: ", "")
            .replace("package misuse.", "package right.");
        let path = folder.join(format!("{}.scala", self.name));
        fs::create_dir_all(folder).expect("the target folder can be written");
        fs::write(&path, right).expect("the target folder can be written");
        path
    }
}

/// `driver` holds the program that calls the compiler, and `class_path` the protocols.
pub fn is_reported_by_the_compiler(
    scala: Scala,
    programs: &[Misuse],
    driver: &[PathBuf],
    class_path: &str,
) {
    let told: Vec<&Misuse> = programs
        .iter()
        .filter(|misuse| misuse.how != "throws")
        .collect();
    assert!(!told.is_empty());
    let out = folder("misuse").join(scala.name());
    fs::create_dir_all(&out).expect("the target folder can be written");
    let out = out.display().to_string();
    let warnings = scala.warnings().filter(|flag| *flag != "-Werror");
    let mut arguments: Vec<&str> = Vec::new();
    for flag in warnings {
        arguments.push(flag);
    }
    arguments.extend(["-classpath", class_path, "-d", &out, "--"]);
    let paths: Vec<String> = told
        .iter()
        .map(|misuse| misuse.path.display().to_string())
        .collect();
    arguments.extend(paths.iter().map(String::as_str));
    let printed = scala.run(driver, "misuse.Compile", &arguments);
    let printed = printed.unwrap_or_else(|failure| panic!("{failure}"));
    for (misuse, path) in told.iter().zip(&paths) {
        let findings: Vec<Vec<&str>> = printed
            .lines()
            .map(|line| line.splitn(4, '\t').collect())
            .filter(|finding: &Vec<&str>| finding[0] == path)
            .collect();
        let [finding] = findings.as_slice() else {
            panic!("{} should be reported once, not {findings:#?}", misuse.name);
        };
        let line = misuse.wrong_line().to_string();
        let is_right =
            finding[1] == misuse.how && finding[2] == line && finding[3].contains(&misuse.what);
        assert!(
            is_right,
            "{} should be reported as {:?} in line {line}, not {finding:#?}",
            misuse.name, misuse.what
        );
    }
}
