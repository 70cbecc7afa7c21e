//! The single memory block of a session: a header, what each side writes, and the ring that serves both directions.

use std::alloc::{alloc, dealloc, handle_alloc_error};
use std::cell::UnsafeCell;
use std::ops::Range;
use std::ptr::{addr_of_mut, NonNull};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicUsize};

use crate::layout::Layout;
use crate::pipe::{Laps, Pipe};
use crate::pool;
use crate::position::{renewed, RENEWAL};
use crate::sync::AtomicU64;
use crate::wait::Place;

/// What a side must know about its state where its type is not known. There is at least one for each state, so its
/// address also shows that a state is the same as the one before.
pub struct Stance {
    /// The state's name.
    pub(crate) name: &'static str,
    /// Destroys the message that is at the pipe, and with it the endpoint that follows.
    pub(crate) discard: fn(Pipe),
}

/// Where a side reports to the other that it waits or disconnects, in a cache line of its own: the sender reads it with
/// nearly every message, and it changes only when the receiver goes to sleep.
#[repr(align(64))]
pub(crate) struct Side {
    /// See `flags`.
    pub(crate) flags: AtomicU64,
    /// What this side has recorded about being a task: see `watched`. The other side never accesses it.
    pub(crate) task: AtomicU64,
    /// The ticket for the barrier that a task of this side took when it last yielded instead of waiting: see `watched`.
    /// Its waker is in [`Own`]. The other side never accesses it.
    pub(crate) ticket: AtomicU32,
    pub(crate) place: Place,
}

/// What a side writes for itself, in a cache line of its own.
#[repr(align(64))]
pub(crate) struct Own {
    /// Set whenever this side begins to receive in a different state than before, so that a receiving endpoint can be
    /// dropped without knowing its state. So no type that contains an endpoint needs a trait bound.
    pub(crate) stance: UnsafeCell<&'static Stance>,
    /// The session's layout, once for each side. So the header's cache line is not read between the beginning and the
    /// end of the session, and stays in the cache where sessions begin and end.
    pub(crate) layout: Layout,
    /// The waker that a task of this side registered when it last yielded instead of waiting, as two pointers: see
    /// `watched`.
    pub(crate) waker: [AtomicUsize; 2],
    /// The word of the message that last gave this side the turn, for the processor number in it; 0 if there was none.
    pub(crate) heard: AtomicU64,
}

#[cfg(all(target_pointer_width = "64", not(duologue_loom)))]
const _: () = assert!(std::mem::size_of::<Side>() == 64 && std::mem::size_of::<Own>() == 64);

/// The header of a session. The lines of the ring follow it in the same block.
#[repr(C, align(64))]
pub(crate) struct Cell {
    /// See [`Layout::key`] and `pool::class`: the layout of the block, without reading the cache lines of its sides.
    key: u64,
    class: u32,
    /// An epoch that is newer than all stamps in the ring, for the next session in this block.
    epoch: u32,
    /// The next block of a list: see `pool`.
    next: Option<NonNull<Cell>>,
    /// The address of the burial that destroys or destroyed messages of this session, or 0: see `burial`. The side that
    /// receives accesses it.
    pub(crate) buried_by: AtomicUsize,
    /// The segment that the receiver has emptied last, and flags: see `room`. It changes only a few times in a lap, so
    /// it can share a cache line with the constants.
    pub(crate) credit: AtomicU64,
    pub(crate) sides: [Side; 2],
    pub(crate) own: [Own; 2],
    /// Belongs to the side that sends.
    pub(crate) laps: Laps,
    /// Shows loom when payloads are written and read.
    #[cfg(duologue_loom)]
    pub(crate) witnesses: Vec<loom::cell::UnsafeCell<()>>,
    /// Shows loom that the session ends after everything that either side did in it.
    #[cfg(duologue_loom)]
    pub(crate) life: loom::cell::UnsafeCell<()>,
}

/// How many sessions have memory, so that models can check that none is left.
#[cfg(duologue_loom)]
static LIVING: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// How many sessions have begun and not ended.
#[cfg(duologue_loom)]
#[doc(hidden)]
pub fn model_sessions() -> usize {
    LIVING.load(Relaxed)
}

impl Cell {
    /// Begins a session, and returns its block and its first epoch.
    #[inline(always)]
    pub(crate) fn begin(layout: Layout) -> (NonNull<Cell>, u32) {
        let kept = pool::take(layout.class());
        if let Some(cell) = kept {
            // SAFETY: a block of the pool belongs to nobody else, and its header is initialised. When the last session
            // in it ended, it was reset to the state of a new block, except for: `buried_by`, which is written here;
            // the epoch, the stamps and the laps, which continue; the stances, which are written before they are read;
            // what tasks recorded, which counts only as long as `Side::task` says so; and `heard`, which `pair` resets.
            unsafe {
                let header = cell.as_ptr();
                if (*header).key == layout.key() {
                    (*header).buried_by.store(0, Relaxed);
                    return (cell, (*header).epoch);
                }
            }
        }
        // SAFETY: a block that was kept belongs to nobody else and is of the layout's class.
        (unsafe { Cell::begin_anew(kept, &layout) }, 1)
    }

