//! The single memory block of a session: a header, what each side writes, and the ring that serves both directions.

use std::alloc::{alloc, dealloc, handle_alloc_error};
use std::cell::UnsafeCell;
use std::mem::size_of;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

use super::driver::{Attached, What};
use super::position::{renewed, Position, RENEWAL};
use super::words::{Credit, LineWord, PeerFlags, Shared, TaskNote};
use crate::floor::barrier::Cpu;
use crate::floor::layout::{Layout, Part, HEADER};
use crate::floor::pool::{self, Link};
use crate::floor::sync::AtomicBool;
use crate::floor::waiting::WaitSlot;

/// A state, as its receiver sees it where the state's type is not known. There is at least one value for each state, so
/// its address also shows that a state is the same as the one before.
pub struct StateInfo {
    /// The state's name.
    pub(crate) name: &'static str,
    /// The side that sends in it, or nothing if that is not known.
    pub(crate) sender: &'static str,
    /// Destroys the message that is at this position of this session, and with it the endpoint that follows.
    pub(crate) discard: fn(NonNull<Block>, Position),
}

impl StateInfo {
    /// The state of a side that has not received yet. It is replaced before it is read.
    const NONE: &'static StateInfo = &StateInfo {
        name: "",
        sender: "",
        discard: |_, _| unreachable!("a side that has not received has no messages"),
    };
}

/// Where a side reports to the other that it waits or disconnects, in a cache line of its own: the sender reads it with
/// nearly every message, and it changes only when the receiver goes to sleep.
#[repr(align(64))]
pub(crate) struct PublicSide {
    pub(crate) flags: Shared<PeerFlags>,
    /// What this side has recorded about being a task. The other side never accesses it.
    pub(crate) task: Shared<TaskNote>,
    /// The ticket for the barrier that a task of this side took when it last yielded instead of waiting: see
    /// `link::wait`. Its waker is in [`PrivateSide`]. The other side never accesses it.
    pub(crate) ticket: AtomicU64,
    /// Whether this side has a time limit, which is in [`Attached`]: 0 or 1. The other side never accesses it.
    pub(crate) is_limited: AtomicU32,
    pub(crate) slot: WaitSlot,
}

/// What a side writes for itself, in a cache line of its own.
#[repr(align(64))]
pub(crate) struct PrivateSide {
    /// Set whenever this side begins to receive in a different state than before, so that a receiving endpoint can be
    /// dropped without knowing its state. So no type that contains an endpoint needs a trait bound.
    pub(crate) state: UnsafeCell<&'static StateInfo>,
    /// The session's layout, once for each side. So the header's cache line is not read between the beginning and the
    /// end of the session, and stays in the cache where sessions begin and end.
    pub(crate) layout: Layout,
    /// The waker that a task of this side registered when it last yielded instead of waiting, as two pointers: see
    /// `link::wait`.
    pub(crate) waker: [AtomicUsize; 2],
    /// The word of the message that last gave this side the turn, for the processor in it: see
    /// [`PrivateSide::peer_cpu`].
    pub(crate) turned_by: Shared<LineWord>,
}

impl PrivateSide {
    /// The processor on which the peer ran when it last gave this side the turn.
    #[inline]
    pub(crate) fn peer_cpu(&self) -> Cpu {
        self.turned_by.load(Relaxed).cpu()
    }
}

const _: () = assert!(size_of::<Block>() <= HEADER);
#[cfg(all(target_pointer_width = "64", not(duologue_loom)))]
const _: () = assert!(
    size_of::<PublicSide>() == 64 && size_of::<PrivateSide>() == 64 && size_of::<Block>() == HEADER
);

