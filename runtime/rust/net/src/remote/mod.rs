//! Drives the core of a session: [`session`] has its connection, locks and time. The other modules do what no thread of the
//! program is there to do: read for tasks, write what a connection did not take at once, and work at a later time.

#[cfg(feature = "tokio")]
pub(crate) mod reactor;
#[cfg(not(feature = "tokio"))]
#[path = "no_reactor.rs"]
pub(crate) mod reactor;
pub(crate) mod session;
pub(crate) mod timer;
pub(crate) mod watch;
