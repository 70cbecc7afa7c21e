//! A stream: values from one thread to another.

use super::{OURS, two};
use crate::harness::{Case, Family};
use crate::payload::{Block, Payload, Record};
use crate::peers::blocking::*;
use crate::protocols::stream::{Stream, init};

/// Numbers, small blocks, and a struct that owns a string.
pub fn families() -> Vec<Family> {
    vec![
        of::<u64>(),
        of::<Block<3>>(),
        of::<Block<7>>(),
        of::<Record>(),
    ]
}

fn of<P: Payload>() -> Family {
    let name = format!("stream, {}", P::NAME);
    Family::new(name, "message", P::sum)
        .case(batches::<P>())
        .case(ours::<P>())
        .case(channel::<Rtrb, P>())
        .case(channel::<Kanal, P>())
        .case(channel::<Crossbeam, P>())
        .case(channel::<StdSync, P>())
        .case(channel::<Std, P>())
        .case(channel::<Flume, P>())
        .case(channel::<Tokio, P>())
}

/// Many values at a time, in vectors that go back and forth: how fast memory can move between cores if no value has to be seen
/// before a thousand others follow.
fn batches<P: Payload>() -> Case {
    const BATCH: u64 = 1024;
    two("batches of 1024 (busy spin)", |count| {
        let (mut full, mut arriving) = <Rtrb as Channel<Vec<P>>>::channel(2);
        let (mut empty, mut returning) = <Rtrb as Channel<Vec<P>>>::channel(2);
        for _ in 0..2 {
            Rtrb::send(&mut empty, Vec::with_capacity(BATCH as usize));
        }
        let batches = count.div_ceil(BATCH);
        let sender = move || {
            for batch in 0..batches {
                let numbers = batch * BATCH..count.min((batch + 1) * BATCH);
                let mut values = Rtrb::recv(&mut returning);
                values.extend(numbers.map(P::make));
                Rtrb::send(&mut full, values);
            }
            0
        };
        let receiver = move || {
            (0..batches).fold(0_u64, |mut sum, _| {
                let mut values = Rtrb::recv(&mut arriving);
                for value in values.drain(..) {
                    sum = sum.wrapping_add(value.read());
                }
                Rtrb::send(&mut empty, values);
                sum
            })
        };
        (sender, receiver)
    })
}

fn ours<P: Payload>() -> Case {
    two(OURS, |count| {
        let (server, client) = init::<P>();
        let sender = move || {
            let mut client = client;
            for n in 0..count {
                client = client.send(P::make(n)).expect("the server reads all");
            }
            0
        };
        let receiver = move || {
            let (mut server, mut sum) = (server, 0_u64);
            while let Ok(Stream::Send(value, next)) = server.recv() {
                sum = sum.wrapping_add(value.read());
                server = next;
            }
            sum
        };
        (sender, receiver)
    })
}

fn channel<C: Channel<P>, P: Payload>() -> Case {
    two(C::NAME, |count| {
        let (mut tx, mut rx) = C::channel(SLOTS);
        let sender = move || {
            for n in 0..count {
                C::send(&mut tx, P::make(n));
            }
            0
        };
        let receiver =
            move || (0..count).fold(0_u64, |sum, _| sum.wrapping_add(C::recv(&mut rx).read()));
        (sender, receiver)
    })
}
