//! The one allocation of a session: a header, a place to wait for each side, and the ring that serves both directions.

use std::alloc::{alloc, dealloc, handle_alloc_error, Layout};
use std::cell::UnsafeCell;
use std::mem::{align_of, size_of};
use std::ptr::NonNull;

use crate::pipe::Pipe;
use crate::position::MAX_CAPACITY;
use crate::sync::AtomicU64;
use crate::wait::Place;

/// How many messages can be in flight at once: the longest run of messages in one direction.
///
/// One ring serves both directions because a state has one direction: a side speaks only after it has read all that
/// the other said, so messages are in flight in one direction at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Capacity {
    /// No run is longer than this, so a send never waits.
    Bounded(usize),
    /// A run may go on for ever, so a send waits when the peer is [`Capacity::RING`] messages behind.
    Unbounded,
}

impl Capacity {
    /// The slots of a session whose runs are unbounded. A power of two.
    pub const RING: usize = 64;

    /// The slots of the ring, and after how many of them the receiver tells the sender that they are free.
    ///
    /// In a bounded run nobody asks, so the receiver says so only at the end of the ring, which such a run reaches
    /// only in a state that has no message to send.
    fn ring(self) -> (usize, usize) {
        match self {
            Capacity::Bounded(slots) => (slots.max(1), slots.max(1)),
            Capacity::Unbounded => (Capacity::RING, Capacity::RING / 2),
        }
    }
}

/// The size and alignment of the room that each slot of a ring has for a payload.
///
/// ```
/// # use duologue_runtime::Slot;
/// const ROOM: Slot = Slot::new().fit::<u64>().fit::<(String, u8)>();
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    pub(crate) size: usize,
    pub(crate) align: usize,
}

impl Slot {
    /// No room: for messages without payload.
    pub const fn new() -> Slot {
        Slot { size: 0, align: 1 }
    }

    /// At least enough room for a payload of this type.
    pub const fn fit<P>(self) -> Slot {
        let (size, align) = (size_of::<P>(), align_of::<P>());
        Slot {
            size: if size > self.size { size } else { self.size },
            align: if align > self.align {
                align
            } else {
                self.align
            },
        }
    }

    /// Whether there is room for a payload of this type.
    pub(crate) const fn fits<P>(self) -> bool {
        size_of::<P>() <= self.size && align_of::<P>() <= self.align
    }
}

impl Default for Slot {
    fn default() -> Slot {
        Slot::new()
    }
}

/// What a side must know about its state once its type is forgotten.
pub(crate) struct Stance {
    /// The state's name.
    pub(crate) name: &'static str,
    /// Destroys the message that waits at the pipe, and with it the endpoint that follows.
    pub(crate) discard: fn(Pipe),
}

/// What only one side writes, in a cache line of its own.
#[repr(align(64))]
pub(crate) struct Side {
    pub(crate) place: Place,
    /// Set whenever this side begins to receive, so that a receiving endpoint can be dropped without knowing its state:
    /// then no type that contains an endpoint needs a bound. The other side never looks here.
    pub(crate) stance: UnsafeCell<&'static Stance>,
}

impl Side {
    fn new() -> Side {
        Side {
            place: Place::new(),
            stance: UnsafeCell::new(&Stance {
                name: "",
                discard: Pipe::leave,
            }),
        }
    }
}

/// Keeps what the two sides write in cache lines of their own.
#[repr(align(64))]
pub(crate) struct Line<T>(pub(crate) T);

/// What precedes the payload in a slot.
#[repr(C)]
pub(crate) struct Stamp {
    /// Epoch and index of the message in the slot, and flags: see `pipe`.
    pub(crate) word: AtomicU64,
    /// Shows loom when the payload is written and read.
    #[cfg(loom)]
    pub(crate) witness: loom::cell::UnsafeCell<()>,
}

