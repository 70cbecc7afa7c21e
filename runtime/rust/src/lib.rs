//! The Rust runtime of Duologue: sessions, endpoints and the pipes between them.
//!
//! Programs do not use this crate directly but the modules that `duologue` writes from a protocol, which name it
//! `::duologue`:
//!
//! ```toml
//! [dependencies]
//! duologue = { package = "duologue-runtime", version = "0.1" }
//! ```
//!
//! A protocol's `init` begins a session and gives its two endpoints. A sending endpoint has one method per message; a
//! receiving endpoint is a [`Receiver`]. Each operation consumes its endpoint and gives the next one, so a message out
//! of turn does not compile. Dropping an endpoint early closes the session, and the peer learns it as [`Closed`].
//!
//! # What holds a session together
//!
//! `scheme` has the traits by which generated code describes states and transitions, `endpoint` the typed ends over
//! them, `pipe` the same without types: how a message is published, found, and how a side leaves, with the argument why
//! that is sound. `cell` is the one allocation of a session, `position` the arithmetic of its ring, `wait`, `watched`
//! and `park` how a side sleeps, `ready` the same for tasks, and `burial` how unread messages are destroyed without recursion.

#![doc = include_str!("variance.md")]

mod burial;
mod cell;
mod endpoint;
mod error;
mod park;
mod pipe;
mod position;
mod ready;
mod scheme;
mod sync;
mod wait;
mod watched;

pub use cell::{Capacity, Slot};
pub use endpoint::{session, Branch, Receiver, Sender};
pub use error::{Closed, SendError, TryRecvError};
#[doc(hidden)]
pub use ready::Watch;
pub use ready::{Endpoint, Ready, Recv};
pub use scheme::{End, Finish, Finished, Next, State, Stay, Transition, Turn};
