//! How a side waits: what for, how it registers a waiter there, how its thread blocks, and when it gives up.
//!
//! # In the word
//!
//! The waiter is put into its slot, then a flag is set in the awaited word with a compare-and-swap. The other side also
//! changes that word by a read-modify-write, so the two are ordered:
//!
//! - flag first: the change returns the flag and, by Acquire, makes the waiter visible that was written before it, so
//!   the other side wakes it;
//! - change first: the compare-and-swap fails, and this side sees what it wanted to wait for.
//!
//! There is no third case. A sender waits for space in this way, and so does a receiver where messages are swapped.
//!
//! A sender of a session with a driver may also have to wait while there is space. So it gives a waker to the driver too.
//!
//! # In the flags
//!
//! Where messages are stored, a receiver puts its waiter into its slot, reports in its flags that it waits at its
//! position, runs the barrier and checks again. The barrier ensures that either it sees the message, or the sender sees
//! the report after its store. Both can happen; then the side that lowers the flag by a compare-and-swap gets the
//! waiter. The flag refers to one position, so that a sender that is late in checking the flags after an earlier
//! message does not take the waiter of a later one.
//!
//! # In the flags, by a task
//!
//! A task is certain to be seen without running the barrier for each wait. It announces in its flags, permanently, that
//! it is a task. From then on it waits in the word in runs as well, but only where it is certain that the sender has seen the announcement and swaps. That is certain
//!
//! - at every position after one at which the task announced this, ran the barrier, and found nothing: the sender's
//!   store there comes after the barrier, so its read of the flags after that store sees the announcement, and so do
//!   its reads for everything it sends later;
//! - at every position after one whose message says so in its word: its sender had seen the announcement;
//! - in every run after one in which the task announced this, if there was a turn between them: the sender has read a
//!   message that this side sent after the announcement, and it reads the flags before the first message of a run.
//!
//! Where it is not certain, a task waits in its flags. It announces that and then yields once. If messages come that
//! fast, the task has its message by then, and the next message or the one after it says that the announcement was
//! seen. If not, and no thread has run the barrier in the meantime, the task runs it, on behalf of all tasks that have
//! yielded.
//!
//! # Time limits
//!
//! After a certain time, a side no longer waits. What waits asks for the limit only where it is about to sleep, so a session without a limit pays nothing, and neither
//! does a message that is found, or sent, without waiting. A thread that waits for one session sleeps until the limit;
//! what else waits is woken by an alarm (`floor::deadline`). From then on the side is *late*: it counts as ready, because
//! its next operation does not wait, and that operation closes the session if it would have to wait.
//!
//! Whether a side has a limit is noted in the line in which it reports that it waits, and the limit itself is in a box that
//! belongs to the session. Only the side itself accesses either. Several threads of a side may do so at the same time, if they share its
//! sender: both can be read and changed by several threads.

use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use super::peer::Space;
use crate::floor::barrier::{self, Cpu};
use crate::floor::deadline::{self, earlier, SideLimit};
use crate::floor::sync::current;
use crate::floor::waiting::{pointers, Backoff, BeforeSleep, WaitSlot, Waiter};
use crate::ring::driver::Driver;
use crate::ring::pipe::{Found, Pipe};
#[cfg(feature = "registry")]
use crate::ring::usage::Usage;
use crate::ring::words::{Awaitable, Credit, LineWord, PeerFlags, Report, Shared, TaskNote};

/// A word whose change is awaited, and its value before that.
enum Unchanged<'a> {
    /// The word of a line, where a receiver waits for a message.
    Line(&'a Shared<LineWord>, LineWord),
    /// The credit word, where a sender waits for space.
    Credit(&'a Shared<Credit>, Credit),
}

impl Unchanged<'_> {
    /// See [`Shared::raise`].
    fn raise(&self) -> bool {
        match *self {
            Unchanged::Line(word, value) => word.raise(value),
            Unchanged::Credit(word, value) => word.raise(value),
        }
    }

    /// See [`Shared::lower`].
    fn lower(&self) -> bool {
        match *self {
            Unchanged::Line(word, value) => word.lower(value),
            Unchanged::Credit(word, value) => word.lower(value),
        }
    }
}

/// What a side waits for on its pipe: a message to read, or space to send.
#[derive(Clone, Copy)]
pub(crate) struct Wait<'a> {
    pipe: &'a Pipe,
    sends: bool,
}

