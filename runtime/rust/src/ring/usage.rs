//! How a side uses its endpoint, and which thread or task that is: reported to the observers of sessions, for a registry.

use std::cell::RefCell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::task::Waker;
use std::thread;

use crate::floor::waiting::{pointers, Waiter};

/// What a thread or task does with an endpoint. The states are those that follow; `None` after the last message.
#[derive(Debug)]
pub enum Usage {
    /// It says that the endpoint is its own.
    Adopts(Owner),
    /// It is about to send a message.
    Sends(Owner, Option<&'static str>),
    /// It takes a message.
    Receives(Owner, Option<&'static str>),
    /// It is about to wait for a message.
    WaitsForMessage(Owner),
    /// It is about to wait for space in the ring.
    WaitsForSpace(Owner),
    /// The endpoint that waits is in a set, so it goes on to wait while its thread or task does something else.
    StaysInSet,
    /// It no longer waits, although what it has waited for did not come.
    StopsWaiting,
    /// It is about to disconnect.
    Leaves,
}

impl Usage {
    /// What registers this waiter waits.
    pub(crate) fn waits(waiter: &Waiter, sends: bool) -> Usage {
        match waiter {
            Waiter::Task(waker) => Usage::waits_in_task(waker, sends),
            Waiter::Thread(_) | Waiter::Bell(_) => Usage::waits_as(Owner::current(), sends),
        }
    }

    /// A task waits.
    pub(crate) fn waits_in_task(waker: &Waker, sends: bool) -> Usage {
        Usage::waits_as(Owner::task(waker), sends)
    }

    fn waits_as(owner: Owner, sends: bool) -> Usage {
        match sends {
            true => Usage::WaitsForSpace(owner),
            false => Usage::WaitsForMessage(owner),
        }
    }
}

/// A thread or a task. No two that exist at the same time have the same name.
#[derive(Clone, Debug)]
pub struct Owner {
    /// `thread main #1`, `task teller #2`, `task 0x7f0012345678`.
    pub name: Arc<str>,
    /// Whether it is a task without a name. It is recognized only where it waits: what it sends and receives is seen as its thread's.
    pub is_anonymous_task: bool,
}

thread_local! {
    static THREAD: Arc<str> = numbered("thread", thread::current().name().unwrap_or(""));
    static TASK: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// A name that nothing else in this process has.
pub(crate) fn numbered(kind: &str, name: &str) -> Arc<str> {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = LAST.fetch_add(1, Relaxed) + 1;
    let space = if name.is_empty() { "" } else { " " };
    format!("{kind}{space}{name} #{number}").into()
}

impl Owner {
    /// The task that runs here, if it has a name, or the thread.
    pub(crate) fn current() -> Owner {
        // Both may be gone where a thread ends.
        let task = TASK.try_with(|task| task.borrow().clone());
        let thread = || THREAD.try_with(Arc::clone);
        let name = task.ok().flatten().or_else(|| thread().ok());
        Owner {
            name: name.unwrap_or_else(|| "thread".into()),
            is_anonymous_task: false,
        }
    }

    fn task(waker: &Waker) -> Owner {
        let named = TASK.try_with(|task| task.borrow().clone()).ok().flatten();
        Owner {
            is_anonymous_task: named.is_none(),
            name: named.unwrap_or_else(|| format!("task {:#x}", pointers(waker)[0]).into()),
        }
    }
}

/// Runs something as the task with this name, whose panics pass.
pub(crate) fn run_as<T>(task: &Arc<str>, run: impl FnOnce() -> T) -> T {
    struct Before(Option<Arc<str>>);

    impl Drop for Before {
        fn drop(&mut self) {
            let before = self.0.take();
            let _gone = TASK.try_with(|task| task.replace(before));
        }
    }

    let before = TASK.try_with(|current| current.replace(Some(Arc::clone(task))));
    let _before = Before(before.ok().flatten());
    run()
}