/// The header of a session. The slots follow it in the same block.
#[repr(C, align(64))]
pub(crate) struct Cell {
    pub(crate) capacity: usize,
    /// The receiver reports free slots whenever it has emptied this many, and at the end of the ring.
    pub(crate) segment: usize,
    /// What fits into a slot.
    pub(crate) room: Slot,
    /// How many burials had begun anywhere when the session was created: see `burial`.
    pub(crate) born: u64,
    stride: usize,
    first_slot: usize,
    payload: usize,
    block: Layout,
    /// Which segment the receiver has emptied last, and flags: see `pipe`.
    pub(crate) credit: Line<AtomicU64>,
    /// What side 0 and side 1 have for themselves.
    pub(crate) sides: [Side; 2],
}

impl Cell {
    /// Allocates a session. Panics if the ring would be larger than the address space.
    pub(crate) fn allocate(room: Slot, capacity: Capacity, born: u64) -> NonNull<Cell> {
        let (slots, segment) = capacity.ring();
        assert!(
            slots <= MAX_CAPACITY,
            "a run of {slots} messages is too long for a ring"
        );
        let plan = || {
            let room = Layout::from_size_align(room.size, room.align).ok()?;
            let (slot, payload) = Layout::new::<Stamp>().extend(room).ok()?;
            let slot = slot.pad_to_align();
            let ring =
                Layout::from_size_align(slot.size().checked_mul(slots)?, slot.align()).ok()?;
            let (block, first_slot) = Layout::new::<Cell>().extend(ring).ok()?;
            Some((slot.size(), payload, first_slot, block.pad_to_align()))
        };
        let Some((stride, payload, first_slot, block)) = plan() else {
            panic!(
                "a ring of {slots} slots of {} bytes is too large",
                room.size
            )
        };
        // SAFETY: a header is never empty.
        let memory = unsafe { alloc(block) };
        let Some(cell) = NonNull::new(memory.cast::<Cell>()) else {
            handle_alloc_error(block)
        };
        let credit = Line(AtomicU64::new(0));
        let sides = [Side::new(), Side::new()];
        let header = Cell {
            capacity: slots,
            segment,
            room,
            born,
            stride,
            first_slot,
            payload,
            block,
            credit,
            sides,
        };
        // SAFETY: the block is new and has room for a header and then `slots` slots at `stride`.
        unsafe {
            cell.write(header);
            for index in 0..slots {
                let word = AtomicU64::new(0);
                Cell::slot(cell, index).cast_mut().write(Stamp {
                    word,
                    #[cfg(loom)]
                    witness: loom::cell::UnsafeCell::new(()),
                });
            }
        }
        cell
    }

    /// The slot with this index.
    ///
    /// # Safety
    /// The session is allocated and has that many slots.
    pub(crate) unsafe fn slot(cell: NonNull<Cell>, index: usize) -> *const Stamp {
        // SAFETY: by the caller; the offsets are those of `allocate`, inside the block that `cell` points to.
        unsafe {
            let (first, stride) = ((*cell.as_ptr()).first_slot, (*cell.as_ptr()).stride);
            cell.as_ptr()
                .cast::<u8>()
                .add(first + index * stride)
                .cast()
        }
    }

    /// Where the payload of the slot with this index lies.
    ///
    /// # Safety
    /// As for [`Cell::slot`].
    pub(crate) unsafe fn payload(cell: NonNull<Cell>, index: usize) -> *mut u8 {
        // SAFETY: by the caller, as above.
        unsafe {
            Cell::slot(cell, index)
                .cast::<u8>()
                .cast_mut()
                .add((*cell.as_ptr()).payload)
        }
    }

    /// Gives the memory back. Payloads that are still in the ring are not destroyed.
    ///
    /// # Safety
    /// Nobody uses the session any more.
    pub(crate) unsafe fn free(cell: NonNull<Cell>) {
        // SAFETY: by the caller; the header and slots were written by `allocate` with this layout.
        unsafe {
            let block = (*cell.as_ptr()).block;
            for index in 0..(*cell.as_ptr()).capacity {
                Cell::slot(cell, index).cast_mut().drop_in_place();
            }
            cell.drop_in_place();
            dealloc(cell.as_ptr().cast(), block);
        }
    }
}