impl<'a> Wait<'a> {
    /// A sender that waits for space.
    pub(crate) fn for_room(pipe: &'a Pipe) -> Wait<'a> {
        Wait { pipe, sends: true }
    }

    /// A receiver that waits for a message.
    pub(crate) fn for_message(pipe: &'a Pipe) -> Wait<'a> {
        Wait { pipe, sends: false }
    }

    /// The word whose change is awaited, and its value; `None` if it has changed.
    #[inline]
    fn unchanged(&self) -> Option<Unchanged<'a>> {
        if self.sends {
            match self.pipe.space() {
                Space::Free | Space::Leaving => None,
                Space::Full(credit) => Some(Unchanged::Credit(self.pipe.credit(), credit)),
            }
        } else {
            match self.pipe.find_in(self.pipe.layout()) {
                Found::Message(_) | Found::Closed => None,
                Found::Nothing(word) => Some(Unchanged::Line(self.pipe.word(), word)),
            }
        }
    }

    /// Like [`Wait::unchanged`], but also `None` if the word will never change because the peer disconnected without
    /// publishing anything.
    fn awaited(&self) -> Option<Unchanged<'a>> {
        let unchanged = self.unchanged()?;
        (!self.pipe.was_forgotten()).then_some(unchanged)
    }

    /// Whether the next operation would not wait, or should not.
    pub(crate) fn is_ready(&self) -> bool {
        self.awaited().is_none() && !self.is_held_back() || self.pipe.is_late()
    }

    /// When this side's waits end.
    pub(crate) fn limit(&self) -> Option<Instant> {
        self.pipe.limit()
    }

    /// See [`Pipe::set_limit`].
    pub(crate) fn set_limit(&self, until: Option<Instant>) {
        self.pipe.set_limit(until);
    }

    /// [`Wait::is_ready`] for a sender, inlined where there is space.
    #[inline]
    pub(crate) fn has_space(&self) -> bool {
        debug_assert!(self.sends);
        let is_free = matches!(self.pipe.space(), Space::Free | Space::Leaving);
        is_free && !self.is_held_back() || self.is_ready()
    }

    /// Whether the driver holds this sender back, although there may be space.
    #[inline]
    fn is_held_back(&self) -> bool {
        self.sends && self.driver().is_some_and(|driver| driver.holds_back(None))
    }

    pub(crate) fn session(&self) -> usize {
        self.pipe.session()
    }

    /// The processor on which the peer last ran.
    pub(crate) fn peer_cpu(&self) -> Cpu {
        self.pipe.private().peer_cpu()
    }

