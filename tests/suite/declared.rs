//! What generated code declares is on the target's list of names, in which clashes are looked for. The generated text is searched for
//! declarations by words that begin one.

use crate::support::rust::{GROUPS, checked, protocols_in};
use duologue::languages::{self, Names, Options, ScalaVersion, Target};
use std::collections::BTreeSet;

/// Options that generate everything.
fn options() -> Options {
    let mut options = Options::default();
    options.c.shm = true;
    options.c.inline_bounds = true;
    options.c.events = true;
    options.remote = true;
    options
}

/// The name at the beginning of a text.
fn name(text: &str) -> Option<&str> {
    let text = text.trim_start_matches("r#").trim_start_matches('`');
    let end = text.find(|part: char| !part.is_alphanumeric() && part != '_');
    Some(&text[..end.unwrap_or(text.len())]).filter(|name| !["", "_"].contains(name))
}

/// The name after one of these words, if the line begins with it after words that may precede it.
fn declared_after<'t>(line: &'t str, before: &[&str], words: &[&str]) -> Option<&'t str> {
    let (word, rest) = line.trim_start().split_once(' ')?;
    // A `const` may be a function.
    let inner = declared_after(rest, before, words).filter(|_| before.contains(&word));
    inner.or_else(|| words.contains(&word).then(|| name(rest)).flatten())
}

/// The name that a line of code declares, except for what is local or belongs to an interface of the runtime.
fn declared(target: Target, line: &str) -> Option<&str> {
    match target {
        Target::Rust => {
            let public = line.trim_start().strip_prefix("pub ")?;
            let words = ["struct", "enum", "trait", "mod", "type", "fn", "const"];
            declared_after(public, &["unsafe", "const"], &words)
        }
        Target::Scala => {
            let before = ["final", "sealed", "abstract", "case", "implicit", "inline"];
            let words = ["class", "object", "trait", "type", "def", "enum"];
            declared_after(line, &before, &words)
        }
        Target::C | _ => {
            let function = line.strip_prefix("DUO_API ");
            let function = function.and_then(|rest| rest.split_once('('));
            let function = function.and_then(|(head, _)| head.rsplit([' ', '*']).next());
            let end = line
                .strip_prefix("} ")
                .and_then(|rest| rest.strip_suffix(';'));
            let new = line.strip_prefix("#define ").and_then(name);
            let new = new.map(|new| new.strip_prefix("DUO_HAS_").unwrap_or(new));
            function.or(end).or(new)
        }
    }
}

fn check(target: Target, options: &Options) {
    for group in GROUPS {
        let program = checked(&protocols_in(group));
        let mut listed = BTreeSet::new();
        let (parsed, all) = (program.program(), Names::All);
        languages::declarations(parsed, target, options, all, &mut |scope| {
            let names = scope.names.into_iter().map(|name| name.spelling);
            listed.extend(names.map(|name| name.replace("r#", "").replace('`', "")));
        });
        let files = languages::generate(&program, target, options).files;
        let lines = files.iter().flat_map(|file| file.text.lines());
        let found: BTreeSet<&str> = lines.filter_map(|line| declared(target, line)).collect();
        assert!(found.len() > 30, "{group}: {} declarations", found.len());
        let missing: Vec<&&str> = found
            .iter()
            .filter(|name| !listed.contains(**name))
            .collect();
        assert!(missing.is_empty(), "{group}: not on the list: {missing:?}");
    }
}

#[test]
fn what_rust_declares_is_listed() {
    check(Target::Rust, &options());
}

#[test]
fn what_scala_declares_is_listed() {
    let mut three = options();
    three.scala.version = ScalaVersion::Three;
    check(Target::Scala, &options());
    check(Target::Scala, &three);
}

#[test]
fn what_c_declares_is_listed() {
    check(Target::C, &options());
}
