//! One side of a session without its types: how a message is published, found, and how a side leaves.
//!
//! # The words
//!
//! A slot's word holds the epoch of the message in it (see `position`), the message's index among those of its state,
//! and flags. Only the sender of the current run changes it, by one `swap` per message, save for the flags `WAITS`
//! and `DEAD`, which the receiver sets with a compare-and-swap in the slot that it will read next. The credit word
//! holds the segment that the receiver has emptied last in an unbounded run, and flags.
//!
//! # Why it is sound
//!
//! - *Payload.* It is written before the `swap` (Release) and read after a load (Acquire) that saw the epoch.
//!   A slot is written again by its next sender, who has either read a message that its last reader sent afterwards (a
//!   turn), or has seen in the credit word (Acquire) that the reader had emptied it (Release).
//! - *Waiting.* See `wait`: the flag is set and the word changed by read-modify-writes of one word.
//! - *Leaving.* A sender leaves by publishing `CLOSED` as its last message, or, if the ring is full, by setting
//!   `ORPHANED` in the credit word; the receiver, when it reports the next segment, finds that and writes `CLOSED` in
//!   the sender's name. A receiver leaves by setting `DEAD` in the slot that it would read next; if there is a message
//!   already, it consumes that first. Each is a read-modify-write of the word that the other side changes, too, so
//!   exactly one of the two sees that the other has gone. That one frees the session.
//! - *Freeing.* After its last `swap` a sender touches the session only if the word returned `WAITS` (to fetch the
//!   waiter) or `DEAD` (then it is alone). The receiver waits for the former in `Place::settle` before it frees.
//! - *Scrubbing.* When epochs start again at 1 (see `position`) the receiver of the turning message clears the stamps
//!   of all slots but slot 0. All messages are read, the peer looks at slot 0 only, so nobody else uses them.

use std::ptr::{addr_of, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::burial;
use crate::cell::{Capacity, Cell, Slot, Stamp, Stance};
use crate::position::Position;
use crate::sync::AtomicU64;
use crate::wait::{Place, Waiter};
use crate::watched::Watched;

/// In any word: the side that does not change the word waits for its change.
pub(crate) const WAITS: u64 = 1;
/// In a slot: the receiver is gone.
const DEAD: u64 = 2;
/// In a slot, in place of a message: the sender is gone.
const CLOSED: u64 = 4;
/// In the credit word: the receiver is consuming its last messages and will then be gone.
const LEAVING: u64 = 2;
/// In the credit word: the sender went away while the ring was full.
const ORPHANED: u64 = 4;

/// What follows a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The same side speaks again.
    Stay,
    /// The other side speaks.
    Turn,
    /// The session is over.
    End,
}

/// What the receiver finds in its next slot.
pub(crate) enum Found {
    Message(u8),
    Closed,
    Nothing(u64),
}

/// Whether the sender may write into its next slot.
pub(crate) enum Room {
    Free,
    Full(u64),
    Leaving,
}

/// One side of a session, at one position. Whoever has it may use it as the type scheme says: exactly one side holds
/// the sending part. It has no `Drop`; it ends by `leave`, `free`, or by the last message.
pub struct Pipe {
    cell: NonNull<Cell>,
    at: Position,
}

/// Both sides of a new session: side 0, side 1.
pub(crate) fn pair(room: Slot, capacity: Capacity, epoch: u32) -> (Pipe, Pipe) {
    let cell = Cell::allocate(room, capacity, burial::begun());
    (
        Pipe {
            cell,
            at: Position::first(0, epoch),
        },
        Pipe {
            cell,
            at: Position::first(1, epoch),
        },
    )
}

impl Pipe {
    // SAFETY of the accessors below: the session is freed only by consuming the last `Pipe` of it, or after the peer
    // did the same and said so; as long as a `Pipe` exists, its session is allocated. They reach single fields through
    // the raw pointer, so that no reference to the whole header lives while the peer frees it.

    fn slot(&self, index: usize) -> &Stamp {
        // SAFETY: as above; positions stay below the capacity.
        unsafe { &*Cell::slot(self.cell, index) }
    }

    pub(crate) fn word(&self) -> &AtomicU64 {
        &self.slot(self.at.slot()).word
    }

    pub(crate) fn credit(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { &(*self.cell.as_ptr()).credit.0 }
    }

    pub(crate) fn place(&self, side: usize) -> *const Place {
        // SAFETY: as above; there are two sides.
        unsafe { addr_of!((*self.cell.as_ptr()).sides[side].place) }
    }