    /// What drives the session, if the other side is in another process.
    #[inline]
    pub(crate) fn driver(&self) -> Option<&'a Arc<dyn Driver>> {
        self.pipe.driver()
    }

    /// Tells the session's driver, if it has one, that this side must not wait where it sends.
    #[inline]
    pub(crate) fn never_waits(&self) {
        if let Some(driver) = self.driver() {
            driver.never_waits();
        }
    }

    /// Registers a task's waker unless the next operation would not wait, and returns whether it did. Replaces an
    /// earlier waiter.
    #[inline]
    pub(crate) fn arm_task(&self, waker: &Waker) -> bool {
        match self.unchanged() {
            None => self.is_held_back() && self.arm(Waiter::Task(waker.clone())),
            Some(Unchanged::Credit(..)) => self.arm(Waiter::Task(waker.clone())),
            Some(Unchanged::Line(word, value)) => {
                let forgets = self.pipe.layout().forgets();
                self.pipe.copy().arm_task(forgets, word, value, waker)
            }
        }
    }

    /// Registers a waiter to be woken. Replaces an earlier waiter. Returns false if there is nothing to wait for.
    pub(crate) fn arm(&self, waiter: Waiter) -> bool {
        let by_task = waiter.is_task();
        if self.announce(waiter) {
            barrier::heavy();
        }
        self.confirm(by_task)
    }

    /// Like [`Pipe::note_task`], for a task that has checked this pipe.
    #[inline]
    pub(crate) fn note_task(&self) {
        if !self.sends {
            self.pipe.note_task(self.pipe.find_in(self.pipe.layout()));
        }
    }

    /// Like [`Wait::arm`], for a far end whose waker is called for what its sender publishes next. `is_sender`: on the
    /// sender's own thread, which needs no barrier to see what it has done itself.
    pub(crate) fn arm_far(&self, waker: &Waker, is_sender: bool) -> bool {
        let waiter = Waiter::Task(waker.clone());
        if !is_sender {
            return self.arm(waiter);
        }
        self.announce(waiter);
        self.confirm(false)
    }

    /// The first of the three steps of [`Wait::arm`], for waiting on several pipes: announces that this waiter is
    /// about to sleep, and replaces an earlier one. If any announcement returned true, the second step is one
    /// call of [`barrier::heavy`] for all of them: after it, either the other side sees the announcement when it checks
    /// for waiters, or this side sees what the other side did before. The third step is [`Wait::confirm`] for each.
    ///
    /// From here on the waiter may be woken, even if `confirm` finds that there is nothing to wait for.
    pub(crate) fn announce(&self, waiter: Waiter) -> bool {
        let is_free = self.sends && matches!(self.pipe.space(), Space::Free);
        let _replaced = if is_free { None } else { self.take_waiter() };
        #[cfg(feature = "registry")]
        self.pipe.note_use(|| Usage::waits(&waiter, self.sends));
        if self.pipe.is_limited() {
            // A thread sleeps until the limit.
            if let Waiter::Task(waker) | Waiter::Bell(waker) = &waiter {
                self.pipe.wake_at_limit(waker);
            }
        }
        if !self.sends {
            if !self.pipe.waits_in_word() {
                return self.announce_in_flags(waiter);
            }
            if matches!(waiter, Waiter::Task(_)) {
                self.pipe.announce_task();
            }
        } else if let Some(driver) = self.driver() {
            // Before `confirm` asks the driver again: between the two, what this sender waits for may change.
            driver.holds_back(Some(waiter.waker()));
        }
        self.announce_in_word(waiter);
        false
    }

    /// After [`Wait::announce`], for a set of endpoints, in which they stay armed.
    #[cfg(feature = "registry")]
    pub(crate) fn note_in_set(&self) {
        self.pipe.note_use(|| Usage::StaysInSet);
    }

    fn announce_in_word(&self, waiter: Waiter) {
        let slot = self.pipe.slot();
        let mut waiter = Some(waiter);
        while let (Some(unchanged), Some(mine)) = (self.awaited(), waiter.take()) {
            // SAFETY: this side owns the slot, and its flags are down: `disarm` lowered them, or the peer did.
            unsafe { (*slot).put(mine) };
            if unchanged.raise() {
                return;
            }
            // SAFETY: the flag was never raised.
            waiter = unsafe { WaitSlot::take(slot) };
        }
    }

    fn announce_in_flags(&self, waiter: Waiter) -> bool {
        if self.is_ready() {
            return false;
        }
        let slot = self.pipe.slot();
        // A far end has the waker of a task, and waits as a thread does.
        let is_task = waiter.is_task() && !self.pipe.at().always_swaps();
        // SAFETY: as in `announce_in_word`.
        unsafe { (*slot).put(waiter) };
        let own = self.pipe.own_flags();
        let flags = own.load(Relaxed);
        let side = if is_task { flags.of_task() } else { flags };
        let waiting = side.reporting(Report::Waiting, self.pipe.at().key());
        if !flags.report(Report::Ending)
            && own
                .compare_exchange(flags, waiting, AcqRel, Relaxed)
                .is_ok()
        {
            return true;
        }
        // SAFETY: the flag was never raised.
        let _refused = unsafe { WaitSlot::take(slot) };
        // The sender is about to publish its last message, or that it disconnects.
        let mut backoff = Backoff::new();
        while !self.is_ready() {
            backoff.pass();
        }
        false
    }

    /// Whether the announced waiter has to sleep and will be woken; false if there is nothing to wait for. `by_task`: it
    /// is a task.
    pub(crate) fn confirm(&self, by_task: bool) -> bool {
        barrier::full();
        if self.is_ready() {
            drop(self.disarm());
            return false;
        }
        if !self.sends {
            self.pipe.note_sleep();
        }
        if let Some(driver) = self.driver() {
            // A sender may hold a lock of the program here, and its waiter may be the queue of a shared sender.
            driver.armed(self.sends, by_task && !self.sends);
        }
        true
    }

    /// Takes the waiter back, if it was not woken. The caller drops it, which runs user code.
    #[inline]
    #[must_use = "drop it where a panic loses nothing"]
    pub(crate) fn disarm(&self) -> Option<Waiter> {
        if self.sends && matches!(self.pipe.space(), Space::Free) {
            return None;
        }
        self.disarm_slowly()
    }

    /// Like [`Wait::disarm`], for a sender that has space and may still have a waiter from when it was the receiver.
    #[inline]
    pub(crate) fn disarm_slowly(&self) -> Option<Waiter> {
        let waiter = self.take_waiter();
        #[cfg(feature = "registry")]
        if waiter.is_some() {
            self.pipe.note_use(|| Usage::StopsWaiting);
        }
        waiter
    }

    /// Like [`Wait::disarm_slowly`], for a side that goes on to wait.
    #[inline(never)]
    fn take_waiter(&self) -> Option<Waiter> {
        if let Some(waiter) = self.pipe.stops_waiting_in_flags() {
            return Some(waiter);
        }
        if !self.unchanged()?.lower() {
            return None;
        }
        // SAFETY: the compare-and-swap lowered the flag.
        unsafe { WaitSlot::take(self.pipe.slot()) }
    }
}

