//! The processor on which a thread runs, at the price of a load.
//!
//! A receiver whose peer last ran on the same processor cannot win by spinning: the peer does not run meanwhile. So
//! the sender stamps its processor on each message that turns the direction. The number is a hint: a thread may be moved
//! at any time. A number above 126 counts as unknown, as does that of a thread that is not registered (-1).

#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_env = "gnu",
    feature = "membarrier",
    not(any(miri, loom))
))]
mod system {
    use std::sync::atomic::AtomicIsize;
    use std::sync::atomic::Ordering::Relaxed;

    use crate::position::PROCESSOR_SHIFT;

    /// Nobody has asked for the offset yet.
    const UNKNOWN: isize = isize::MIN;
    /// There is none. No offset has this value: it is where the thread's own pointer lies.
    const NONE: isize = 0;

    static OFFSET: AtomicIsize = AtomicIsize::new(UNKNOWN);

    /// From 2.35 on the C library registers an area with the kernel for each thread, in which the kernel keeps the
    /// thread's processor, and says at which offset from the thread pointer it lies.
    #[cold]
    #[inline(never)]
    fn ask() -> isize {
        // SAFETY: the names end in 0, and the symbols, where they exist, are of these types and never written.
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
        offset
    }

    #[inline]
    pub(crate) fn stamp() -> u64 {
        let offset = match OFFSET.load(Relaxed) {
            UNKNOWN => ask(),
            offset => offset,
        };
        if offset == NONE {
            return 0;
        }
        let number: u32;
        // SAFETY: on this platform `fs` holds the thread pointer, and at this offset from it lies the registered area,
        // whose second field is the number of the processor. The kernel changes it while this thread does not run.
        unsafe {
            std::arch::asm!(
                "mov {number:e}, dword ptr fs:[{offset} + 4]",
                offset = in(reg) offset,
                number = lateout(reg) number,
                options(nostack, preserves_flags, readonly),
            );
        }
        if number < 127 {
            u64::from(number + 1) << PROCESSOR_SHIFT
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
    not(any(miri, loom))
)))]
mod system {
    pub(crate) fn stamp() -> u64 {
        0
    }
}

/// The processor of this thread, in the place that words have for it; 0 if that cannot be known.
#[inline]
pub(crate) fn stamp() -> u64 {
    system::stamp()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::position::PROCESSOR;

    #[test]
    fn a_stamp_stays_in_its_place() {
        assert_eq!(super::stamp() & !PROCESSOR, 0);
    }
}
