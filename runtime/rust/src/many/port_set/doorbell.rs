//! The doorbell: how the wakers of a port set's members report to the set which of them to check.
//!
//! Members are numbered, and 64 of them share a [`Panel`]: a word with one bit per member. Waking a member sets its
//! bit. The thread that changes the word from zero puts the panel on the doorbell's list, a stack that is linked
//! through the panels; the set takes the whole list at once and then the bits of each panel. So both sides do a bounded
//! amount of work per ring, however many members there are.
//!
//! # Why it is sound
//!
//! - *A panel is on the list at most once.* Only the ring that found the word zero puts it there, and the set makes the
//!   word zero only after it has taken the list that holds the panel and read the panel's link.
//! - *No ring is lost.* The set zeroes the word by a read-modify-write (Acquire), so it gets every bit that was set
//!   before, and with the bit sees whatever the ringing thread did before it; a ring that sets a bit later finds the
//!   word zero and lists the panel again. Adding panels and taking the list are read-modify-writes of `first`, too.
//! - *No sleep is missed.* To sleep, the set puts its waiter into the waiter slot and changes `first` from empty to
//!   `SLEEPS`, which fails if a panel is there. A ring that finds `SLEEPS` replaces it and thereby takes over the
//!   waiter: the order is that of the changes to `first`, and the argument is that of `floor::waiting`.
//! - *Lifetime.* Wakers own their panel, and panels own their doorbell. The set owns all panels while it follows links.

use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable, Waker};

use crate::floor::sync::{AtomicPtr, AtomicU64};
use crate::floor::waiting::{WaitSlot, Waiter};

/// How many members share a panel: the bits of a word.
pub(super) const BELLS: usize = 64;

/// What `first` holds while the set sleeps. No panel has this address, because panels are aligned.
const SLEEPS: *mut Panel = 1 as *mut Panel;

/// Where the panels that rang are listed, and where the set sleeps.
pub(super) struct Doorbell {
    first: AtomicPtr<Panel>,
    slot: WaitSlot,
}

// SAFETY: the waiter slot is used as `floor::waiting` requires: by the set, which alone sleeps and retracts, and by the ring
// that lowered the flag `SLEEPS`. Waiters are `Send`. The pointer is followed only by the set, which owns the panels.
unsafe impl Sync for Doorbell {}
// SAFETY: as above; nothing in it is tied to a thread.
unsafe impl Send for Doorbell {}

impl Doorbell {
    pub(super) fn new() -> Arc<Doorbell> {
        Arc::new(Doorbell {
            first: AtomicPtr::new(ptr::null_mut()),
            slot: WaitSlot::new(),
        })
    }

    /// Registers a waiter for the next ring; false if a member has rung.
    ///
    /// # Safety
    /// The caller is the set, and it has registered no other waiter since the last `retract`.
    pub(super) unsafe fn sleep(&self, waiter: Waiter) -> bool {
        // SAFETY: the set owns the slot, and the flag is down: `retract` lowered it, or a ring did.
        unsafe { self.slot.put(waiter) };
        let slept = self
            .first
            .compare_exchange(ptr::null_mut(), SLEEPS, AcqRel, Acquire);
        if slept.is_err() {
            // SAFETY: the flag was never raised.
            drop(unsafe { WaitSlot::take(&raw const self.slot) });
        }
        slept.is_ok()
    }

    /// Takes the waiter back, if no member rang.
    ///
    /// # Safety
    /// The caller is the set.
    pub(super) unsafe fn retract(&self) {
        let awake = ptr::null_mut();
        if (self.first.compare_exchange(SLEEPS, awake, AcqRel, Relaxed)).is_ok() {
            // SAFETY: the compare-and-swap lowered the flag.
            drop(unsafe { WaitSlot::take(&raw const self.slot) });
        }
    }

    /// Calls `rang` with the number of each member that rang since the last time.
    ///
    /// # Safety
    /// The caller is the set, it does not sleep, and it owns all panels of this doorbell.
    pub(super) unsafe fn answer(&self, mut rang: impl FnMut(usize)) {
        if self.first.load(Relaxed).is_null() {
            return;
        }
        let mut first = self.first.swap(ptr::null_mut(), Acquire);
        // SAFETY: what is on the list is a panel, and by the caller it is alive.
        while let Some(panel) = unsafe { first.as_ref() } {
            first = panel.next.load(Relaxed);
            let mut bells = panel.rang.swap(0, AcqRel);
            while bells != 0 {
                rang(panel.base + bells.trailing_zeros() as usize);
                bells &= bells - 1;
            }
        }
    }

