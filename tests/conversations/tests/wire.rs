//! The bytes of `tests/wire/payloads.txt`, read and written by generated encoders.

use conversations::sockets::unhex;
use conversations::wire::payloads::{All, client, server};
use duologue::transport::{Ahead, Arrival, Driver, Encoder, FarEnd, Forwarded, Open, Why};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A transport that does nothing: the test moves the messages.
struct Still;

impl Driver for Still {
    fn wait(&self, is_ready: &dyn Fn() -> bool, _: Option<Instant>) -> bool {
        is_ready()
    }

    fn armed(&self, _: bool, _: bool) {}

    fn collected(&self, _: Ahead) {}

    fn never_waits(&self) {}

    fn flush(&self) {}

    fn abandoned(&self) {}

    fn why(&self) -> Why {
        Why::Left
    }
}

/// A session with its far end.
fn open<E: Open>() -> (E, FarEnd) {
    let far = Mutex::new(None);
    let end = E::open(|opened| {
        *far.lock().expect("nothing panics here") = Some(opened);
        Arc::new(Still)
    });
    let far = far.into_inner().expect("nothing panics here");
    (end, far.expect("`open` calls this"))
}

/// Sends a message with the payload that was received.
fn send(message: All, to: client::All) {
    macro_rules! same {
        ($($variant:ident($($value:ident),*) => $method:ident),*; $($named:ident { $field:ident },)*) => {
            match message {
                $(All::$variant($($value,)* next) => {
                    drop(next);
                    drop(to.$method($($value),*).expect("the far end is there"));
                })*
                $(All::$named { $field, next } => {
                    drop(next);
                    drop(to.$field($field).expect("the far end is there"));
                })*
                All::Over => to.over().expect("the far end is there"),
            }
        };
    }
    same! {
        None() => none,
        Bool(value) => bool,
        U8(value) => u8,
        U16(value) => u16,
        U32(value) => u32,
        U64(value) => u64,
        I8(value) => i8,
        I16(value) => i16,
        I32(value) => i32,
        I64(value) => i64,
        F32(value) => f32,
        F64(value) => f64,
        Str(value) => str,
        Bytes(value) => bytes,
        Record(value) => record,
        Tree(value) => tree,
        Colour(value) => colour,
        Shape(value) => shape,
        Many(one, two, three, four) => many;
        List { list },
        Lists { lists },
        Option { option },
        Options { options },
        Tuple { tuple },
        Empties { empties },
    }
}

const MESSAGES: [&str; 26] = [
    "none", "bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "str",
    "bytes", "list", "lists", "option", "options", "tuple", "empties", "record", "tree", "colour",
    "shape", "many", "over",
];

fn bytes(hex: &str) -> Vec<u8> {
    if hex == "-" { Vec::new() } else { unhex(hex) }
}

/// The frame of a message, as `docs/wire.md` specifies it.
fn frame(tag: usize, payload: &[u8], is_fixed: bool) -> Vec<u8> {
    let mut frame = Encoder::new();
    frame.count(tag as u64 + 1);
    if !is_fixed {
        frame.count(payload.len() as u64);
    }
    frame.put(payload);
    frame.bytes().to_vec()
}

#[test]
fn payloads_are_those_of_the_format() {
    let lines = include_str!("../../wire/payloads.txt");
    let lines = lines
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut count = 0;
    for line in lines {
        let [name, hex, verdict] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("not a line of the format: {line}");
        };
        let tag = MESSAGES.iter().position(|message| *message == name);
        let tag = tag.unwrap_or_else(|| panic!("an unknown message: {line}"));
        let payload = bytes(hex);
        let (end, mut far) = open::<server::All>();
        let (size, _) = far.size(tag).expect("the message exists");
        let arrived = far.arrive(tag, &payload, &[], 64 << 20, &mut 0);
        match (verdict, arrived) {
            ("yes", Ok(Arrival::Published(_))) => {}
            ("no", Err(_)) => {
                count += 1;
                continue;
            }
            (_, arrived) => panic!(
                "{line}: {}",
                if arrived.is_ok() {
                    "accepted"
                } else {
                    "refused"
                }
            ),
        }
        let message = end.recv().expect("it has arrived");
        let (to, mut far) = open::<client::All>();
        send(message, to);
        let mut written = Encoder::new();
        let (forwarded, ..) = far.forward(&mut written, usize::MAX, usize::MAX);
        assert_eq!(forwarded, Forwarded::Message, "{line}");
        let is_fixed = size.fixed().is_some();
        assert_eq!(written.bytes(), frame(tag, &payload, is_fixed), "{line}");
        assert!(
            size.fixed().is_none_or(|fixed| fixed == payload.len()),
            "{line}"
        );
        count += 1;
    }
    assert!(count > 80, "only {count} lines");
}

#[test]
fn memory_is_limited() {
    // A list of 65,535 empty values takes no bytes, so it counts one byte for each.
    let empties = MESSAGES.iter().position(|message| *message == "empties");
    let tag = empties.expect("it is among them");
    let (_end, mut far) = open::<server::All>();
    assert!(
        far.arrive(tag, &[0xff, 0xff, 0x03], &[], 65_534, &mut 0)
            .is_err()
    );
    let (_end, mut far) = open::<server::All>();
    assert!(
        far.arrive(tag, &[0xff, 0xff, 0x03], &[], 65_535, &mut 0)
            .is_ok()
    );
    let (_end, mut far) = open::<server::All>();
    assert!(
        far.arrive(tag, &[0x80, 0x80, 0x04], &[], usize::MAX, &mut 0)
            .is_err()
    );
}
