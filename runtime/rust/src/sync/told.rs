//! What the thread sanitizer has to be told of the standard library, which is compiled without it.

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

/// The handle of a thread. Its last owner learns by a fence that the others are done with it, and the sanitizer knows no fences: so its
/// memory is never given back.
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

/// A lock. The part of it that waits for its turn is compiled without the sanitizer, which then does not see that one holder comes
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
    /// Who destroys what is locked comes after all who held it. The last owner of an `Arc` knows that by a fence, which the
    /// sanitizer does not know: without this the peer seems to learn of the last owner's farewell only, and of no message.
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
        // SAFETY: as above. The lock itself is let go of afterwards, with the field.
        unsafe { __tsan_release(from_ref(self.lock).cast()) };
    }
}
