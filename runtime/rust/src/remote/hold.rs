//! Holds back a side that does not wait where it sends, while it is too far ahead of its transport: a task, or a sender that shares
//! its endpoint with one that waits.
//!
//! The thread that works for the session compares what the side has sent with what the transport has accepted, and releases
//! the side. Only the side's own thread holds it back, when it has sent a message: a side that was ready remains ready.
//!
//! While another thread works, what the side sends stays in the ring, and nothing is compared. So a side whose
//! messages were passed over in this way is held back as well, until that thread has forwarded them. Then it has at most
//! the messages of two lines in the ring.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::PoisonError;
use std::task::Waker;

use crate::floor::sync::{Mutex, MutexGuard};
use crate::floor::waiting::guarded;

/// Whether a side that does not wait is held back.
#[derive(Default)]
pub struct Hold {
    /// Whether the side is too far ahead. Changed by the thread that works.
    is_behind: AtomicBool,
    /// Whether what the side has sent was not forwarded, because another thread works. That thread forwards it, and
    /// changes this before.
    is_passed_over: AtomicBool,
    /// Whether the side is held back.
    is_held: AtomicBool,
    /// How often it has sent since then.
    sent: AtomicU32,
    /// What is called when it is released.
    waker: Mutex<Option<Waker>>,
}

impl Hold {
    /// Like [`compare`](Hold::compare), while the caller is not done with its work: only notes that the transport is behind.
    #[inline]
    pub fn note(&self, is_behind: bool) {
        if is_behind {
            self.is_behind.store(true, SeqCst);
        }
    }

    /// The side has sent messages that have to be forwarded. Called by the side's thread, before it has them forwarded.
    pub fn passed_over(&self) {
        self.is_passed_over.store(true, SeqCst);
    }

    /// What the side has sent is forwarded now. The caller is the thread that works.
    #[inline]
    pub fn forwards(&self) {
        // If this misses that the side has sent, the caller is asked to forward once more.
        if self.is_passed_over.load(Relaxed) {
            self.is_passed_over.store(false, SeqCst);
        }
    }

    /// Whether what the side has sent was not forwarded.
    #[must_use]
    pub fn is_passed_over(&self) -> bool {
        self.is_passed_over.load(SeqCst)
    }

    /// Notes whether the side is too far ahead. Returns what is to be called if the side was held back and no longer is. The
    /// caller is the thread that works.
    #[inline]
    pub fn compare(&self, is_behind: bool) -> Option<Waker> {
        // Only threads that work change it.
        let was_behind = self.is_behind.load(Relaxed);
        if is_behind != was_behind {
            self.is_behind.store(is_behind, SeqCst);
        }
        // If it was not behind before, the side was held back because it was passed over, if at all.
        match !is_behind && (was_behind || self.is_held.load(SeqCst)) {
            true => self.release(),
            false => None,
        }
    }

    /// Holds the side back if the transport is behind it, or if it was passed over. The caller is the side's thread, and
    /// holds no lock.
    pub fn hold(&self) {
        // If this misses that the transport is behind, the next call finds it.
        if !self.is_behind.load(Relaxed) && !self.is_passed_over.load(Relaxed) {
            return;
        }
        // Only decides when the side waits.
        self.sent.fetch_add(1, Relaxed);
        self.is_held.store(true, SeqCst);
        // This store and the next loads, the stores in `forwards` and `compare`, and after those the load of `compare` and the
        // swap of `release` are sequentially consistent. So either this thread finds that the transport has caught up
        // and nothing was passed over, or the thread that works finds that the side is held.
        if !self.is_behind.load(SeqCst) && !self.is_passed_over.load(SeqCst) {
            let released = self.release();
            guarded(|| released.into_iter().for_each(Waker::wake));
        }
    }

    /// How often the side was held back, and has sent all the same, since it was released.
    #[must_use]
    pub fn sent(&self) -> u32 {
        self.sent.load(Relaxed)
    }

    fn release(&self) -> Option<Waker> {
        if !self.is_held.swap(false, SeqCst) {
            return None;
        }
        self.sent.store(0, Relaxed);
        self.waker().take()
    }

    fn waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the side is held back. Keeps the waker for when it is released.
    pub fn holds(&self, waker: Option<Waker>) -> bool {
        if waker.is_some() {
            let mut kept = self.waker();
            let replaced = std::mem::replace(&mut *kept, waker);
            drop(kept);
            // Where no lock is held: it may run user code.
            drop(replaced);
        }
        // If `release` took the lock before the waker was put there, then what this loads is not older than its swap.
        self.is_held.load(SeqCst)
    }
}