/// The header of a session, or of one of its two blocks. The lines of the ring follow it in the same block.
#[repr(C, align(64))]
pub(crate) struct Block {
    /// See `pool`. This comes first, because the pool knows nothing else of the block.
    link: Link,
    /// See [`Layout::key`] and [`Layout::class`]: the layout of the block, without reading the cache lines of its
    /// sides.
    key: u64,
    class: u32,
    /// An epoch that is newer than all stamps in the ring, for the next session in this block.
    epoch: u32,
    /// The address of the queue that destroys or destroyed messages of this session, or 0: see `link::drop_queue`. The
    /// side that receives accesses it.
    pub(crate) dropped_by: AtomicUsize,
    /// Null within a process, unless the session is observed, has a number or a side of it has a time limit. Otherwise a
    /// box, which belongs to the block and is freed when the session ends.
    /// In a small block that was replaced, [`replaced`].
    attached: AtomicPtr<Attached>,
    /// The large block that replaces this small one: see `link::message::grow`. The sender sets it.
    larger: AtomicPtr<Block>,
    part: Part,
    /// It changes only a few times in a lap, so it can share a cache line with the constants.
    pub(crate) credit: Shared<Credit>,
    pub(crate) public: [PublicSide; 2],
    pub(crate) private: [PrivateSide; 2],
    /// Belongs to the side that sends.
    pub(crate) laps: Laps,
    /// Shows loom when payloads are written and read.
    #[cfg(duologue_loom)]
    pub(crate) witnesses: Vec<loom::cell::UnsafeCell<()>>,
    /// Shows loom that the session ends after everything that either side did in it.
    #[cfg(duologue_loom)]
    pub(crate) life: loom::cell::UnsafeCell<()>,
}

/// What is attached to a small block that was replaced: an address at which nothing is.
fn replaced() -> *mut Attached {
    NonNull::dangling().as_ptr()
}

/// How many blocks have memory, so that models can check that none is left.
#[cfg(duologue_loom)]
static LIVING: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// How many blocks sessions have. No session has any when it has ended.
#[cfg(duologue_loom)]
#[doc(hidden)]
pub fn model_sessions() -> usize {
    LIVING.load(Relaxed)
}

impl Block {
    /// Begins a session, or its large block, and returns the block and its first epoch.
    #[inline(always)]
    pub(crate) fn begin(layout: Layout, part: Part) -> (NonNull<Block>, u32) {
        let kept = pool::take(layout.class(part)).map(NonNull::cast::<Block>);
        if let Some(block) = kept {
            // SAFETY: a block of the pool has no other owner, and its header is initialized. When the last session
            // in it ended, it was reset to the state of a new block, except for: `dropped_by`, which is written here;
            // the epoch, the stamps and the laps, which continue; the states, which are written before they are read;
            // what tasks recorded, which counts only as long as `PublicSide::task` says so; and `turned_by`, which
            // `Pipe::begin` resets.
            unsafe {
                let header = block.as_ptr();
                if (*header).key == layout.key(part) {
                    (*header).dropped_by.store(0, Relaxed);
                    return (block, (*header).epoch);
                }
            }
        }
        // SAFETY: a block that was kept has no other owner and is of the layout's class.
        (unsafe { Block::begin_anew(kept, &layout, part) }, 1)
    }

    /// Like [`Block::begin`], in a new block or in one that had another layout.
    ///
    /// # Safety
    /// The block, if there is one, has no other owner, its header is initialized, and it is of the layout's class.
    #[cold]
    #[inline(never)]
    unsafe fn begin_anew(
        kept: Option<NonNull<Block>>,
        layout: &Layout,
        part: Part,
    ) -> NonNull<Block> {
        let Some(block) = kept else {
            return Block::allocate(*layout, part);
        };
        // SAFETY: by the caller.
        unsafe {
            let header = &mut *block.as_ptr();
            header.dropped_by.store(0, Relaxed);
            header.key = layout.key(part);
            header.part = part;
            header.epoch = 1;
            for side in &mut header.private {
                side.layout = *layout;
            }
            Block::clear(block);
        }
        block
    }

    fn allocate(layout: Layout, part: Part) -> NonNull<Block> {
        let memory = Block::memory(&layout, part);
        // SAFETY: a header never has size 0.
        let Some(block) = NonNull::new(unsafe { alloc(memory) }.cast::<Block>()) else {
            handle_alloc_error(memory)
        };
        let public = || PublicSide {
            flags: Shared::new(PeerFlags::NONE),
            task: Shared::new(TaskNote::NONE),
            ticket: AtomicU64::new(0),
            is_limited: AtomicU32::new(0),
            slot: WaitSlot::new(),
        };
        let private = || PrivateSide {
            state: UnsafeCell::new(StateInfo::NONE),
            layout,
            waker: [AtomicUsize::new(0), AtomicUsize::new(0)],
            turned_by: Shared::new(LineWord::EMPTY),
        };
        let header = Block {
            link: Link::default(),
            key: layout.key(part),
            class: layout.class(part) as u32,
            epoch: 1,
            dropped_by: AtomicUsize::new(0),
            attached: AtomicPtr::new(ptr::null_mut()),
            larger: AtomicPtr::new(ptr::null_mut()),
            part,
            credit: Shared::new(Credit::NONE),
            public: [public(), public()],
            private: [private(), private()],
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
            block.write(header);
            Block::clear(block);
        }
        #[cfg(duologue_loom)]
        LIVING.fetch_add(1, Relaxed);
        block
    }

