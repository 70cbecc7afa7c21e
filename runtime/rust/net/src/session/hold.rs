//! Holds back a side that does not wait where it sends, while it is too far ahead of the connection: a task, or a sender that shares its
//! endpoint with one that waits.
//!
//! The thread that holds `core` compares what is to be written with what the connection has accepted, and releases the side. Only
//! the side's own thread holds it back, when it has sent a message: a side that was ready remains ready.
//!
//! While another thread holds `core`, what the side sends stays in the ring, and nothing is compared. So a side whose
//! messages were passed over in this way is held back as well, until that thread has forwarded them. Then it has at most
//! the messages of two lines in the ring.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::Mutex;
use std::task::Waker;

use duologue::transport::guarded;

use super::{lock, COLLECTED, FAR_AHEAD};

pub(super) struct Hold {
    /// Whether the side is too far ahead. Changed by the thread that holds `core`.
    is_behind: AtomicBool,
    /// Whether what the side has sent was not forwarded, because another thread holds `core`. That thread forwards it, and
    /// changes this before.
    is_passed_over: AtomicBool,
    /// Whether the side is held back.
    is_held: AtomicBool,
    /// Whether it sends all the same, and is much further ahead.
    is_far_ahead: AtomicBool,
    /// What is called when it is released.
    waker: Mutex<Option<Waker>>,
}

impl Hold {
    pub(super) fn new() -> Hold {
        Hold {
            is_behind: AtomicBool::new(false),
            is_passed_over: AtomicBool::new(false),
            is_held: AtomicBool::new(false),
            is_far_ahead: AtomicBool::new(false),
            waker: Mutex::new(None),
        }
    }

    /// Like [`compare`](Hold::compare), while the caller is not done with its work: only notes that the side is ahead.
    #[inline]
    pub(super) fn note(&self, ahead: usize) {
        if ahead >= COLLECTED {
            self.is_behind.store(true, SeqCst);
        }
    }

    /// The side has sent messages that have to be forwarded. Called before [`Session::run`](super::Session), by the side's thread.
    pub(super) fn sent(&self) {
        self.is_passed_over.store(true, SeqCst);
    }

    /// What the side has sent is forwarded now. The caller holds `core`.
    #[inline]
    pub(super) fn forwards(&self) {
        // If this misses that the side has sent, `again` is set once more.
        if self.is_passed_over.load(Relaxed) {
            self.is_passed_over.store(false, SeqCst);
        }
    }

    /// Whether what the side has sent was not forwarded.
    pub(super) fn is_passed_over(&self) -> bool {
        self.is_passed_over.load(SeqCst)
    }

    /// Notes how many bytes the side is ahead of the connection. Returns what is to be called if the side was held back and no longer
    /// is. The caller holds `core`.
    #[inline]
    pub(super) fn compare(&self, ahead: usize) -> Option<Waker> {
        let is_behind = ahead >= COLLECTED;
        // Only threads that hold `core` change it.
        let was_behind = self.is_behind.load(Relaxed);
        if !is_behind && !was_behind {
            // It was held back because it was passed over, if at all.
            return match self.is_held.load(SeqCst) {
                true => self.release(),
                false => None,
            };
        }
        // Only tells the side whether to wait for `core`.
        let is_far_ahead = ahead >= FAR_AHEAD;
        self.is_far_ahead.store(is_far_ahead, Relaxed);
        if is_behind == was_behind {
            return None;
        }
        self.is_behind.store(is_behind, SeqCst);
        match is_behind {
            true => None,
            false => self.release(),
        }
    }

    /// Holds the side back if the connection is behind it, or if it was passed over. The caller is the side's thread, and
    /// holds no lock.
    pub(super) fn hold(&self) {
        // If this misses that the connection is behind, the next call finds it.
        if !self.is_behind.load(Relaxed) && !self.is_passed_over.load(Relaxed) {
            return;
        }
        self.is_held.store(true, SeqCst);
        // This store and the next loads, the stores in `forwards` and `compare`, and after those the load of `compare` and the
        // swap of `release` are sequentially consistent. So either this thread finds that the connection has caught up
        // and nothing was passed over, or the thread that holds `core` finds that the side is held.
        if !self.is_behind.load(SeqCst) && !self.is_passed_over.load(SeqCst) {
            let released = self.release();
            guarded(|| released.into_iter().for_each(Waker::wake));
        }
    }

    /// Whether the side is held back, sends all the same, and is far ahead.
    pub(super) fn is_far_ahead(&self) -> bool {
        self.is_far_ahead.load(Relaxed) && self.is_held.load(SeqCst)
    }

    fn release(&self) -> Option<Waker> {
        match self.is_held.swap(false, SeqCst) {
            true => lock(&self.waker).take(),
            false => None,
        }
    }

    /// Whether the side is held back. Keeps the waker for when it is released.
    pub(super) fn holds(&self, waker: Option<Waker>) -> bool {
        if waker.is_some() {
            // Dropped when the lock is released: it may run user code.
            let _replaced = std::mem::replace(&mut *lock(&self.waker), waker);
        }
        // If `release` took the lock before the waker was put there, then what this loads is not older than its swap.
        self.is_held.load(SeqCst)
    }
}
