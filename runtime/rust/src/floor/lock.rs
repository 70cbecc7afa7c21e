//! Locks, which are also used after a thread has panicked while it held them.
//!
//! The standard library is compiled without the thread sanitizer, which does not see what the functions of the library do in which a
//! thread waits. So under the sanitizer no thread waits in them: it tries to lock until it succeeds, and it sleeps instead of
//! waiting for a change.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

/// Takes the lock, and waits for it if necessary.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    if cfg!(duologue_tsan) {
        loop {
            if let Some(guard) = try_lock(mutex) {
                return guard;
            }
            thread::yield_now();
        }
    }
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the lock, unless another thread has it.
pub fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Releases the lock, waits for a change, at most for this duration, and takes the lock again. May return without a change.
pub fn wait<'m, T>(
    mutex: &'m Mutex<T>,
    change: &Condvar,
    guard: MutexGuard<'m, T>,
    most: Option<Duration>,
) -> MutexGuard<'m, T> {
    const PAUSE: Duration = Duration::from_millis(1);
    match most {
        most if cfg!(duologue_tsan) => {
            drop(guard);
            thread::sleep(most.map_or(PAUSE, |most| most.min(PAUSE)));
            lock(mutex)
        }
        None => change.wait(guard).unwrap_or_else(PoisonError::into_inner),
        Some(most) => {
            let waited = change.wait_timeout(guard, most);
            waited.unwrap_or_else(PoisonError::into_inner).0
        }
    }
}
