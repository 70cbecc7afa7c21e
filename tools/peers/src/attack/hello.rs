//! The first bytes of a connection.

use super::greeting::{Greeting, LENGTH, REST, silence};
use super::{Case, Expected, count};

/// Where the other parts of a hello begin.
const VERSION: usize = 8;
const FLAGS: usize = 9;
const NAME: usize = 38;

/// The flag that a token follows.
const TOKEN: u8 = 4;

/// The verdicts of refusals.
const UNKNOWN_PROTOCOL: Expected = Expected::Refused(16);
const UNKNOWN_VERSION: Expected = Expected::Refused(17);
const NOT_ADMITTED: Expected = Expected::Refused(19);
const MALFORMED: Expected = Expected::Refused(21);
const SAME_ROLE: Expected = Expected::Refused(22);

/// What can be wrong about a hello, made from one that begins a session.
#[must_use]
pub fn hellos(hello: &[u8]) -> Vec<Case> {
    let mut cases = Greeting::new(hello, "a hello", Expected::Dropped);
    let http = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    cases.add("a request of HTTP", http, Expected::Dropped);
    for version in [0, 2, 255] {
        let name = format!("version {version}");
        cases.change(VERSION, &[version], name, UNKNOWN_VERSION);
    }
    for flag in [8, 16, 32, 64, 128] {
        let name = format!("flag {flag}, which does not exist");
        cases.change(FLAGS, &[hello[FLAGS] | flag], name, MALFORMED);
    }
    let token = (hello[FLAGS] & TOKEN != 0).then(|| end_of_list(hello));
    for (flag, what) in [(2, "trace context"), (TOKEN, "a token")] {
        let mut bytes = cases.changed(FLAGS, &[hello[FLAGS] | flag]);
        bytes.truncate(token.unwrap_or(hello.len()));
        let name = format!("flag {flag} without {what}");
        cases.add(name, with_length(bytes), MALFORMED);
    }
    // With a token, a hello may be longer.
    let longest = if token.is_some() { 4_097 } else { 1_025 };
    for length in [0_u16, 27, longest, 5_000, u16::MAX] {
        let bytes = cases.changed(LENGTH, &length.to_le_bytes());
        let name = format!("a length of {length}, and nothing more");
        cases.add(name, &bytes[..REST], MALFORMED);
    }
    cases.limits(MALFORMED);
    for (name, tail) in tails(hello) {
        let bytes = [&hello[..NAME], &tail].concat();
        cases.add(name, with_length(bytes), MALFORMED);
    }
    if let Some(at) = token {
        for (name, tail, expected) in tokens(&hello[at..]) {
            let mut bytes = [&hello[..at], &tail].concat();
            if tail.is_empty() {
                bytes[FLAGS] &= !TOKEN;
            }
            cases.add(name, with_length(bytes), expected);
        }
    }
    cases.fingerprint("an unknown fingerprint", UNKNOWN_PROTOCOL);
    let role = [hello[FLAGS] ^ 1];
    cases.change(FLAGS, &role, "the role of the other side", SAME_ROLE);
    cases.finish(hello.to_vec(), Expected::Begun)
}

/// The hello with the length that it has.
fn with_length(mut hello: Vec<u8>) -> Vec<u8> {
    let length = (hello.len() - REST) as u16;
    hello[LENGTH..REST].copy_from_slice(&length.to_le_bytes());
    hello
}

/// Where the token of a hello begins. Its name has at most 255 bytes, and its list of fingerprints is empty.
fn end_of_list(hello: &[u8]) -> usize {
    match hello[NAME..] {
        [low, high, ..] if low >= 0x80 => {
            NAME + 3 + (usize::from(low & 0x7f) | usize::from(high) << 7)
        }
        [low, ..] => NAME + 2 + usize::from(low),
        [] => hello.len(),
    }
}

/// What can be wrong about the token at the end of a hello: other bytes there, and what the other side must do.
fn tokens(token: &[u8]) -> Vec<(&'static str, Vec<u8>, Expected)> {
    let mut other = token.to_vec();
    if let Some(last) = other.last_mut().filter(|_| token.len() > 1) {
        *last ^= 1;
    } else {
        other = vec![1, b'x'];
    }
    vec![
        ("a byte after the token", [token, &[0]].concat(), MALFORMED),
        ("a token with a size of 2^63", count(1 << 63), MALFORMED),
        (
            "a token that is longer than the hello",
            vec![0x80, 1, b'x'],
            MALFORMED,
        ),
        (
            "a token whose size is longer than necessary",
            vec![0x81, 0, b'x'],
            MALFORMED,
        ),
        ("another token", other, NOT_ADMITTED),
        ("an empty token", vec![0], NOT_ADMITTED),
        ("no token", Vec::new(), NOT_ADMITTED),
    ]
}

/// What can be wrong about the name and the fingerprints at the end of a hello.
fn tails(hello: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let own = &hello[NAME..];
    let counted = |number: u64, bytes: &[u8]| [&count(number)[..], bytes].concat();
    let many = |number: u64, present: usize| {
        let fingerprints = vec![7; 16 * present];
        [&[0][..], &count(number), &fingerprints].concat()
    };
    vec![
        ("a byte after the end of the hello", [own, &[0]].concat()),
        (
            "a name that is longer than the hello",
            counted(200, b"name"),
        ),
        (
            "a name of 256 bytes",
            counted(256, &[&[b'a'; 256][..], &[0]].concat()),
        ),
        ("a name with a size of 2^63", counted(1 << 63, b"name")),
        (
            "a name whose size is longer than necessary",
            vec![0x81, 0x00, b'a', 0],
        ),
        ("a name that is not UTF-8", counted(2, &[0xc0, 0x80, 0])),
        ("17 older fingerprints", many(17, 17)),
        ("2^63 older fingerprints", many(1 << 63, 1)),
        ("an older fingerprint that is missing", many(2, 1)),
        ("no list of older fingerprints", counted(1, b"a")),
    ]
}

/// The beginning of a hello, after which nothing comes.
#[must_use]
pub fn half_a_hello(hello: &[u8]) -> [Case; 2] {
    let half = "half a hello, and then nothing";
    let names = ["a connection on which nothing comes", half];
    silence(hello, names, Expected::Dropped)
}
