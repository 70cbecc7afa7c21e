//! The language applied to real texts: the protocols in `protocols/` and in the corpus, the pages of the documentation, difficult
//! cases of the language, and deliberately broken texts.

mod attack;
mod describe;
mod pages;
mod protocols;
mod texts;
mod uses;

use crate::support::repository;
use crate::support::texts::{compile_text, compile_texts, findings, fired};
use describe::describe;
use std::fs;

/// Below each answer in `tests/questions/` are texts, each with the rules that it violates, or `clean`. The lines below a text are about it.
#[test]
fn questions_are_answered() {
    for file in ["files", "names", "structure", "types"] {
        let path = repository().join(format!("tests/questions/{file}.txt"));
        let lines = fs::read_to_string(path).expect("it is there");
        let mut last = compile_text("");
        for line in lines.lines() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (kind, text) = line.split_once(':').expect("rules and a text");
            let text = unescaped(text);
            let number = || text.parse::<usize>().expect("a number");
            match kind.trim() {
                // Words of a finding, or its place.
                "says" => {
                    let all = format!("{:?}\n{}", last.diagnostics, findings(&last));
                    assert!(all.contains(&text), "no finding says `{text}`:\n{all}");
                }
                // What the compiler has understood.
                "is" => {
                    let known = describe(last.checked.as_ref().expect("no error"));
                    assert!(known.contains(&text), "no `{text}` in:\n{known}");
                }
                "refused" => assert!(last.checked.is_none(), "above {line}"),
                "findings" => assert_eq!(last.diagnostics.len(), number()),
                "files" => assert_eq!(last.program.files.len(), number()),
                rules => {
                    let rules = rules.split(' ').filter(|rule| *rule != "clean");
                    let rules: Vec<&str> = rules.collect();
                    last = compile_texts(&in_files(&text));
                    let found = findings(&last);
                    assert_eq!(fired(&last), rules, "in:\n{text}\nfound:\n{found}");
                    assert!(last.checked.is_some() || !rules.is_empty(), "{text}");
                }
            }
        }
    }
}

fn unescaped(text: &str) -> String {
    let text = text.trim_start().replace("\\\\", "\0");
    let text = text.replace("\\n", "\n").replace("\\t", "\t");
    let text = text.replace("\\r", "\r").replace("\\bom", "\u{feff}");
    text.replace('\0', "\\")
}

/// The files of a text: `main.proto`, and those that begin with `== NAME: `.
fn in_files(text: &str) -> Vec<(&str, &[u8])> {
    let all = text
        .split("== ")
        .enumerate()
        .filter_map(|(number, part)| match number {
            0 => (!part.is_empty() || part.len() == text.len()).then_some(("main.proto", part)),
            _ => Some(part.split_once(": ").expect("a name and a text")),
        });
    all.map(|(name, text)| (name, text.as_bytes())).collect()
}
