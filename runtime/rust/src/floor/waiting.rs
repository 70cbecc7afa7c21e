//! How a thread waits, who is woken, and the locks.
//!
//! # Before a thread sleeps
//!
//! There is one policy, with fixed limits, for every wait of this crate.
//!
//! Sleeping and being woken costs a few microseconds if the processor stays awake and tens of microseconds if it halts,
//! while a peer that is running answers in a tenth of a microsecond. So a thread spins [`SPINS`] times, which takes
//! about as long as one answer of a running peer. Then it yields [`YIELDS`] times: if the peer waits for a processor,
//! it gets this one for a fraction of what sleeping and being woken costs. This is what makes threads that outnumber
//! the processors fast. After that the thread sleeps, so a long wait takes no time from other threads. A thread whose
//! peer last ran on its own processor does not spin: the peer cannot run in the meantime.
//!
//! The limits do not adapt. A budget that learns from earlier waits has to be probed again and again, because two
//! threads that have learned to sleep both wait too long to learn anything else.
//!
//! A wait for something that the other side does within a few instructions uses [`Backoff`] instead, which never
//! sleeps.
//!
//! # Yielding
//!
//! A thread yields as long as that is not more expensive than sleeping. If the peer is about to run on this processor, yielding hands the processor over for a fraction of what sleeping and
//! being woken costs. But the kernel may hand it to any thread: if other programs are busy, it comes back only after
//! milliseconds, while a thread that sleeps is scheduled soon after it is woken. So some yields are timed. After a
//! slow one, no thread of the process yields for 32 times as long, so that no more than a thirtieth of the time is lost
//! by trying.
//!
//! # Waiters
//!
//! Each side has a waiter slot of its own (a [`WaitSlot`]), in which the other side finds its waiter: a slot shared by both loses wake-ups. To wait, a side
//! writes its waiter into its slot and then raises a flag, in the word that the other side will change or in its own
//! flags (see `link::wait`). The side that lowers the flag, by a read-modify-write, gets the waiter. That is either
//! the other side, which by Acquire sees what was written before the flag was raised, or the owner, which gives up
//! waiting. `busy` covers the time between lowering the flag and reading the slot: the owner neither writes its slot
//! again nor ends the session before the other side has cleared `busy`.
//!
//! # Wakers run user code
//!
//! Cloning, waking or dropping a waker runs code of the user's executor. That code may panic, and it may use any other
//! endpoint, including one whose last owner it destroys. So this is done only where a panic loses nothing that is
//! owned, and never while holding a lock. A function that takes a waiter out returns it to its caller, which wakes or
//! drops it after everything else is done.
//!
//! # Locks
//!
//! They are also used after a thread has panicked while it held them.
//!
//! The standard library is compiled without the thread sanitizer, which does not see what the functions of the library do in which a
//! thread waits. So under the sanitizer no thread waits in them: it tries to lock until it succeeds, and it sleeps instead of
//! waiting for a change.

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::mem;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::task::{Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use super::sync::{spin_loop, unpark, yield_now, AtomicBool, Thread};

/// How many times a thread checks what it waits for while it spins. A `spin_loop` takes 3 to 25 ns.
const SPINS: usize = 100;

/// How many times it then yields, unless yields are slow (see "Yielding").
const YIELDS: u32 = 32;

/// The remaining checks that a thread makes before it sleeps.
pub struct BeforeSleep {
    spins: usize,
    yields: u32,
}

impl BeforeSleep {
    /// Spins, then yields.
    #[must_use]
    pub const fn new() -> BeforeSleep {
        BeforeSleep {
            spins: SPINS,
            yields: YIELDS,
        }
    }

    /// Yields without spinning, where spinning cannot help: the peer last ran on this processor, or what is awaited is
    /// behind a lock that others need.
    #[must_use]
    pub const fn without_spinning() -> BeforeSleep {
        BeforeSleep {
            spins: 0,
            yields: YIELDS,
        }
    }

    /// Waits a little before the next check, after one that looked at this many endpoints. False if it is time to
    /// sleep: then this does not wait. Models sleep at once.
    #[inline]
    pub fn pass(&mut self, checks: usize) -> bool {
        if cfg!(duologue_loom) {
            return false;
        }
        if self.spins > 0 {
            self.spins = self.spins.saturating_sub(checks);
            spin_loop();
            return true;
        }
        self.pass_by_yielding()
    }

    #[inline(never)]
    fn pass_by_yielding(&mut self) -> bool {
        let yields = self.yields > 0 && yield_unless_slow();
        self.yields = if yields { self.yields - 1 } else { 0 };
        yields
    }
}

impl Default for BeforeSleep {
    fn default() -> BeforeSleep {
        BeforeSleep::new()
    }
}

/// A backoff for waiting until the other side has completed a step of a few instructions.
pub(crate) struct Backoff {
    spins: u32,
}

impl Backoff {
    /// How many times to spin before yielding: the other side may have been preempted on this processor.
    const SPINS: u32 = 64;

    pub(crate) const fn new() -> Backoff {
        Backoff { spins: 0 }
    }

    /// Waits a little: spins at first, then yields.
    pub(crate) fn pass(&mut self) {
        if self.spins < Backoff::SPINS && cfg!(not(duologue_loom)) {
            self.spins += 1;
            spin_loop();
        } else {
            yield_now();
        }
    }
}

/// Yields that take longer than this, in nanoseconds, count as slow. This is less than the time slice that the kernel
/// gives a thread that only computes, and more than a hundred threads need to each handle one message and yield.
const SLOW: u64 = 1_000_000;

/// After a slow yield, no thread yields for this many times as long as that yield took.
const PAUSE: u64 = 32;

/// After that pause, every yield is timed for this many nanoseconds. If none was slow, only one in `SAMPLE` is timed
/// again: reading the clock costs a tenth of a yield.
const PROBATION: u64 = 1_000_000_000;
const SAMPLE: u32 = 32;

/// What the process has learned from its yields: when to try them again, in nanoseconds on a clock that never shows 0,
/// or 0 if there is no reason to doubt them. Reading an outdated value does no harm, so no ordering is needed.
struct Doubt(AtomicU64);

/// Whether to yield.
#[derive(Debug, PartialEq, Eq)]
enum Advice {
    Yield,
    YieldAndTime,
    Sleep,
}

impl Doubt {
    fn advice(&self, now: impl FnOnce() -> u64, is_sample: impl FnOnce() -> bool) -> Advice {
        let again = self.0.load(Relaxed);
        if again == 0 {
            return if is_sample() {
                Advice::YieldAndTime
            } else {
                Advice::Yield
            };
        }
        let now = now();
        if now < again {
            return Advice::Sleep;
        }
        if now - again > PROBATION {
            self.0.store(0, Relaxed);
        }
        Advice::YieldAndTime
    }

    /// Records a yield that was timed: when it ended, and how long it took.
    fn learn(&self, now: u64, took: u64) {
        if took > SLOW {
            self.0
                .store(now.saturating_add(took.saturating_mul(PAUSE)), Relaxed);
        }
    }
}

static DOUBT: Doubt = Doubt(AtomicU64::new(0));

/// Nanoseconds since some time before the first call.
fn now() -> u64 {
    static BEGINNING: OnceLock<Instant> = OnceLock::new();
    let since = BEGINNING.get_or_init(Instant::now).elapsed() + Duration::from_nanos(1);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

thread_local! {
    /// How many yields of this thread were not timed since the last one that was.
    static UNTIMED: Cell<u32> = const { Cell::new(SAMPLE) };
}

fn is_sample() -> bool {
    let count = |untimed: &Cell<u32>| {
        let is_sample = untimed.get() >= SAMPLE;
        untimed.set(if is_sample { 1 } else { untimed.get() + 1 });
        is_sample
    };
    // A thread that is exiting no longer counts.
    UNTIMED.try_with(count).unwrap_or(false)
}

/// Yields to other threads. Returns false, without yielding, if it is better for this thread to sleep.
pub(crate) fn yield_unless_slow() -> bool {
    if cfg!(any(duologue_loom, duologue_without = "timed-yields")) {
        // What is learned would outlive the current execution of a model.
        yield_now();
        return true;
    }
    match DOUBT.advice(now, is_sample) {
        Advice::Sleep => return false,
        Advice::Yield => yield_now(),
        Advice::YieldAndTime => {
            let start = now();
            yield_now();
            let end = now();
            DOUBT.learn(end, end - start);
        }
    }
    true
}

/// A sleeping thread or a pending task.
pub(crate) enum Waiter {
    Thread(Thread),
    Task(Waker),
    /// A thread that is woken through something it shares: the bell of a port set. A pipe treats it as a thread.
    Bell(Waker),
}

impl Waiter {
    /// Wakes the waiter. A superfluous wake-up does no harm.
    pub(crate) fn wake(self) {
        match self {
            Waiter::Thread(thread) => unpark(&thread),
            Waiter::Task(waker) | Waiter::Bell(waker) => waker.wake(),
        }
    }

    /// A waker that wakes the waiter.
    pub(crate) fn waker(&self) -> Waker {
        match self {
            Waiter::Thread(thread) => Waker::from(Arc::new(Unparks(thread.clone()))),
            Waiter::Task(waker) | Waiter::Bell(waker) => waker.clone(),
        }
    }

    pub(crate) fn is_task(&self) -> bool {
        matches!(self, Waiter::Task(_))
    }
}

/// A thread as a waker.
struct Unparks(Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        unpark(&self.0);
    }
}

/// Two pointers that distinguish a live waker from others.
pub(crate) fn pointers(waker: &Waker) -> [usize; 2] {
    [
        waker.data() as usize,
        std::ptr::from_ref(waker.vtable()) as usize,
    ]
}

/// Calls `act` with each of several waiters, even if it panics for some. The first panic resumes when all are done.
pub(crate) fn with_each<T>(waiters: impl IntoIterator<Item = T>, mut act: impl FnMut(T)) {
    let mut first = None;
    for waiter in waiters {
        // Any state that a panic leaves inconsistent belongs to the executor.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| act(waiter))) {
            match first {
                None => first = Some(panic),
                Some(_) => discard(panic),
            }
        }
    }
    if let Some(panic) = first {
        resume_unwind(panic);
    }
}

