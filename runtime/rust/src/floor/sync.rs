//! The atomics and thread calls of the standard library, loom's when the pipe is being model-checked, or versions that
//! count their operations when the crate is being tested.

#[cfg(not(any(duologue_loom, test)))]
pub(crate) use std::sync::atomic::AtomicU64;

#[cfg(all(test, not(duologue_loom)))]
pub(crate) use counted::AtomicU64;

#[cfg(not(duologue_loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicPtr},
    thread::yield_now,
};

#[cfg(not(any(duologue_loom, duologue_tsan)))]
pub(crate) use std::{
    sync::{Mutex, MutexGuard},
    thread::{current, Thread},
};

#[cfg(duologue_tsan)]
pub(crate) use tsan_mutex::{current, Mutex, MutexGuard, Thread};

#[cfg(duologue_tsan)]
mod tsan_mutex;

#[cfg(duologue_loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::{
        atomic::{AtomicBool, AtomicPtr, AtomicU64},
        Mutex, MutexGuard,
    },
    thread::{current, yield_now, Thread},
};

/// Puts the thread to sleep until it is unparked. May also return spuriously.
pub(crate) fn park() {
    #[cfg(test)]
    count::call();
    #[cfg(not(duologue_loom))]
    std::thread::park();
    #[cfg(duologue_loom)]
    loom::thread::park();
}

/// Like [`park`], but for at most this duration.
#[cfg(not(duologue_loom))]
pub(crate) fn park_timeout(patience: std::time::Duration) {
    #[cfg(test)]
    count::call();
    std::thread::park_timeout(patience);
}

/// loom has no clock: time does not pass, so a timeout is explored as a sequence of early checks.
#[cfg(duologue_loom)]
pub(crate) fn park_timeout(_patience: std::time::Duration) {
    loom::thread::yield_now();
}

/// Wakes a thread that sleeps in `park`.
pub(crate) fn unpark(thread: &Thread) {
    #[cfg(test)]
    count::call();
    thread.unpark();
}

/// Counts how many times the operations of this thread changed an atomic by a read-modify-write, and how many times
/// they called the kernel.
#[cfg(test)]
pub(crate) mod count {
    use std::cell::Cell;

    thread_local! {
        static CHANGES: Cell<usize> = const { Cell::new(0) };
        static CALLS: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn change() {
        CHANGES.set(CHANGES.get() + 1);
    }

    pub(crate) fn call() {
        CALLS.set(CALLS.get() + 1);
    }

    /// Read-modify-writes and calls so far.
    pub(crate) fn so_far() -> (usize, usize) {
        (CHANGES.get(), CALLS.get())
    }
}

#[cfg(all(test, not(duologue_loom)))]
mod counted {
    use std::sync::atomic::{AtomicU64 as Plain, Ordering};

    /// An atomic that counts its read-modify-writes.
    pub(crate) struct AtomicU64(Plain);

    impl std::ops::Deref for AtomicU64 {
        type Target = Plain;

        fn deref(&self) -> &Plain {
            &self.0
        }
    }

    impl AtomicU64 {
        pub(crate) const fn new(value: u64) -> AtomicU64 {
            AtomicU64(Plain::new(value))
        }

        pub(crate) fn swap(&self, value: u64, order: Ordering) -> u64 {
            super::count::change();
            self.0.swap(value, order)
        }

        pub(crate) fn fetch_or(&self, value: u64, order: Ordering) -> u64 {
            super::count::change();
            self.0.fetch_or(value, order)
        }

        pub(crate) fn compare_exchange(
            &self,
            old: u64,
            new: u64,
            order: Ordering,
            failure: Ordering,
        ) -> Result<u64, u64> {
            super::count::change();
            self.0.compare_exchange(old, new, order, failure)
        }
    }
}
