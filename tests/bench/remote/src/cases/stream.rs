//! Numbers in one direction, between two threads. At the end of a slice the receiver answers with their sum, so what is measured
//! ends when all have arrived.

use super::{OURS, WITHIN, frame, number};
use crate::harness::{Bar, Case, Clock, Family, triangle, two};
use crate::machine::{Cost, Start};
use crate::protocols::own::numbers::{self, Adding, Result as Sum};
use crate::sessions::{OPEN, open};
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::net::UnixStream;

/// How much is collected before it is written, and how much is read at once.
const BUFFER: usize = 64 << 10;
const FRAME: usize = 9;
/// Tags.
const NUMBER: u8 = 1;
const ALL: u8 = 2;
/// How many numbers precede a slice, in the same session.
const WARM_UP: u64 = 20_000;

const LIMIT: &str = "buffers of 64 KiB by hand";

/// The limit is a loop that puts frames into a buffer and takes them out of another.
pub fn family() -> Family {
    Family {
        name: "stream, f64",
        unit: "number",
        cases: vec![
            Case::new(LIMIT, by_hand),
            Case::new(OURS, |count| ours(count, open())),
            Case::new("BufWriter and BufReader, 64 KiB", by_std),
            Case::new(WITHIN, |count| {
                let (server, client) = numbers::init();
                ours(count, (client, server))
            }),
        ],
        bars: vec![Bar(LIMIT, 2.0)],
        clock: Clock::Wall,
    }
}

/// Measures one run of numbers: `send` sends this many and returns the sum that the receiver answers with.
fn measured<E>(mut end: E, count: u64, mut send: impl FnMut(E, u64) -> (E, f64)) -> Cost {
    (end, _) = send(end, WARM_UP.min(count * 10));
    let start = Start::now();
    let (end, sum) = send(end, count);
    let cost = start.cost(count);
    drop(end);
    assert_eq!(sum, triangle(count), "every number arrives");
    cost
}

fn by_hand(count: u64) -> Cost {
    let (left, right) = UnixStream::pair().expect("the system has sockets");
    let sending = move || {
        let mut out = Vec::with_capacity(BUFFER);
        measured(left, count, |mut left, count| {
            for value in 0..count {
                if out.len() + FRAME > BUFFER {
                    left.write_all(&out).expect(OPEN);
                    out.clear();
                }
                out.extend_from_slice(&frame(NUMBER, value as f64));
            }
            out.extend_from_slice(&frame(ALL, 0.0));
            left.write_all(&out).expect(OPEN);
            out.clear();
            let sum = answer(&mut left);
            (left, sum)
        })
    };
    two(sending, move || add_by_hand(right))
}

/// Adds up what arrives until the sender disconnects.
fn add_by_hand(mut right: UnixStream) {
    let mut input = vec![0; BUFFER];
    let (mut end, mut sum) = (0, 0.0);
    loop {
        match right.read(&mut input[end..]).expect(OPEN) {
            0 => return,
            read => end += read,
        }
        let mut frames = input[..end].chunks_exact(FRAME);
        for frame in &mut frames {
            match number(NUMBER, frame) {
                Some(value) => sum += value,
                None => {
                    right.write_all(&answer_of(frame, sum)).expect(OPEN);
                    sum = 0.0;
                }
            }
        }
        let rest = frames.remainder().len();
        input.copy_within(end - rest..end, 0);
        end = rest;
    }
}

fn by_std(count: u64) -> Cost {
    let (left, mut right) = UnixStream::pair().expect("the system has sockets");
    let sending = move || {
        let left = BufWriter::with_capacity(BUFFER, left);
        measured(left, count, |mut left, count| {
            for value in 0..count {
                left.write_all(&frame(NUMBER, value as f64)).expect(OPEN);
            }
            left.write_all(&frame(ALL, 0.0)).expect(OPEN);
            left.flush().expect(OPEN);
            let sum = answer(left.get_mut());
            (left, sum)
        })
    };
    let adding = move || {
        let input = right.try_clone().expect("there are descriptors");
        let mut input = BufReader::with_capacity(BUFFER, input);
        let (mut frame, mut sum) = ([0; FRAME], 0.0);
        while input.read_exact(&mut frame).is_ok() {
            match number(NUMBER, &frame) {
                Some(value) => sum += value,
                None => {
                    right.write_all(&answer_of(&frame, sum)).expect(OPEN);
                    sum = 0.0;
                }
            }
        }
    };
    two(sending, adding)
}

/// Reads the sum.
fn answer(left: &mut UnixStream) -> f64 {
    let mut answer = [0; FRAME];
    left.read_exact(&mut answer).expect(OPEN);
    number(NUMBER, &answer).expect("the answer is a number")
}

/// The answer to this frame, which is not a number.
fn answer_of(asking: &[u8], sum: f64) -> [u8; FRAME] {
    assert_eq!(asking[0], ALL, "only this may follow numbers");
    frame(NUMBER, sum)
}

pub(super) fn ours(
    count: u64,
    (client, server): (numbers::client::Adding, numbers::server::Adding),
) -> Cost {
    let sending = move || {
        measured(client, count, |mut client, count| {
            for value in 0..count {
                client = client.number(value as f64).expect(OPEN);
            }
            let Sum::Sum(sum, client) = client.all().expect(OPEN).recv().expect(OPEN);
            (client, sum)
        })
    };
    two(sending, move || add(server))
}

/// Adds up what arrives until the sender disconnects.
fn add(mut server: numbers::server::Adding) {
    let mut sum = 0.0;
    while let Ok(message) = server.recv() {
        server = match message {
            Adding::Number(value, next) => {
                sum += value;
                next
            }
            Adding::All(asking) => asking.sum(std::mem::take(&mut sum)).expect(OPEN),
        };
    }
}