    /// Like [`Cell::begin`], in a new block or in one that had another layout.
    ///
    /// # Safety
    /// The block, if there is one, belongs to nobody else, its header is initialised, and it is of the layout's class.
    #[cold]
    #[inline(never)]
    unsafe fn begin_anew(kept: Option<NonNull<Cell>>, layout: &Layout) -> NonNull<Cell> {
        let Some(cell) = kept else {
            return Cell::allocate(*layout);
        };
        // SAFETY: by the caller.
        unsafe {
            let header = &mut *cell.as_ptr();
            header.buried_by.store(0, Relaxed);
            header.key = layout.key();
            for own in &mut header.own {
                own.layout = *layout;
            }
            Cell::clear(cell);
        }
        cell
    }

    fn allocate(layout: Layout) -> NonNull<Cell> {
        let block = Cell::block(&layout);
        // SAFETY: a header never has size 0.
        let Some(cell) = NonNull::new(unsafe { alloc(block) }.cast::<Cell>()) else {
            handle_alloc_error(block)
        };
        let side = || Side {
            flags: AtomicU64::new(0),
            task: AtomicU64::new(0),
            ticket: AtomicU32::new(0),
            place: Place::new(),
        };
        let own = || Own {
            stance: UnsafeCell::new(&Stance {
                name: "",
                discard: Pipe::leave,
            }),
            layout,
            waker: [AtomicUsize::new(0), AtomicUsize::new(0)],
            heard: AtomicU64::new(0),
        };
        let header = Cell {
            key: layout.key(),
            class: layout.class() as u32,
            epoch: 1,
            next: None,
            buried_by: AtomicUsize::new(0),
            credit: AtomicU64::new(0),
            sides: [side(), side()],
            own: [own(), own()],
            laps: Laps::new(),
            #[cfg(duologue_loom)]
            witnesses: (0..layout.lines() * layout.per_line())
                .map(|_| loom::cell::UnsafeCell::new(()))
                .collect(),
            #[cfg(duologue_loom)]
            life: loom::cell::UnsafeCell::new(()),
        };
        // SAFETY: the block is new and large enough for a header and then the lines of the layout.
        unsafe {
            cell.write(header);
            Cell::clear(cell);
        }
        #[cfg(duologue_loom)]
        LIVING.fetch_add(1, Relaxed);
        cell
    }

    /// The session's layout.
    ///
    /// # Safety
    /// The header is initialised.
    unsafe fn layout(cell: NonNull<Cell>) -> Layout {
        // SAFETY: by the caller; nobody changes it while others use the block.
        unsafe { (*cell.as_ptr()).own[0].layout }
    }

    /// Initialises as much as in a new block.
    ///
    /// # Safety
    /// The header is initialised, and nobody else uses the block.
    #[cold]
    #[inline(never)]
    unsafe fn clear(cell: NonNull<Cell>) {
        // SAFETY: by the caller.
        unsafe {
            let layout = Cell::layout(cell);
            (*cell.as_ptr()).laps = Laps::new();
            Cell::clear_lines(cell, &layout, 0..layout.near());
        }
    }

    /// Resets the words of these lines.
    ///
    /// # Safety
    /// The session is allocated with this layout, has these lines, and nobody else accesses them.
    pub(crate) unsafe fn clear_lines(cell: NonNull<Cell>, layout: &Layout, lines: Range<usize>) {
        for line in lines {
            // SAFETY: by the caller.
            unsafe {
                Cell::word(cell, layout, line)
                    .cast_mut()
                    .write(AtomicU64::new(0))
            };
        }
    }

    fn block(layout: &Layout) -> std::alloc::Layout {
        let (size, align) = layout.block();
        let size = pool::size(layout.class()).unwrap_or(size);
        match std::alloc::Layout::from_size_align(size, align) {
            Ok(block) => block,
            Err(_) => panic!("a ring of {size} bytes is too large"),
        }
    }

    /// The word of this line.
    ///
    /// # Safety
    /// The session is allocated with this layout and has that many lines.
    #[inline(always)]
    pub(crate) unsafe fn word(
        cell: NonNull<Cell>,
        layout: &Layout,
        line: usize,
    ) -> *const AtomicU64 {
        // SAFETY: by the caller, the line is inside the block that `cell` points to.
        unsafe { cell.as_ptr().cast::<u8>().add(layout.line(line)).cast() }
    }

