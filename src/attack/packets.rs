//! What a hostile peer can publish at a message broker, by `docs/wire.md`: messages that are malformed, out of order, repeated, missing or beyond
//! the credit, those of other sessions, and hellos that a broker delivers whole.

use super::act::{Act, Body, Number, RIGHT, Reply, SIGN_OF_LIFE, To};
use super::{Case, Expected, Kind, hellos};
use crate::talk::{PacketKind, write_count};

/// The longest message that is published as an attack.
const LONGEST: u64 = 1 << 20;

/// An attack in a session.
fn case(name: impl Into<String>, acts: Vec<Act>, expected: Expected) -> Case {
    Case {
        acts,
        ..Case::new(Kind::Packet, name, Vec::new(), expected)
    }
}

/// Messages that have no correct form, with their names. A receiver ignores them.
fn malformed() -> Vec<(&'static str, Vec<u8>)> {
    let counts = |kind: u8, rest: &[u8]| [&[kind][..], rest].concat();
    vec![
        ("an empty message", Vec::new()),
        ("a message of kind 9", counts(9, &[1, 1, 0])),
        ("a message of kind 255", counts(255, &[1, 1, 0])),
        ("an open without anything", vec![0]),
        ("data without counts", vec![2]),
        ("data without bytes", counts(2, &[2, 1, 0])),
        ("data whose count does not end", counts(2, &[2, 1, 0x80])),
        (
            "a count that is longer than necessary",
            counts(2, &[0x82, 0, 1, 0, 1]),
        ),
        (
            "a count of 65 bits",
            [&[2][..], &[0xff; 9], &[2, 1, 0, 1]].concat(),
        ),
        (
            "a count of 12 bytes",
            [&[2][..], &[0x81; 11], &[1, 1, 0, 1]].concat(),
        ),
        ("an end with bytes", counts(3, &[2, 1, 0, 0])),
        ("an ask with bytes", counts(4, &[2, 1, 0, 0])),
        ("an answer without its last count", counts(5, &[1, 1])),
        ("an answer with bytes", counts(5, &[1, 1, 0, 0])),
        ("a lost with bytes", vec![6, 0]),
        ("a gone with bytes", vec![7, 0]),
        ("an alive without a process", vec![8]),
        ("64 KiB of 255", vec![255; 64 << 10]),
    ]
}

