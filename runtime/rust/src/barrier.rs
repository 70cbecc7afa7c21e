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
//! Where the call is missing every message is published by a swap, and nobody comes here.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::compiler_fence;

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

/// The receiver's half, between its write and its read. A system call.
#[cfg(not(loom))]
pub(crate) fn heavy() {
    #[cfg(test)]
    crate::sync::count::call();
    system::heavy();
}

/// The receiver's half, between its write and its read.
#[cfg(loom)]
pub(crate) fn heavy() {
    loom::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// Whether this process has the barrier. The answer never changes.
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
static LIGHT: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(true);

/// Whether the sender's half of the barrier does anything, for models in which nothing may need it.
#[cfg(loom)]
#[doc(hidden)]
pub fn model_light_barrier(is_there: bool) {
    LIGHT.store(is_there, std::sync::atomic::Ordering::Relaxed);
}

#[cfg(not(any(loom, all(target_os = "linux", feature = "membarrier", not(miri)))))]
mod system {
    pub(super) fn heavy() {}

    pub(super) fn is_there() -> bool {
        false
    }
}

#[cfg(all(target_os = "linux", feature = "membarrier", not(miri), not(loom)))]
mod system {
    use std::sync::atomic::AtomicU8;
    use std::sync::atomic::Ordering::Relaxed;

    const UNKNOWN: u8 = 0;
    const THERE: u8 = 1;
    const MISSING: u8 = 2;

    /// Two threads may ask at once: both get the same answer from the kernel.
    static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

    fn call(command: libc::c_int) -> bool {
        // SAFETY: `membarrier` reads and writes no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    #[cold]
    #[inline(never)]
    fn ask() -> bool {
        let is_there = call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
            && call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        STATE.store(if is_there { THERE } else { MISSING }, Relaxed);
        is_there
    }

    #[inline]
    pub(super) fn is_there() -> bool {
        match STATE.load(Relaxed) {
            UNKNOWN => ask(),
            state => state == THERE,
        }
    }

    pub(super) fn heavy() {
        // A filter that was installed after the first session may forbid the call; to sleep then could be to sleep for
        // ever.
        assert!(
            call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) || ask(),
            "the kernel no longer allows `membarrier`"
        );
    }
}