    /// The session's layout.
    ///
    /// # Safety
    /// The header is initialized.
    unsafe fn layout(block: NonNull<Block>) -> Layout {
        // SAFETY: by the caller; it is not changed while the block is shared.
        unsafe { (*block.as_ptr()).private[0].layout }
    }

    /// Initializes as much as in a new block.
    ///
    /// # Safety
    /// The header is initialized, and nothing else uses the block.
    #[cold]
    #[inline(never)]
    unsafe fn clear(block: NonNull<Block>) {
        // SAFETY: by the caller.
        unsafe {
            let layout = Block::layout(block);
            let header = block.as_ptr();
            (*header).laps = Laps::new();
            Block::clear_lines(block, &layout, 0..layout.cleared((*header).part));
        }
    }

    /// Resets the words of these lines.
    ///
    /// # Safety
    /// The session is allocated with this layout, has these lines, and nothing else accesses them.
    pub(crate) unsafe fn clear_lines(block: NonNull<Block>, layout: &Layout, lines: Range<usize>) {
        for line in lines {
            // SAFETY: by the caller.
            unsafe {
                Block::word(block, layout, line)
                    .cast_mut()
                    .write(Shared::new(LineWord::EMPTY))
            };
        }
    }

    fn memory(layout: &Layout, part: Part) -> std::alloc::Layout {
        let (size, align) = layout.block(part);
        let size = match layout.class(part) {
            pool::CLASSES => size,
            class => pool::bytes(class),
        };
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
        block: NonNull<Block>,
        layout: &Layout,
        line: usize,
    ) -> *const Shared<LineWord> {
        // SAFETY: by the caller, the line is inside the block that `block` points to.
        unsafe { block.as_ptr().cast::<u8>().add(layout.line(line)).cast() }
    }

    /// The payload of this slot in this line.
    ///
    /// # Safety
    /// The session is allocated with this layout and has that many lines and slots.
    #[inline(always)]
    pub(crate) unsafe fn payload(
        block: NonNull<Block>,
        layout: &Layout,
        line: usize,
        slot: usize,
    ) -> *mut u8 {
        // SAFETY: by the caller, as above.
        unsafe {
            let offset = layout.payload(line, slot);
            block.as_ptr().cast::<u8>().add(offset)
        }
    }

    /// Attaches a driver or an observer to the session, which has none yet.
    ///
    /// # Safety
    /// The session has not ended.
    pub(crate) unsafe fn attach(block: NonNull<Block>, attached: Attached) {
        let attached = Box::into_raw(Box::new(attached));
        // SAFETY: by the caller. A side that uses it reads the pointer with Acquire.
        unsafe { (*block.as_ptr()).attached.store(attached, Release) };
    }

    /// What is attached to the session. If there is nothing, attaches what a time limit or a number needs; the other side
    /// may do the same at the same time.
    ///
    /// # Safety
    /// The session does not end during `'a`.
    #[cold]
    pub(crate) unsafe fn attached_or_new<'a>(block: NonNull<Block>) -> &'a Attached {
        // SAFETY: by the caller.
        if let Some(attached) = unsafe { Block::attached(block) } {
            return attached;
        }
        let new = Box::into_raw(Box::new(Attached::new(What::Nothing)));
        // SAFETY: by the caller: the box that ends up there is freed only when the session ends, and until then a block that is
        // replaced stays so. The box that was made here has no other user if the other side was first.
        unsafe {
            let attached = &(*block.as_ptr()).attached;
            match attached.compare_exchange(ptr::null_mut(), new, AcqRel, Acquire) {
                Ok(_) => &*new,
                Err(other) => {
                    drop(Box::from_raw(new));
                    match Block::larger(block) {
                        Some(larger) if other == replaced() => Block::attached_or_new(larger),
                        _ => &*other,
                    }
                }
            }
        }
    }

