//! The first bytes of a connection.

use super::{Case, Expected, Kind, LEAVE};
use crate::talk::write_count;

/// Where the parts of a hello begin.
const VERSION: usize = 8;
const FLAGS: usize = 9;
const LENGTH: usize = 10;
const REST: usize = 12;
const LARGEST: usize = 28;
const NAME: usize = 38;

/// The flag that a token follows.
const TOKEN: u8 = 4;

/// The verdicts of refusals.
const UNKNOWN_PROTOCOL: u8 = 16;
const UNKNOWN_VERSION: u8 = 17;
const NOT_ADMITTED: u8 = 19;
const MALFORMED: u8 = 21;
const SAME_ROLE: u8 = 22;

/// What can be wrong about a hello, made from one that begins a session.
#[must_use]
pub fn hellos(hello: &[u8]) -> Vec<Case> {
    let mut cases = Vec::new();
    let changed = |at: usize, bytes: &[u8]| {
        let mut changed = hello.to_vec();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    let mut add = |name: String, bytes: Vec<u8>, expected: Expected| {
        cases.push(Case::new(Kind::Hello, name, bytes, expected));
    };
    for (at, byte) in hello.iter().enumerate().take(VERSION) {
        let bytes = changed(at, &[byte ^ 0x20]);
        add(
            format!("byte {at} of the magic is wrong"),
            bytes,
            Expected::Dropped,
        );
    }
    let http = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    add(
        "a request of HTTP".to_owned(),
        http.to_vec(),
        Expected::Dropped,
    );
    add(
        "64 bytes of 255".to_owned(),
        vec![255; 64],
        Expected::Dropped,
    );
    for version in [0, 2, 255] {
        let bytes = changed(VERSION, &[version]);
        add(
            format!("version {version}"),
            bytes,
            Expected::Refused(UNKNOWN_VERSION),
        );
    }
    let malformed = Expected::Refused(MALFORMED);
    for flag in [8, 16, 32, 64, 128] {
        let bytes = changed(FLAGS, &[hello[FLAGS] | flag]);
        add(
            format!("flag {flag}, which does not exist"),
            bytes,
            malformed,
        );
    }
    let token = (hello[FLAGS] & TOKEN != 0).then(|| end_of_list(hello));
    for (flag, what) in [(2, "trace context"), (TOKEN, "a token")] {
        let mut bytes = changed(FLAGS, &[hello[FLAGS] | flag]);
        bytes.truncate(token.unwrap_or(hello.len()));
        set_length(&mut bytes);
        add(format!("flag {flag} without {what}"), bytes, malformed);
    }
    // With a token, a hello may be longer.
    let longest = if token.is_some() { 4_097 } else { 1_025 };
    for length in [0_u16, 27, longest, 5_000, u16::MAX] {
        let bytes = changed(LENGTH, &length.to_le_bytes())[..REST].to_vec();
        add(
            format!("a length of {length}, and nothing more"),
            bytes,
            malformed,
        );
    }
    for largest in [0_u32, 1_023] {
        let bytes = changed(LARGEST, &largest.to_le_bytes());
        add(
            format!("a limit of {largest} for payloads"),
            bytes,
            malformed,
        );
    }
    for (name, tail) in tails(hello) {
        let mut bytes = hello[..NAME].to_vec();
        bytes.extend(tail);
        set_length(&mut bytes);
        add(name.to_owned(), bytes, malformed);
    }
    if let Some(at) = token {
        for (name, tail, expected) in tokens(&hello[at..]) {
            let mut bytes = [&hello[..at], &tail].concat();
            if tail.is_empty() {
                bytes[FLAGS] &= !TOKEN;
            }
            set_length(&mut bytes);
            add(name.to_owned(), bytes, expected);
        }
    }
    let unknown = hello[REST..LARGEST].iter().map(|byte| !byte);
    let bytes = changed(REST, &unknown.collect::<Vec<_>>());
    add(
        "an unknown fingerprint".to_owned(),
        bytes,
        Expected::Refused(UNKNOWN_PROTOCOL),
    );
    let bytes = changed(FLAGS, &[hello[FLAGS] ^ 1]);
    add(
        "the role of the other side".to_owned(),
        bytes,
        Expected::Refused(SAME_ROLE),
    );
    for length in 0..hello.len() {
        let name = format!("a hello that ends after {length} bytes");
        cases.push(Case::cut(name, hello[..length].to_vec()));
    }
    let slow = Case::new(
        Kind::Legal,
        "a hello of which each byte is sent alone",
        hello.to_vec(),
        Expected::Begun,
    );
    cases.push(Case {
        is_slow: true,
        ..slow
    });
    let both = [hello, &LEAVE].concat();
    cases.push(Case::new(
        Kind::Legal,
        "a hello, and in the same write the end of its session",
        both,
        Expected::Begun,
    ));
    cases
}

fn set_length(hello: &mut [u8]) {
    let length = (hello.len() - REST) as u16;
    hello[LENGTH..REST].copy_from_slice(&length.to_le_bytes());
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
    let malformed = Expected::Refused(MALFORMED);
    let refused = Expected::Refused(NOT_ADMITTED);
    let mut other = token.to_vec();
    if let Some(last) = other.last_mut().filter(|_| token.len() > 1) {
        *last ^= 1;
    } else {
        other = vec![1, b'x'];
    }
    let mut huge = Vec::new();
    write_count(&mut huge, 1 << 63);
    vec![
        ("a byte after the token", [token, &[0]].concat(), malformed),
        ("a token with a size of 2^63", huge, malformed),
        (
            "a token that is longer than the hello",
            vec![0x80, 1, b'x'],
            malformed,
        ),
        (
            "a token whose size is longer than necessary",
            vec![0x81, 0, b'x'],
            malformed,
        ),
        ("another token", other, refused),
        ("an empty token", vec![0], refused),
        ("no token", Vec::new(), refused),
    ]
}

/// What can be wrong about the name and the fingerprints at the end of a hello.
fn tails(hello: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let own = &hello[NAME..];
    let counted = |count: u64, bytes: &[u8]| {
        let mut tail = Vec::new();
        write_count(&mut tail, count);
        tail.extend_from_slice(bytes);
        tail
    };
    let many = |count: u64, present: usize| {
        let mut tail = counted(0, &[]);
        write_count(&mut tail, count);
        tail.resize(tail.len() + 16 * present, 7);
        tail
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
pub fn half_a_hello(hello: &[u8]) -> Vec<Case> {
    let silent =
        |name, bytes: &[u8]| Case::new(Kind::Silence, name, bytes.to_vec(), Expected::Dropped);
    vec![
        silent("a connection on which nothing comes", &[]),
        silent("half a hello, and then nothing", &hello[..hello.len() / 2]),
    ]
}
