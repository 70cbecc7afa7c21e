//! One side of a session without its types: the block, and the side's position in it.

mod attached;
mod large;

use std::ops::Range;
use std::ptr::{addr_of, NonNull};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicU64, AtomicUsize};

use super::block::{Block, PrivateSide, PublicSide, StateInfo};
use super::credit_word::Credit;
use super::flags::PeerFlags;
use super::laps::Laps;
use super::line_word::LineWord;
use super::position::Position;
use super::task_note::TaskNote;
use super::word::Shared;
use crate::floor::barrier;
use crate::floor::layout::{Layout, Part};
use crate::floor::waiting::{PendingWake, WaitSlot};

/// What a receiver finds in its next slot.
#[derive(Clone, Copy)]
pub(crate) enum Found {
    /// The word that has the message.
    Message(LineWord),
    /// The sender has disconnected.
    Closed,
    /// The word that has no message yet.
    Nothing(LineWord),
}

/// One side of a session, at one position. Its owner may use it as the typed endpoints allow: exactly one side holds
/// the sending part. It has no `Drop`; it ends with `leave`, `free` or the last message.
pub struct Pipe {
    block: NonNull<Block>,
    at: Position,
}

impl Pipe {
    /// Both sides of a new session: side 0, side 1.
    #[inline(always)]
    pub(crate) fn pair(layout: Layout) -> (Pipe, Pipe) {
        Pipe::begin(layout, layout.first_part(), !barrier::is_there())
    }

    /// Like [`Pipe::pair`], for a session that gets a driver, to which side `far` belongs. It has only a large block.
    pub(crate) fn pair_to_drive(layout: Layout, far: usize) -> (Pipe, Pipe) {
        let (first, second) = Pipe::begin(layout, Part::Large, true);
        // Runs that are bounded are short, and are swapped.
        if layout.segment() < 2 || !barrier::is_there() {
            return (first, second);
        }
        let collecting = |pipe: Pipe| pipe.moved(pipe.at.collecting(pipe.at.side() == far));
        (collecting(first), collecting(second))
    }

    #[inline(always)]
    fn begin(layout: Layout, part: Part, swaps: bool) -> (Pipe, Pipe) {
        let (block, epoch) = Block::begin(layout, part);
        let (first, second) = Pipe::sides(block, epoch, part, swaps);
        for side in [&first, &second] {
            side.private().turned_by.store(LineWord::EMPTY, Relaxed);
        }
        (first, second)
    }

    /// `swaps`: see [`Position::always_swaps`].
    #[inline(always)]
    fn sides(block: NonNull<Block>, epoch: u32, part: Part, swaps: bool) -> (Pipe, Pipe) {
        let side = |side| {
            let first = Position::first(side, epoch, swaps);
            Pipe::of(block, first.in_part(part))
        };
        (side(0), side(1))
    }

    // SAFETY of the accessors below: the session is ended only by consuming its last `Pipe`, or after the peer did the
    // same and reported it; as long as a `Pipe` is used, its session is allocated. They access single fields through
    // the raw pointer, so that no reference to the whole header exists while the peer ends the session.

    /// Reports to loom that the session is used here, so that it must not have ended.
    #[inline(always)]
    fn lives(&self) {
        // SAFETY: as above.
        #[cfg(duologue_loom)]
        unsafe { &*addr_of!((*self.block.as_ptr()).life) }.with(|_| {});
    }

    #[inline(always)]
    pub(crate) fn word_of(&self, layout: &Layout, line: usize) -> &Shared<LineWord> {
        self.lives();
        // SAFETY: as above; positions stay below the number of lines.
        unsafe { &*Block::word(self.block, layout, line) }
    }

    /// The word of the current line, if the layout is known.
    #[inline(always)]
    pub(crate) fn word_in(&self, layout: &Layout) -> &Shared<LineWord> {
        self.word_of(layout, self.at.line())
    }

    #[inline]
    pub(crate) fn word(&self) -> &Shared<LineWord> {
        self.word_in(self.layout())
    }

    #[inline]
    pub(crate) fn layout(&self) -> &Layout {
        self.lives();
        // SAFETY: as above; it never changes.
        unsafe { &*addr_of!((*self.block.as_ptr()).private[self.at.side()].layout) }
    }

    #[inline]
    fn public(&self, side: usize) -> *const PublicSide {
        self.lives();
        // SAFETY: as above; there are two sides.
        unsafe { addr_of!((*self.block.as_ptr()).public[side]) }
    }

    #[inline]
    pub(crate) fn flags(&self, side: usize) -> &Shared<PeerFlags> {
        // SAFETY: as above.
        unsafe { &*addr_of!((*self.public(side)).flags) }
    }

    #[inline]
    pub(crate) fn own_flags(&self) -> &Shared<PeerFlags> {
        self.flags(self.at.side())
    }

