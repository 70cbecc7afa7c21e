//! Command lines and what they do: scripts in `tests/commands/`, each with a snapshot of everything that is printed. The lines of a script are
//!
//! - `# ...`: a comment;
//! - `== PATH`: a file, whose lines follow, with `\xNN` for other bytes, and without the empty lines at its end;
//! - `$ ...`: the arguments of a run of `duologue`, and `< ...` below it: a line of its input;
//! - `@ ...`: a step, see `step`.

use crate::support::program::{Scratch, run, transcript};
use crate::support::script::{read, scripts};
use crate::support::{copy, edit, repository};
use std::fs;
use std::path::Path;

scripts! { "commands", printed_by:
    accept
    breaking
    breaking_in_git
    breaking_limits
    breaking_pairs
    check
    config
    connect
    doc
    dual
    explain
    fingerprint
    fix
    format
    generation
    graph
    help
    mixed
    model
    play
    plugins
    reports
    robots_bytes
    robots_report
    talk
    talk_values
    top
    trace
    trace_mapping
    trace_unusual
    usage
}

/// Plays a script, and writes down what is printed.
fn printed_by(name: &str) -> String {
    let scratch = Scratch::new(&format!("commands-{name}"));
    let mut printed = String::new();
    for line in read(&format!("commands/{name}.txt"), &["=="], &["$", "@"]) {
        match line.mark.as_str() {
            "==" => scratch.write(&line.words, bytes(&line.text)),
            "$" => {
                let input = line.text.lines().map(|line| {
                    let line = line.trim_start_matches('<');
                    format!("{}\n", line.strip_prefix(' ').unwrap_or(line))
                });
                let input: String = input.collect();
                let output = run(scratch.duologue(&line.words), &bytes(&input));
                printed += &transcript(&line.words, &output);
            }
            _ => printed += &step(&scratch, &line.words),
        }
    }
    printed
}

/// A text in which `\xNN` is a byte.
fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("\\x") {
        bytes.extend(rest[..at].bytes());
        let byte = u8::from_str_radix(&rest[at + 2..at + 4], 16);
        bytes.push(byte.expect("two digits"));
        rest = &rest[at + 4..];
    }
    bytes.extend(rest.bytes());
    bytes
}

/// Does what a step says, and returns what it prints.
fn step(scratch: &Scratch, words: &str) -> String {
    let (name, rest) = words.split_once(' ').unwrap_or((words, ""));
    let two = || rest.split_once(" => ").expect("two parts");
    match name {
        // Begins another test in an empty folder.
        "new" => {
            fs::remove_dir_all(scratch.path("")).expect("it is there");
            fs::create_dir(scratch.path("")).expect("it can be created");
            return format!("## {rest}\n");
        }
        // Prints a file, or the names of those in a folder.
        "cat" => return format!("@ {words}\n{}", scratch.read(rest).replace('\r', "\\r")),
        "files" => return format!("@ {words}\n{}\n", scratch.files(rest).join("\n")),
        // Prints the lines of a file that have the text.
        "grep" => {
            let (path, text) = two();
            let found: Vec<String> = scratch
                .read(path)
                .lines()
                .filter(|line| line.contains(text))
                .map(str::to_owned)
                .collect();
            return format!("@ {words}\n{}\n", found.join("\n"));
        }
        // `copy FROM => TO`, from the repository.
        "copy" => {
            let (from, to) = two();
            let to = scratch.path(to);
            fs::create_dir_all(to.parent().expect("a folder")).expect("it can be created");
            copy(&repository().join(from), &to);
        }
        // `edit PATH: FROM => TO`, where `\r` and `\n` are the ends of lines.
        "edit" => {
            let (path, change) = rest.split_once(": ").expect("a path");
            let (from, to) = change.split_once(" => ").expect("two parts");
            let [from, to] = [from, to].map(|text| text.replace("\\r", "\r").replace("\\n", "\n"));
            edit(&scratch.path(path), &from, &to);
        }
        "remove" => {
            let path = scratch.path(rest);
            let removed = if path.is_dir() {
                fs::remove_dir_all(path)
            } else {
                fs::remove_file(path)
            };
            removed.expect("it is there");
        }
        "git" => scratch.git(&rest.split(' ').collect::<Vec<_>>()),
        // `in FOLDER: ARGUMENTS`: a run of `duologue` in another folder.
        "in" => {
            let (folder, arguments) = rest.split_once(": ").expect("a folder");
            let mut command = scratch.duologue(arguments);
            command.current_dir(scratch.path(folder));
            return format!(
                "@ in {folder}\n{}",
                transcript(arguments, &run(command, b""))
            );
        }
        #[cfg(unix)]
        "executable" | "read-only" => {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = if name == "executable" { 0o755 } else { 0o444 };
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(scratch.path(rest), permissions).expect("it is ours");
        }
        // `link TO => NAME`.
        #[cfg(unix)]
        "link" => {
            let (to, name) = two();
            std::os::unix::fs::symlink(Path::new(to), scratch.path(name))
                .expect("a link can be made");
        }
        _ => panic!("there is no step `{words}`"),
    }
    String::new()
}
