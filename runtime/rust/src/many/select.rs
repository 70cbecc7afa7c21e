//! Choosing among endpoints whose number is known only at run time.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::floor::fairness;
use crate::many::group::{self, Any};
use crate::typed::futures::{Endpoint, Watch};

/// Waits until one of any number of endpoints is ready, whatever their protocols and states.
///
/// It borrows the endpoints and returns the index of one that is ready, in the order in which they were added. The
/// program then uses that endpoint, which does not wait. If several are ready, each gets its turn. Each wait checks all
/// endpoints: for many endpoints [`PortSet`](crate::PortSet) is the better choice, and for a few that are known by name
/// [`select!`](crate::select).
///
/// ```
/// # use duologue_runtime::{Endpoint, Receive, NoEndpoints, Select};
/// # fn serve<R: Receive>(mut ports: Vec<R>) -> Result<(), NoEndpoints> {
/// let ready = Select::from_iter(&mut ports).ready()?;
/// let port = ports.swap_remove(ready);
/// let message = port.receive(); // does not wait
/// # drop(message);
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Select<'a> {
    ends: Vec<Watch<'a>>,
}

impl<'a> Select<'a> {
    /// A select without endpoints.
    pub fn new() -> Select<'a> {
        Select::default()
    }

    /// Adds an endpoint and returns its index: how many were added before.
    pub fn add(&mut self, endpoint: &'a mut (impl Endpoint + ?Sized)) -> usize {
        self.ends.push(endpoint.watch());
        self.ends.len() - 1
    }

    /// Blocks until an endpoint is ready, and returns its index. Fails with [`NoEndpoints`] if none were added.
    ///
    /// **In a task, use [`ready_async`](Select::ready_async): this method blocks the thread.**
    pub fn ready(&mut self) -> Result<usize, NoEndpoints> {
        let start = self.start()?;
        match group::until(&self.ends, start, None) {
            Some(ready) => Ok(ready),
            None => unreachable!("without a deadline the wait ends when an endpoint is ready"),
        }
    }

    /// The index of an endpoint that is ready; `None` if none is ready. Never waits.
    pub fn try_ready(&mut self) -> Result<Option<usize>, NoEndpoints> {
        let start = self.start()?;
        Ok(group::find(&self.ends, start))
    }

    /// Like [`ready`](Select::ready), but waits at most for this duration. After that, returns `None`.
    pub fn ready_within(&mut self, patience: Duration) -> Result<Option<usize>, NoEndpoints> {
        let start = self.start()?;
        let deadline = Instant::now().checked_add(patience);
        Ok(group::until(&self.ends, start, deadline))
    }

    /// A future that does what [`ready`](Select::ready) does.
    ///
    /// # Cancel safety
    ///
    /// The future can be dropped at any time: it borrows the endpoints, and receives nothing itself.
    pub fn ready_async(&mut self) -> SelectReady<'_, 'a> {
        let start = self.start();
        let any = start.map(|start| Any::new(&self.ends, start));
        SelectReady { any }
    }

    fn start(&self) -> Result<usize, NoEndpoints> {
        match self.ends.len() {
            0 => Err(NoEndpoints),
            count => Ok(fairness::next(count)),
        }
    }
}

impl<'a, E: Endpoint + ?Sized> FromIterator<&'a mut E> for Select<'a> {
    fn from_iter<I: IntoIterator<Item = &'a mut E>>(endpoints: I) -> Select<'a> {
        let ends = endpoints.into_iter().map(E::watch).collect();
        Select { ends }
    }
}

impl fmt::Debug for Select<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Select({} endpoints)", self.ends.len())
    }
}

/// The future of [`Select::ready_async`].
#[must_use = "futures do nothing unless they are awaited"]
pub struct SelectReady<'s, 'a> {
    any: Result<Any<'s, 'a>, NoEndpoints>,
}

impl Future for SelectReady<'_, '_> {
    type Output = Result<usize, NoEndpoints>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.any {
            Ok(any) => Pin::new(any).poll(context).map(Ok),
            Err(empty) => Poll::Ready(Err(*empty)),
        }
    }
}

/// There is no endpoint to wait for, so waiting would never end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoEndpoints;

impl fmt::Display for NoEndpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no endpoint to wait for")
    }
}

impl Error for NoEndpoints {}
