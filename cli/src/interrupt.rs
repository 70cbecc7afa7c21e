//! Ctrl-C and the end of a process as requests to come to an end.

use std::sync::atomic::{AtomicBool, Ordering};

static HAS_COME: AtomicBool = AtomicBool::new(false);

/// From now on, the first Ctrl-C only asks for an end, and so does the first request of another process; the second one ends this process.
/// On systems that are not Unix, the first one does.
pub fn expect() {
    #[cfg(unix)]
    for signal in [libc::SIGINT, libc::SIGTERM] {
        extern "C" fn interrupted(_: libc::c_int) {
            HAS_COME.store(true, Ordering::Relaxed);
        }
        // SAFETY: all bytes zero are a valid `sigaction`: no flags and an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = interrupted as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
        // SAFETY: `action` is initialized, the old action is not asked for, and the handler only stores into an atomic, which a handler
        // may do at any time.
        unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
    }
}

/// Whether an end was asked for.
pub fn has_come() -> bool {
    HAS_COME.load(Ordering::Relaxed)
}
