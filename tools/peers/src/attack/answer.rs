//! The first bytes of the accepting side: its answer to a hello.

use super::greeting::{Greeting, LENGTH, REST, silence};
use super::{Case, Expected, LEAVE};

/// Where the other parts of an answer begin.
const VERDICT: usize = 9;
const ZERO: usize = 32;

/// The first verdict with which there is no session.
const REFUSED: u8 = 16;

/// What can be wrong about an answer, made from one with which a session begins.
#[must_use]
pub fn answers(answer: &[u8]) -> Vec<Case> {
    let closed = Expected::Closed;
    let mut cases = Greeting::new(answer, "an answer", closed);
    let http = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    cases.add("an answer of HTTP", http, closed);
    for verdict in [3, 15] {
        let name = format!("verdict {verdict}, which does not exist");
        cases.change(VERDICT, &[verdict], name, closed);
    }
    let older = "verdict 2, although the hello has no older fingerprint";
    cases.change(VERDICT, &[2], older, closed);
    for length in [0_u16, 4, 25, 27, u16::MAX] {
        let name = format!("a length of {length} for a session");
        cases.change(LENGTH, &length.to_le_bytes(), name, closed);
    }
    cases.limits(closed);
    let zero = "bytes that must be 0 and are not";
    cases.change(ZERO, &[1, 2, 3, 4], zero, closed);
    cases.fingerprint("verdict 0 with another fingerprint", closed);
    for verdict in [REFUSED, 17, 18, 19, 20, 21, 22, 23, 255] {
        let bytes = [&b"duologue\x01"[..], &[verdict, 4, 0, 0, 0, 0, 0]].concat();
        cases.add(format!("verdict {verdict}"), bytes, closed);
    }
    for length in [0_u8, 3, 26] {
        let mut bytes = [&b"duologue\x01"[..], &[REFUSED, length, 0]].concat();
        bytes.resize(REST + usize::from(length), 0);
        cases.add(format!("a length of {length} for a refusal"), bytes, closed);
    }
    cases.add("the hello of a client", b"duologue\x01\x00\x1c\x00", closed);
    cases.finish([answer, &LEAVE].concat(), Expected::Taken)
}

/// The beginning of an answer, after which nothing comes.
#[must_use]
pub fn half_an_answer(answer: &[u8]) -> [Case; 2] {
    let names = ["no answer to the hello", "half an answer, and then nothing"];
    silence(answer, names, Expected::Closed)
}