/// A waiter whose flag was lowered and which is still in its slot. Until it is fetched, its owner neither waits again
/// nor ends the session.
#[derive(Clone, Copy)]
#[must_use = "a waiter that is not woken sleeps forever"]
pub(crate) struct PendingWake(NonNull<WaitSlot>);

impl PendingWake {
    /// The waiter in this slot of the peer.
    ///
    /// # Safety
    /// The caller lowered the raised flag. Of all copies that it makes of the result, only one is used, and only once.
    #[inline(always)]
    pub(crate) unsafe fn in_slot(slot: *const WaitSlot) -> PendingWake {
        // SAFETY: the slot is part of a session, which is never at address 0.
        PendingWake(unsafe { NonNull::new_unchecked(slot.cast_mut()) })
    }

    /// Takes the waiter out of its slot. From then on, the session may end.
    #[inline]
    pub(crate) fn fetch(self) -> Option<Waiter> {
        // SAFETY: by the caller of `in_slot`; the owner does not end the session while its slot is busy.
        unsafe { WaitSlot::take(self.0.as_ptr()) }
    }

    /// Fetches the waiter and wakes it.
    #[inline(never)]
    pub(crate) fn wake(self) {
        if let Some(waiter) = self.fetch() {
            waiter.wake();
        }
    }
}