    fn list(&self, panel: &Panel) {
        let address = ptr::from_ref(panel).cast_mut();
        let mut first = self.first.load(Relaxed);
        loop {
            let sleeps = first == SLEEPS;
            let next = if sleeps { ptr::null_mut() } else { first };
            // This ring is the one that found the panel's word zero: only it writes the link.
            panel.next.store(next, Relaxed);
            match (self.first).compare_exchange_weak(first, address, AcqRel, Relaxed) {
                Ok(_) => break,
                Err(now) => first = now,
            }
        }
        if first == SLEEPS {
            // SAFETY: the compare-and-swap lowered the flag. The doorbell lives as long as the caller's panel.
            if let Some(waiter) = unsafe { WaitSlot::take(&raw const self.slot) } {
                waiter.wake();
            }
        }
    }
}

/// The bells of 64 members. Its alignment leaves enough bits in a pointer for the number of one of them.
#[repr(align(64))]
pub(super) struct Panel {
    rang: AtomicU64,
    next: AtomicPtr<Panel>,
    doorbell: Arc<Doorbell>,
    base: usize,
}

impl Panel {
    /// The panel of the members whose numbers begin at `base`.
    pub(super) fn new(doorbell: &Arc<Doorbell>, base: usize) -> Arc<Panel> {
        Arc::new(Panel {
            rang: AtomicU64::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
            doorbell: doorbell.clone(),
            base,
        })
    }

    /// A waker that rings the bell of one of the panel's members.
    pub(super) fn waker(self: &Arc<Panel>, bell: usize) -> Waker {
        debug_assert!(bell < BELLS, "a panel has one bell per bit");
        let panel = Arc::into_raw(self.clone());
        // The address of a byte in the panel, which is at least as large as its alignment.
        let data = panel.cast::<u8>().wrapping_add(bell & (BELLS - 1));
        // SAFETY: the functions of the table do what `RawWaker` requires; the panel and its doorbell are `Send` and
        // `Sync`.
        unsafe { Waker::from_raw(RawWaker::new(data.cast(), &TABLE)) }
    }

    fn ring(panel: &Arc<Panel>, bell: usize) {
        if panel.rang.fetch_or(1 << bell, AcqRel) == 0 {
            panel.doorbell.list(panel);
        }
    }
}

static TABLE: RawWakerVTable = RawWakerVTable::new(
    |data| {
        // SAFETY: the data is that of a waker, which keeps its own share.
        let (panel, _) = unsafe { shared(data) };
        let _ = ManuallyDrop::new(Arc::clone(&panel));
        RawWaker::new(data, &TABLE)
    },
    |data| {
        // SAFETY: the data is that of a waker, which gives up its share.
        let (panel, bell) = unsafe { shared(data) };
        let panel = ManuallyDrop::into_inner(panel);
        Panel::ring(&panel, bell);
    },
    |data| {
        // SAFETY: the data is that of a waker, which keeps its share.
        let (panel, bell) = unsafe { shared(data) };
        Panel::ring(&panel, bell);
    },
    |data| {
        // SAFETY: the data is that of a waker, which gives up its share.
        let (panel, _) = unsafe { shared(data) };
        drop(ManuallyDrop::into_inner(panel));
    },
);

/// The panel and the bell that a waker's data represents. The share belongs to the waker.
///
/// # Safety
/// The data was made by [`Panel::waker`], and the waker's share has not been given up.
unsafe fn shared(data: *const ()) -> (ManuallyDrop<Arc<Panel>>, usize) {
    let bell = data as usize & (BELLS - 1);
    let panel = data.cast::<u8>().wrapping_sub(bell).cast::<Panel>();
    // SAFETY: by the caller, the pointer is the one from `Arc::into_raw`, and its share has not been given up.
    (ManuallyDrop::new(unsafe { Arc::from_raw(panel) }), bell)
}
