//! Blocks of ended sessions, kept by each thread for its next ones: aligned allocation is the most expensive part of a
//! short session.
//!
//! A block belongs to the list of one thread, to a session, or to an exchange, never to two of these at once. A list is
//! bounded, and its blocks are freed when its thread exits.
//!
//! If one thread begins sessions and another ends them, the list of the first is always empty and that of the other is
//! always full. So there is an exchange for each class, which holds one *batch* of blocks until another thread takes
//! it. A thread that has two batches leaves one there if the exchange is empty, and a thread that has no blocks takes
//! it. Each of these is a single change of a pointer, from or to null, so a block belongs to only one of them at any
//! time. The thread that takes the blocks sees what was done with them before they were left (Release, Acquire).

use std::alloc::{dealloc, Layout};
use std::cell::Cell;
use std::ptr::{null_mut, NonNull};
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The beginning of every block in the pool.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Link {
    /// The next block of a list.
    next: Option<NonNull<Link>>,
}

/// The size of a cache line in bytes, to which blocks are aligned.
pub(crate) const CACHE_LINE: usize = 64;

/// How many classes of blocks are kept: see [`bytes`].
pub(crate) const CLASSES: usize = 8;
const SMALLEST: usize = 512;
/// What an allocator adds to a block.
const ADDED: usize = 16;

/// Miri, loom and the address sanitizer (which runs without the feature) track freed memory, so under them blocks are
/// really freed. And where the system has no native thread-locals, the lists may be gone when the thread's keeper is
/// about to empty them.
const IS_POOLED: bool = cfg!(all(
    feature = "pool",
    not(miri),
    not(duologue_loom),
    not(target_os = "android")
));

/// The class of a block; [`CLASSES`] if such blocks are not kept.
pub(crate) const fn class(size: usize, align: usize) -> usize {
    // How many times `SMALLEST` must be doubled.
    let class = (usize::BITS - ((size + ADDED - 1) / SMALLEST).leading_zeros()) as usize;
    if class >= CLASSES || align > CACHE_LINE || !IS_POOLED {
        CLASSES
    } else if class == SMALL && size > bytes(SMALL) {
        SMALL + 1
    } else {
        class
    }
}

/// The class of the small blocks with which sessions begin.
pub(crate) const SMALL: usize = 1;

/// How many bytes a block of this class has. With what an allocator adds, it is a power of two, or for small blocks an odd
/// number of cache lines: there may be many of them, next to each other, and the line that all of them use should not always
/// be in the same sets of a cache.
pub(crate) const fn bytes(class: usize) -> usize {
    assert!(class < CLASSES, "blocks of this size are not kept");
    match class {
        SMALL => 15 * CACHE_LINE - ADDED,
        _ => (SMALLEST << class) - ADDED,
    }
}

/// A thread keeps this many bytes of each class, and at least [`FEWEST`] blocks: as a rule, most of a large block is
/// untouched.
const KEPT: usize = 32 << 10;
const FEWEST: usize = 4;

/// How many blocks of a class a thread keeps.
fn most(class: usize) -> usize {
    (KEPT / bytes(class)).max(FEWEST)
}

/// How many blocks are left for other threads at once: few, so that they are still in a cache when they are taken.
fn batch(class: usize) -> usize {
    (KEPT / bytes(class) / 8).max(2)
}

/// How the blocks of a class are allocated.
fn memory(class: usize) -> Layout {
    match Layout::from_size_align(bytes(class), CACHE_LINE) {
        Ok(layout) => layout,
        Err(_) => unreachable!("the sizes of classes are small"),
    }
}

/// What threads leave for each other: the first block of a batch, or null.
#[repr(align(64))]
struct Exchange(AtomicPtr<Link>);

static EXCHANGES: [Exchange; CLASSES] = [const { Exchange(AtomicPtr::new(null_mut())) }; CLASSES];

impl Exchange {
    fn is_empty(&self) -> bool {
        self.0.load(Relaxed).is_null()
    }
}

thread_local! {
    /// Has no destructor, so that on systems with native thread-locals it is accessed without checking whether it is
    /// alive.
    static LISTS: [List; CLASSES] = const { [const { List::new() }; CLASSES] };
    static KEEPER: Keeper = const { Keeper };
}

/// Frees the blocks of this thread when it exits.
struct Keeper;

impl Keeper {
    /// Makes sure that this thread's lists will be emptied; false if they have been emptied already.
    fn register() -> bool {
        KEEPER
            .try_with(|_| {
                LISTS.with(|lists| {
                    for (class, list) in lists.iter().enumerate() {
                        list.bound.set(2 * batch(class));
                    }
                });
            })
            .is_ok()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Where the lists are gone already, their blocks are leaked.
        let _ = LISTS.try_with(|lists| {
            for (class, list) in lists.iter().enumerate() {
                list.bound.set(0);
                while let Some(block) = list.take() {
                    // SAFETY: the block belonged to the list of this class, so it was allocated with this layout, and
                    // nothing in it has to be dropped (see `put`).
                    unsafe { dealloc(block.as_ptr().cast(), memory(class)) };
                }
            }
        });
    }
}