/// The waiter slot of one side.
pub(crate) struct WaitSlot {
    /// Set by the owner before it raises the flag; cleared by the side that takes the waiter out.
    busy: AtomicBool,
    waiter: UnsafeCell<Option<Waiter>>,
    /// Shows loom when the waiter is put in and taken out.
    #[cfg(duologue_loom)]
    witness: loom::cell::UnsafeCell<()>,
}

impl WaitSlot {
    pub(crate) fn new() -> WaitSlot {
        WaitSlot {
            busy: AtomicBool::new(false),
            waiter: UnsafeCell::new(None),
            #[cfg(duologue_loom)]
            witness: loom::cell::UnsafeCell::new(()),
        }
    }

    /// Puts a waiter in.
    ///
    /// # Safety
    /// The caller is the owner, and its flags are not raised.
    pub(crate) unsafe fn put(&self, waiter: Waiter) {
        self.settle();
        #[cfg(duologue_loom)]
        self.witness.with_mut(|_| {});
        // SAFETY: the flag is down and the slot is not busy, so only the owner accesses the slot, and it contains
        // nothing that has to be dropped.
        unsafe { self.waiter.get().write(Some(waiter)) };
        // Ordered before the flag by the Release with which the flag is raised.
        self.busy.store(true, Relaxed);
    }

    /// Takes the waiter out. Afterwards the session may be freed, so the slot is passed as a raw pointer: no reference
    /// to it outlives the last store.
    ///
    /// # Safety
    /// The slot is allocated, and the caller either lowered the raised flag (the owner by giving up, or the other side
    /// by its change) or never raised it.
    pub(crate) unsafe fn take(slot: *const WaitSlot) -> Option<Waiter> {
        // SAFETY: the side that lowers the flag owns the slot until it clears `busy`.
        unsafe {
            #[cfg(duologue_loom)]
            (*slot).witness.with_mut(|_| {});
            let waiter = (*(*slot).waiter.get()).take();
            (*slot).busy.store(false, Release);
            waiter
        }
    }

