//! The threads of the runtime that wake others at a certain time: each is started when it is first needed.

use std::thread::Builder;

use crate::floor::sync::Thread;

/// A thread of the runtime, and its process. A forked process has only the thread that forked.
pub(crate) struct Server(Option<(u32, Thread)>);

impl Server {
    /// It has not been started.
    pub(crate) const NONE: Server = Server(None);

    /// The thread in this process, which is started if there is none. `None` if it cannot be started.
    pub(crate) fn thread(&mut self, serve: fn()) -> Option<Thread> {
        let process = std::process::id();
        let known = self.0.as_ref();
        if let Some((_, thread)) = known.filter(|(served, _)| *served == process) {
            return Some(thread.clone());
        }
        let thread = Builder::new().name(String::from("duologue"));
        let thread = thread.spawn(serve).ok()?.thread().clone();
        // Under the thread sanitizer this is a type of its own.
        #[allow(clippy::useless_conversion)]
        let thread = Thread::from(thread);
        self.0 = Some((process, thread.clone()));
        Some(thread)
    }
}
