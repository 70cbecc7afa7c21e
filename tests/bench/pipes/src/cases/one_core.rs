//! Ping-pong with fewer cores than threads: a side that spins uses up time that the other side needs.

use super::ping_pong::{Sides, channels, session};
use super::{LEFT, OURS};
use crate::harness::{Case, Family, Job, Place};
use crate::payload::Payload;
use crate::peers::blocking::*;
use crate::peers::raw::Line;
use std::sync::Arc;
use std::thread::yield_now;

/// One pair on one core, and four pairs on two.
pub fn families() -> Vec<Family> {
    let one = Family::new("ping-pong on one core, u64", "round trip", u64::sum)
        .slices(5, 1)
        .steady()
        .case(pairs("sched_yield hand-over", 1, LEFT, hand_over))
        .case(pairs(OURS, 1, LEFT, session::<u64>));
    let four = Family::new("four pairs on two cores, u64", "round trip", |count| {
        u64::sum(count).wrapping_mul(4)
    })
    .units(4)
    .slices(50, 4)
    .case(pairs(
        "sched_yield hand-over",
        4,
        Place::Anywhere,
        hand_over,
    ))
    .case(pairs(OURS, 4, Place::Anywhere, session::<u64>));
    vec![peers(one, 1, LEFT), peers(four, 4, Place::Anywhere)]
}

fn peers(family: Family, number: usize, place: Place) -> Family {
    fn of<C: Channel<u64>>(number: usize, place: Place) -> Case {
        pairs(C::NAME, number, place, |count| channels::<C, u64>(1, count))
    }
    family
        .case(of::<Kanal>(number, place))
        .case(of::<Crossbeam>(number, place))
        .case(of::<StdSync>(number, place))
        .case(of::<Std>(number, place))
        .case(of::<Flume>(number, place))
        .case(of::<Tokio>(number, place))
}

/// `number` pairs at once.
fn pairs(name: &str, number: usize, place: Place, sides: fn(u64) -> Sides) -> Case {
    Case::new(name, move |count| {
        let pairs = (0..number).map(|_| sides(count));
        let jobs = pairs.flat_map(|(left, right)| [left, right].map(|side| Job::new(place, side)));
        jobs.collect()
    })
}

/// Two threads that yield the core whenever it is not their turn.
fn hand_over(count: u64) -> Sides {
    let line = Arc::new(Line::default());
    let other = line.clone();
    let caller = move || {
        (0..count).fold(0_u64, |sum, n| {
            line.hand_over(2 * n + 1, n);
            sum.wrapping_add(line.take_with(2 * n + 2, yield_now))
        })
    };
    let answerer = move || {
        for n in 0..count {
            let value = other.take_with(2 * n + 1, yield_now);
            other.hand_over(2 * n + 2, value);
        }
        0
    };
    (Box::new(caller), Box::new(answerer))
}
