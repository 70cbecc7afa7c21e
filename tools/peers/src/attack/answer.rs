//! The first bytes of the accepting side: its answer to a hello.

use super::{Case, Expected, Kind, LEAVE};

/// Where the parts of an answer begin.
const VERDICT: usize = 9;
const LENGTH: usize = 10;
const REST: usize = 12;
const LARGEST: usize = 28;
const ZERO: usize = 32;

/// The first verdict with which there is no session.
const REFUSED: u8 = 16;

/// What can be wrong about an answer, made from one with which a session begins.
#[must_use]
pub fn answers(answer: &[u8]) -> Vec<Case> {
    let mut cases = Vec::new();
    let changed = |at: usize, bytes: &[u8]| {
        let mut changed = answer.to_vec();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    let mut add = |name: String, bytes: Vec<u8>| {
        cases.push(Case::new(Kind::Hello, name, bytes, Expected::Closed));
    };
    for (at, byte) in answer.iter().enumerate().take(8) {
        let bytes = changed(at, &[byte ^ 0x20]);
        add(format!("byte {at} of the magic is wrong"), bytes);
    }
    add(
        "an answer of HTTP".to_owned(),
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec(),
    );
    add("64 bytes of 255".to_owned(), vec![255; 64]);
    for verdict in [3, 15] {
        let bytes = changed(VERDICT, &[verdict]);
        add(format!("verdict {verdict}, which does not exist"), bytes);
    }
    add(
        "verdict 2, although the hello has no older fingerprint".to_owned(),
        changed(VERDICT, &[2]),
    );
    for length in [0_u16, 4, 25, 27, u16::MAX] {
        let bytes = changed(LENGTH, &length.to_le_bytes());
        add(format!("a length of {length} for a session"), bytes);
    }
    for largest in [0_u32, 1_023] {
        let bytes = changed(LARGEST, &largest.to_le_bytes());
        add(format!("a limit of {largest} for payloads"), bytes);
    }
    add(
        "bytes that must be 0 and are not".to_owned(),
        changed(ZERO, &[1, 2, 3, 4]),
    );
    let other: Vec<u8> = answer[REST..LARGEST].iter().map(|byte| !byte).collect();
    add(
        "verdict 0 with another fingerprint".to_owned(),
        changed(REST, &other),
    );
    for verdict in [REFUSED, 17, 18, 19, 20, 21, 22, 23, 255] {
        let bytes = [&b"duologue\x01"[..], &[verdict, 4, 0, 0, 0, 0, 0]].concat();
        add(format!("verdict {verdict}"), bytes);
    }
    for length in [0_u8, 3, 26] {
        let mut bytes = [&b"duologue\x01"[..], &[REFUSED, length, 0]].concat();
        bytes.resize(REST + usize::from(length), 0);
        add(format!("a length of {length} for a refusal"), bytes);
    }
    add(
        "the hello of a client".to_owned(),
        b"duologue\x01\x00\x1c\x00".to_vec(),
    );
    for length in 0..answer.len() {
        let name = format!("an answer that ends after {length} bytes");
        cases.push(Case::cut(name, answer[..length].to_vec()));
    }
    let slow = Case::legal(
        "an answer of which each byte is sent alone",
        answer.to_vec(),
        None,
    );
    cases.push(Case {
        is_slow: true,
        ..slow
    });
    cases.push(Case::new(
        Kind::Legal,
        "an answer, and in the same write the end of its session",
        [answer, &LEAVE].concat(),
        Expected::Taken,
    ));
    cases
}

/// The beginning of an answer, after which nothing comes.
#[must_use]
pub fn half_an_answer(answer: &[u8]) -> Vec<Case> {
    let silent =
        |name, bytes: &[u8]| Case::new(Kind::Silence, name, bytes.to_vec(), Expected::Closed);
    vec![
        silent("no answer to the hello", &[]),
        silent(
            "half an answer, and then nothing",
            &answer[..answer.len() / 2],
        ),
    ]
}
