//! Locks, which are also used after a thread has panicked while it held them.

use std::sync::{Mutex, MutexGuard};

/// Takes the lock, and waits for it if necessary.
#[cfg(not(duologue_tsan))]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Under the thread sanitizer no thread waits in the standard library: the module `sync` of duologue-net says why.
#[cfg(duologue_tsan)]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    use std::sync::TryLockError;
    loop {
        match mutex.try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(guard)) => return guard.into_inner(),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
}
