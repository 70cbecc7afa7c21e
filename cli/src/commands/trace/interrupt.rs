//! Ctrl-C as a request to come to an end.

use std::sync::atomic::AtomicBool;

/// Becomes true at the first Ctrl-C, if that is wanted and the system is Linux; the second one ends the process. Everywhere else the
/// first one does.
pub fn flag(is_wanted: bool) -> &'static AtomicBool {
    static FLAG: AtomicBool = AtomicBool::new(false);
    #[cfg(target_os = "linux")]
    if is_wanted {
        extern "C" fn interrupted(_: libc::c_int) {
            FLAG.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        // SAFETY: all bytes zero are a valid `sigaction`: no flags and an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = interrupted as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
        // SAFETY: `action` is initialized, the old action is not asked for, and the handler only stores into an atomic, which a handler
        // may do at any time.
        unsafe { libc::sigaction(libc::SIGINT, &action, std::ptr::null_mut()) };
    }
    let _ = is_wanted;
    &FLAG
}