impl Pipe {
    /// Registers a task's waker for the message at this position. Its word had this value, in which the message was not
    /// there yet. Returns whether it did; if not, the next operation does not wait. Replaces an earlier waiter.
    /// `forgets` is what the layout says, and `word` is the word of the current line.
    ///
    /// A task does this for nearly every message, so the pipe is passed in registers, and everything else is in other
    /// functions.
    #[inline(never)]
    pub(crate) fn arm_task(
        self,
        forgets: bool,
        word: &Shared<LineWord>,
        value: LineWord,
        waker: &Waker,
    ) -> bool {
        let flags = self.own_flags().load(Relaxed);
        if flags.report(Report::Waiting) || !self.waits_in_word() {
            return self.arm_task_in_flags(waker);
        }
        if value.is_awaited() {
            return self.arm_task_anew(forgets, word, value, waker);
        }
        #[cfg(feature = "registry")]
        self.note_use(|| Usage::waits_in_task(waker, false));
        self.announce_task();
        let slot = self.slot();
        // SAFETY: this side owns the slot, and its flags are down.
        unsafe { (*slot).put(Waiter::Task(waker.clone())) };
        if !word.raise(value) {
            // SAFETY: the flag was never raised.
            drop(unsafe { WaitSlot::take(slot) });
            return false;
        }
        // At the compare-and-swap there was no message, and a sender that publishes one later finds the flag.
        barrier::after_exchange();
        if let Some(driver) = self.driver() {
            driver.armed(false, true);
        }
        let stays = !forgets || !self.peer_may_be_gone();
        if self.is_limited() && self.is_late_for(waker) {
            return false;
        }
        stays || self.stays_armed()
    }

    /// Whether the side is late: then its waker is taken back. If not, makes sure that it is called when the limit passes.
    #[cold]
    #[inline(never)]
    fn is_late_for(&self, waker: &Waker) -> bool {
        self.wake_at_limit(waker);
        let is_late = self.is_late();
        if is_late {
            drop(Wait::for_message(self).disarm());
        }
        is_late
    }

    /// Like [`Pipe::arm_task`], where the task already has a waiter registered in the word.
    #[cold]
    #[inline(never)]
    fn arm_task_anew(
        self,
        forgets: bool,
        word: &Shared<LineWord>,
        value: LineWord,
        waker: &Waker,
    ) -> bool {
        let _replaced = Wait::for_message(&self).take_waiter();
        (self.copy()).arm_task(forgets, word, value.not_awaited(), waker)
    }

    /// Like [`Pipe::arm_task`], where the task waits in its flags, or already has a waiter registered there.
    #[cold]
    #[inline(never)]
    fn arm_task_in_flags(self, waker: &Waker) -> bool {
        let wait = Wait::for_message(&self);
        if wait.is_ready() {
            drop(self.stops_waiting_in_flags());
            return false;
        }
        let note = self.task_note().load(Relaxed);
        if note.is_deferred_at(self.at().key()) {
            if self.still_waits(waker) && barrier::has_run_since(self.ticket().load(Relaxed)) {
                if self.is_limited() {
                    // It was not set where the task yielded.
                    self.wake_at_limit(waker);
                }
                return wait.confirm(true);
            }
        } else if !note.is_known() && cfg!(not(duologue_without = "deferral")) {
            return self.defer(waker);
        }
        wait.arm(Waiter::Task(waker.clone()))
    }

