//! One side of a session without its types: how a message is published and found.
//!
//! # The words
//!
//! The word of a line (see `layout`) holds the epoch of the messages in it and how many of them there are (see
//! `position`), the index of each among the messages of its state, the processor on which the sender runs, and flags:
//!
//! ```text
//! 63      42 41   39    38   37       31 30     3   2      1      0
//! | epoch   | count | KNOWS | processor | indexes | CLOSED DEAD WAITS |
//! ```
//!
//! # Two ways to publish
//!
//! A receiver that finds nothing may go to sleep, and the sender has to notice that. It also has to notice a receiver
//! that disconnects, because nothing may be sent to it any more. There are two ways to achieve this, and both sides
//! know from the position which one is used:
//!
//! - *Swapped*, where a run begins and cannot continue (an alternating dialogue), and everywhere if the system has no
//!   asymmetric barrier. The receiver sets `WAITS` or `DEAD` in the word with a compare-and-swap, the sender publishes
//!   with a swap, and the order of these two operations on the word decides. Nothing else is needed.
//! - *Stored*, in runs. The sender stores the word and then reads the receiver's flags, which are in another cache line
//!   (see `flags`). This costs no read-modify-write, and the line does not have to wait for one, so a run of three
//!   messages is as fast as one message. A receiver that sleeps pays for the barrier (see `barrier`).
//!
//! A task that waits in runs would pay with every message, so it announces in its flags that it is a task. A sender
//! that has seen this also swaps in runs, reports that in the word (`KNOWS`), and then reads the flags as well;
//! `watched` says how the receiver knows.
//!
//! # Why it is sound
//!
//! - *Payload.* It is written before the word (Release) and read after a load (Acquire) that saw the count. A slot is
//!   written again by its next sender, which has either read a message that the slot's last reader sent afterwards (a
//!   turn), or has seen in the credit word (Acquire) that the reader had emptied the slot (Release). A further store of
//!   a word by the same sender, and a compare-and-swap by the receiver that sets flags in it, preserve what was
//!   released.
//! - *Waiting*: see `watched`. *Disconnecting* and the last message: see `pipe/leave.rs`.
//! - *The session exists* while a sender reads flags after a message that is not the last: it is ended either by the
//!   receiver of the last message or by the side that is left alone, and both require something that this sender has
//!   not done yet.
//! - *Initialising.* A block is cleared as far as the shortest laps reach. The sender clears the lines after an early
//!   end before a lap first continues past that end, and it records that the lap continues before it publishes anything
//!   in the last line before that end. So the receiver accesses the lines after that end only after both (Release,
//!   Acquire). See `room`.
//! - *Clearing.* When epochs go back (see `position`), the receiver of the turning message clears the stamps of all
//!   lines except the first. All messages have been read, and the peer accesses only the first line, so nothing else
//!   uses them.

use std::ptr::{addr_of, NonNull};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::backoff::Backoff;
use crate::barrier;
use crate::cell::{Cell, Own, Side, Stance};
use crate::layout::Layout;
use crate::position::Position;
use crate::sync::AtomicU64;
use crate::wait::{Place, Waiter};

mod leave;
mod publish;
mod room;

pub(crate) use publish::{Left, Noticed, Sent, Unsent};
#[cfg(duologue_loom)]
pub use room::model_laps;
pub(crate) use room::{Laps, Room};

/// In any word: the side that set it waits for the other side to change the word.
pub(crate) const WAITS: u64 = 1;
/// In a line: the receiver is gone.
const DEAD: u64 = 2;
/// In a line, after its messages: the sender is gone.
const CLOSED: u64 = 4;

/// In a line: the sender of the last message in it has seen that the receiver is a task, and swaps from then on.
pub(crate) const KNOWS: u64 = 1 << 38;

const INDEXES_SHIFT: u32 = 3;
const INDEXES: u64 = ((1 << 28) - 1) << INDEXES_SHIFT;

/// What follows a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The same side sends again.
    Stay,
    /// The other side sends next.
    Turn,
    /// The session is over.
    End,
}

/// What the receiver finds in its next slot.
#[derive(Clone, Copy)]
pub(crate) enum Found {
    /// The word that has the message.
    Message(u64),
    Closed,
    Nothing(u64),
}

/// One side of a session, at one position. Its owner may use it as the typed endpoints allow: exactly one side holds
/// the sending part. It has no `Drop`; it ends with `leave`, `free` or the last message.
pub struct Pipe {
    cell: NonNull<Cell>,
    at: Position,
}