/// What is wrong at a broker in a session, whatever its state is. `is_first`: it is the first state, in which what does not depend on
/// the state is sent too.
#[must_use]
pub fn in_a_session(is_first: bool) -> Vec<Case> {
    use PacketKind::{Answer, Ask, Data, End, Gone, Lost};
    let publish = |body| Act::new(To::Session, Reply::None, body);
    let lost = |name: &str, body| case(name, vec![publish(body)], Expected::Lost);
    let taken = |name: &str, act| case(name, vec![act], Expected::Taken);
    let with = Body::with;
    let mut cases = vec![
        lost(
            "data whose number is one too large, as after a loss",
            with(Data, Number::More(1), RIGHT, RIGHT, &SIGN_OF_LIFE),
        ),
        lost(
            "data with the number 2^64 - 1",
            with(Data, Number::Exactly(u64::MAX), RIGHT, RIGHT, &SIGN_OF_LIFE),
        ),
        lost(
            "an end whose number is one too large",
            with(End, Number::More(1), RIGHT, RIGHT, &[]),
        ),
        lost(
            "an ask whose number is one too large",
            with(Ask, Number::More(1), RIGHT, RIGHT, &[]),
        ),
        lost(
            "an answer whose number is one too large",
            with(Answer, Number::More(1), RIGHT, RIGHT, &[]),
        ),
        lost(
            "an answer that has received more than was sent",
            with(Answer, RIGHT, Number::More(1 << 20), RIGHT, &[]),
        ),
        lost(
            "an answer that has received 2^64 - 1 messages",
            with(Answer, RIGHT, Number::Exactly(u64::MAX), RIGHT, &[]),
        ),
        lost(
            "an answer that has read more than was sent",
            with(Answer, RIGHT, RIGHT, Number::More(1 << 40), &[]),
        ),
        lost(
            "data that has read 2^64 - 1 bytes",
            with(Data, RIGHT, RIGHT, Number::Exactly(u64::MAX), &SIGN_OF_LIFE),
        ),
        lost("data that costs more than the credit", Body::Beyond(0)),
        lost("data as long as the broker delivers", Body::Beyond(LONGEST)),
        case(
            "data after the end",
            vec![Act::End, publish(Body::right(Data, &SIGN_OF_LIFE))],
            Expected::Lost,
        ),
        taken(
            "data that was delivered before",
            publish(with(Data, Number::Less(1), RIGHT, RIGHT, &[255; 8])),
        ),
        taken(
            "data with the number 0",
            publish(with(Data, Number::Exactly(0), RIGHT, RIGHT, &[255; 8])),
        ),
        taken(
            "an answer that was overtaken by others",
            publish(with(
                Answer,
                Number::Less(1),
                Number::Exactly(0),
                Number::Exactly(0),
                &[],
            )),
        ),
        case(
            "lost",
            vec![Act::new(To::Session, Reply::Own, Body::right(Lost, &[]))],
            Expected::Gone,
        ),
    ];
    if !is_first {
        return cases;
    }
    cases.push(case(
        "gone",
        vec![publish(Body::right(Gone, &[]))],
        Expected::Gone,
    ));
    cases.push(case(
        "lost for a session that does not exist",
        vec![Act::new(To::Stranger, Reply::Own, Body::right(Lost, &[]))],
        Expected::Gone,
    ));
    cases.push(case(
        "ask for a session that does not exist",
        vec![Act::new(To::Stranger, Reply::Own, Body::right(Ask, &[]))],
        Expected::Gone,
    ));
    for (name, bytes) in malformed() {
        cases.push(taken(name, publish(Body::Raw(bytes))));
    }
    let ask = || Body::right(Ask, &[]);
    // A process may answer a question for any token that it does not know, so these name no address.
    let strangers = [
        (
            "an open for a session",
            Act::new(
                To::Session,
                Reply::Own,
                with(PacketKind::Open, RIGHT, RIGHT, RIGHT, &[255; 8]),
            ),
        ),
        (
            "an alive for a session",
            publish(Body::Raw(b"\x08x".to_vec())),
        ),
        (
            "an ask whose reply address is another subject",
            Act::new(To::Session, Reply::Text("_INBOX.abc"), ask()),
        ),
        (
            "data for a session that does not exist",
            Act::new(To::Stranger, Reply::Own, Body::right(Data, &[255; 8])),
        ),
        (
            "ask for no session, with a reply address that is none",
            Act::new(To::Stranger, Reply::Text("_INBOX.abc"), ask()),
        ),
        (
            "a process that is there and does not exist",
            Act::new(
                To::Token("alive"),
                Reply::None,
                Body::Raw(b"\x080123".to_vec()),
            ),
        ),
        (
            "a process that is there with 64 KiB of 255 as its name",
            Act::new(
                To::Token("alive"),
                Reply::None,
                Body::Raw([&[8][..], &[255; 64 << 10]].concat()),
            ),
        ),
        (
            "an ask for the heartbeats of the process",
            Act::new(To::Token("alive"), Reply::None, ask()),
        ),
        (
            "a token that is none",
            Act::new(
                To::Token("ALIVE"),
                Reply::None,
                Body::right(Data, &[255; 8]),
            ),
        ),
        (
            "a token of 300 characters",
            Act::new(To::Token(LONG), Reply::None, ask()),
        ),
        (
            "a token with other characters",
            Act::new(To::Token("\u{e9}\u{1f600}%n%s"), Reply::None, ask()),
        ),
    ];
    for (name, act) in strangers {
        cases.push(taken(name, act));
    }
    let with_headers = |headers, body| Act::Publish {
        to: To::Session,
        reply: Reply::None,
        headers,
        body,
    };
    cases.push(taken(
        "a report that nothing has subscribed, for the session",
        with_headers("NATS/1.0 503\r\n\r\n", Body::Raw(Vec::new())),
    ));
    cases.push(taken(
        "headers that have no meaning",
        with_headers("NATS/1.0\r\nx: \r\n\r\n", Body::right(Answer, &[])),
    ));
    cases.push(Case {
        kind: Kind::Silence,
        ..case("a process that is silent", vec![Act::Mute], Expected::Gone)
    });
    cases
}

