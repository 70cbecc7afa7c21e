//! Three messages in a row and one in reply.

use super::ping_pong::LIMIT;
use super::{OURS, two};
use crate::harness::{Case, Family};
use crate::payload::triangle;
use crate::peers::blocking::*;
use crate::peers::raw::Line;
use crate::protocols::run_of_three::{First, Reply, Second, Third, init};
use std::sync::Arc;

/// With numbers.
pub fn families() -> Vec<Family> {
    let sum = |count: u64| {
        triangle(count)
            .wrapping_mul(6)
            .wrapping_add(count.wrapping_mul(6))
    };
    vec![
        Family::new("run of three and a reply, u64", "dialogue", sum)
            .case(raw())
            .case(ours())
            .case(channel::<Rtrb>())
            .case(channel::<Kanal>())
            .case(channel::<Crossbeam>())
            .case(channel::<StdSync>())
            .case(channel::<Std>())
            .case(channel::<Flume>()),
    ]
}

/// The three numbers of a dialogue; the reply is their sum.
fn three(n: u64) -> [u64; 3] {
    [n, n + 1, n + 2]
}

/// One line there and one back, as in ping-pong: nothing that carries three messages can take less time.
fn raw() -> Case {
    two(LIMIT, |count| {
        let line = Arc::new(Line::default());
        let other = line.clone();
        let caller = move || {
            (0..count).fold(0_u64, |sum, n| {
                let numbers = three(n);
                line.hand_over(2 * n + 1, numbers.iter().sum());
                sum.wrapping_add(line.take(2 * n + 2))
            })
        };
        let answerer = move || {
            (0..count).fold(0_u64, |sum, n| {
                let value = other.take(2 * n + 1);
                other.hand_over(2 * n + 2, value);
                sum.wrapping_add(value)
            })
        };
        (caller, answerer)
    })
}

fn ours() -> Case {
    two(OURS, |count| {
        let (server, client) = init::<u64>();
        let caller = move || {
            let (mut client, mut sum) = (client, 0_u64);
            for n in 0..count {
                let [first, second, third] = three(n);
                let client_2 = client.first(first).expect("the server answers");
                let client_3 = client_2.second(second).expect("the server answers");
                let waiting = client_3.third(third).expect("the server answers");
                let Reply::Reply(value, next) = waiting.recv().expect("the server answers");
                sum = sum.wrapping_add(value);
                client = next;
            }
            sum
        };
        let answerer = move || {
            let (mut server, mut sum) = (server, 0_u64);
            while let Ok(First::First(first, next)) = server.recv() {
                let Second::Second(second, next) = next.recv().expect("all three come");
                let Third::Third(third, answer) = next.recv().expect("all three come");
                let value = first + second + third;
                sum = sum.wrapping_add(value);
                server = answer.reply(value).expect("the client waits");
            }
            sum
        };
        (caller, answerer)
    })
}

fn channel<C: Channel<u64>>() -> Case {
    two(C::NAME, |count| {
        let (mut there, mut arriving) = C::channel(4);
        let (mut back, mut returning) = C::channel(2);
        let caller = move || {
            (0..count).fold(0_u64, |sum, n| {
                for number in three(n) {
                    C::send(&mut there, number);
                }
                sum.wrapping_add(C::recv(&mut returning))
            })
        };
        let answerer = move || {
            (0..count).fold(0_u64, |sum, _| {
                let value = (0..3).map(|_| C::recv(&mut arriving)).sum::<u64>();
                C::send(&mut back, value);
                sum.wrapping_add(value)
            })
        };
        (caller, answerer)
    })
}