    /// Announces in the flags that a task waits, and yields before it does. False if it does not have to wait.
    fn defer(&self, waker: &Waker) -> bool {
        let wait = Wait::for_message(self);
        let _replaced = wait.take_waiter();
        #[cfg(feature = "registry")]
        self.note_use(|| Usage::waits_in_task(waker, false));
        if !wait.announce_in_flags(Waiter::Task(waker.clone())) {
            return false;
        }
        self.ticket().store(barrier::ticket(), Relaxed);
        for (place, pointer) in self.private().waker.iter().zip(pointers(waker)) {
            place.store(pointer, Relaxed);
        }
        self.task_note()
            .store(TaskNote::deferred(self.at().key()), Relaxed);
        waker.wake_by_ref();
        true
    }

    /// Whether the waker that was registered when this task yielded is this one, and is still there.
    fn still_waits(&self, waker: &Waker) -> bool {
        let here = PeerFlags::TASK.reporting(Report::Waiting, self.at().key());
        let left = &self.private().waker;
        self.own_flags().load(Relaxed) == here
            && left
                .iter()
                .map(|place| place.load(Relaxed))
                .eq(pointers(waker))
    }

    /// Takes back the waiter that this side registered in its flags, if it was not woken. A task that yielded there may
    /// have its message and, according to its flags, still wait: the sender need not have seen the flags.
    #[must_use = "drop it where a panic loses nothing"]
    pub(crate) fn stops_waiting_in_flags(&self) -> Option<Waiter> {
        let own = self.own_flags();
        let flags = own.load(Relaxed);
        if !flags.report(Report::Waiting) {
            return None;
        }
        own.compare_exchange(flags, flags.quiet(), AcqRel, Relaxed)
            .ok()?;
        // SAFETY: the compare-and-swap lowered the flag.
        unsafe { WaitSlot::take(self.slot()) }
    }

    /// For a task that has found something here: announces that it is a task even though it does not have to wait, or
    /// records that its sender knows. Then it does not have to run the barrier when it waits in a run.
    #[inline]
    pub(crate) fn note_task(&self, found: Found) {
        if self.swaps() {
            return self.announce_task();
        }
        let _stopped = self.stops_waiting_in_flags();
        let note = self.task_note();
        let knows = matches!(found, Found::Message(word) if word.knows_task());
        if knows && !note.load(Relaxed).is_known() {
            note.store(TaskNote::known(self.at().key()), Relaxed);
        }
    }

    /// Whether the waiter that is armed here may stay because the peer is connected; otherwise takes it back.
    #[cold]
    #[inline(never)]
    fn stays_armed(self) -> bool {
        let was_forgotten = self.was_forgotten();
        if was_forgotten {
            drop(Wait::for_message(&self).disarm());
        }
        !was_forgotten
    }

    /// Whether a receiver at this position waits and disconnects in the word; otherwise it does so in its flags.
    #[inline]
    pub(crate) fn waits_in_word(&self) -> bool {
        if self.swaps() {
            return true;
        }
        let (note, at) = (self.task_note().load(Relaxed), self.at());
        if note.is_known() {
            note.key() != at.key()
        } else {
            note.is_announced() && note.key().epoch() != at.epoch() && !at.is_lapping()
        }
    }

    /// Announces that this side is a task, where messages are swapped. This helps when it later waits in a run.
    #[inline]
    fn announce_task(&self) {
        if self.own_flags().load(Relaxed) == PeerFlags::NONE && !self.at().always_swaps() {
            // Only this side changes the flags here: a sender does so only before its last message in a run.
            self.own_flags().store(PeerFlags::TASK, Relaxed);
            self.task_note()
                .store(TaskNote::announced(self.at().key()), Relaxed);
        }
    }

    /// After the barrier: records that the sender will see that this side is a task.
    fn note_sleep(&self) {
        let flags = self.own_flags().load(Relaxed);
        if flags.report(Report::Waiting) && flags.is_task() {
            self.task_note()
                .store(TaskNote::known(self.at().key()), Relaxed);
        }
    }
}

/// Whether the awaited endpoint is ready. If the peer is in another process, also checks what has arrived from there.
pub(crate) fn is_ready(wait: Wait<'_>) -> bool {
    let is_ready = || wait.is_ready();
    let driven = || Some(wait.driver()?.wait(&is_ready, Some(Instant::now())));
    is_ready() || driven().is_some_and(|_| is_ready())
}

/// Waits until the awaited endpoint is ready, or until the deadline. Returns whether it is ready, as it is from its side's
/// time limit on.
pub(crate) fn until(wait: Wait<'_>, deadline: Option<Instant>) -> bool {
    let find = || wait.is_ready().then_some(());
    if find().is_some() {
        return true;
    }
    let deadline = earlier(wait.limit(), deadline);
    if let Some(driver) = wait.driver() {
        return driver.wait(&|| wait.is_ready(), deadline) || wait.is_ready();
    }
    poll(wait, find).is_some() || sleep(wait, deadline)
}

