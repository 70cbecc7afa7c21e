//! Threads that are to be where they wait.

use std::fs;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

/// Starts a thread, and returns when it sleeps in the system or has ended. It may be woken again at once.
pub fn spawn_until_asleep<T: Send + 'static>(
    act: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let (says, said) = mpsc::channel();
    let thread = thread::spawn(move || {
        let own = fs::read_link("/proc/thread-self").expect("this is Linux");
        says.send(own).expect("it is awaited");
        act()
    });
    let path = said.recv().expect("the thread begins");
    let path = std::path::Path::new("/proc").join(path).join("stat");
    // The state follows the name, which is in parentheses.
    let sleeps = |stat: String| {
        stat.rsplit(") ")
            .next()
            .is_some_and(|rest| rest.starts_with('S'))
    };
    while !thread.is_finished() && !fs::read_to_string(&path).is_ok_and(sleeps) {
        thread::yield_now();
    }
    thread
}
