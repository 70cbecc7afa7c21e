//! The `hello` and `answer` lines of `tests/wire/streams.txt`, read and written.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use super::{refusal, Answered, Hello, HEAD};
use crate::Fingerprint;

/// The lines that begin with this word, each without it.
fn lines(kind: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = folder.join("../../../tests/wire/streams.txt");
    let text = fs::read_to_string(file).expect("the repository has it");
    let lines = text.lines().filter_map(|line| line.strip_prefix(kind));
    lines.map(str::to_owned).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = (0..text.len()).step_by(2);
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
    digits.map(byte).collect()
}

/// The fields of a line: `key=value`.
fn fields<'a>(words: impl Iterator<Item = &'a str>) -> HashMap<&'a str, &'a str> {
    let split = |word: &'a str| word.split_once('=').expect("a field");
    words.map(split).collect()
}

fn fingerprint(text: &str) -> Fingerprint {
    text.parse().expect("a fingerprint")
}

/// The head and the rest of a hello or an answer.
fn split(bytes: &[u8]) -> ([u8; HEAD], &[u8]) {
    let (head, rest) = bytes.split_first_chunk().expect("a head");
    (*head, rest)
}

#[test]
fn hellos_are_read_and_written() {
    let lines = lines("hello ");
    assert!(lines.len() > 4);
    for line in lines {
        let mut words = line.split(' ');
        let name = words.next().expect("a name");
        let bytes = unhex(words.next().expect("bytes"));
        let fields = fields(words);
        let (head, rest) = split(&bytes);
        assert_eq!(Hello::length(&head), Ok(rest.len()), "{name}");
        let hello = Hello::decode(head[9], rest).expect(name);
        assert_eq!(hello.fingerprint, fingerprint(fields["fingerprint"]));
        assert_eq!(
            hello.receives_first,
            fields["first"] == "receives",
            "{name}"
        );
        assert_eq!(hello.largest.to_string(), fields["largest"], "{name}");
        assert_eq!(hello.seconds.to_string(), fields["seconds"], "{name}");
        assert_eq!(hello.name, fields["name"], "{name}");
        let accepts = fields["accepts"].split(',').filter(|one| *one != "-");
        let accepts: Vec<Fingerprint> = accepts.map(fingerprint).collect();
        assert_eq!(hello.accepts, accepts, "{name}");
        let token = Some(fields["token"]).filter(|token| *token != "-");
        // `-` also stands for a token without bytes.
        let token = token.map(unhex).unwrap_or_default();
        assert_eq!(hello.token.clone().unwrap_or_default(), token, "{name}");
        assert_eq!(hello.encode(), bytes, "{name}");
    }
}

#[test]
fn answers_are_read_and_written() {
    let lines = lines("answer ");
    assert!(lines.len() > 5);
    for line in lines {
        let mut words = line.split(' ');
        let bytes = unhex(words.next().expect("bytes"));
        let fields = fields(words);
        let (head, rest) = split(&bytes);
        assert_eq!(Answered::length(&head), Some(rest.len()), "{line}");
        match Answered::decode(&head, rest).expect(&line) {
            Answered::Begins(answer) => {
                assert_eq!(answer.verdict.to_string(), fields["verdict"], "{line}");
                assert_eq!(answer.fingerprint, fingerprint(fields["fingerprint"]));
                assert_eq!(answer.largest.to_string(), fields["largest"], "{line}");
                assert_eq!(answer.seconds.to_string(), fields["seconds"], "{line}");
                assert_eq!(answer.encode(), bytes, "{line}");
            }
            Answered::Refuses { verdict, wait } => {
                assert_eq!(verdict.code().to_string(), fields["verdict"], "{line}");
                assert_eq!(wait.to_string(), fields["wait"], "{line}");
                assert_eq!(refusal(verdict, wait), bytes, "{line}");
            }
        }
    }
}