    /// What this side has recorded about being a task.
    pub(crate) fn task_note(&self) -> &Shared<TaskNote> {
        // SAFETY: as above; the other side never accesses it.
        unsafe { &*addr_of!((*self.public(self.at.side())).task) }
    }

    /// This side's ticket for the barrier, from when it last yielded instead of waiting.
    pub(crate) fn ticket(&self) -> &AtomicU64 {
        // SAFETY: as above; the other side never accesses it.
        unsafe { &*addr_of!((*self.public(self.at.side())).ticket) }
    }

    #[inline]
    pub(crate) fn flags_of_peer(&self) -> &Shared<PeerFlags> {
        self.flags(self.peer())
    }

    #[inline]
    pub(crate) fn slot(&self) -> *const WaitSlot {
        // SAFETY: as above.
        unsafe { addr_of!((*self.public(self.at.side())).slot) }
    }

    #[inline]
    fn slot_of_peer(&self) -> *const WaitSlot {
        // SAFETY: as above.
        unsafe { addr_of!((*self.public(self.peer())).slot) }
    }

    /// The peer, which waited for what was just published.
    ///
    /// # Safety
    /// The caller lowered the peer's flag, and uses the result.
    #[inline]
    pub(crate) unsafe fn pending_wake(&self) -> PendingWake {
        // SAFETY: by the caller.
        unsafe { PendingWake::in_slot(self.slot_of_peer()) }
    }

    /// What this side writes for itself.
    #[inline]
    pub(crate) fn private(&self) -> &PrivateSide {
        self.private_of(self.at.side())
    }

    /// Like [`Pipe::private`], for a caller that knows which side this is.
    #[inline(always)]
    pub(crate) fn private_of(&self, side: usize) -> &PrivateSide {
        // SAFETY: as above; the other side never accesses it.
        unsafe { &*addr_of!((*self.block.as_ptr()).private[side]) }
    }

    #[inline]
    pub(crate) fn peer(&self) -> usize {
        1 - self.at.side()
    }

