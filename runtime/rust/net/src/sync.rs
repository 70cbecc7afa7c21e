//! Locks, which are also used after a thread has panicked while it held them.
//!
//! The standard library is compiled without the thread sanitizer, which does not see what the functions of the library do in which a
//! thread waits. So under the sanitizer no thread waits in them: it tries to lock until it succeeds, and it sleeps instead of
//! waiting for a change.

use std::sync::{Condvar, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

/// Takes the lock, and waits for it if necessary.
#[cfg(not(duologue_tsan))]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(duologue_tsan)]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    loop {
        if let Some(guard) = try_lock(mutex) {
            return guard;
        }
        std::thread::yield_now();
    }
}

/// Takes the lock, unless another thread has it.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Releases the lock, waits for a change, at most for this duration, and takes the lock again. May return without a change.
#[cfg(not(duologue_tsan))]
pub(crate) fn wait<'m, T>(
    _mutex: &'m Mutex<T>,
    change: &Condvar,
    guard: MutexGuard<'m, T>,
    most: Option<Duration>,
) -> MutexGuard<'m, T> {
    use std::sync::PoisonError;
    match most {
        None => change.wait(guard).unwrap_or_else(PoisonError::into_inner),
        Some(most) => {
            let waited = change.wait_timeout(guard, most);
            waited.unwrap_or_else(PoisonError::into_inner).0
        }
    }
}

#[cfg(duologue_tsan)]
pub(crate) fn wait<'m, T>(
    mutex: &'m Mutex<T>,
    _change: &Condvar,
    guard: MutexGuard<'m, T>,
    most: Option<Duration>,
) -> MutexGuard<'m, T> {
    const PAUSE: Duration = Duration::from_millis(1);
    drop(guard);
    std::thread::sleep(most.map_or(PAUSE, |most| most.min(PAUSE)));
    lock(mutex)
}
