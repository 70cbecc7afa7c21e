//! The sizes of the blocks that threads keep for new sessions.

/// The size of a cache line in bytes.
pub(crate) const CACHE_LINE: usize = 64;

/// The largest blocks that are kept have `SMALLEST << (CLASSES - 1)` bytes.
pub(crate) const CLASSES: usize = 8;
const SMALLEST: usize = 512;

/// Miri, loom and the address sanitizer (which runs without the feature) track freed memory, so under them blocks are
/// really freed. And where the system has no native thread-locals, the lists may be gone when the thread's keeper is
/// about to empty them.
const IS_POOLED: bool = cfg!(all(
    feature = "pool",
    not(miri),
    not(duologue_loom),
    not(target_os = "android")
));

/// The class of a block; [`CLASSES`] if such blocks are not kept.
pub(crate) const fn class(size: usize, align: usize) -> usize {
    // How often `SMALLEST` must be doubled. No block is empty, because it has a header.
    let class = (usize::BITS - ((size - 1) / SMALLEST).leading_zeros()) as usize;
    if class < CLASSES && align <= CACHE_LINE && IS_POOLED {
        class
    } else {
        CLASSES
    }
}

/// How many bytes a block of this class actually has. It is aligned to a cache line.
pub(crate) const fn size(class: usize) -> Option<usize> {
    if class < CLASSES {
        Some(SMALLEST << class)
    } else {
        None
    }
}