    /// The payload of this slot in this line.
    ///
    /// # Safety
    /// The session is allocated with this layout and has that many lines and slots.
    #[inline(always)]
    pub(crate) unsafe fn payload(
        cell: NonNull<Cell>,
        layout: &Layout,
        line: usize,
        place: usize,
    ) -> *mut u8 {
        // SAFETY: by the caller, as above.
        unsafe {
            let offset = layout.payload(line, place);
            cell.as_ptr().cast::<u8>().add(offset)
        }
    }

    /// Ends the session, whose newest epoch was `epoch`. Payloads that are still in the ring are not destroyed.
    ///
    /// # Safety
    /// Nobody uses the session any more.
    #[inline]
    pub(crate) unsafe fn end(cell: NonNull<Cell>, epoch: u32) {
        // SAFETY: by the caller, this is the only user.
        #[cfg(duologue_loom)]
        unsafe { &*std::ptr::addr_of!((*cell.as_ptr()).life) }.with_mut(|_| {});
        // SAFETY: by the caller, this is the only user.
        unsafe {
            let header = cell.as_ptr();
            let class = (*header).class as usize;
            let [one, other] = &(*header).sides;
            let has_waiter = one.place.is_left() | other.place.is_left();
            // A session after `epoch` could turn before it has rewritten anything.
            if epoch >= RENEWAL || has_waiter || pool::size(class).is_none() {
                return Cell::end_slowly(cell, epoch);
            }
            Cell::reset(header, renewed(epoch));
            if !pool::put(class, cell) {
                Cell::put_away(cell);
            }
        }
    }

    /// Like [`Cell::end`], where the stamps must be cleared, waiters are left that nobody woke, or the block is not
    /// kept.
    ///
    /// # Safety
    /// As for [`Cell::end`].
    #[cold]
    #[inline(never)]
    unsafe fn end_slowly(cell: NonNull<Cell>, epoch: u32) {
        // SAFETY: by the caller, this is the only user.
        unsafe {
            let header = cell.as_ptr();
            let [one, other] = &(*header).sides;
            // Dropping a waiter runs foreign code. This happens after the block was put away, because that code may use
            // the block, or panic and so keep it from being put away.
            let _left = [one.place.clear(), other.place.clear()];
            if pool::size((*header).class as usize).is_none() {
                return Cell::release(cell);
            }
            Cell::reset(header, renewed(epoch));
            if epoch >= RENEWAL {
                Cell::clear(cell);
            }
            Cell::put_away(cell);
        }
    }

    /// Keeps the block for another session, or frees it.
    ///
    /// # Safety
    /// The block is one that is kept, `reset` was called, and nobody uses it.
    #[inline(never)]
    unsafe fn put_away(cell: NonNull<Cell>) {
        // SAFETY: by the caller.
        unsafe {
            if !pool::keep((*cell.as_ptr()).class as usize, cell) {
                Cell::release(cell);
            }
        }
    }

    /// Resets what a session changes in its header, except for the waiter slots and the stamps, and records the next
    /// epoch.
    ///
    /// # Safety
    /// The header is initialised, and nobody else uses the block.
    #[inline]
    unsafe fn reset(header: *mut Cell, next: u32) {
        // SAFETY: by the caller.
        unsafe {
            (*header).epoch = next;
            (*header).credit.store(0, Relaxed);
            for side in &(*header).sides {
                // Most sides have reported nothing, and then their cache line stays where it is.
                if side.flags.load(Relaxed) | side.task.load(Relaxed) != 0 {
                    side.flags.store(0, Relaxed);
                    side.task.store(0, Relaxed);
                }
            }
        }
    }

    /// Frees the memory.
    ///
    /// # Safety
    /// The header is initialised, and nobody else uses the block.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn release(cell: NonNull<Cell>) {
        #[cfg(duologue_loom)]
        LIVING.fetch_sub(1, Relaxed);
        // SAFETY: by the caller; `allocate` made the block with this layout, and a block of the pool that got another
        // layout stayed in its class, which alone determines the size and alignment.
        unsafe {
            let layout = Cell::layout(cell);
            for line in 0..layout.near() {
                Cell::word(cell, &layout, line).cast_mut().drop_in_place();
            }
            cell.drop_in_place();
            dealloc(cell.as_ptr().cast(), Cell::block(&layout));
        }
    }

    /// The next block in a list.
    ///
    /// # Safety
    /// The header is initialised, and nobody else uses the block.
    pub(crate) unsafe fn next(cell: NonNull<Cell>) -> Option<NonNull<Cell>> {
        // SAFETY: by the caller.
        unsafe { (*cell.as_ptr()).next }
    }

    /// Puts another block after this one in a list.
    ///
    /// # Safety
    /// As for [`Cell::next`].
    pub(crate) unsafe fn set_next(cell: NonNull<Cell>, next: Option<NonNull<Cell>>) {
        // SAFETY: by the caller.
        unsafe { *addr_of_mut!((*cell.as_ptr()).next) = next };
    }
}
