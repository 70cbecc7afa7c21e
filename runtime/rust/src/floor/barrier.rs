//! An asymmetric barrier, which costs only the side that sleeps; and the processor on which a thread runs.
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
//! Whether the call is there is decided once, when the process begins its first session. A process may refuse it to itself
//! later, with a system call filter. Then a receiver of an earlier session could miss a message, or sleep although there
//! is one, so the process aborts with a message that names the remedy.
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
//!
//! # Processors
//!
//! A thread finds the processor on which it runs at the cost of one load. A receiver whose peer last ran on the same processor cannot gain anything by spinning: the peer does not run in the
//! meantime. So the sender stamps its processor on each message that reverses the direction. The number is a hint: a
//! thread may be moved at any time.

use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use std::sync::atomic::{compiler_fence, AtomicU64};

#[cfg(duologue_loom)]
pub use system::{model_barrier, model_light_barrier};

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

/// How many calls have begun, and the highest number of a call that has returned.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static RETURNED: AtomicU64 = AtomicU64::new(0);

/// The receiver's half of the barrier, between its write and its read: a system call. Aborts the process if the kernel
/// refuses it.
pub(crate) fn heavy() {
    #[cfg(test)]
    crate::floor::sync::count::call();
    let number = BEGUN.fetch_add(1, SeqCst) + 1;
    system::heavy();
    RETURNED.fetch_max(number, Release);
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
/// For programs that will block the system call with a filter: the process aborts if the call is refused to a session
/// that relies on it. Call this before the first session begins. It has the same effect as the environment variable
/// `DUOLOGUE_NO_MEMBARRIER=1`, which is read when the first session begins.
///
/// ```
/// duologue_runtime::without_membarrier();
/// ```
pub fn without_membarrier() {
    system::do_without();
}

/// After a write: the ticket for [`has_run_since`]. In models 0, because what they count would outlive one execution.
pub(crate) fn ticket() -> u64 {
    full();
    if cfg!(duologue_loom) {
        return 0;
    }
    BEGUN.load(SeqCst)
}

/// Whether a call of [`heavy`] by any thread began after this ticket was taken and has returned. In models the call is
/// a fence, and taking a ticket is one, too.
pub(crate) fn has_run_since(ticket: u64) -> bool {
    cfg!(duologue_loom) || RETURNED.load(Acquire) > ticket
}

/// Models set everything themselves.
#[cfg(duologue_loom)]
mod system {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    static ASYMMETRIC: AtomicBool = AtomicBool::new(true);
    static LIGHT: AtomicBool = AtomicBool::new(true);

    /// Sets whether the sessions that begin after this call have the barrier.
    #[doc(hidden)]
    pub fn model_barrier(is_there: bool) {
        ASYMMETRIC.store(is_there, Relaxed);
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

    pub(super) fn heavy() {
        super::full();
    }

    pub(super) fn is_there() -> bool {
        ASYMMETRIC.load(Relaxed)
    }

    pub(super) fn do_without() {}
}

#[cfg(not(any(
    duologue_loom,
    all(target_os = "linux", feature = "membarrier", not(miri))
)))]
mod system {
    pub(super) fn heavy() {}

    pub(super) fn is_there() -> bool {
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
    use std::io::{stderr, Error, Write};
    use std::sync::atomic::AtomicU8;
    use std::sync::atomic::Ordering::Relaxed;
    use std::time::{Duration, Instant};

    const UNKNOWN: u8 = 0;
    const THERE: u8 = 1;
    /// New sessions do not use it; those that began before still do.
    const MISSING: u8 = 2;

    /// Two threads may query at once: the first answer counts. It may be read late, because it only decides how a
    /// session that is about to begin publishes its messages.
    static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

    /// How long a call that lacks memory is repeated.
    const PATIENCE: Duration = Duration::from_secs(1);

    fn call(command: libc::c_int) -> bool {
        // SAFETY: `membarrier` does not access the memory of the process.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    fn register() -> bool {
        call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
    }

    fn run() -> bool {
        call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
    }

    fn is_unwanted() -> bool {
        std::env::var_os("DUOLOGUE_NO_MEMBARRIER")
            .is_some_and(|value| !value.is_empty() && value != "0")
    }

    #[cold]
    #[inline(never)]
    fn ask() -> bool {
        let is_there = !is_unwanted() && register() && run();
        // Other features of the system are queried here as well, because this runs before the first session.
        super::processor::ask();
        let state = if is_there { THERE } else { MISSING };
        let _ = STATE.compare_exchange(UNKNOWN, state, Relaxed, Relaxed);
        STATE.load(Relaxed) == THERE
    }

    #[inline]
    pub(super) fn is_there() -> bool {
        match STATE.load(Relaxed) {
            UNKNOWN => ask(),
            state => state == THERE,
        }
    }

    pub(super) fn do_without() {
        super::processor::ask();
        STATE.store(MISSING, Relaxed);
    }

    pub(super) fn heavy() {
        if !run() {
            run_or_abort();
        }
    }

    /// Registers again, because a process that continues from a checkpoint may have to. Only a lack of memory may pass.
    #[cold]
    fn run_or_abort() {
        let start = Instant::now();
        while !(register() && run()) {
            let error = Error::last_os_error();
            if error.raw_os_error() != Some(libc::ENOMEM) || start.elapsed() > PATIENCE {
                let _ = writeln!(
                    stderr(),
                    "duologue: the system call `membarrier` failed after sessions that rely on it began: {error}\n\
                     help: if a system call filter forbids it, install the filter before the first session begins, set \
                     DUOLOGUE_NO_MEMBARRIER=1, or call `without_membarrier()` before the first session begins"
                );
                std::process::abort();
            }
            std::thread::yield_now();
        }
    }
}

/// The number of a processor plus one, or 0 if it is not known. Numbers above 126 count as unknown, and so does that of
/// a thread that is not registered with the kernel (-1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cpu(u8);

impl Cpu {
    /// How many bits a value needs.
    pub(crate) const BITS: u32 = 7;

