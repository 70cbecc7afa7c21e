//! Blocks of ended sessions, kept by each thread for its next ones: aligned allocation is the dearest part of a
//! short session.
//!
//! A block belongs to the list of one thread or to a session, never to both. It may come to the list of another thread
//! than it was taken from. A list is bounded, and given back when its thread ends.

use std::ptr::NonNull;

use crate::cell::Cell;

/// The largest blocks that are kept have `SMALLEST << (CLASSES - 1)` bytes.
const CLASSES: usize = 8;
const SMALLEST: usize = 512;

/// A thread keeps so many bytes of a class, and at least [`FEWEST`] blocks: large ones are hardly touched as a rule.
const KEPT: usize = 32 << 10;
const FEWEST: usize = 4;

/// The class of a block, and how many bytes it really has; `None` if such blocks are not kept.
pub(crate) const fn class(size: usize, align: usize) -> Option<(usize, usize)> {
    // How often `SMALLEST` must be doubled. No block is empty: it has a header.
    let class = (usize::BITS - ((size - 1) / SMALLEST).leading_zeros()) as usize;
    if class < CLASSES && align <= crate::layout::CACHE_LINE && IS_POOLED {
        Some((class, SMALLEST << class))
    } else {
        None
    }
}

/// Sanitizers, Miri and loom watch what is freed, so for them it is freed.
const IS_POOLED: bool = cfg!(all(feature = "pool", not(miri), not(loom)));

thread_local! {
    static POOL: Pool = const { Pool { lists: [const { List::new() }; CLASSES] } };
}

struct Pool {
    lists: [List; CLASSES],
}

/// Blocks of one class, linked through `Cell::next`.
struct List {
    first: std::cell::Cell<Option<NonNull<Cell>>>,
    length: std::cell::Cell<usize>,
}

impl List {
    const fn new() -> List {
        List {
            first: std::cell::Cell::new(None),
            length: std::cell::Cell::new(0),
        }
    }

    #[inline]
    fn take(&self) -> Option<NonNull<Cell>> {
        let cell = self.first.get()?;
        // SAFETY: the block is the list's, so nobody else uses it.
        self.first.set(unsafe { Cell::next(cell) });
        self.length.set(self.length.get() - 1);
        Some(cell)
    }
}

/// A block of this class that was in use before, if this thread has one.
#[inline]
pub(crate) fn take(class: usize) -> Option<NonNull<Cell>> {
    POOL.try_with(|pool| pool.lists[class].take()).ok()?
}

/// Keeps a block for the next session of this class; false if the list is full or the thread is ending.
///
/// # Safety
/// The block has the size of its class, its header is initialised, and nobody uses it any more.
#[inline]
pub(crate) unsafe fn keep(class: usize, cell: NonNull<Cell>) -> bool {
    POOL.try_with(|pool| {
        let list = &pool.lists[class];
        if list.length.get() >= FEWEST && list.length.get() * (SMALLEST << class) >= KEPT {
            return false;
        }
        // SAFETY: by the caller.
        unsafe { Cell::set_next(cell, list.first.get()) };
        list.first.set(Some(cell));
        list.length.set(list.length.get() + 1);
        true
    })
    .unwrap_or(false)
}

impl Drop for Pool {
    fn drop(&mut self) {
        for list in &self.lists {
            while let Some(cell) = list.take() {
                // SAFETY: the block was the list's.
                unsafe { Cell::release(cell) };
            }
        }
    }
}
