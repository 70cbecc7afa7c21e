//! The lines of `tests/wire/brokers.txt`.

use std::fs;
use std::path::Path;

use super::name_problem;
use super::packet::{Kind, Packet};
use super::post::process_of_side;

/// The lines that begin with this word, each as the words after it.
fn lines(kind: &str) -> Vec<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = folder.join("../../../tests/wire/brokers.txt");
    let text = fs::read_to_string(file).expect("the repository has it");
    let words = text.lines().map(|line| line.split(' ').map(str::to_owned));
    let all: Vec<Vec<String>> = words
        .map(Iterator::collect)
        .filter(|words: &Vec<String>| words[0] == kind)
        .map(|words| words[1..].to_vec())
        .collect();
    assert!(!all.is_empty(), "there is no {kind}");
    all
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = (0..text.trim_start_matches('-').len()).step_by(2);
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
    digits.map(byte).collect()
}

/// The value of a part, `key=value`.
fn part<'a>(words: &'a [String], key: &str) -> &'a str {
    let values = words.iter().filter_map(|word| word.split_once('='));
    let mut found = values.filter(|(name, _)| *name == key);
    found.next().expect("the part is there").1
}

fn kind(name: &str) -> Kind {
    match name {
        "open" => Kind::Open,
        "accept" => Kind::Accept,
        "data" => Kind::Data,
        "end" => Kind::End,
        "ask" => Kind::Ask,
        "answer" => Kind::Answer,
        "lost" => Kind::Lost,
        "gone" => Kind::Gone,
        "alive" => Kind::Alive,
        _ => panic!("there is no kind {name}"),
    }
}

#[test]
fn packets_are_read_and_written() {
    for line in lines("packet") {
        let (message, bytes) = (unhex(&line[1]), unhex(part(&line, "bytes")));
        let number = |key| part(&line, key).parse::<u64>().expect("a number");
        let packet = Packet {
            kind: kind(&line[0]),
            number: number("number"),
            received: number("received"),
            read: number("read"),
            window: number("window"),
            bytes: &bytes,
        };
        assert_eq!(Packet::decode(&message), Some(packet), "{line:?}");
        assert_eq!(packet.encode(), message, "{line:?}");
    }
}

#[test]
fn bad_packets_are_ignored() {
    for line in lines("bad") {
        assert_eq!(Packet::decode(&unhex(&line[1])), None, "{line:?}");
    }
}

#[test]
fn addresses_and_names_are_checked() {
    for line in lines("address") {
        assert_eq!(process_of_side(&line[0]), Some(&line[1][..]), "{line:?}");
    }
    for line in lines("bad_address") {
        assert_eq!(process_of_side(&line[0]), None, "{line:?}");
    }
    for line in lines("name") {
        assert_eq!(name_problem(&line[0]), None, "{line:?}");
    }
    for line in lines("bad_name") {
        assert!(name_problem(&line[0]).is_some(), "{line:?}");
    }
}
