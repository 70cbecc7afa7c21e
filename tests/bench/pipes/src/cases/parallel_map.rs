//! A parallel map: a vector in pieces, a future for each piece, and two threads that work on the pieces while the third waits for
//! the futures in order. Short pieces cost less than a future, long pieces much more.

use super::{OURS, TWO_THREADS};
use crate::harness::{Case, Family, Job, Place};
use crate::payload::triangle;
use crate::peers::blocking::{Channel, Crossbeam, Flume, Kanal, Std, StdSync};
use crate::protocols::future::{Waiting, init};
use std::sync::Arc;

/// How many pieces a vector has, and how many numbers a piece has.
const PIECES: u64 = 64;
const SHORT: u64 = 256;
const LONG: u64 = 64 * SHORT;

/// One operation maps one vector.
pub fn families() -> Vec<Family> {
    vec![
        of::<SHORT>("parallel map"),
        of::<LONG>("parallel map, long pieces"),
    ]
}

fn of<const LENGTH: u64>(name: &str) -> Family {
    let all = |count: u64| triangle(count).wrapping_mul(PIECES * LENGTH);
    // Without the number of the vector, which is added to each.
    let mixed = (0..PIECES * LENGTH).fold(0_u64, |sum, value| sum.wrapping_add(mix(value)));
    let sum = move |count: u64| all(count).wrapping_add(count.wrapping_mul(mixed));
    Family::new(name, "piece", sum)
        .units(PIECES)
        .slices(20, 4)
        .case(inline::<LENGTH>())
        .case(map::<LENGTH, _, _>(
            OURS,
            init::<u64>,
            |server, value| drop(server.completed(value)),
            |client| match client.recv().expect("every piece is done") {
                Waiting::Completed(value) => value,
            },
        ))
        .case(rayon::<LENGTH>())
        .case(channel::<LENGTH, Kanal>())
        .case(channel::<LENGTH, Crossbeam>())
        .case(channel::<LENGTH, StdSync>())
        .case(channel::<LENGTH, Std>())
        .case(channel::<LENGTH, Flume>())
}

/// A little work for a number.
fn mix(value: u64) -> u64 {
    (value ^ (value >> 7)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The work on one piece of one vector.
fn piece<const LENGTH: u64>(vector: u64, piece: u64) -> u64 {
    let numbers = piece * LENGTH..(piece + 1) * LENGTH;
    numbers.fold(0, |sum, value| {
        sum.wrapping_add(mix(value)).wrapping_add(vector)
    })
}

/// The caller does everything itself: on two cores, half of this time would be ideal.
fn inline<const LENGTH: u64>() -> Case {
    Case::new("one thread, no futures", |count| {
        vec![Job::new(Place::Anywhere, move || {
            let pieces = (0..count)
                .flat_map(|vector| (0..PIECES).map(move |at| piece::<LENGTH>(vector, at)));
            pieces.fold(0, u64::wrapping_add)
        })]
    })
}

/// rayon divides the pieces of each vector among its two threads.
fn rayon<const LENGTH: u64>() -> Case {
    use rayon::prelude::*;
    Case::new("rayon", |count| {
        vec![Job::new(Place::Anywhere, move || {
            TWO_THREADS.install(|| {
                (0..count).fold(0, |sum, vector| {
                    let pieces = (0..PIECES).into_par_iter();
                    let mapped = pieces.map(|at| piece::<LENGTH>(vector, at));
                    mapped.reduce(|| 0, u64::wrapping_add).wrapping_add(sum)
                })
            })
        })]
    })
}

fn channel<const LENGTH: u64, C: Channel<u64>>() -> Case {
    map::<LENGTH, _, _>(
        C::NAME,
        || C::channel(1),
        |mut tx, value| C::send(&mut tx, value),
        |mut rx| C::recv(&mut rx),
    )
}

/// The pieces go to whichever thread is free, over the same queue in every case.
fn map<const LENGTH: u64, T: Send + 'static, R: 'static>(
    name: &str,
    open: fn() -> (T, R),
    complete: fn(T, u64),
    wait: fn(R) -> u64,
) -> Case {
    Case::new(name, move |count| {
        let (queue, work) = crossbeam_channel::unbounded::<(u64, u64, T)>();
        let work = Arc::new(work);
        let worker = || {
            let work = work.clone();
            Job::new(Place::Anywhere, move || {
                while let Ok((vector, at, promise)) = work.recv() {
                    complete(promise, piece::<LENGTH>(vector, at));
                }
                0
            })
        };
        let mut jobs = vec![worker(), worker()];
        jobs.push(Job::new(Place::Anywhere, move || {
            let mut sum = 0_u64;
            for vector in 0..count {
                let spawn = |at| {
                    let (promise, future) = open();
                    let sent = queue.send((vector, at, promise));
                    assert!(sent.is_ok(), "the workers stay");
                    future
                };
                let futures: Vec<R> = (0..PIECES).map(spawn).collect();
                sum = futures.into_iter().map(wait).fold(sum, u64::wrapping_add);
            }
            sum
        }));
        jobs
    })
}
