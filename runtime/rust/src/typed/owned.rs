//! Tasks with names, for a registry.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::ring::usage::{numbered, run_as};

/// Gives a task a name in [`Registry`](super::registry::Registry): every endpoint that the future uses is the task's. Without a name, a
/// task is recognized by the address of its waker, and only where it waits.
///
/// ```
/// # use duologue_runtime as duologue;
/// # async fn serve() {}
/// let task = duologue::observe::named("teller", serve()); // give this to the executor
/// # drop(task);
/// ```
pub fn named<F: Future>(name: &str, future: F) -> Named<F> {
    Named {
        name: numbered("task", name),
        future: Box::pin(future),
    }
}

/// The future of [`named`].
#[must_use = "futures do nothing unless they are awaited"]
pub struct Named<F> {
    name: Arc<str>,
    future: Pin<Box<F>>,
}

impl<F> fmt::Debug for Named<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl<F: Future> Future for Named<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        run_as(&this.name, || this.future.as_mut().poll(context))
    }
}