/// Blocks of one class, linked through [`Link`].
struct List {
    first: Cell<Option<NonNull<Link>>>,
    length: Cell<usize>,
    /// Up to this length, blocks are put in without further checks; 0 as long as nothing would empty the list when the
    /// thread exits.
    bound: Cell<usize>,
}

impl List {
    const fn new() -> List {
        List {
            first: Cell::new(None),
            length: Cell::new(0),
            bound: Cell::new(0),
        }
    }

    #[inline]
    fn take(&self) -> Option<NonNull<Link>> {
        let block = self.first.get()?;
        // SAFETY: the block belongs to the list, so nothing else uses it.
        self.first.set(unsafe { (*block.as_ptr()).next });
        self.length.set(self.length.get() - 1);
        Some(block)
    }

    /// # Safety
    /// As for [`put`].
    #[inline]
    unsafe fn put(&self, block: NonNull<Link>) {
        // SAFETY: by the caller.
        unsafe { (*block.as_ptr()).next = self.first.get() };
        self.first.set(Some(block));
        self.length.set(self.length.get() + 1);
    }

    /// Makes sure that this list will be emptied when the thread exits; false if it has been emptied already.
    fn sees_to_its_end(&self) -> bool {
        self.bound.get() > 0 || Keeper::register()
    }

    /// Takes a block of the batch that was left for other threads and, because this list is empty, keeps the rest.
    #[inline(never)]
    fn take_left(&self, class: usize) -> Option<NonNull<Link>> {
        let exchange = &EXCHANGES[class];
        if cfg!(duologue_without = "exchange") || exchange.is_empty() || !self.sees_to_its_end() {
            return None;
        }
        let first = NonNull::new(exchange.0.swap(null_mut(), Acquire))?;
        self.first.set(Some(first));
        self.length.set(batch(class));
        self.take()
    }

    /// Whether a list of [`List::bound`] blocks or more takes another one. First leaves a batch for other threads, if
    /// this list has two and no other thread has left one.
    #[inline(never)]
    fn has_room(&self, class: usize) -> bool {
        if !self.sees_to_its_end() {
            return false;
        }
        if cfg!(not(duologue_without = "exchange"))
            && self.length.get() >= 2 * batch(class)
            && EXCHANGES[class].is_empty()
        {
            self.leave_at(&EXCHANGES[class], batch(class));
        }
        self.length.get() < most(class)
    }

    /// Leaves a batch for other threads, if this list has one and no other thread has left one.
    #[cold]
    #[inline(never)]
    fn leave_at(&self, exchange: &Exchange, batch: usize) {
        let Some(first) = self.first.get() else {
            return;
        };
        // SAFETY: the blocks belong to the list, so nothing else uses them.
        let (last, rest) = unsafe {
            let mut last = first;
            for _ in 1..batch {
                let Some(next) = (*last.as_ptr()).next else {
                    return;
                };
                last = next;
            }
            let rest = (*last.as_ptr()).next;
            (*last.as_ptr()).next = None;
            (last, rest)
        };
        if exchange
            .0
            .compare_exchange(null_mut(), first.as_ptr(), Release, Relaxed)
            .is_ok()
        {
            self.first.set(rest);
            self.length.set(self.length.get() - batch);
        } else {
            // SAFETY: as above.
            unsafe { (*last.as_ptr()).next = rest };
        }
    }
}

/// A block of this class that was in use before, if this thread has one or another thread has left some.
#[inline]
pub(crate) fn take(class: usize) -> Option<NonNull<Link>> {
    LISTS
        .try_with(|lists| {
            let list = lists.get(class)?;
            list.take().or_else(|| list.take_left(class))
        })
        .ok()?
}

/// Keeps a block for the next session of this class; false if the list is full or the thread is exiting.
///
/// # Safety
/// The block was allocated with the size of its class and the alignment of a cache line, begins with a [`Link`], has
/// nothing in it that must be dropped before its memory is freed, and is no longer used.
#[inline]
pub(crate) unsafe fn put(class: usize, block: NonNull<Link>) -> bool {
    LISTS
        .try_with(|lists| {
            let list = &lists[class];
            let has_room = list.length.get() < list.bound.get() || list.has_room(class);
            if has_room {
                // SAFETY: by the caller.
                unsafe { list.put(block) };
            }
            has_room
        })
        .unwrap_or(false)
}