/// Waits for the next message, and returns the word that has it; `None` if there will be none, or this side is late.
///
/// Like [`until`], but what is found does not have to be read again: the peer is waiting for what this side does
/// with it.
#[cold]
#[inline(never)]
pub(crate) fn for_message(pipe: Pipe) -> Option<LineWord> {
    let layout = pipe.layout();
    let find = || match pipe.find_in(layout) {
        Found::Nothing(_) if !layout.forgets() || !pipe.peer_may_be_gone() => None,
        Found::Nothing(_) => match pipe.find() {
            Found::Nothing(_) => None,
            found @ (Found::Message(_) | Found::Closed) => Some(found),
        },
        found @ (Found::Message(_) | Found::Closed) => Some(found),
    };
    let wait = Wait::for_message(&pipe);
    let is_driven = wait.driver().is_some();
    loop {
        let found = find();
        match found.or_else(|| if is_driven { None } else { poll(wait, find) }) {
            Some(Found::Message(word)) => return Some(word),
            Some(_) => return None,
            // Only what has arrived by now.
            None if pipe.is_late() => {
                return match pipe.find_driven() {
                    Found::Message(word) => Some(word),
                    Found::Nothing(_) | Found::Closed => None,
                };
            }
            None => wait_for_driver(wait) || sleep(wait, wait.limit()),
        };
    }
}

/// If the session has a driver, waits with it until the awaited endpoint is ready, and returns true.
fn wait_for_driver(wait: Wait<'_>) -> bool {
    let driver = wait.driver();
    driver.is_some_and(|driver| driver.wait(&|| wait.is_ready(), wait.limit()))
}

/// Sleeps until the awaited endpoint is ready, or until the deadline. Returns whether it is ready.
fn sleep(wait: Wait<'_>, deadline: Option<Instant>) -> bool {
    if !wait.arm(Waiter::Thread(current())) {
        return true;
    }
    while !wait.is_ready() {
        if !deadline::sleep(deadline) {
            drop(wait.disarm());
            return wait.is_ready();
        }
    }
    true
}

/// Spins and then yields for a while, until something is found.
#[inline]
fn poll<T>(wait: Wait<'_>, find: impl Fn() -> Option<T>) -> Option<T> {
    let mut before = if wait.peer_cpu().is_current() {
        BeforeSleep::without_spinning()
    } else {
        BeforeSleep::new()
    };
    while before.pass(1) {
        let found = find();
        if found.is_some() {
            return found;
        }
    }
    None
}

impl Pipe {
    /// Like [`Pipe::find`], but if there is nothing and the peer is in another process, also checks what has arrived
    /// from there.
    pub(crate) fn find_driven(&self) -> Found {
        let found = self.find();
        match (found, self.driver()) {
            (Found::Nothing(_), Some(driver)) => {
                // Not whether the side is ready, which one that is late always is: what has arrived is received all the same.
                let has_come = || !matches!(self.find(), Found::Nothing(_));
                driver.wait(&has_come, Some(Instant::now()));
                self.find()
            }
            (found, _) => found,
        }
    }

    /// When this side's waits end.
    #[inline]
    pub(crate) fn limit(&self) -> Option<Instant> {
        match self.is_limited() {
            true => self.own_limit().at(),
            false => None,
        }
    }

    /// Whether this side's limit has passed.
    #[inline]
    pub(crate) fn is_late(&self) -> bool {
        self.is_limited() && self.has_passed()
    }

    #[cold]
    fn has_passed(&self) -> bool {
        let at = self.own_limit().at();
        at.is_some_and(|at| at <= Instant::now())
    }

    fn own_limit(&self) -> &SideLimit {
        &self.attached().limits[self.at().side()]
    }

    /// Ends this side's waits at this time; `None` if they have no limit any more.
    pub(crate) fn set_limit(&self, until: Option<Instant>) {
        if until.is_none() && !self.is_limited() {
            return;
        }
        let own = self.own_limit();
        own.set(until);
        let until = own.at();
        self.limit_mark().store(until.is_some().into(), Relaxed);
        if let Some(driver) = self.driver() {
            driver.limit(until);
        }
    }

    /// Calls the waker when this side's limit passes.
    #[cold]
    pub(crate) fn wake_at_limit(&self, waker: &Waker) {
        self.own_limit().wake(waker);
    }
}