    /// What is attached to the session.
    ///
    /// # Safety
    /// The session does not end during `'a`.
    pub(crate) unsafe fn attached<'a>(block: NonNull<Block>) -> Option<&'a Attached> {
        // SAFETY: by the caller: the box is freed only when the session ends.
        unsafe {
            let attached = (*block.as_ptr()).attached.load(Acquire);
            if attached == replaced() {
                return Block::attached(Block::larger(block)?);
            }
            attached.as_ref()
        }
    }

    /// The large block that replaces this small one, for a side that has found that one does.
    ///
    /// # Safety
    /// The session does not end in the meantime.
    pub(crate) unsafe fn larger(block: NonNull<Block>) -> Option<NonNull<Block>> {
        // SAFETY: by the caller.
        NonNull::new(unsafe { (*block.as_ptr()).larger.load(Acquire) })
    }

    /// The first epoch of a block in which neither side has ended the session.
    ///
    /// # Safety
    /// The caller has received the block from the side that began it, and the session does not end in the meantime.
    pub(crate) unsafe fn first_epoch(block: NonNull<Block>) -> u32 {
        // SAFETY: by the caller; it is not changed before the session ends.
        unsafe { (*block.as_ptr()).epoch }
    }

    /// Replaces a small block by a large one, which gets what is attached. The other side may attach something, or use what is, at the
    /// same time.
    ///
    /// # Safety
    /// The session does not end in the meantime, and the large block is new.
    pub(crate) unsafe fn replace(small: NonNull<Block>, large: NonNull<Block>) {
        // SAFETY: by the caller.
        let (old, new) = unsafe {
            (*small.as_ptr()).larger.store(large.as_ptr(), Release);
            (&(*small.as_ptr()).attached, &(*large.as_ptr()).attached)
        };
        let mut attached = old.load(Acquire);
        loop {
            new.store(attached, Release);
            match old.compare_exchange(attached, replaced(), AcqRel, Acquire) {
                Ok(_) => return,
                Err(other) => attached = other,
            }
        }
    }

    /// Takes that back.
    ///
    /// # Safety
    /// The session belongs to the caller alone.
    pub(crate) unsafe fn keep(small: NonNull<Block>, large: NonNull<Block>) {
        // SAFETY: by the caller.
        unsafe {
            let attached = (*large.as_ptr()).attached.swap(ptr::null_mut(), Relaxed);
            (*small.as_ptr()).larger.store(ptr::null_mut(), Relaxed);
            (*small.as_ptr()).attached.store(attached, Relaxed);
        }
    }

    /// Prepares a small block that was replaced for its end.
    ///
    /// # Safety
    /// Both sides have left the block.
    pub(crate) unsafe fn forget_larger(small: NonNull<Block>) {
        // SAFETY: by the caller.
        unsafe {
            (*small.as_ptr()).larger.store(ptr::null_mut(), Relaxed);
            (*small.as_ptr()).attached.store(ptr::null_mut(), Relaxed);
            for side in &(*small.as_ptr()).public {
                side.is_limited.store(0, Relaxed);
            }
        }
    }

    /// Ends the session, whose newest epoch was `epoch`. Payloads that are still in the ring are not destroyed.
    ///
    /// # Safety
    /// The session is no longer in use.
    #[inline]
    pub(crate) unsafe fn end(block: NonNull<Block>, epoch: u32) {
        // SAFETY: by the caller, this is the only user.
        #[cfg(duologue_loom)]
        unsafe { &*std::ptr::addr_of!((*block.as_ptr()).life) }.with_mut(|_| {});
        // SAFETY: by the caller, this is the only user.
        unsafe {
            let header = block.as_ptr();
            let class = (*header).class as usize;
            let [one, other] = &(*header).public;
            let has_waiter = one.slot.is_busy() | other.slot.is_busy();
            let has_more = !(*header).attached.load(Relaxed).is_null();
            // A session after `epoch` could turn before it has rewritten anything.
            if epoch >= RENEWAL || has_waiter || has_more || class == pool::CLASSES {
                return Block::end_slowly(block, epoch);
            }
            Block::put_away(block, epoch);
        }
    }

