//! What must be reported to the thread sanitizer about the standard library, which is compiled without it.

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
