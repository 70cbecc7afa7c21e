//! A barrier that costs only the side which sleeps.
//!
//! A sender writes a word and then reads the receiver's flags; a receiver that is about to sleep writes its flags and
//! then reads the word. At least one must see what the other wrote. For that the write of each must come before its
//! read, which processors do not promise: both would need a full barrier, and the sender would pay for it with every
//! message though hardly any receiver sleeps. Linux can run the sender's barrier on behalf of the receiver:
//! `membarrier` makes every running thread of the process pass a full barrier between the call and its return, and a
//! thread that does not run passed one when it stopped. So the sender's barrier falls either after its write, and the
//! receiver's read sees the message; or before, and the sender's later read sees the flags. This is the asymmetric
//! fence of the C++ proposal P1202. For loom both sides are ordinary fences.
//!
//! Where the call is missing, or the program does without it, every message is published by a swap, and nobody comes here.
//!
//! # Where the call is refused later
//!
//! A process may begin sessions and then forbid itself the call, by a filter for system calls. From the first refusal on the
//! barrier [is lost](is_lost), for good, and new sessions swap. Those that run go on with senders that have no barrier, so after
//! [`heavy`] has returned false neither side need see what the other wrote, until the store is visible to all. That it becomes
//! so, in some finite time, is all that is relied on:
//!
//! - A receiver that waits looks again after a while, and again, until there is a message: see `relook`.
//! - A receiver that leaves may miss a message, as where messages are forgotten: see `pipe/leave.rs`, which says what
//!   follows from that. To make it unlikely, it first waits for a [`grace`].
//!
//! Whoever finds the call refused says so ([`is_lost`]) and then passes a full barrier, before it looks for the last time. So a
//! thread that has passed a full barrier of its own, and does not find the barrier lost, passed it before: then the other
//! side sees what this thread wrote before its barrier.
//!
//! One call serves everybody who wrote before it. A task that has time takes a [`ticket`] after its write, lets others run, and
//! then asks whether a call [has run](has_run_since) since then, by whomever. Calls are numbered by a read-modify-write before they begin,
//! and a ticket is the number of the last one that had begun; between the write and the look at the numbers there is a full
//! barrier. So a call with a higher number began after that look: where a sender's barrier on its behalf is followed by a read
//! of the flags, the write can be seen, as if the task had made the call. And who sees that the call has returned
//! (Acquire) sees what senders wrote before their barriers.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::compiler_fence;
#[cfg(not(loom))]
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};