    fn stance(&self) -> *mut &'static Stance {
        // SAFETY: as above; there are two sides.
        unsafe { (*addr_of!((*self.cell.as_ptr()).sides[self.side()].stance)).get() }
    }

    /// Begins to receive in a state.
    pub(crate) fn stand(&mut self, stance: &'static Stance) {
        // SAFETY: only this side looks at its stance, and it is borrowed exclusively.
        unsafe { *self.stance() = stance };
    }

    /// The state in which this side receives.
    pub(crate) fn state_name(&self) -> &'static str {
        // SAFETY: only this side looks at its stance, and nobody writes it while it is borrowed.
        unsafe { *self.stance() }.name
    }

    /// Destroys the message that was found here, and with it the endpoint that follows.
    pub(crate) fn discard(self) {
        // SAFETY: only this side looks at its stance.
        let stance = unsafe { *self.stance() };
        (stance.discard)(self);
    }

    fn capacity(&self) -> usize {
        // SAFETY: as above.
        unsafe { (*self.cell.as_ptr()).capacity }
    }

    fn segment(&self) -> usize {
        // SAFETY: as above.
        unsafe { (*self.cell.as_ptr()).segment }
    }

    /// What fits into a slot.
    pub(crate) fn room_in_slots(&self) -> Slot {
        // SAFETY: as above.
        unsafe { (*self.cell.as_ptr()).room }
    }

    /// How many burials had begun anywhere when the session was created.
    pub(crate) fn born(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (*self.cell.as_ptr()).born }
    }

    /// Which side of its session this is.
    pub(crate) fn side(&self) -> usize {
        self.at.side()
    }

    /// Tells sessions apart.
    pub(crate) fn session(&self) -> usize {
        self.cell.as_ptr() as usize
    }

    /// Publishes a message and steps on; or gives the payload back because the peer is gone.
    ///
    /// Waits while the ring is full. The waiter, if there is one, is for the caller to wake once it has the next
    /// endpoint in hand. The payload must fit (see [`Pipe::room_in_slots`]).
    pub(crate) fn send<P>(
        self,
        index: u8,
        payload: P,
        then: Then,
    ) -> Result<(Pipe, Option<Waiter>), P> {
        if !self.has_room() && !self.wait_for_room() {
            self.leave();
            return Err(payload);
        }
        // SAFETY: the slot is free (there is room), it is the sender's, and the payload fits.
        unsafe { self.write(payload) };
        let stamp = (u64::from(self.at.epoch()) << 32) | (u64::from(index) << 8);
        let old = self.word().swap(stamp, AcqRel);
        if old & (WAITS | DEAD) == 0 {
            return Ok((self.stepped(then), None));
        }
        if old & DEAD != 0 {
            // SAFETY: the receiver is gone, so the payload that was just written is nobody else's.
            let payload = unsafe { self.read() };
            self.free();
            return Err(payload);
        }
        // SAFETY: the swap lowered the peer's flag. Until `take` returns, the peer does not free the session.
        let waiter = unsafe { Place::take(self.place(1 - self.side())) };
        Ok((self.stepped(then), waiter))
    }

    /// Takes the payload of the message that was found, releases its slot and steps on. After [`Then::End`] the
    /// session is freed, and the pipe returned is not to be used.
    ///
    /// # Safety
    /// [`Pipe::find`] found a message, its payload is a `P`, and `then` is what follows it.
    pub(crate) unsafe fn take<P>(self, then: Then) -> (P, Option<Pipe>, Option<Waiter>) {
        // SAFETY: by the caller; the load that found the message acquired its payload.
        let payload = unsafe { self.read() };
        match then {
            Then::End => {
                self.free();
                (payload, None, None)
            }
            Then::Stay => {
                let waiter = self.report_emptied();
                (payload, Some(self.stepped(then)), waiter)
            }
            Then::Turn => {
                let next = self.stepped(then);
                if next.at.epoch() == 1 {
                    next.scrub();
                }
                (payload, Some(next), None)
            }
        }
    }

    fn stepped(self, then: Then) -> Pipe {
        let at = match then {
            Then::Stay => self.at.stayed(self.capacity()),
            Then::Turn => self.at.turned(),
            Then::End => self.at,
        };
        Pipe {
            cell: self.cell,
            at,
        }
    }

    /// Looks into the next slot.
    pub(crate) fn find(&self) -> Found {
        let word = self.word().load(Acquire);
        if (word >> 32) as u32 != self.at.epoch() {
            Found::Nothing(word)
        } else if word & CLOSED != 0 {
            Found::Closed
        } else {
            Found::Message((word >> 8) as u8)
        }
    }

    /// Ends the session for a receiver that found it closed, or whoever else is alone with it.
    pub(crate) fn free(self) {
        // SAFETY: the peer is gone, except that it may still be fetching this side's waiter.
        unsafe {
            (*self.place(self.side())).settle();
            Cell::free(self.cell);
        }
    }

    /// Ends the session for a sender: publishes that it is gone. Never waits.
    pub(crate) fn leave(self) {
        loop {
            let credit = self.credit().load(Acquire);
            if self.needs_room() && !self.emptied_enough(credit) {
                let orphaned = (credit & !WAITS) | ORPHANED;
                if self
                    .credit()
                    .compare_exchange(credit, orphaned, AcqRel, Relaxed)
                    .is_ok()
                {
                    return;
                }
                continue;
            }
            let old = self
                .word()
                .swap((u64::from(self.at.epoch()) << 32) | CLOSED, AcqRel);
            if old & DEAD != 0 {
                self.free();
            } else if old & WAITS != 0 {
                // SAFETY: the swap lowered the peer's flag; as in `send`.
                if let Some(waiter) = unsafe { Place::take(self.place(1 - self.side())) } {
                    waiter.wake();
                }
            }
            return;
        }
    }

    /// Ends the session for a receiver, unless a message is there: then that has to be consumed first.
    pub(crate) fn die(self) -> Result<(), Pipe> {
        loop {
            match self.find() {
                Found::Message(_) => return Err(self),
                Found::Closed => {
                    self.free();
                    return Ok(());
                }
                Found::Nothing(word) => {
                    let dead = (word & !WAITS) | DEAD;
                    if self
                        .word()
                        .compare_exchange(word, dead, AcqRel, Acquire)
                        .is_ok()
                    {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Tells a sender that lives that nobody wants more, so that it does not feed a receiver that is leaving.
    pub(crate) fn announce_leaving(&self) {
        let mut credit = self.credit().load(Relaxed);
        while credit & LEAVING == 0 {
            let leaving = (credit & !WAITS) | LEAVING;
            match self
                .credit()
                .compare_exchange_weak(credit, leaving, AcqRel, Relaxed)
            {
                Ok(old) => {
                    if let Some(waiter) = self.waiter_of(old) {
                        waiter.wake();
                    }
                    return;
                }
                Err(now) => credit = now,
            }
        }
    }

    /// Called by the receiver when it has emptied the current slot: reports a segment if that was its last.
    fn report_emptied(&self) -> Option<Waiter> {
        let emptied = self.at.slot() + 1;
        if emptied != self.segment() && emptied != self.capacity() {
            return None;
        }
        let (which, start) = if emptied == self.segment() {
            (0, 0)
        } else {
            (1, self.segment())
        };
        let count = segment_count(self.at.epoch(), which);
        let mut credit = self.credit().load(Relaxed);
        let old = loop {
            let report = (count << 8) | (credit & LEAVING);
            match self
                .credit()
                .compare_exchange_weak(credit, report, AcqRel, Relaxed)
            {
                Ok(old) => break old,
                Err(now) => credit = now,
            }
        };
        if old & ORPHANED != 0 {
            // The sender stopped before this segment, one lap later, and is gone: the slot is this side's alone.
            let epoch = self.at.epoch().wrapping_add(1);
            self.slot(start)
                .word
                .store((u64::from(epoch) << 32) | CLOSED, Release);
        }
        self.waiter_of(old)
    }

    /// The sender's waiter, if the change of the credit word from `old` lowered the sender's flag.
    fn waiter_of(&self, old: u64) -> Option<Waiter> {
        if old & WAITS == 0 {
            return None;
        }
        // SAFETY: the caller's change lowered the flag.
        unsafe { Place::take(self.place(1 - self.side())) }
    }

    fn scrub(&self) {
        for index in 1..self.capacity() {
            self.slot(index).word.store(0, Relaxed);
        }
        self.credit().store(0, Relaxed);
    }

    /// Whether the sender stands before a segment that it has filled before in this run.
    fn needs_room(&self) -> bool {
        self.at.is_lapping() && (self.at.slot() == 0 || self.at.slot() == self.segment())
    }

    /// Whether the receiver has emptied the segment before which the sender stands, and possibly the one after it.
    fn emptied_enough(&self, credit: u64) -> bool {
        let which = u64::from(self.at.slot() != 0);
        let needed = segment_count(self.at.epoch().wrapping_sub(1), which);
        (credit >> 8).wrapping_sub(needed) & SEGMENT_COUNTS < 2
    }

    pub(crate) fn room(&self) -> Room {
        if !self.needs_room() {
            return Room::Free;
        }
        let credit = self.credit().load(Acquire);
        if credit & LEAVING != 0 {
            Room::Leaving
        } else if self.emptied_enough(credit) {
            Room::Free
        } else {
            Room::Full(credit)
        }
    }

    fn has_room(&self) -> bool {
        matches!(self.room(), Room::Free)
    }

    fn wait_for_room(&self) -> bool {
        crate::park::until(
            Watched {
                pipe: self,
                sends: true,
            },
            None,
        );
        self.has_room()
    }

    /// Writes the payload into the current slot.
    ///
    /// # Safety
    /// The slot is the caller's and free, and the payload fits.
    unsafe fn write<P>(&self, payload: P) {
        #[cfg(loom)]
        self.slot(self.at.slot()).witness.with_mut(|_| {});
        // SAFETY: by the caller.
        unsafe {
            Cell::payload(self.cell, self.at.slot())
                .cast::<P>()
                .write(payload)
        };
    }

    /// Moves the payload out of the current slot.
    ///
    /// # Safety
    /// The slot holds a `P` that is the caller's.
    unsafe fn read<P>(&self) -> P {
        #[cfg(loom)]
        self.slot(self.at.slot()).witness.with_mut(|_| {});
        // SAFETY: by the caller.
        unsafe { Cell::payload(self.cell, self.at.slot()).cast::<P>().read() }
    }
}

const SEGMENT_COUNTS: u64 = (1 << 33) - 1;

/// Numbers the segments of a ring over all epochs.
fn segment_count(epoch: u32, which: u64) -> u64 {
    (u64::from(epoch) << 1) | which
}

#[cfg(all(test, not(loom)))]
mod tests;
