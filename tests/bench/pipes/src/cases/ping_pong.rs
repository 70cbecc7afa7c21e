//! Ping-pong: a value is sent and returned.

use super::{OURS, two};
use crate::harness::{Case, Family};
use crate::payload::Payload;
use crate::payload::Record;
use crate::peers::blocking::*;
use crate::peers::raw::Line;
use crate::protocols::ping_pong::{Ping, Pong, init};
use std::sync::Arc;

/// What the two threads do.
pub type Sides = (
    Box<dyn FnOnce() -> u64 + Send>,
    Box<dyn FnOnce() -> u64 + Send>,
);

/// The name of the limit: one cache line that goes there and back.
pub const LIMIT: &str = "raw line (busy spin)";

/// With a number, and with a struct that owns a string. The limit is the same for both.
pub fn families() -> Vec<Family> {
    vec![of::<u64>(), of::<Record>()]
}

fn of<P: Payload>() -> Family {
    let name = format!("ping-pong, {}", P::NAME);
    Family::new(name, "round trip", P::sum)
        .case(raw::<P>())
        .case(two(OURS, session::<P>))
        .case(channel::<Rtrb, P>(2))
        .case(channel::<Kanal, P>(1))
        .case(channel::<Crossbeam, P>(1))
        .case(channel::<StdSync, P>(1))
        .case(channel::<Std, P>(1))
        .case(channel::<Flume, P>(1))
        .case(channel::<Tokio, P>(1))
}

/// Numbers go there and back; the caller makes and reads the values, so that the sums agree.
fn raw<P: Payload>() -> Case {
    two(LIMIT, |count| {
        let line = Arc::new(Line::default());
        let other = line.clone();
        let caller = move || {
            (0..count).fold(0_u64, |sum, n| {
                line.hand_over(2 * n + 1, n);
                sum.wrapping_add(P::make(line.take(2 * n + 2)).read())
            })
        };
        let answerer = move || {
            for n in 0..count {
                let value = other.take(2 * n + 1);
                other.hand_over(2 * n + 2, value);
            }
            0
        };
        (caller, answerer)
    })
}

/// Both sides of a session, for `count` round trips.
pub fn session<P: Payload>(count: u64) -> Sides {
    let (server, client) = init::<P>();
    let caller = move || {
        let (mut client, mut sum) = (client, 0_u64);
        for n in 0..count {
            let waiting = client.ping(P::make(n)).expect("the server answers");
            let Pong::Pong(value, next) = waiting.recv().expect("the server answers");
            sum = sum.wrapping_add(value.read());
            client = next;
        }
        sum
    };
    let answerer = move || {
        let mut server = server;
        while let Ok(Ping::Ping(value, answer)) = server.recv() {
            match answer.pong(value) {
                Ok(next) => server = next,
                Err(_) => break,
            }
        }
        0
    };
    (Box::new(caller), Box::new(answerer))
}

/// Both sides of a pair of channels.
pub fn channels<C: Channel<P>, P: Payload>(capacity: usize, count: u64) -> Sides {
    let (mut there, mut arriving) = C::channel(capacity);
    let (mut back, mut returning) = C::channel(capacity);
    let caller = move || {
        (0..count).fold(0_u64, |sum, n| {
            C::send(&mut there, P::make(n));
            sum.wrapping_add(C::recv(&mut returning).read())
        })
    };
    let answerer = move || {
        for _ in 0..count {
            let value = C::recv(&mut arriving);
            C::send(&mut back, value);
        }
        0
    };
    (Box::new(caller), Box::new(answerer))
}

fn channel<C: Channel<P>, P: Payload>(capacity: usize) -> Case {
    two(C::NAME, move |count| channels::<C, P>(capacity, count))
}