/// Both sides of a new session: side 0, side 1.
#[inline(always)]
pub(crate) fn pair(layout: Layout) -> (Pipe, Pipe) {
    let (cell, epoch) = Cell::begin(layout);
    let (first, second) = sides(cell, epoch, !barrier::is_there());
    for pipe in [&first, &second] {
        pipe.own().heard.store(0, Relaxed);
    }
    (first, second)
}

#[inline(always)]
fn sides(cell: NonNull<Cell>, epoch: u32, swaps: bool) -> (Pipe, Pipe) {
    let side = |side| Pipe {
        cell,
        at: Position::first(side, epoch, swaps),
    };
    (side(0), side(1))
}

impl Pipe {
    // SAFETY of the accessors below: the session is ended only by consuming its last `Pipe`, or after the peer did the
    // same and reported it; as long as a `Pipe` exists, its session is allocated. They access single fields through the
    // raw pointer, so that no reference to the whole header exists while the peer ends the session.

    /// Reports to loom that the session is used here, so that it must not have ended.
    #[inline(always)]
    pub(crate) fn lives(&self) {
        // SAFETY: as above.
        #[cfg(duologue_loom)]
        unsafe { &*addr_of!((*self.cell.as_ptr()).life) }.with(|_| {});
    }

    #[inline(always)]
    fn word_of(&self, layout: &Layout, line: usize) -> &AtomicU64 {
        self.lives();
        // SAFETY: as above; positions stay below the number of lines.
        unsafe { &*Cell::word(self.cell, layout, line) }
    }

    /// The word of the current line, if the layout is known.
    #[inline(always)]
    pub(crate) fn word_in(&self, layout: &Layout) -> &AtomicU64 {
        self.word_of(layout, self.at.line())
    }

    #[inline]
    pub(crate) fn word(&self) -> &AtomicU64 {
        self.word_in(self.layout())
    }

    #[inline]
    pub(crate) fn layout(&self) -> &Layout {
        self.lives();
        // SAFETY: as above; nobody changes it.
        unsafe { &*addr_of!((*self.cell.as_ptr()).own[self.at.side()].layout) }
    }

    #[inline]
    pub(crate) fn side(&self, side: usize) -> *const Side {
        self.lives();
        // SAFETY: as above; there are two sides.
        unsafe { addr_of!((*self.cell.as_ptr()).sides[side]) }
    }

