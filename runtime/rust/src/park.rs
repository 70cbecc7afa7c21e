//! Blocking a thread until an endpoint is ready.
//!
//! To sleep and be woken costs some microseconds where the processor stays awake and tens where it halts, while a peer
//! that runs answers in a tenth of one. So a thread looks for a while before it sleeps: for about as long as sleeping
//! would cost, and less after each time that it looked in vain. If the peer last ran on this thread's own processor it
//! cannot run while this one looks, so this one does not look but gives way.

use std::cell::Cell;
use std::time::Instant;

use crate::give_way::give_way;
use crate::pipe::{Found, Pipe};
use crate::processor;
use crate::sync::{current, park, park_timeout, spin_loop};
use crate::wait::Waiter;
use crate::watched::Watched;

/// How often to look, at least and at most. A `spin_loop` takes 3 to 15 ns, so the most is about what sleeping costs.
const LEAST: u32 = 32;
const MOST: u32 = 2_000;

/// How often to let other threads run before sleeping, at most.
const YIELDS: u32 = 4;

/// One of so many waits in vain looks for the longest time: two threads that have learnt to sleep wait for each other to wake, which
/// takes longer than they look, and would never learn better.
const PROBE: u32 = 32;

/// What a thread has learnt.
#[derive(Clone, Copy)]
struct Learnt {
    /// How often to look before it sleeps.
    looks: u32,
    /// How often it looked in vain since it last did not.
    vain: u32,
}

thread_local! {
    static LEARNT: Cell<Learnt> = const { Cell::new(Learnt { looks: MOST / 4, vain: 0 }) };
}

/// Waits until the watched endpoint is ready, or until the deadline. Says whether it is ready.
pub(crate) fn until(watched: Watched<'_>, deadline: Option<Instant>) -> bool {
    let look = || watched.is_ready().then_some(());
    look().is_some() || looks(watched, look).is_some() || sleep(watched, deadline)
}

/// Waits for the next message, and gives the word that has it; `None` if there will be none.
///
/// As [`until`], but what is found need not be looked for once more: the peer waits for what this side does with it.
#[cold]
#[inline(never)]
pub(crate) fn for_message(pipe: Pipe) -> Option<u64> {
    let layout = pipe.layout();
    let look = || match pipe.find_in(layout) {
        Found::Nothing(_) if !pipe.peer_may_be_gone() => None,
        Found::Nothing(_) => match pipe.find() {
            Found::Nothing(_) => None,
            found @ (Found::Message(_) | Found::Closed) => Some(found),
        },
        found @ (Found::Message(_) | Found::Closed) => Some(found),
    };
    let watched = Watched::for_message(&pipe);
    loop {
        match look().or_else(|| looks(watched, look)) {
            Some(Found::Message(word)) => return Some(word),
            Some(_) => return None,
            None => sleep(watched, None),
        };
    }
}

/// Sleeps until the watched endpoint is ready, or until the deadline. Says whether it is ready.
fn sleep(watched: Watched<'_>, deadline: Option<Instant>) -> bool {
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

/// Looks for a while whether something is found.
#[inline]
fn looks<T>(watched: Watched<'_>, look: impl Fn() -> Option<T>) -> Option<T> {
    if cfg!(loom) {
        return None;
    }
    let peer = watched.processor_of_peer();
    if peer == 0 || peer != processor::stamp() {
        let Learnt { looks, vain } = learnt();
        let most = if vain % PROBE == PROBE - 1 {
            MOST
        } else {
            looks
        };
        for looked in 0..most {
            spin_loop();
            if let Some(found) = look() {
                if vain > 0 || 2 * looked > looks {
                    // What took long may take as long again.
                    let looks = looks.max(2 * looked).min(MOST);
                    learn(Learnt { looks, vain: 0 });
                }
                return Some(found);
            }
        }
        learn(Learnt {
            looks: (looks - looks / 8).max(LEAST),
            vain: vain.wrapping_add(1),
        });
    }
    for _ in 0..YIELDS {
        if !give_way() {
            break;
        }
        if let Some(found) = look() {
            return Some(found);
        }
    }
    None
}

/// A thread that is ending has learnt little, and learns no more.
fn learnt() -> Learnt {
    let little = Learnt {
        looks: LEAST,
        vain: 0,
    };
    LEARNT.try_with(Cell::get).unwrap_or(little)
}

#[inline(never)]
fn learn(now: Learnt) {
    let _ = LEARNT.try_with(|learnt| learnt.set(now));
}
