//! An asymmetric barrier, which costs only the side that sleeps.
//!
//! A sender writes a word and then reads the receiver's flags; a receiver that is about to sleep writes its flags and
//! then reads the word. At least one of them must see what the other wrote. For that, each side needs a full barrier
//! between its write and its read, and the sender would pay for it with every message even though hardly any receiver
//! sleeps. Linux can run the sender's barrier on behalf of the receiver: `membarrier` makes every running thread of the
//! process execute one between the call and its return, and a thread that is not running executed one when it stopped.
//! So the sender's barrier comes either after its write, and the receiver's read sees the message; or before its write,
//! and the sender's later read sees the flags. This is the asymmetric fence of the C++ proposal P1202. Under loom, both
//! sides are ordinary fences.
//!
//! Where the call is missing, or the program opts out of it, every message is published by a swap, and this barrier is
//! not used.
//!
//! # Where the call is refused later
//!
//! A process may begin sessions and then block the call with a system call filter. After the first refusal,
//! the barrier [is lost](is_lost) permanently, and new sessions swap. Sessions in progress continue with senders that
//! have no barrier. What they rely on is that a store becomes visible in some finite time:
//!
//! - A receiver that waits checks again after a while, repeatedly, until there is a message: see `recheck`.
//! - A receiver that disconnects may miss a message. To make this unlikely, it first waits for a [`grace`] period;
//!   `link::leave` says what follows.
//!
//! The thread that finds the call refused first records that and then executes a full barrier, before it checks for the
//! last time. So if a thread of the other side executes a full barrier of its own and then does not find the barrier
//! lost, its barrier came first, and that last check sees what it wrote before its barrier.
//!
//! # One call for many
//!
//! One call serves every thread that wrote before it. A task that has time takes a [`ticket`] after its write, yields,
//! and then checks whether a call by any thread [has run](has_run_since) since then. Calls are numbered by a
//! read-modify-write before they begin, and a ticket is the number of the last call that had begun; between the write
//! and the read of this number there is a full barrier. So a call with a higher number began after that read: where a
//! sender's barrier on behalf of that call is followed by a read of the flags, the write can be seen, as if the task
//! had made the call itself. And a thread that sees that the call has returned (Acquire) sees what senders wrote before
//! their barriers.

use std::sync::atomic::{
    compiler_fence, AtomicU32,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};

#[cfg(duologue_loom)]
pub use system::{model_barrier, model_light_barrier, model_lost_barrier};

/// A full barrier between a write and a read that must not be reordered, where speed does not matter.
pub(crate) fn full() {
    #[cfg(not(duologue_loom))]
    std::sync::atomic::fence(SeqCst);
    #[cfg(duologue_loom)]
    loom::sync::atomic::fence(SeqCst);
}

/// A full barrier between a write and a read that must not be reordered, where a read-modify-write by this thread,
/// whether it succeeded or not, came after the write.
#[inline]
pub(crate) fn after_exchange() {
    // On x86-64, every read-modify-write is a full barrier, so a second one would be redundant (Intel's manual, volume
    // 3, 9.2.3.9; AMD's, volume 2, 7.2).
    if cfg!(all(target_arch = "x86_64", not(duologue_loom), not(miri))) {
        compiler_fence(SeqCst);
    } else {
        full();
    }
}

/// The sender's half of the barrier, between its write and its read.
#[inline]
pub(crate) fn light() {
    // Keeps the compiler from moving the read before the write; `heavy` does the same for the processor.
    compiler_fence(SeqCst);
    #[cfg(duologue_loom)]
    system::light();
}

/// How many calls have begun, and the highest number of a call that has returned. They wrap around at 32 bits.
static BEGUN: AtomicU32 = AtomicU32::new(0);
static RETURNED: AtomicU32 = AtomicU32::new(0);

/// The receiver's half of the barrier, between its write and its read: a system call. Returns false if the kernel
/// refuses it: then this was a full barrier of this thread alone, and the barrier [is lost](is_lost).
#[must_use = "without the barrier the sender may miss what was set in the flags"]
pub(crate) fn heavy() -> bool {
    #[cfg(test)]
    crate::floor::sync::count::call();
    let number = BEGUN.fetch_add(1, SeqCst).wrapping_add(1);
    if !system::heavy() {
        full();
        return false;
    }
    let higher = |returned| is_after(number, returned).then_some(number);
    let _ = RETURNED.fetch_update(Release, Relaxed, higher);
    true
}

/// How long a receiver that disconnects waits where the barrier is lost. What a sender has stored leaves the store
/// buffer of its processor within a few microseconds, even if the thread is stopped in the meantime; but no manual
/// guarantees this.
const GRACE: std::time::Duration = std::time::Duration::from_micros(50);

/// Where [`heavy`] was refused: waits until what was stored before can be expected to be visible.
#[cold]
pub(crate) fn grace() {
    // A sleep this short would take several times as long, and thousands of sessions may end in a row.
    let start = std::time::Instant::now();
    while cfg!(not(duologue_loom)) && start.elapsed() < GRACE {
        std::hint::spin_loop();
    }
    full();
}

/// Whether the kernel has refused the barrier after sessions that rely on it had begun. Then it is lost permanently.
/// The module documentation says what follows for a thread that does not find the barrier lost.
#[inline]
pub(crate) fn is_lost() -> bool {
    system::is_lost()
}

/// Whether new sessions have the barrier.
#[inline]
#[must_use]
pub fn is_there() -> bool {
    system::is_there()
}

