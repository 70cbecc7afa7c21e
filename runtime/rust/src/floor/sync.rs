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

/// What must be reported to the thread sanitizer about the standard library, which is compiled without it.
#[cfg(duologue_tsan)]
mod tsan_mutex {
    use std::mem::ManuallyDrop;
    use std::ops::{Deref, DerefMut};
    use std::ptr::from_ref;
    use std::sync::{self, LockResult, PoisonError};
    use std::thread;

    extern "C" {
        /// What was released at this address before happens before what this thread does next.
        fn __tsan_acquire(address: *const ());
        /// What this thread did happens before what follows an acquisition at this address.
        fn __tsan_release(address: *const ());
    }

    /// The handle of a thread. Its last owner learns from a fence that the others are done with it, and the sanitizer does
    /// not understand fences. So its memory is never freed.
    #[derive(Clone)]
    pub(crate) struct Thread(ManuallyDrop<thread::Thread>);

    impl From<thread::Thread> for Thread {
        fn from(thread: thread::Thread) -> Thread {
            Thread(ManuallyDrop::new(thread))
        }
    }

    impl Thread {
        pub(crate) fn unpark(&self) {
            self.0.unpark();
        }
    }

    pub(crate) fn current() -> Thread {
        thread::current().into()
    }

    /// A lock. The part of it that waits is compiled without the sanitizer, which then does not see that one holder comes
    /// after the other.
    #[derive(Default)]
    pub(crate) struct Mutex<T>(sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Mutex<T> {
            Mutex(sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
            let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: the sanitizer reads nothing at the address.
            unsafe { __tsan_acquire(from_ref(self).cast()) };
            Ok(MutexGuard { lock: self, guard })
        }
    }

    impl<T> Drop for Mutex<T> {
        /// The thread that destroys the locked value comes after all threads that held the lock. The last owner of an `Arc`
        /// knows that from a fence, which the sanitizer does not understand. Without this call, the peer seems to be
        /// synchronized only with the last owner's disconnecting, and with no message.
        fn drop(&mut self) {
            // SAFETY: as above.
            unsafe { __tsan_acquire(from_ref(self).cast()) };
        }
    }

    pub(crate) struct MutexGuard<'a, T> {
        lock: &'a Mutex<T>,
        guard: sync::MutexGuard<'a, T>,
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.guard
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            &mut self.guard
        }
    }

    impl<T> Drop for MutexGuard<'_, T> {
        fn drop(&mut self) {
            // SAFETY: as above. The lock itself is released afterwards, with the field.
            unsafe { __tsan_release(from_ref(self.lock).cast()) };
        }
    }
}
