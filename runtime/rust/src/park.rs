//! Blocking a thread until an endpoint is ready.
//!
//! To sleep and be woken costs some microseconds where the processor stays awake and tens where it halts, while a peer
//! that runs answers in a tenth of one. So a thread looks for a while before it sleeps: for about as long as sleeping
//! would cost, and less after each time that it looked in vain. If the peer last ran on this thread's own processor it
//! cannot run while this one looks, so this one does not look but gives way.

use std::cell::Cell;
use std::time::Instant;

use crate::give_way::give_way;
use crate::processor;
use crate::sync::{current, park, park_timeout, spin_loop};
use crate::wait::Waiter;
use crate::watched::Watched;

/// How often to look, at least and at most. A `spin_loop` takes 3 to 15 ns, so the most is about what sleeping costs.
const LEAST: u32 = 32;
const MOST: u32 = 2_000;

/// How often to let other threads run before sleeping, at most.
const YIELDS: u32 = 4;

thread_local! {
    /// How often this thread looks before it sleeps.
    static BUDGET: Cell<u32> = const { Cell::new(MOST / 4) };
}

/// Waits until the watched endpoint is ready, or until the deadline. Says whether it is ready.
pub(crate) fn until(watched: Watched<'_>, deadline: Option<Instant>) -> bool {
    if watched.is_ready() || cfg!(not(loom)) && looks(watched) {
        return true;
    }
    if !watched.arm(Waiter::Thread(current())) {
        return true;
    }
    while !watched.is_ready() {
        let Some(deadline) = deadline else {
            park();
            continue;
        };
        let now = Instant::now();
        if now >= deadline {
            watched.disarm();
            return watched.is_ready();
        }
        park_timeout(deadline - now);
    }
    true
}

/// Looks for a while whether the endpoint becomes ready.
fn looks(watched: Watched<'_>) -> bool {
    let peer = watched.processor_of_peer();
    let budget = BUDGET.try_with(Cell::get).unwrap_or(LEAST);
    if peer == 0 || peer != processor::stamp() {
        for looked in 0..budget {
            spin_loop();
            if watched.is_ready() {
                // What took long may take as long again.
                learn(budget.max(2 * looked).min(MOST));
                return true;
            }
        }
        learn((budget - budget / 8).max(LEAST));
    }
    for _ in 0..YIELDS {
        if !give_way() {
            break;
        }
        if watched.is_ready() {
            return true;
        }
    }
    false
}

fn learn(budget: u32) {
    // A thread that is ending learns no more.
    let _ = BUDGET.try_with(|learnt| learnt.set(budget));
}
