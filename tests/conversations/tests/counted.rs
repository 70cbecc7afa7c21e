//! An allocator that counts for all threads of the process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

struct Counting;

/// How often memory was allocated.
pub static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
/// How much is allocated.
pub static BYTES: AtomicUsize = AtomicUsize::new(0);
/// The most that was.
pub static HIGHEST: AtomicUsize = AtomicUsize::new(0);

fn count(more: usize) {
    ALLOCATIONS.fetch_add(1, SeqCst);
    let bytes = BYTES.fetch_add(more, SeqCst) + more;
    HIGHEST.fetch_max(bytes, SeqCst);
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), SeqCst);
        // SAFETY: by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        BYTES.fetch_sub(layout.size(), SeqCst);
        // SAFETY: by the caller.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;
