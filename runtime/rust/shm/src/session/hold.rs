//! Holds back a side that does not wait where it sends, while the region has no free lines for what it has sent before.
//!
//! The thread that holds `core` notes whether something could not be written, and releases the side when it could. Only the
//! side's own thread holds it back, when it has sent a message: a side that was ready remains ready.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::Mutex;
use std::task::Waker;

use duologue::transport::guarded;

use crate::sync;

/// How often a side that is held back sends all the same, each time at most a line of the ring, before it waits.
const FAR_AHEAD: u32 = 16;

#[derive(Default)]
pub(super) struct Hold {
    /// Whether something could not be written. Changed by the thread that holds `core`.
    is_behind: AtomicBool,
    /// Whether the side is held back.
    is_held: AtomicBool,
    /// How often it has sent since then.
    sent: AtomicU32,
    /// What is called when it is released.
    waker: Mutex<Option<Waker>>,
}

impl Hold {
    /// Notes whether something could not be written. Returns what is to be called if the side was held back and no longer
    /// is. The caller holds `core`.
    pub(super) fn compare(&self, is_behind: bool) -> Option<Waker> {
        // Only threads that hold `core` change it.
        if self.is_behind.load(Relaxed) == is_behind {
            return None;
        }
        self.is_behind.store(is_behind, SeqCst);
        match is_behind {
            true => None,
            false => self.release(),
        }
    }

    /// Holds the side back if the region is full. The caller is the side's thread, and holds no lock.
    pub(super) fn hold(&self) {
        // If this misses that the region is full, the next call finds it.
        if !self.is_behind.load(Relaxed) {
            return;
        }
        // Only decides when the side waits.
        self.sent.fetch_add(1, Relaxed);
        self.is_held.store(true, SeqCst);
        // This store and the next load, and in `compare` the store and the swap of `release`, are sequentially consistent. So
        // either this thread finds that everything is written, or the thread that notes it finds that the side is held.
        if !self.is_behind.load(SeqCst) {
            let released = self.release();
            guarded(|| released.into_iter().for_each(Waker::wake));
        }
    }

    /// Whether the side is held back, sends all the same, and is far ahead.
    pub(super) fn is_far_ahead(&self) -> bool {
        self.sent.load(Relaxed) >= FAR_AHEAD && self.is_held.load(SeqCst)
    }

    fn release(&self) -> Option<Waker> {
        if !self.is_held.swap(false, SeqCst) {
            return None;
        }
        self.sent.store(0, Relaxed);
        let mut waker = sync::lock(&self.waker);
        waker.take()
    }

    /// Whether the side is held back. Keeps the waker for when it is released.
    pub(super) fn holds(&self, waker: Option<Waker>) -> bool {
        if waker.is_some() {
            let mut kept = sync::lock(&self.waker);
            let replaced = std::mem::replace(&mut *kept, waker);
            drop(kept);
            // Where no lock is held: it may run user code.
            drop(replaced);
        }
        // If `release` took the lock before the waker was put there, then what this loads is not older than its swap.
        self.is_held.load(SeqCst)
    }
}