    /// Whether a waiter was put in, and the side that takes it out has not released the slot yet.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Acquire)
    }

    /// Waits until the other side has released the slot: it is between its change and `take`, which is a few
    /// instructions.
    #[inline]
    pub(crate) fn settle(&self) {
        let mut backoff = Backoff::new();
        while self.is_busy() {
            backoff.pass();
        }
    }
}

/// Takes the lock, and waits for it if necessary.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    if cfg!(duologue_tsan) {
        loop {
            if let Some(guard) = try_lock(mutex) {
                return guard;
            }
            thread::yield_now();
        }
    }
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the lock, unless another thread has it.
pub fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Releases the lock, waits for a change, at most for this duration, and takes the lock again. May return without a change.
pub fn wait<'m, T>(
    mutex: &'m Mutex<T>,
    change: &Condvar,
    guard: MutexGuard<'m, T>,
    most: Option<Duration>,
) -> MutexGuard<'m, T> {
    const PAUSE: Duration = Duration::from_millis(1);
    match most {
        most if cfg!(duologue_tsan) => {
            drop(guard);
            thread::sleep(most.map_or(PAUSE, |most| most.min(PAUSE)));
            lock(mutex)
        }
        None => change.wait(guard).unwrap_or_else(PoisonError::into_inner),
        Some(most) => {
            let waited = change.wait_timeout(guard, most);
            waited.unwrap_or_else(PoisonError::into_inner).0
        }
    }
}

/// Calls code of the program: an observer, a waker, a transport, a destructor of a payload. If it panics, which the process's panic hook reports, the session and the other waiters go
/// on: the caller may be a thread of another side, or one that works for all sessions.
pub fn guarded<T>(call: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => Some(result),
        Err(panic) => {
            discard(panic);
            None
        }
    }
}

/// Drops what a panic was caught with. Its destructor is the program's too, and may panic; what that panics with is
/// kept, since it could go on forever.
pub(crate) fn discard(panic: Box<dyn Any + Send>) {
    if let Err(further) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        mem::forget(further);
    }
}

#[cfg(all(test, not(duologue_loom)))]
mod tests {
    use super::*;

    /// How many checks are made before the thread sleeps, each of this many endpoints.
    fn checks(mut before: BeforeSleep, endpoints: usize) -> usize {
        let mut checks = 0;
        while before.pass(endpoints) {
            checks += 1;
        }
        assert!(!before.pass(endpoints), "sleeps from then on");
        checks
    }

    #[test]
    fn a_thread_checks_a_limited_number_of_times_before_it_sleeps() {
        // Yields may be too slow on a busy machine; then the thread sleeps earlier.
        let yields = YIELDS as usize;
        assert!((SPINS..=SPINS + yields).contains(&checks(BeforeSleep::new(), 1)));
        assert!((SPINS / 50..=SPINS / 50 + yields).contains(&checks(BeforeSleep::new(), 50)));
        assert!((1..=1 + yields).contains(&checks(BeforeSleep::new(), 10_000)));
        assert!(checks(BeforeSleep::without_spinning(), 1) <= yields);
    }

    #[test]
    fn after_a_slow_yield_there_is_none_for_a_while_and_then_each_is_timed() {
        let doubt = Doubt(AtomicU64::new(0));
        let at = |now, is_sample| doubt.advice(move || now, move || is_sample);
        assert_eq!(at(1, false), Advice::Yield);
        assert_eq!(at(1, true), Advice::YieldAndTime);
        doubt.learn(1_000, SLOW);
        assert_eq!(at(1_000, false), Advice::Yield);

        let took = SLOW + 1;
        doubt.learn(1_000, took);
        let again = 1_000 + took * PAUSE;
        assert_eq!(at(again - 1, true), Advice::Sleep);
        assert_eq!(at(again, false), Advice::YieldAndTime);
        doubt.learn(again, 1);
        assert_eq!(at(again + PROBATION, false), Advice::YieldAndTime);
        assert_eq!(at(again + PROBATION + 1, false), Advice::YieldAndTime);
        assert_eq!(at(again + PROBATION + 2, false), Advice::Yield);

        doubt.learn(u64::MAX - 1, u64::MAX);
        assert_eq!(at(u64::MAX - 1, true), Advice::Sleep);
    }

    #[test]
    fn few_yields_are_timed() {
        let timed = std::thread::spawn(|| [(); 96].map(|()| is_sample()));
        let timed = timed.join().expect("no panic");
        let expected: Vec<bool> = (0..96).map(|count| count % 32 == 0).collect();
        assert_eq!(timed.as_slice(), expected);
    }
}
