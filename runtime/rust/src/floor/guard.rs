//! Calls of code that is not this crate's: observers, wakers, transports, and destructors of payloads.

use std::any::Any;
use std::mem;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Calls code of the program. If it panics, which the process's panic hook reports, the session and the other waiters go
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
