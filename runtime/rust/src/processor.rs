//! The processor on which a thread runs, at the cost of one load.
//!
//! A receiver whose peer last ran on the same processor cannot gain anything by spinning: the peer does not run in the
//! meantime. So the sender stamps its processor on each message that turns the direction. The number is a hint: a
//! thread may be moved at any time. Numbers above 126 count as unknown, and so does that of a thread that is not
//! registered (-1).

/// The bits of a word that hold the processor on which the sender of its messages ran, or 0 if that is not known.
pub(crate) const IN_WORD: u64 = 0x7f << SHIFT;
const SHIFT: u32 = 31;

#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_env = "gnu",
    feature = "membarrier",
    not(any(miri, duologue_loom))
))]
mod system {
    use std::sync::atomic::AtomicIsize;
    use std::sync::atomic::Ordering::Relaxed;

    use super::SHIFT;

    /// There is no such area, or it has not been looked up yet. No area has this offset, because the thread pointer
    /// itself is stored there.
    const NONE: isize = 0;

    static OFFSET: AtomicIsize = AtomicIsize::new(NONE);

    /// From version 2.35 on, the GNU C library registers an area with the kernel for each thread, in which the kernel
    /// keeps the number of the thread's processor. The library exports the offset of this area from the thread pointer.
    pub(crate) fn ask() {
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
    pub(crate) fn stamp() -> u64 {
        let offset = OFFSET.load(Relaxed);
        if offset == NONE {
            return 0;
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
        if number < 127 {
            u64::from(number + 1) << SHIFT
        } else {
            0
        }
    }
}

#[cfg(not(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_env = "gnu",
    feature = "membarrier",
    not(any(miri, duologue_loom))
)))]
mod system {
    #[cfg(all(
        target_os = "linux",
        feature = "membarrier",
        not(miri),
        not(duologue_loom)
    ))]
    pub(crate) fn ask() {}

    pub(crate) fn stamp() -> u64 {
        0
    }
}

/// Looks up where a thread finds the number of its processor, when the first session of the process begins (see
/// `barrier`).
#[cfg(all(
    target_os = "linux",
    feature = "membarrier",
    not(miri),
    not(duologue_loom)
))]
pub(crate) fn ask() {
    system::ask();
}

/// The processor of this thread, in the bits that words have for it; 0 if that cannot be known.
#[inline]
pub(crate) fn stamp() -> u64 {
    system::stamp()
}

#[cfg(all(test, not(duologue_loom)))]
mod tests {
    use super::IN_WORD;

    #[test]
    fn a_stamp_stays_in_its_place() {
        assert_eq!(super::stamp() & !IN_WORD, 0);
    }
}