    /// The flags of a side.
    #[inline]
    pub(crate) fn flags(&self, side: usize) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { &*addr_of!((*self.side(side)).flags) }
    }

    /// The waiter slot of this side.
    #[inline]
    pub(crate) fn place(&self) -> *const Place {
        // SAFETY: as above.
        unsafe { addr_of!((*self.side(self.at.side())).place) }
    }

    /// What this side writes for itself.
    #[inline]
    pub(crate) fn own(&self) -> &Own {
        self.own_of(self.at.side())
    }

    /// Like [`Pipe::own`], for a caller that knows which side this is.
    #[inline(always)]
    fn own_of(&self, side: usize) -> &Own {
        // SAFETY: as above; the other side never accesses it.
        unsafe { &*addr_of!((*self.cell.as_ptr()).own[side]) }
    }

    /// The number of the other side.
    #[inline]
    fn peer(&self) -> usize {
        1 - self.at.side()
    }

    /// The waiter slot of the peer.
    #[inline]
    fn place_of_peer(&self) -> *const Place {
        // SAFETY: as above.
        unsafe { addr_of!((*self.side(self.peer())).place) }
    }

    /// Fetches the peer's waiter.
    ///
    /// # Safety
    /// The caller lowered the peer's flag.
    unsafe fn waiter_of_peer(&self) -> Option<Waiter> {
        // SAFETY: by the caller.
        unsafe { Place::take(self.place_of_peer()) }
    }

    #[inline(always)]
    fn stance(&self, side: usize) -> *mut &'static Stance {
        // SAFETY: as above; there are two sides.
        unsafe { (*addr_of!((*self.cell.as_ptr()).own[side].stance)).get() }
    }

    /// What the sender records about its laps.
    fn laps(&self) -> &Laps {
        // SAFETY: as above.
        unsafe { &*addr_of!((*self.cell.as_ptr()).laps) }
    }

    /// Begins to receive in a state that has messages that keep the direction (`stays`) or has none.
    #[inline(always)]
    pub(crate) fn receiving(self, layout: &Layout, stance: &'static Stance, stays: bool) -> Pipe {
        let side = 1 - layout.sender_or(self.peer());
        // SAFETY: only this side accesses its stance, and the pipe is not borrowed.
        unsafe { *self.stance(side) = stance };
        self.sending(stays)
    }

    /// Begins to send in a state that has messages that keep the direction (`stays`) or has none.
    #[inline(always)]
    pub(crate) fn sending(self, stays: bool) -> Pipe {
        self.moved(self.at.in_state(stays))
    }

    /// A copy of this pipe, for a function that is not inlined: a reference would force the pipe into memory where it
    /// could stay in registers.
    #[inline(always)]
    pub(crate) fn again(&self) -> Pipe {
        self.moved(self.at)
    }

    #[inline(always)]
    fn moved(&self, at: Position) -> Pipe {
        Pipe {
            cell: self.cell,
            at,
        }
    }

    /// The state in which this side receives.
    pub(crate) fn state_name(&self) -> &'static str {
        // SAFETY: only this side accesses its stance, and nobody writes it while it is borrowed.
        unsafe { *self.stance(self.at.side()) }.name
    }

    /// Destroys the message that was found here, and with it the endpoint that follows.
    pub(crate) fn discard(self) {
        // SAFETY: only this side accesses its stance.
        let stance = unsafe { *self.stance(self.at.side()) };
        (stance.discard)(self);
    }

    /// See `burial`.
    pub(crate) fn buried_by(&self) -> &AtomicUsize {
        // SAFETY: as above.
        unsafe { &*addr_of!((*self.cell.as_ptr()).buried_by) }
    }

    /// The position of this side.
    #[inline]
    pub(crate) fn at(&self) -> Position {
        self.at
    }

    /// Identifies the session.
    pub(crate) fn session(&self) -> usize {
        self.cell.as_ptr() as usize
    }

    /// Whether it is certain from the position alone that messages here are swapped.
    #[inline]
    pub(crate) fn swaps(&self) -> bool {
        self.at.always_swaps() || self.at.alternates()
    }

    /// Checks the next slot and, if there is nothing, whether the peer will ever write there.
    pub(crate) fn find(&self) -> Found {
        let mut backoff = Backoff::new();
        loop {
            let found = self.find_in(self.layout());
            let Found::Nothing(_) = found else {
                return found;
            };
            match self.was_forgotten() {
                Some(false) => return found,
                Some(true) => {
                    // What the peer sent before it disconnected, if anything, is visible at this point.
                    return match self.find_in(self.layout()) {
                        Found::Nothing(_) => Found::Closed,
                        found @ (Found::Message(_) | Found::Closed) => found,
                    };
                }
                None => backoff.pass(),
            }
        }
    }

    /// Checks the next slot of a session with this layout.
    #[inline(always)]
    pub(crate) fn find_in(&self, layout: &Layout) -> Found {
        let word = self.word_in(layout).load(Acquire);
        if self.at.is_in(word) {
            Found::Message(word)
        } else if self.at.ahead(word) == 0 && word & CLOSED != 0 {
            Found::Closed
        } else {
            Found::Nothing(word)
        }
    }

    /// The index of the message that was found here, among those of its state.
    #[inline(always)]
    pub(crate) fn index(&self, layout: &Layout, word: u64) -> u8 {
        layout.index(word >> INDEXES_SHIFT, self.at.place())
    }

    /// The position of this side after a message that keeps the direction; `None` if that message may empty a segment,
    /// which the receiver has to report.
    #[inline(always)]
    pub(crate) fn next_in_segment(&self, layout: &Layout) -> Option<Position> {
        if let Some(at) = self.at.next_place(layout.per_line()) {
            return Some(at);
        }
        let emptied = self.at.line() + 1;
        let may_be_last = layout.may_begin_segment(emptied) || emptied == layout.lines();
        (!may_be_last).then(|| self.at.following_line())
    }

    /// Like [`Pipe::next_in_segment`], where the message may empty a segment.
    #[cold]
    #[inline(never)]
    pub(crate) fn next_segment(self) -> Position {
        self.at.next_line(self.again().lines_of_lap())
    }

    /// Reports that the message here was taken, which may have emptied a segment. Wakes a sender that waits for space.
    #[cold]
    #[inline(never)]
    pub(crate) fn report_segment(self) {
        if let Some(waiter) = self.report_emptied() {
            waiter.wake();
        }
    }

    /// Takes the payload of the message that was found here, which keeps the direction, and advances to `next`. If that
    /// is [`Pipe::next_segment`], the caller then has to report the segment: the sender may be waiting for it.
    ///
    /// # Safety
    /// [`Pipe::find`] found a message, its payload is a `P`, and the layout is the session's.
    #[inline(always)]
    pub(crate) unsafe fn take_in_run<P>(&self, layout: &Layout, next: Position) -> (P, Pipe) {
        // SAFETY: by the caller; the load that found the message acquired its payload.
        (unsafe { self.read(layout) }, self.moved(next))
    }

    /// Takes the payload of the message that was found in this word, which does not keep the direction. Returns the
    /// pipe of this side, which sends next, or `None` if the session is over.
    ///
    /// # Safety
    /// As for [`Pipe::take_in_run`], and `turns` says what follows the message.
    #[inline(always)]
    pub(crate) unsafe fn take_last<P>(
        self,
        layout: &Layout,
        word: u64,
        turns: bool,
    ) -> (P, Option<Pipe>) {
        // SAFETY: by the caller.
        let payload = unsafe { self.read(layout) };
        if !turns {
            self.free();
            return (payload, None);
        }
        let own = self.own_of(1 - layout.sender_or(self.peer()));
        own.heard.store(word, Relaxed);
        let next = self.moved(self.at.turned());
        if self.at.renews() {
            next.clear();
        }
        (payload, Some(next))
    }

    /// Ends the session, for a receiver that found it closed or any other side that is alone with it.
    #[inline]
    pub(crate) fn free(self) {
        // SAFETY: the peer is gone, except that it may still be fetching this side's waiter.
        unsafe {
            if (*self.place()).is_busy() {
                return self.settle();
            }
            Cell::end(self.cell, self.at.epoch());
        }
    }

    /// Like [`Pipe::free`], where this side's waiter slot is in use: waits until the peer has fetched the waiter, or
    /// takes back a waiter that the peer has not seen.
    #[cold]
    #[inline(never)]
    fn settle(self) {
        let _stopped = self.stops_waiting_in_flags();
        // SAFETY: as above.
        unsafe {
            (*self.place()).settle();
            Cell::end(self.cell, self.at.epoch());
        }
    }

    #[cold]
    fn clear(&self) {
        let layout = self.layout();
        // SAFETY: as the module documentation says.
        unsafe { Cell::clear_lines(self.cell, layout, 1..layout.lines()) };
        self.credit().store(0, Relaxed);
    }

    /// Writes the payload into the current slot.
    ///
    /// # Safety
    /// The slot belongs to the caller and is free, the layout is the session's, and the payload fits.
    #[inline(always)]
    unsafe fn write<P>(&self, layout: &Layout, payload: P) {
        // SAFETY: by the caller.
        unsafe { self.write_to(self.at.place(), layout, payload) };
    }

    /// Like [`Pipe::write`], for a caller that knows the slot in the line.
    ///
    /// # Safety
    /// As for [`Pipe::write`], and the slot is that of the position.
    #[inline(always)]
    unsafe fn write_to<P>(&self, place: usize, layout: &Layout, payload: P) {
        #[cfg(duologue_loom)]
        self.witness().with_mut(|_| {});
        // SAFETY: by the caller.
        unsafe {
            Cell::payload(self.cell, layout, self.at.line(), place)
                .cast::<P>()
                .write(payload)
        };
    }

    /// Moves the payload out of the current slot.
    ///
    /// # Safety
    /// The slot holds a `P` that belongs to the caller, or that the caller forgets, and the layout is the session's.
    #[inline(always)]
    unsafe fn read<P>(&self, layout: &Layout) -> P {
        #[cfg(duologue_loom)]
        self.witness().with(|_| {});
        // SAFETY: by the caller.
        unsafe {
            Cell::payload(self.cell, layout, self.at.line(), self.at.place())
                .cast::<P>()
                .read()
        }
    }

    #[cfg(duologue_loom)]
    fn witness(&self) -> &loom::cell::UnsafeCell<()> {
        let number = self.at.line() * self.layout().per_line() + self.at.place();
        // SAFETY: as for the accessors above.
        unsafe { &(&(*self.cell.as_ptr()).witnesses)[number] }
    }
}

#[cfg(all(test, not(duologue_loom)))]
mod tests;
#[cfg(all(test, target_os = "linux", not(duologue_loom)))]
pub(crate) use tests::store_unseen;
