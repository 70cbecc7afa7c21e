//! The processor on which a thread runs, at the cost of one load.
//!
//! A receiver whose peer last ran on the same processor cannot gain anything by spinning: the peer does not run in the
//! meantime. So the sender stamps its processor on each message that reverses the direction. The number is a hint: a
//! thread may be moved at any time.

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
        system::current()
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
mod system {
    use std::sync::atomic::AtomicIsize;
    use std::sync::atomic::Ordering::Relaxed;

    use super::Cpu;

    /// There is no such area, or it has not been looked up yet. No area has this offset, because the thread pointer
    /// itself is stored there.
    const NONE: isize = 0;

    static OFFSET: AtomicIsize = AtomicIsize::new(NONE);

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
mod system {
    use super::Cpu;

    pub(super) fn ask() {}

    pub(super) fn current() -> Cpu {
        Cpu(0)
    }
}

/// Looks up where a thread finds the number of its processor, when the first session of the process begins (see
/// `barrier`), where there is a barrier.
#[allow(dead_code)]
pub(crate) fn ask() {
    system::ask();
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