    /// Like [`Block::end`], where the stamps must be cleared, waiters remain that were not woken, something is attached, or
    /// the block is not kept.
    ///
    /// # Safety
    /// As for [`Block::end`].
    #[cold]
    #[inline(never)]
    unsafe fn end_slowly(block: NonNull<Block>, epoch: u32) {
        // SAFETY: by the caller, this is the only user.
        unsafe {
            let header = block.as_ptr();
            let [one, other] = &(*header).public;
            // Dropping a waiter, a driver or an observer runs user code, which may use the block, or panic and so keep it from being
            // put away.
            let _left = [&one.slot, &other.slot].map(|slot| WaitSlot::take(slot));
            let attached = NonNull::new((*header).attached.swap(ptr::null_mut(), Acquire));
            let _attached = attached.map(|attached| Box::from_raw(attached.as_ptr()));
            for side in &(*header).public {
                side.is_limited.store(0, Relaxed);
            }
            if (*header).class as usize == pool::CLASSES {
                return Block::release(block);
            }
            if epoch >= RENEWAL {
                Block::clear(block);
            }
            Block::put_away(block, epoch);
        }
    }

    /// Resets what a session changes in its header, except for the waiter slots and the stamps, and keeps the block for
    /// another session, or frees it.
    ///
    /// # Safety
    /// As for [`Block::end`], and the block is of a class that is kept.
    #[inline]
    unsafe fn put_away(block: NonNull<Block>, epoch: u32) {
        // SAFETY: by the caller.
        unsafe {
            let header = block.as_ptr();
            (*header).epoch = renewed(epoch);
            (*header).credit.store(Credit::NONE, Relaxed);
            for side in &(*header).public {
                // Most sides have reported nothing, and then their cache line stays where it is.
                if side.flags.load(Relaxed) != PeerFlags::NONE
                    || side.task.load(Relaxed) != TaskNote::NONE
                {
                    side.flags.store(PeerFlags::NONE, Relaxed);
                    side.task.store(TaskNote::NONE, Relaxed);
                }
            }
            if !pool::put((*header).class as usize, block.cast()) {
                Block::release(block);
            }
        }
    }

    /// Frees the memory.
    ///
    /// # Safety
    /// The header is initialized, and nothing else uses the block.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn release(block: NonNull<Block>) {
        #[cfg(duologue_loom)]
        LIVING.fetch_sub(1, Relaxed);
        // SAFETY: by the caller; `allocate` made the block with this layout, and a block of the pool that got another
        // layout stayed in its class, which alone determines the size and alignment.
        unsafe {
            let (layout, part) = (Block::layout(block), (*block.as_ptr()).part);
            for line in 0..layout.cleared(part) {
                Block::word(block, &layout, line).cast_mut().drop_in_place();
            }
            block.drop_in_place();
            dealloc(block.as_ptr().cast(), Block::memory(&layout, part));
        }
    }
}

/// Lines that this many laps have skipped are cleared before the next lap that has them, because a stamp there could
/// match a later epoch. Turns alone do not let a stamp grow older than `RENEWAL`. Laps that end early can count twice,
/// in a run before the turns and in one after them: a lap that continues past the early end, and turns before it
/// reaches the lines, ends the count but leaves the stamps. So both counts together are at most half of `RENEWAL`.
pub(crate) const TOO_OLD: u32 = RENEWAL / 4;

/// What the sender of a run records about its laps: see `link::peer`.
pub(crate) struct Laps {
    /// What the sender decided last: whether a lap continues past the early end. The receiver reads this.
    pub(crate) go_on: AtomicBool,
    /// How many laps in a row have skipped the lines after the early end, or `TOO_OLD` if these lines are not
    /// initialized. Only the sender accesses it.
    pub(crate) skipped: UnsafeCell<u32>,
}

impl Laps {
    /// For a block in which only the near lines are initialized.
    pub(crate) fn new() -> Laps {
        Laps {
            go_on: AtomicBool::new(false),
            skipped: UnsafeCell::new(TOO_OLD),
        }
    }
}
