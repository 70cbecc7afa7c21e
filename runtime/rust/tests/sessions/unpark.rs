//! A waker that unparks the thread that made it, and counts how often it was woken.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

pub struct Unpark {
    thread: Option<Thread>,
    woken: AtomicUsize,
}

impl Unpark {
    pub fn current() -> Arc<Unpark> {
        Arc::new(Unpark {
            thread: Some(thread::current()),
            woken: AtomicUsize::new(0),
        })
    }

    /// Polls a future once, with a waker of this.
    pub fn poll<F: Future + Unpin>(self: &Arc<Unpark>, future: &mut F) -> Poll<F::Output> {
        let waker = Waker::from(self.clone());
        Pin::new(future).poll(&mut Context::from_waker(&waker))
    }

    /// How often it was woken.
    pub fn woken(&self) -> usize {
        self.woken.load(Relaxed)
    }
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, Relaxed);
        if let Some(thread) = &self.thread {
            thread.unpark();
        }
    }
}

impl Drop for Unpark {
    /// The last owner of a thread's handle learns from a fence that the others are done with it, and the thread
    /// sanitizer does not understand fences. So under it, the handle is never freed.
    fn drop(&mut self) {
        if cfg!(duologue_tsan) {
            std::mem::forget(self.thread.take());
        }
    }
}
