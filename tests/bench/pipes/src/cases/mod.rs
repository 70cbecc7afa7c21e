//! The cases, one family per file.

mod bank;
mod bank_tasks;
mod bank_threads;
mod bank_words;
mod big_bang;
mod fan_in;
mod one_core;
mod parallel_map;
mod ping_pong;
mod port_set;
pub mod ring_tasks;
mod ring_threads;
mod rumpsteak_bank;
mod run_of_three;
mod search;
mod stream;
mod text;
mod words;

use crate::harness::{Case, Family, Job, Place};
use std::sync::LazyLock;

/// All families, in the order of the tables.
pub fn families() -> Vec<Family> {
    [
        ping_pong::families(),
        run_of_three::families(),
        stream::families(),
        bank::families(),
        bank_tasks::families(),
        bank_threads::families(),
        ring_tasks::families(),
        ring_threads::families(),
        fan_in::families(),
        port_set::families(),
        one_core::families(),
        parallel_map::families(),
        text::families(),
        words::families(),
        ring_tasks::thread_rings(),
        big_bang::families(),
        search::families(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The cases of an origin, whose numbers of senders, actors or tasks another program chooses.
pub fn of_origin(name: &str, size: u64) -> Vec<Case> {
    match name {
        "msgsend" => fan_in::msgsend(size),
        "bang" => big_bang::of_mailboxes(size),
        "ring" => ring_tasks::with_one_token(size),
        _ => panic!("there is no origin {name}"),
    }
}

/// The name of our own case in every family.
pub const OURS: &str = "duologue";

/// rayon's threads.
static TWO_THREADS: LazyLock<rayon::ThreadPool> = LazyLock::new(|| {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    pool.expect("threads can be started")
});

/// The two cores of everything that needs two.
pub const LEFT: Place = Place::Core(0);
const RIGHT: Place = Place::Core(1);

/// A case of two threads; `make` makes the work of both.
fn two<L, R>(name: impl Into<String>, make: impl Fn(u64) -> (L, R) + 'static) -> Case
where
    L: FnOnce() -> u64 + Send + 'static,
    R: FnOnce() -> u64 + Send + 'static,
{
    Case::new(name, move |operations| {
        let (left, right) = make(operations);
        vec![Job::new(LEFT, left), Job::new(RIGHT, right)]
    })
}

/// A case of one thread.
fn alone(name: impl Into<String>, work: impl Fn(u64) -> u64 + Clone + Send + 'static) -> Case {
    Case::new(name, move |operations| {
        let work = work.clone();
        vec![Job::new(LEFT, move || work(operations))]
    })
}
