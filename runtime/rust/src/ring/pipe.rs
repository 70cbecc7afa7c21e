//! One side of a session without its types: the block, and the side's position in it.
//!
//! # Safety of what accesses the block
//!
//! The session is ended only by consuming its last [`Pipe`], or after the peer did the same and reported it; as long as a
//! `Pipe` is used, its session is allocated. A side that is still in the small block keeps both blocks. Accessors access single
//! fields through the raw pointer, so that no reference to the whole header exists while the peer ends the session.

use std::ops::Range;
use std::ptr::{addr_of, NonNull};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use std::sync::Arc;

use super::block::{Block, Laps, PrivateSide, PublicSide, StateInfo};
use super::driver::{Attached, Driver, What};
use super::observer::{next_number, Observed, Watched};
use super::position::Position;
#[cfg(feature = "registry")]
use super::usage::Usage;
use super::words::{Credit, LineWord, PeerFlags, Shared, TaskNote};
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

    /// Reports to loom that the session is used here, so that it must not have ended.
    #[inline(always)]
    fn lives(&self) {
        // SAFETY: see the module.
        #[cfg(duologue_loom)]
        unsafe { &*addr_of!((*self.block.as_ptr()).life) }.with(|_| {});
    }

    #[inline(always)]
    pub(crate) fn word_of(&self, layout: &Layout, line: usize) -> &Shared<LineWord> {
        self.lives();
        // SAFETY: see the module; positions stay below the number of lines.
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
        // SAFETY: see the module; it never changes.
        unsafe { &*addr_of!((*self.block.as_ptr()).private[self.at.side()].layout) }
    }

    #[inline]
    fn public(&self, side: usize) -> *const PublicSide {
        self.lives();
        // SAFETY: see the module; there are two sides.
        unsafe { addr_of!((*self.block.as_ptr()).public[side]) }
    }

    #[inline]
    pub(crate) fn flags(&self, side: usize) -> &Shared<PeerFlags> {
        // SAFETY: see the module.
        unsafe { &*addr_of!((*self.public(side)).flags) }
    }

    #[inline]
    pub(crate) fn own_flags(&self) -> &Shared<PeerFlags> {
        self.flags(self.at.side())
    }

    /// What this side has recorded about being a task.
    pub(crate) fn task_note(&self) -> &Shared<TaskNote> {
        // SAFETY: see the module; the other side never accesses it.
        unsafe { &*addr_of!((*self.public(self.at.side())).task) }
    }

    /// This side's ticket for the barrier, from when it last yielded instead of waiting.
    pub(crate) fn ticket(&self) -> &AtomicU64 {
        // SAFETY: see the module; the other side never accesses it.
        unsafe { &*addr_of!((*self.public(self.at.side())).ticket) }
    }

    #[inline]
    pub(crate) fn flags_of_peer(&self) -> &Shared<PeerFlags> {
        self.flags(self.peer())
    }

    #[inline]
    pub(crate) fn slot(&self) -> *const WaitSlot {
        // SAFETY: see the module.
        unsafe { addr_of!((*self.public(self.at.side())).slot) }
    }

    #[inline]
    fn slot_of_peer(&self) -> *const WaitSlot {
        // SAFETY: see the module.
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
        // SAFETY: see the module; the other side never accesses it.
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
        // SAFETY: see the module.
        unsafe { &*addr_of!((*self.block.as_ptr()).laps) }
    }

    pub(crate) fn credit(&self) -> &Shared<Credit> {
        self.lives();
        // SAFETY: see the module.
        unsafe { &*addr_of!((*self.block.as_ptr()).credit) }
    }

    /// See `link::drop_queue`.
    pub(crate) fn dropped_by(&self) -> &AtomicUsize {
        // SAFETY: see the module.
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

    /// Whether a sender at this position stores its message, in a session that swaps others: see `link::message::apart`.
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

impl Pipe {
    /// Sets the session's driver, to which this side belongs. It has none yet.
    pub(crate) fn attach(&self, driver: Arc<dyn Driver>) {
        let far = self.at.side();
        // SAFETY: see the module.
        unsafe { Block::attach(self.block, Attached::new(What::Driver { driver, far })) };
    }

    /// What drives the session, if the other side is in another process.
    #[inline]
    pub(crate) fn driver(&self) -> Option<&Arc<dyn Driver>> {
        if !self.at.always_swaps() {
            return None;
        }
        self.driver_of_block()
    }

    #[cold]
    fn driver_of_block(&self) -> Option<&Arc<dyn Driver>> {
        // SAFETY: see the module.
        match &unsafe { Block::attached(self.block) }?.what {
            What::Driver { driver, far } => (*far != self.at.side()).then_some(driver),
            What::Observer(_) | What::Nothing => None,
        }
    }

    /// Whether this side has a time limit: see `link::wait`.
    #[inline]
    pub(crate) fn is_limited(&self) -> bool {
        self.limit_mark().load(Relaxed) != 0
    }

    /// Where a side notes that it has a time limit.
    #[inline]
    pub(crate) fn limit_mark(&self) -> &AtomicU32 {
        // SAFETY: see the module. It is atomic: threads that share a sender may access it at the same time. The other side never does.
        unsafe { &*addr_of!((*self.public(self.at.side())).is_limited) }
    }

    /// What is attached to the session, with the time limits of its sides and its number.
    pub(crate) fn attached(&self) -> &Attached {
        // SAFETY: see the module.
        unsafe { Block::attached_or_new(self.block) }
    }

    /// What the session reports, if it is observed.
    #[inline]
    pub(crate) fn watched(&self) -> Option<&Arc<Watched>> {
        if !self.at.is_observed() {
            return None;
        }
        // SAFETY: see the module.
        match &unsafe { Block::attached(self.block) }?.what {
            What::Observer(observed) => Some(&observed.0),
            What::Driver { .. } | What::Nothing => None,
        }
    }

    /// Reports how this side uses its endpoint, if the session is observed.
    #[cfg(feature = "registry")]
    #[inline(always)]
    pub(crate) fn note_use(&self, usage: impl FnOnce() -> Usage) {
        if self.at.is_observed() {
            self.copy().note_observed_use(&usage());
        }
    }

    /// Reports that the other side no longer waits, for this side, which is about to wake it, if the session is observed.
    #[cfg(feature = "registry")]
    pub(crate) fn note_waking(&self) {
        if let Some(watched) = self.watched() {
            watched.used(self.peer(), &Usage::StopsWaiting);
        }
    }

    #[cfg(feature = "registry")]
    #[cold]
    fn note_observed_use(self, usage: &Usage) {
        if let Some(watched) = self.watched() {
            watched.used(self.at.side(), usage);
        }
    }

    /// Notes that this side disconnects, if the session is observed.
    pub(crate) fn note_leaving(&self) {
        #[cfg(feature = "registry")]
        self.note_use(|| Usage::Leaves);
        if let Some(watched) = self.watched() {
            watched.leaves(self.at.side());
        }
    }

    /// Replaces a session in which both sides are at the same position, so that there is no message, by a new one of the
    /// same kind in the same state, which is observed. Neither side has a waiter. Returns false, and does nothing, if this
    /// is not such a session, or if something is attached to it. `begin` gets the name of the state.
    pub(crate) fn observe(
        sender: &mut Pipe,
        receiver: &mut Pipe,
        begin: impl FnOnce(&'static str) -> Arc<Watched>,
    ) -> bool {
        let is_quiet = sender.block == receiver.block
            && sender.at.side() != receiver.at.side()
            && sender.at.key() == receiver.at.key();
        // SAFETY: see the module.
        let attached = unsafe { Block::attached(sender.block) };
        if !is_quiet || attached.is_some_and(|old| !matches!(old.what, What::Nothing)) {
            return false;
        }
        let state = receiver.state();
        let watched = begin(state.name);
        let (first, second) = Pipe::begin(*sender.layout(), Part::Large, true);
        let new = Attached::new(What::Observer(Observed(watched)));
        let limits = attached.map(|old| &old.limits);
        for (new, old) in new.limits.iter().zip(limits.into_iter().flatten()) {
            new.set(old.at());
        }
        // SAFETY: see the module; the session is new.
        unsafe { Block::attach(first.block, new) };
        let old = sender.copy();
        for pipe in [&mut *sender, &mut *receiver] {
            let new = if pipe.at.side() == 0 { &first } else { &second };
            let mark = pipe.limit_mark().load(Relaxed);
            *pipe = new.moved(new.at.observed().in_state(pipe.at.stays()));
            pipe.limit_mark().store(mark, Relaxed);
        }
        // SAFETY: only this side accesses it, which has not begun to receive.
        unsafe { *receiver.private().state.get() = state };
        // SAFETY: both sides have left this session for the new one.
        unsafe { old.end() };
        true
    }

    /// A number of this session that no other session of this process has, for texts. It gets one when it is first asked for.
    #[cold]
    pub(crate) fn number(&self) -> u64 {
        if let Some(watched) = self.watched() {
            return watched.number();
        }
        let number = &self.attached().number;
        match number.load(Relaxed) {
            0 => {
                let new = next_number();
                match number.compare_exchange(0, new, Relaxed, Relaxed) {
                    Ok(_) => new,
                    Err(other) => other,
                }
            }
            number => number,
        }
    }
}

impl Pipe {
    /// Begins a large block for the session, for the sender, and returns its pipe there.
    pub(crate) fn begin_large(&self) -> Pipe {
        let (block, epoch) = Block::begin(*self.layout(), Part::Large);
        Pipe::of(block, self.at.in_large_block(epoch))
    }

    /// Makes the large block the one that the receiver finds with [`Pipe::larger`].
    pub(crate) fn grow_into(&self, large: &Pipe) {
        self.carry_over(large);
        // SAFETY: see the module; the block is new.
        unsafe { Block::replace(self.block, large.block) };
    }

    /// Takes that back, for a sender that is alone.
    pub(crate) fn stay_small(&self, large: &Pipe) {
        large.limit_mark().store(0, Relaxed);
        // SAFETY: by the caller, nothing else uses the session.
        unsafe { Block::keep(self.block, large.block) };
    }

    /// The receiver's first pipe in the large block, after the message that was found in this word, the last of a half of
    /// the small one; `None` if the session stays in that.
    pub(crate) fn larger(&self, word: LineWord) -> Option<Pipe> {
        if !word.moves() {
            return None;
        }
        // SAFETY: see the module. The word was published after the block.
        unsafe {
            let block = Block::larger(self.block)?;
            let epoch = Block::first_epoch(block);
            Some(Pipe::of(block, self.at.in_large_block(epoch)))
        }
    }

    /// Continues in the large block, for the receiver.
    pub(crate) fn enter_large(&self, large: &Pipe) {
        self.carry_over(large);
        // SAFETY: only this side accesses it, in either block.
        unsafe { *large.private().state.get() = self.state() };
    }

    /// Copies what this side has noted for itself.
    fn carry_over(&self, large: &Pipe) {
        let turned_by = self.private().turned_by.load(Relaxed);
        large.private().turned_by.store(turned_by, Relaxed);
        let mark = self.limit_mark().load(Relaxed);
        large.limit_mark().store(mark, Relaxed);
    }

    /// Prepares the small block for its end, after both sides have left it.
    pub(crate) fn forget_larger(&self) {
        // SAFETY: the sender's last access was to publish the message that the receiver, by which this is called, has
        // taken, except that it may still be fetching the receiver's waiter.
        unsafe { Block::forget_larger(self.block) };
    }
}