/// Stops using the system call `membarrier`: sessions that begin after this call publish every message by a swap, as on
/// systems that lack `membarrier`.
///
/// For programs that will block the system call with a filter, and want no session to rely on it. Call
/// this before the first session begins. It has the same effect as the environment variable `DUOLOGUE_NO_MEMBARRIER=1`,
/// which is read when the first session begins.
///
/// ```
/// duologue_runtime::without_membarrier();
/// ```
pub fn without_membarrier() {
    system::do_without();
}

/// After a write: the ticket for [`has_run_since`]. In models 0, because what they count would outlive one execution.
pub(crate) fn ticket() -> u32 {
    full();
    if cfg!(duologue_loom) {
        return 0;
    }
    BEGUN.load(SeqCst)
}

/// Whether a call of [`heavy`] by any thread began after this ticket was taken and has returned. In models the call is
/// a fence, and taking a ticket is one, too.
pub(crate) fn has_run_since(ticket: u32) -> bool {
    cfg!(duologue_loom) || is_after(RETURNED.load(Acquire), ticket)
}

/// Whether a number comes after another one. A number that comes after it by more than half of the number space seems
/// to come before it: then an unnecessary call is made.
fn is_after(number: u32, other: u32) -> bool {
    (1..1 << 31).contains(&number.wrapping_sub(other))
}

/// Models set everything themselves.
#[cfg(duologue_loom)]
mod system {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    static ASYMMETRIC: AtomicBool = AtomicBool::new(true);
    static LOST: AtomicBool = AtomicBool::new(false);
    static LIGHT: AtomicBool = AtomicBool::new(true);

    /// Sets whether the sessions that begin after this call have the barrier.
    #[doc(hidden)]
    pub fn model_barrier(is_there: bool) {
        ASYMMETRIC.store(is_there, Relaxed);
    }

    /// Sets whether the barrier is refused to sessions that have begun with it.
    #[doc(hidden)]
    pub fn model_lost_barrier(is_lost: bool) {
        LOST.store(is_lost, Relaxed);
    }

    /// Sets whether the sender's half of the barrier does anything, for models in which nothing may need it.
    #[doc(hidden)]
    pub fn model_light_barrier(is_there: bool) {
        LIGHT.store(is_there, Relaxed);
    }

    pub(super) fn light() {
        if LIGHT.load(Relaxed) {
            super::full();
        }
    }

    pub(super) fn heavy() -> bool {
        !is_lost() && {
            super::full();
            true
        }
    }

    pub(super) fn is_there() -> bool {
        ASYMMETRIC.load(Relaxed)
    }

    pub(super) fn is_lost() -> bool {
        LOST.load(Relaxed)
    }

    pub(super) fn do_without() {}
}

#[cfg(not(any(
    duologue_loom,
    all(target_os = "linux", feature = "membarrier", not(miri))
)))]
mod system {
    pub(super) fn heavy() -> bool {
        true
    }

    pub(super) fn is_there() -> bool {
        false
    }

    #[inline]
    pub(super) fn is_lost() -> bool {
        false
    }

    pub(super) fn do_without() {}
}

#[cfg(all(
    target_os = "linux",
    feature = "membarrier",
    not(miri),
    not(duologue_loom)
))]
mod system {
    use std::sync::atomic::AtomicU8;
    use std::sync::atomic::Ordering::Relaxed;

    const UNKNOWN: u8 = 0;
    const THERE: u8 = 1;
    const MISSING: u8 = 2;
    /// New sessions do not use it; those that began before still do.
    const UNWANTED: u8 = 3;
    /// It was refused after sessions had begun with it.
    const LOST: u8 = 4;

    /// Two threads may query at once: the first answer counts. Every state except `LOST` may be read late, because it
    /// only decides how a session that is about to begin publishes its messages.
    static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

    fn call(command: libc::c_int) -> bool {
        // SAFETY: `membarrier` does not access the memory of the process.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    fn register() -> bool {
        call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
    }

    fn is_unwanted() -> bool {
        std::env::var_os("DUOLOGUE_NO_MEMBARRIER")
            .is_some_and(|value| !value.is_empty() && value != "0")
    }

    #[cold]
    #[inline(never)]
    fn ask() -> bool {
        let is_there = !is_unwanted() && register() && call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        learn(if is_there { THERE } else { MISSING });
        STATE.load(Relaxed) == THERE
    }

    /// Sets the state unless it is known.
    fn learn(state: u8) {
        // Other features of the system are queried here as well, because this runs before the first session.
        crate::floor::cpu::ask();
        let _ = STATE.compare_exchange(UNKNOWN, state, Relaxed, Relaxed);
    }

    #[inline]
    pub(super) fn is_there() -> bool {
        match STATE.load(Relaxed) {
            UNKNOWN => ask(),
            state => state == THERE,
        }
    }

    #[inline]
    pub(super) fn is_lost() -> bool {
        STATE.load(Relaxed) == LOST
    }

    pub(super) fn do_without() {
        learn(UNWANTED);
        let _ = STATE.compare_exchange(THERE, UNWANTED, Relaxed, Relaxed);
    }

    pub(super) fn heavy() -> bool {
        // Some filters log refused calls, so the call is not tried again. A refusal for lack of memory is not retried
        // either.
        if is_lost() {
            return false;
        }
        let run = || call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        if run() || register() && run() {
            return true;
        }
        STATE.store(LOST, Relaxed);
        false
    }
}
