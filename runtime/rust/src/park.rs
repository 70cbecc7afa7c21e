//! Blocking a thread until an endpoint is ready.

use std::time::Instant;

use crate::sync::{current, park, spin_loop};
use crate::wait::Waiter;
use crate::watched::Watched;

/// How often to look before going to sleep: about the time in which a peer that is running answers.
const SPINS: u32 = if cfg!(loom) { 0 } else { 100 };

/// Waits until the watched endpoint is ready, or until the deadline. Says whether it is ready.
pub(crate) fn until(watched: Watched<'_>, deadline: Option<Instant>) -> bool {
    for _ in 0..SPINS {
        if watched.is_ready() {
            return true;
        }
        spin_loop();
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

#[cfg(not(loom))]
pub(crate) fn park_timeout(patience: std::time::Duration) {
    std::thread::park_timeout(patience);
}

/// loom has no clock: time stands still, so that a timeout is explored as a sequence of early looks.
#[cfg(loom)]
pub(crate) fn park_timeout(_patience: std::time::Duration) {
    loom::thread::yield_now();
}