/// Between a write and a read that must not be exchanged, where nobody waits for time.
pub(crate) fn full() {
    #[cfg(not(loom))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    #[cfg(loom)]
    loom::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// Between a write and a read that must not be exchanged, when a read-modify-write by this thread, which succeeded or not,
/// came after the write.
#[inline]
pub(crate) fn after_exchange() {
    // There every read-modify-write is a full barrier, which a second one would only repeat (Intel's manual, volume 3,
    // 9.2.3.9; AMD's, volume 2, 7.2).
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    compiler_fence(std::sync::atomic::Ordering::SeqCst);
    #[cfg(not(all(target_arch = "x86_64", not(loom), not(miri))))]
    full();
}

/// The sender's half, between its write and its read.
#[inline]
pub(crate) fn light() {
    // Keeps the compiler from moving the read forward; the processor is held by `heavy`.
    #[cfg(not(loom))]
    compiler_fence(std::sync::atomic::Ordering::SeqCst);
    #[cfg(loom)]
    if LIGHT.load(std::sync::atomic::Ordering::Relaxed) {
        loom::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }
}

/// How many calls have begun, and the highest number of one that has returned. They come round, as numbers of 32 bits do.
#[cfg(not(loom))]
static BEGUN: AtomicU32 = AtomicU32::new(0);
#[cfg(not(loom))]
static RETURNED: AtomicU32 = AtomicU32::new(0);

/// The receiver's half, between its write and its read. A system call. False if the kernel refuses it: then this was a full
/// barrier of this thread alone, and the barrier [is lost](is_lost).
#[cfg(not(loom))]
#[must_use = "without the barrier the sender need not see what was said"]
pub(crate) fn heavy() -> bool {
    #[cfg(test)]
    crate::sync::count::call();
    let number = BEGUN.fetch_add(1, SeqCst).wrapping_add(1);
    if !system::heavy() {
        full();
        return false;
    }
    let higher = |returned| is_after(number, returned).then_some(number);
    let _ = RETURNED.fetch_update(Release, Relaxed, higher);
    true
}

/// How long a receiver that leaves waits where the barrier is lost. What a sender has stored leaves the store buffer of its
/// processor within a few microseconds, also if the thread is stopped meanwhile; but no manual says so.
#[cfg(not(loom))]
const GRACE: std::time::Duration = std::time::Duration::from_micros(50);

/// Waits until what was stored before is visible, as far as anybody can tell, where [`heavy`] was refused.
#[cold]
pub(crate) fn grace() {
    #[cfg(not(loom))]
    {
        // A sleep as short as this would take several times as long, and thousands of sessions may end in a row.
        let start = std::time::Instant::now();
        while start.elapsed() < GRACE {
            std::hint::spin_loop();
        }
    }
    full();
}

/// Whether the kernel has refused the barrier after sessions had begun that rely on it. Then it is lost for good. See the module
/// for what whoever does not find it lost knows.
#[cfg(not(loom))]
#[inline]
pub(crate) fn is_lost() -> bool {
    system::is_lost()
}

/// The models choose for themselves.
#[cfg(loom)]
pub(crate) fn is_lost() -> bool {
    LOST.load(std::sync::atomic::Ordering::Relaxed)
}

/// Does without the system call `membarrier`: sessions that begin from here on publish every message by a swap, as on systems
/// that lack the call.
///
/// For programs that will forbid themselves the call, and want no session to have begun with it. Call it before the first session.
/// It does the same as the environment variable `DUOLOGUE_NO_MEMBARRIER=1`, which is read when the first session begins.
///
/// ```
/// duologue_runtime::without_membarrier();
/// ```
pub fn without_membarrier() {
    #[cfg(not(loom))]
    system::do_without();
}

/// After a write: what [`has_run_since`] asks for.
pub(crate) fn ticket() -> u32 {
    full();
    #[cfg(not(loom))]
    return BEGUN.load(SeqCst);
    #[cfg(loom)]
    0
}

/// Whether somebody's call of [`heavy`] began after this ticket was taken, and has returned.
pub(crate) fn has_run_since(ticket: u32) -> bool {
    #[cfg(not(loom))]
    return is_after(RETURNED.load(Acquire), ticket);
    // What is a call elsewhere is a fence there, and to take a ticket is one, too.
    #[cfg(loom)]
    return ticket == 0;
}

/// Whether a number comes after another one. One that comes after it by more than half of all numbers seems to come before it: then
/// a call is made that need not be.
#[cfg(not(loom))]
fn is_after(number: u32, other: u32) -> bool {
    (1..1 << 31).contains(&number.wrapping_sub(other))
}

/// The receiver's half, between its write and its read.
#[cfg(loom)]
pub(crate) fn heavy() -> bool {
    full();
    !is_lost()
}

/// Whether sessions that begin now have the barrier.
#[cfg(not(loom))]
#[inline]
pub(crate) fn is_there() -> bool {
    system::is_there()
}

/// The models choose for themselves.
#[cfg(loom)]
pub(crate) fn is_there() -> bool {
    ASYMMETRIC.load(std::sync::atomic::Ordering::Relaxed)
}

#[cfg(loom)]
static ASYMMETRIC: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(true);

/// Whether the sessions that begin from here on have the barrier.
#[cfg(loom)]
#[doc(hidden)]
pub fn model_barrier(is_there: bool) {
    ASYMMETRIC.store(is_there, std::sync::atomic::Ordering::Relaxed);
}

#[cfg(loom)]
static LOST: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Whether the barrier is refused to sessions that have begun with it.
#[cfg(loom)]
#[doc(hidden)]
pub fn model_lost_barrier(is_lost: bool) {
    LOST.store(is_lost, std::sync::atomic::Ordering::Relaxed);
}

#[cfg(loom)]
static LIGHT: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(true);

/// Whether the sender's half of the barrier does anything, for models in which nothing may need it.
#[cfg(loom)]
#[doc(hidden)]
pub fn model_light_barrier(is_there: bool) {
    LIGHT.store(is_there, std::sync::atomic::Ordering::Relaxed);
}

#[cfg(not(any(loom, all(target_os = "linux", feature = "membarrier", not(miri)))))]
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

#[cfg(all(target_os = "linux", feature = "membarrier", not(miri), not(loom)))]
mod system {
    use std::sync::atomic::AtomicU8;
    use std::sync::atomic::Ordering::Relaxed;

    const UNKNOWN: u8 = 0;
    const THERE: u8 = 1;
    const MISSING: u8 = 2;
    /// New sessions do without it; those that began before still have it.
    const UNWANTED: u8 = 3;
    /// It was refused after sessions had begun with it.
    const LOST: u8 = 4;

    /// Two threads may ask at once: the first answer counts. Every state but `LOST` may be read late: it decides only how the
    /// messages of a session are published that begins now.
    static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

    fn call(command: libc::c_int) -> bool {
        // SAFETY: `membarrier` reads and writes no memory of ours.
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
        // What else the system may have is asked for here, too: this is once, before the first session.
        crate::processor::ask();
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
        // Some filters end up in a log: nobody asks again. Nor is a refusal for lack of memory tried once more.
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
