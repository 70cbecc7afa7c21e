//! Waiters, and the slot in the session where the other side finds one.
//!
//! Each side has a waiter slot of its own (a [`WaitSlot`]): a slot shared by both loses wake-ups. To wait, a side
//! writes its waiter into its slot and then raises a flag, in the word that the other side will change or in its own
//! flags (see `link::arming`). The side that lowers the flag, by a read-modify-write, gets the waiter. That is either
//! the other side, which by Acquire sees what was written before the flag was raised, or the owner, which gives up
//! waiting. `busy` covers the time between lowering the flag and reading the slot: the owner neither writes its slot
//! again nor ends the session before the other side has cleared `busy`.
//!
//! # Wakers run user code
//!
//! Cloning, waking or dropping a waker runs code of the user's executor. That code may panic, and it may use any other
//! endpoint, including one whose last owner it destroys. So this is done only where a panic loses nothing that is
//! owned, and never while holding a lock. A function that takes a waiter out returns it to its caller, which wakes or
//! drops it after everything else is done.

use std::cell::UnsafeCell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::Arc;
use std::task::{Wake, Waker};

use super::backoff::Backoff;
use super::guard::discard;
use super::sync::{unpark, AtomicBool, Thread};

/// A sleeping thread or a pending task.
pub(crate) enum Waiter {
    Thread(Thread),
    Task(Waker),
    /// A thread that is woken through something it shares: the bell of a port set. A pipe treats it as a thread.
    Bell(Waker),
}

impl Waiter {
    /// Wakes the waiter. A superfluous wake-up does no harm.
    pub(crate) fn wake(self) {
        match self {
            Waiter::Thread(thread) => unpark(&thread),
            Waiter::Task(waker) | Waiter::Bell(waker) => waker.wake(),
        }
    }

    /// A waker that wakes the waiter.
    pub(crate) fn waker(&self) -> Waker {
        match self {
            Waiter::Thread(thread) => Waker::from(Arc::new(Unparks(thread.clone()))),
            Waiter::Task(waker) | Waiter::Bell(waker) => waker.clone(),
        }
    }

    pub(crate) fn is_task(&self) -> bool {
        matches!(self, Waiter::Task(_))
    }
}

/// A thread as a waker.
struct Unparks(Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        unpark(&self.0);
    }
}

/// Two pointers that distinguish a live waker from others.
pub(crate) fn pointers(waker: &Waker) -> [usize; 2] {
    [
        waker.data() as usize,
        std::ptr::from_ref(waker.vtable()) as usize,
    ]
}

/// Calls `act` with each of several waiters, even if it panics for some. The first panic resumes when all are done.
pub(crate) fn with_each<T>(waiters: impl IntoIterator<Item = T>, mut act: impl FnMut(T)) {
    let mut first = None;
    for waiter in waiters {
        // Any state that a panic leaves inconsistent belongs to the executor.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| act(waiter))) {
            match first {
                None => first = Some(panic),
                Some(_) => discard(panic),
            }
        }
    }
    if let Some(panic) = first {
        resume_unwind(panic);
    }
}

/// A waiter whose flag was lowered and which is still in its slot. Until it is fetched, its owner neither waits again
/// nor ends the session.
#[derive(Clone, Copy)]
#[must_use = "a waiter that is not woken sleeps forever"]
pub(crate) struct PendingWake(NonNull<WaitSlot>);

impl PendingWake {
    /// The waiter in this slot of the peer.
    ///
    /// # Safety
    /// The caller lowered the raised flag. Of all copies that it makes of the result, only one is used, and only once.
    #[inline(always)]
    pub(crate) unsafe fn in_slot(slot: *const WaitSlot) -> PendingWake {
        // SAFETY: the slot is part of a session, which is never at address 0.
        PendingWake(unsafe { NonNull::new_unchecked(slot.cast_mut()) })
    }

    /// Takes the waiter out of its slot. From then on, the session may end.
    #[inline]
    pub(crate) fn fetch(self) -> Option<Waiter> {
        // SAFETY: by the caller of `in_slot`; the owner does not end the session while its slot is busy.
        unsafe { WaitSlot::take(self.0.as_ptr()) }
    }

    /// Fetches the waiter and wakes it.
    #[inline(never)]
    pub(crate) fn wake(self) {
        if let Some(waiter) = self.fetch() {
            waiter.wake();
        }
    }
}

/// The waiter slot of one side.
pub(crate) struct WaitSlot {
    /// Set by the owner before it raises the flag; cleared by the side that takes the waiter out.
    busy: AtomicBool,
    waiter: UnsafeCell<Option<Waiter>>,
    /// Shows loom when the waiter is put in and taken out.
    #[cfg(duologue_loom)]
    witness: loom::cell::UnsafeCell<()>,
}

impl WaitSlot {
    pub(crate) fn new() -> WaitSlot {
        WaitSlot {
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
        // SAFETY: the flag is down and the slot is not busy, so only the owner accesses the slot, and it contains
        // nothing that has to be dropped.
        unsafe { self.waiter.get().write(Some(waiter)) };
        // Ordered before the flag by the Release with which the flag is raised.
        self.busy.store(true, Relaxed);
    }

    /// Takes the waiter out. Afterwards the session may be freed, so the slot is passed as a raw pointer: no reference
    /// to it outlives the last store.
    ///
    /// # Safety
    /// The slot is allocated, and the caller either lowered the raised flag (the owner by giving up, or the other side
    /// by its change) or never raised it.
    pub(crate) unsafe fn take(slot: *const WaitSlot) -> Option<Waiter> {
        // SAFETY: the side that lowers the flag owns the slot until it clears `busy`.
        unsafe {
            #[cfg(duologue_loom)]
            (*slot).witness.with_mut(|_| {});
            let waiter = (*(*slot).waiter.get()).take();
            (*slot).busy.store(false, Release);
            waiter
        }
    }

    /// Whether a waiter was put in, and the side that takes it out has not released the slot yet.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Acquire)
    }

    /// Waits until the other side has released the slot: it is between its change and `take`, which is a few
    /// instructions.
    #[inline]
    pub(crate) fn settle(&self) {
        let mut backoff = Backoff::new();
        while self.is_busy() {
            backoff.pass();
        }
    }
}