/// A token that is too long, and the address of a process whose name is.
const LONG: &str = concat!(
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
);
const LONG_ADDRESS: &str = concat!(
    "duo.at.0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
    ".000102030405060708090a0b0c0d0e0f",
);

/// What can be wrong about the first message of a session at a broker, made from a hello that begins one.
#[must_use]
pub fn opens(hello: &[u8]) -> Vec<Case> {
    let mut cases = Vec::new();
    for mut case in hellos(hello) {
        // A broker delivers a hello whole or not at all.
        case.expected = match case.expected {
            Expected::Begun if case.is_slow => continue,
            Expected::Closed if case.bytes.is_empty() => continue,
            Expected::Dropped | Expected::Begun | Expected::Closed => Expected::Ignored,
            Expected::Refused(_)
            | Expected::BegunOrDropped
            | Expected::Broken
            | Expected::Late
            | Expected::Taken
            | Expected::Lost
            | Expected::Gone
            | Expected::Ignored
            | Expected::Starved => case.expected,
        };
        case.is_cut = false;
        cases.push(case);
    }
    let open = |number, received, read, window| Body::Packet {
        kind: PacketKind::Open,
        number: Number::Exactly(number),
        received: Number::Exactly(received),
        read: Number::Exactly(read),
        window,
        bytes: hello.to_vec(),
    };
    let right = || open(1, 0, 0, 16 << 10);
    let servers = |reply, body| vec![Act::new(To::Servers, reply, body)];
    let mut ignored = |name: &str, reply, body| {
        cases.push(case(name, servers(reply, body), Expected::Ignored));
    };
    for (name, reply) in [
        ("an open without a reply address", Reply::None),
        (
            "an open with another subject as its reply address",
            Reply::Text("_INBOX.abc"),
        ),
        (
            "an open with a reply address whose token is none",
            Reply::Text("duo.at.abc.alive"),
        ),
        (
            "an open with a reply address in capitals",
            Reply::Text("duo.at.abc.000102030405060708090A0B0C0D0E0F"),
        ),
        (
            "an open with a reply address that is too long",
            Reply::Text(LONG_ADDRESS),
        ),
    ] {
        ignored(name, reply, right());
    }
    for (name, [number, received, read]) in [
        ("an open with the number 0", [0, 0, 0]),
        ("an open with the number 2", [2, 0, 0]),
        ("an open that has received something", [1, 1, 0]),
        ("an open that has read something", [1, 0, 100]),
    ] {
        ignored(name, Reply::Own, open(number, received, read, 16 << 10));
    }
    for version in [0, 2, 255] {
        let mut bytes = vec![PacketKind::Open as u8, version, 1, 0, 0];
        write_count(&mut bytes, 16 << 10);
        bytes.extend_from_slice(hello);
        ignored(
            &format!("an open of version {version}"),
            Reply::Own,
            Body::Raw(bytes),
        );
    }
    let long = [hello, &vec![0; 64 << 10]].concat();
    let mut bytes = vec![PacketKind::Open as u8, 1, 1, 0, 0, 0];
    bytes.extend(long);
    ignored(
        "an open with 64 KiB after its hello",
        Reply::Own,
        Body::Raw(bytes),
    );
    for (name, bytes) in malformed() {
        ignored(
            &format!("{name}, instead of an open"),
            Reply::Own,
            Body::Raw(bytes),
        );
    }
    for kind in PacketKind::ALL.into_iter().skip(1) {
        let body = Body::with(
            kind,
            Number::Exactly(1),
            Number::Exactly(0),
            Number::Exactly(0),
            hello,
        );
        ignored(
            &format!("a hello in a message of the kind {}", kind.word()),
            Reply::Own,
            body,
        );
    }
    for window in [0, 64] {
        let name = format!("an open that gives a credit of {window}");
        let acts = servers(Reply::Own, open(1, 0, 0, window));
        cases.push(case(name, acts, Expected::Starved));
    }
    cases.push(Case {
        bytes: hello.to_vec(),
        ..case(
            "an open that is delivered twice",
            servers(Reply::Own, right()),
            Expected::Begun,
        )
    });
    cases
}