    /// The value with these bits; further bits are ignored.
    #[inline]
    pub(crate) const fn from_bits(bits: u64) -> Cpu {
        Cpu(bits as u8 & ((1 << Cpu::BITS) - 1))
    }

    #[inline]
    pub(crate) const fn bits(self) -> u64 {
        self.0 as u64
    }

    /// The processor of this thread.
    #[inline]
    pub(crate) fn current() -> Cpu {
        if cfg!(duologue_without = "processor") {
            return Cpu(0);
        }
        processor::current()
    }

    /// Whether this is certainly the processor of this thread.
    #[inline]
    pub(crate) fn is_current(self) -> bool {
        self.0 != 0 && self == Cpu::current()
    }
}

#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_env = "gnu",
    feature = "membarrier",
    not(any(miri, duologue_loom))
))]
mod processor {
    use std::sync::atomic::AtomicIsize;
    use std::sync::atomic::Ordering::Relaxed;

    use super::Cpu;

    /// There is no such area, or it has not been looked up yet. No area has this offset, because the thread pointer
    /// itself is stored there.
    const NONE: isize = 0;

    static OFFSET: AtomicIsize = AtomicIsize::new(NONE);

    /// Looks up where a thread finds the number of its processor, when the first session of the process begins.
    ///
    /// Since version 2.35, the GNU C library registers an area with the kernel for each thread, in which the kernel
    /// keeps the number of the thread's processor. The library exports the offset of this area from the thread pointer.
    pub(super) fn ask() {
        // SAFETY: the names are null-terminated, and the symbols, where they exist, have these types and are never
        // written.
        let offset = unsafe {
            let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr());
            let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr());
            if offset.is_null() || size.is_null() || *size.cast::<u32>() == 0 {
                NONE
            } else {
                *offset.cast::<isize>()
            }
        };
        OFFSET.store(offset, Relaxed);
    }

    #[inline]
    pub(super) fn current() -> Cpu {
        let offset = OFFSET.load(Relaxed);
        if offset == NONE {
            return Cpu(0);
        }
        let number: u32;
        // SAFETY: on this platform `fs` holds the thread pointer, and the registered area is at this offset from it.
        // Its second field is the number of the processor. The kernel changes it while this thread does not run.
        unsafe {
            std::arch::asm!(
                "mov {number:e}, dword ptr fs:[{offset} + 4]",
                offset = in(reg) offset,
                number = lateout(reg) number,
                options(nostack, preserves_flags, readonly),
            );
        }
        Cpu(if number < 127 { number as u8 + 1 } else { 0 })
    }
}

#[cfg(not(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_env = "gnu",
    feature = "membarrier",
    not(any(miri, duologue_loom))
)))]
mod processor {
    use super::Cpu;

    // Without the barrier nothing calls it.
    #[allow(dead_code)]
    pub(super) fn ask() {}

    pub(super) fn current() -> Cpu {
        Cpu(0)
    }
}

#[cfg(all(test, not(duologue_loom)))]
mod tests {
    use super::Cpu;

    #[test]
    fn a_processor_keeps_its_number_in_the_bits_that_it_needs() {
        let here = Cpu::current();
        assert!(here.bits() < 1 << Cpu::BITS);
        assert_eq!(Cpu::from_bits(here.bits()), here);
        assert_eq!(Cpu::from_bits(1 << Cpu::BITS), Cpu(0));
        assert!(!Cpu(0).is_current());
    }
}
