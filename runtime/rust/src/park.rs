//! Blocking a thread until an endpoint is ready.
//!
//! Sleeping and being woken costs a few microseconds if the processor stays awake and tens of microseconds if it halts,
//! while a peer that is running answers in a tenth of a microsecond. So a thread spins for a while before it sleeps:
//! for about as long as sleeping would cost, for less after each spin that was not successful, and from time to time
//! for the full budget. If the peer last ran on this thread's own processor, it cannot run while this thread spins, so
//! this thread yields instead.

use std::cell::Cell;
use std::time::Instant;

use crate::give_way::give_way;
use crate::pipe::{Found, Pipe};
use crate::processor;
use crate::relook::{self, Pause};
use crate::sync::{current, spin_loop};
use crate::wait::Waiter;
use crate::watched::{Armed, Watched};

/// How many iterations to spin, at least and at most. A `spin_loop` takes 3 to 25 ns, so the most is about what
/// sleeping costs.
const LEAST: u32 = 32;
const MOST: u32 = 2_000;

/// How often to yield before sleeping, at most.
const YIELDS: u32 = 4;

/// Every `PROBE`-th failed wait spins for the full budget. Otherwise, two threads that have learnt to sleep would never
/// learn to spin again: each waits for the other to wake, which takes longer than it spins.
const PROBE: u32 = 32;

/// What a thread has learnt from its waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Learnt {
    /// How many iterations to spin before it sleeps.
    looks: u32,
    /// How many waits in a row have spun without success.
    vain: u32,
}

impl Learnt {
    const NOTHING: Learnt = Learnt {
        looks: MOST / 4,
        vain: 0,
    };

    /// How many iterations to spin this time.
    fn budget(self) -> u32 {
        if self.vain % PROBE == PROBE - 1 {
            MOST
        } else {
            self.looks
        }
    }

    /// After this many iterations without success, and then one with success. What took long may take as long again.
    fn after(self, looks: u32) -> Learnt {
        Learnt {
            looks: self.looks.max(2 * looks).min(MOST),
            vain: 0,
        }
    }

    /// After spinning through the whole budget without success.
    fn after_sleep(self) -> Learnt {
        Learnt {
            looks: (self.looks - self.looks / 8).max(LEAST),
            vain: self.vain.wrapping_add(1),
        }
    }
}

thread_local! {
    static LEARNT: Cell<Learnt> = const { Cell::new(Learnt::NOTHING) };
}

/// Waits until the watched endpoint is ready, or until the deadline. Returns whether it is ready.
pub(crate) fn until(watched: Watched<'_>, deadline: Option<Instant>) -> bool {
    let look = || watched.is_ready().then_some(());
    look().is_some() || looks(watched, look).is_some() || sleep(watched, deadline)
}

/// Waits for the next message, and returns the word that has it; `None` if there will be none.
///
/// Like [`until`], but what is found does not have to be read once more: the peer is waiting for what this side does
/// with it.
#[cold]
#[inline(never)]
pub(crate) fn for_message(pipe: Pipe) -> Option<u64> {
    let layout = pipe.layout();
    let look = || match pipe.find_in(layout) {
        Found::Nothing(_) if !pipe.forgets() || !pipe.peer_may_be_gone() => None,
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

/// Sleeps until the watched endpoint is ready, or until the deadline. Returns whether it is ready.
fn sleep(watched: Watched<'_>, deadline: Option<Instant>) -> bool {
    let mut pause = match watched.arm(Waiter::Thread(current())) {
        Armed::No => return true,
        Armed::Surely => None,
        Armed::Perhaps => Some(Pause::default()),
    };
    while !watched.is_ready() {
        if !relook::sleep(deadline, &mut pause) {
            drop(watched.disarm());
            return watched.is_ready();
        }
    }
    true
}

/// Spins and then yields for a while, until something is found.
#[inline]
fn looks<T>(watched: Watched<'_>, look: impl Fn() -> Option<T>) -> Option<T> {
    if cfg!(duologue_loom) {
        return None;
    }
    let peer = watched.processor_of_peer();
    if peer == 0 || peer != processor::stamp() {
        // A thread that is exiting has lost what it has learnt, and learns nothing more.
        let learnt = LEARNT.try_with(Cell::get).unwrap_or(Learnt::NOTHING);
        for looked in 0..learnt.budget() {
            spin_loop();
            if let Some(found) = look() {
                learn(learnt, learnt.after(looked));
                return Some(found);
            }
        }
        learn(learnt, learnt.after_sleep());
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

fn learn(before: Learnt, now: Learnt) {
    if now != before {
        let _ = LEARNT.try_with(|learnt| learnt.set(now));
    }
}

#[cfg(all(test, not(duologue_loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_looks_in_vain_looks_less_and_now_and_then_the_longest() {
        let mut learnt = Learnt::NOTHING;
        let budgets = [(); 96].map(|()| {
            let budget = learnt.budget();
            learnt = learnt.after_sleep();
            budget
        });
        let longest: Vec<usize> = (0..96).filter(|at| budgets[*at] == MOST).collect();
        assert_eq!(longest, [31, 63, 95]);
        assert!(budgets[..31].is_sorted_by(|one, next| one >= next));
        assert_eq!(budgets[94], LEAST);
    }

    #[test]
    fn who_finds_something_late_looks_longer() {
        let mut learnt = Learnt::NOTHING;
        for _ in 0..95 {
            learnt = learnt.after_sleep();
        }
        assert_eq!(learnt.budget(), MOST);
        learnt = learnt.after(600);
        assert_eq!((learnt.budget(), learnt.after(3)), (1_200, learnt));
        assert_eq!(learnt.after(MOST).budget(), MOST);
    }
}