    /// The state in which this side receives.
    #[inline(always)]
    pub(crate) fn state(&self) -> &'static StateInfo {
        // SAFETY: only this side accesses it, and does not write it while it is borrowed.
        unsafe { *self.private().state.get() }
    }

    /// The side at this position of this session.
    #[inline(always)]
    pub(crate) fn of(block: NonNull<Block>, at: Position) -> Pipe {
        Pipe { block, at }
    }

    /// Destroys the message that was found here, and with it the endpoint that follows.
    pub(crate) fn discard(self) {
        (self.state().discard)(self.block, self.at);
    }

    /// What the sender records about its laps.
    pub(crate) fn laps(&self) -> &Laps {
        // SAFETY: as above.
        unsafe { &*addr_of!((*self.block.as_ptr()).laps) }
    }

    pub(crate) fn credit(&self) -> &Shared<Credit> {
        self.lives();
        // SAFETY: as above.
        unsafe { &*addr_of!((*self.block.as_ptr()).credit) }
    }

    /// See `link::drop_queue`.
    pub(crate) fn dropped_by(&self) -> &AtomicUsize {
        // SAFETY: as above.
        unsafe { &*addr_of!((*self.block.as_ptr()).dropped_by) }
    }

    /// This side at another position.
    #[inline(always)]
    pub(crate) fn moved(&self, at: Position) -> Pipe {
        Pipe::of(self.block, at)
    }

    /// A copy of this pipe, for a function that is not inlined: a reference would force the pipe into memory where it
    /// could stay in registers.
    #[inline(always)]
    pub(crate) fn copy(&self) -> Pipe {
        self.moved(self.at)
    }

    /// Begins to receive in a state that has messages that keep the direction (`stays`) or has none.
    #[inline(always)]
    pub(crate) fn receiving(self, layout: &Layout, state: &'static StateInfo, stays: bool) -> Pipe {
        let own = self.private_of(1 - layout.sender_or(self.peer()));
        // SAFETY: only this side accesses it.
        unsafe { *own.state.get() = state };
        self.sending(stays)
    }

    /// Begins to send in a state that has messages that keep the direction (`stays`) or has none.
    #[inline(always)]
    pub(crate) fn sending(self, stays: bool) -> Pipe {
        self.moved(self.at.in_state(stays))
    }

    #[inline(always)]
    pub(crate) fn at(&self) -> Position {
        self.at
    }

    pub(crate) fn session(&self) -> usize {
        self.block.as_ptr() as usize
    }

    /// Whether it is certain that the messages which this side receives here are swapped.
    #[inline]
    pub(crate) fn swaps(&self) -> bool {
        self.at.always_swaps() && !self.is_stored_for_far() || self.at.alternates()
    }

    /// Whether a sender at this position stores its message, in a session that swaps others: see `link::collect`.
    #[inline(always)]
    pub(crate) fn collects_in(&self, layout: &Layout) -> bool {
        layout.segment() > 1 && self.at.is_near() && self.at.is_within(layout.segment())
    }

    /// The same for a sender that is inside a run of such a session, whether it stores or swaps.
    #[inline]
    pub(crate) fn is_inside_collected_run(&self) -> bool {
        self.at.is_near() && !self.at.begins_run()
    }

    /// Whether this is a far end that receives a message here which is stored.
    #[inline]
    fn is_stored_for_far(&self) -> bool {
        self.at.is_far() && self.at.is_within(self.layout().segment())
    }

    /// Whether this is a far end inside a run whose sender does not wake it. Not meant for one that sends.
    #[inline]
    pub(crate) fn checks_ring_itself(&self) -> bool {
        self.at.is_far() && !self.at.begins_run()
    }

    /// Checks the next slot of a session with this layout.
    #[inline(always)]
    pub(crate) fn find_in(&self, layout: &Layout) -> Found {
        let word = self.word_in(layout).load(Acquire);
        if self.at.is_in(word) {
            Found::Message(word)
        } else if self.is_closed_in(word) {
            Found::Closed
        } else {
            Found::Nothing(word)
        }
    }

    /// Whether the sender has closed the session here. Then no waiter is armed: the sender took it over.
    #[inline(always)]
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed_in(self.word().load(Acquire))
    }

    #[inline(always)]
    fn is_closed_in(&self, word: LineWord) -> bool {
        self.at.ahead(word) == 0 && word.is_closed()
    }

    /// The index of the message that was found here, among those of its state.
    #[inline(always)]
    pub(crate) fn index(&self, layout: &Layout, word: LineWord) -> u8 {
        word.index(layout, self.at.slot())
    }

    /// Resets the words of these lines.
    ///
    /// # Safety
    /// The session has these lines and this layout, and nothing else accesses the lines.
    pub(crate) unsafe fn clear_lines(&self, layout: &Layout, lines: Range<usize>) {
        // SAFETY: by the caller.
        unsafe { Block::clear_lines(self.block, layout, lines) };
    }

    /// After a turn at which epochs go back: resets what could be mistaken for something of this epoch. All messages
    /// have been read, and the peer accesses only the first line.
    #[cold]
    pub(crate) fn clear(&self) {
        let layout = self.layout();
        // SAFETY: as the module documentation says.
        unsafe { self.clear_lines(layout, 1..layout.lines_of(self.at.part())) };
        self.credit().store(Credit::NONE, Relaxed);
    }

    /// Ends the session. Payloads that are still in the ring are not destroyed.
    ///
    /// # Safety
    /// The session is no longer in use.
    #[inline]
    pub(crate) unsafe fn end(self) {
        // SAFETY: by the caller.
        unsafe { Block::end(self.block, self.at.epoch()) };
    }

    /// Writes the payload into the current slot.
    ///
    /// # Safety
    /// The slot belongs to the caller and is free, the layout is the session's, and the payload fits.
    #[inline(always)]
    pub(crate) unsafe fn write<P>(&self, layout: &Layout, payload: P) {
        #[cfg(duologue_loom)]
        self.witness().with_mut(|_| {});
        // SAFETY: by the caller.
        unsafe {
            Block::payload(self.block, layout, self.at.line(), self.at.slot())
                .cast::<P>()
                .write(payload)
        };
    }

    /// Moves the payload out of the current slot.
    ///
    /// # Safety
    /// The slot holds a `P` that belongs to the caller, or that the caller forgets, and the layout is the session's.
    #[inline(always)]
    pub(crate) unsafe fn read<P>(&self, layout: &Layout) -> P {
        #[cfg(duologue_loom)]
        self.witness().with(|_| {});
        // SAFETY: by the caller.
        unsafe {
            Block::payload(self.block, layout, self.at.line(), self.at.slot())
                .cast::<P>()
                .read()
        }
    }

    #[cfg(duologue_loom)]
    fn witness(&self) -> &loom::cell::UnsafeCell<()> {
        let number = self.at.line() * self.layout().per_line() + self.at.slot();
        // SAFETY: as for the accessors above.
        unsafe { &(&(*self.block.as_ptr()).witnesses)[number] }
    }

    /// A session that swaps or stores, at an epoch that no conversation reaches in the time of a test.
    #[cfg(all(test, not(duologue_loom)))]
    pub(crate) fn pair_at(layout: Layout, part: Part, epoch: u32, swaps: bool) -> (Pipe, Pipe) {
        let (block, _) = Block::begin(layout, part);
        // The block may have been in use before, at exactly this epoch.
        // SAFETY: it belongs to the new session, which is not in use yet.
        unsafe {
            Block::clear_lines(block, &layout, 0..layout.cleared(part));
            (*block.as_ptr()).laps = Laps::new();
        }
        Pipe::sides(block, epoch, part, swaps)
    }
}
