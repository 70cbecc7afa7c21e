//! Who waits, and the place in the session where the other side finds it.
//!
//! Each side has one place of its own: a place for both was a lost wake-up. To wait, a side writes its waiter into its
//! place and then raises a flag, in the word that the other side will change or in its own flags (see `watched`).
//! Whoever lowers the flag, by a read-modify-write, has the waiter: the other side, which by Acquire sees what was
//! written before the flag was raised; or the owner, which gives up waiting. `busy` covers the moment between the
//! lowering and the reading of the place: the owner neither writes its place again nor ends the session before the
//! other side has cleared it.
//!
//! # Wakers are foreign code
//!
//! To clone, wake or drop a waker runs code of an executor, which may panic, and may use any other endpoint, also one whose last owner
//! it destroys. So it is done only where a panic loses nothing that is owned, and under no lock. What takes a waiter out gives it to
//! its caller, which lets go of it when everything else is done.

use std::cell::UnsafeCell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::task::Waker;

use crate::sync::{spin_loop, unpark, yield_now, AtomicBool, Thread};

/// A sleeping thread or a pending task.
pub(crate) enum Waiter {
    Thread(Thread),
    Task(Waker),
    /// A thread that is woken through something that it shares: the bell of a port set. To a pipe it is a thread.
    Bell(Waker),
}

impl Waiter {
    /// Wakes it. A wake-up too many does no harm.
    pub(crate) fn wake(self) {
        match self {
            Waiter::Thread(thread) => unpark(&thread),
            Waiter::Task(waker) | Waiter::Bell(waker) => waker.wake(),
        }
    }
}

/// Does this with each of several waiters, also if it panics with some; the first panic goes on when all are done.
pub(crate) fn with_each<T>(waiters: impl IntoIterator<Item = T>, mut act: impl FnMut(T)) {
    let mut first = None;
    for waiter in waiters {
        // What a panic leaves in two minds is the executor's.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| act(waiter))) {
            first.get_or_insert(panic);
        }
    }
    if let Some(panic) = first {
        resume_unwind(panic);
    }
}

/// A waiter whose flag was lowered and which is still in its place. Until it is fetched its owner neither waits anew nor ends
/// the session.
#[derive(Clone, Copy)]
#[must_use = "a waiter that is not woken sleeps for ever"]
pub(crate) struct Awaited(NonNull<Place>);

impl Awaited {
    /// Whoever waits in this place of the peer.
    ///
    /// # Safety
    /// The caller lowered the raised flag, and of all that it makes of this one is used, once.
    #[inline(always)]
    pub(crate) unsafe fn in_place(place: *const Place) -> Awaited {
        // SAFETY: a place is part of a session, which is never at address 0.
        Awaited(unsafe { NonNull::new_unchecked(place.cast_mut()) })
    }

    /// Takes the waiter out of its place. The session may end from here on.
    #[inline]
    pub(crate) fn fetch(self) -> Option<Waiter> {
        // SAFETY: by the caller of `in_place`; the owner does not end the session as long as its place is busy.
        unsafe { Place::take(self.0.as_ptr()) }
    }

    /// Fetches it and wakes it.
    #[inline(never)]
    pub(crate) fn wake(self) {
        if let Some(waiter) = self.fetch() {
            waiter.wake();
        }
    }
}

/// The time until the other side has done what it is about to do, a few instructions away.
pub(crate) struct Moment {
    looks: u32,
}

impl Moment {
    /// How often to look before others are let run: the other side may have been stopped on this processor.
    const LOOKS: u32 = 64;

    pub(crate) const fn new() -> Moment {
        Moment { looks: 0 }
    }

    /// Lets a little of it pass.
    pub(crate) fn pass(&mut self) {
        if self.looks < Moment::LOOKS && cfg!(not(duologue_loom)) {
            self.looks += 1;
            spin_loop();
        } else {
            yield_now();
        }
    }
}

/// The place of one side.
pub(crate) struct Place {
    /// Set by the owner before it raises the flag; cleared by whoever takes the waiter out.
    busy: AtomicBool,
    waiter: UnsafeCell<Option<Waiter>>,
    /// Shows loom when the waiter is put in and taken out.
    #[cfg(duologue_loom)]
    witness: loom::cell::UnsafeCell<()>,
}

impl Place {
    pub(crate) fn new() -> Place {
        Place {
            busy: AtomicBool::new(false),
            waiter: UnsafeCell::new(None),
            #[cfg(duologue_loom)]
            witness: loom::cell::UnsafeCell::new(()),
        }
    }

    /// Puts a waiter in.
    ///
    /// # Safety
    /// The caller is the owner, and its flags are not raised.
    pub(crate) unsafe fn put(&self, waiter: Waiter) {
        self.settle();
        #[cfg(duologue_loom)]
        self.witness.with_mut(|_| {});
        // SAFETY: the flag is down and the place is not busy, so only the owner looks here, and nothing is there to be
        // dropped.
        unsafe { self.waiter.get().write(Some(waiter)) };
        // Ordered before the flag by the Release with which that is raised.
        self.busy.store(true, Relaxed);
    }

    /// Takes the waiter out. Afterwards the session may be freed, so the place comes as a raw pointer: no reference
    /// to it outlives the last store.
    ///
    /// # Safety
    /// The place is allocated, and the caller lowered the raised flag (the owner by giving up, or the other side by
    /// its change) or never raised it.
    pub(crate) unsafe fn take(place: *const Place) -> Option<Waiter> {
        // SAFETY: whoever lowers the flag owns the place until it clears `busy`.
        unsafe {
            #[cfg(duologue_loom)]
            (*place).witness.with_mut(|_| {});
            let waiter = (*(*place).waiter.get()).take();
            (*place).busy.store(false, Release);
            waiter
        }
    }

    /// Whether a waiter is left here that nobody came to wake, when nobody else looks here any more.
    #[inline]
    pub(crate) fn is_left(&self) -> bool {
        self.busy.load(Relaxed)
    }

    /// Makes the place as it was at first, when nobody else looks here any more, and gives the waiter that was left.
    pub(crate) fn clear(&self) -> Option<Waiter> {
        if !self.is_left() {
            return None;
        }
        // SAFETY: nobody else uses the session.
        unsafe { Place::take(self) }
    }

    /// Whether a waiter was put in, and whoever takes it out has not let go of the place.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Acquire)
    }

    /// Waits until the other side has let go of the place: it is between its change and `take`, a few instructions.
    #[inline]
    pub(crate) fn settle(&self) {
        if self.is_busy() {
            self.settle_slowly();
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_slowly(&self) {
        let mut moment = Moment::new();
        while self.busy.load(Acquire) {
            moment.pass();
        }
    }
}
