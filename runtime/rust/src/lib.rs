//! The Rust runtime of Duologue: sessions, endpoints and the pipes between them.
//!
//! Programs do not use this crate directly. They use the modules that `duologue` generates from a protocol, which refer
//! to this crate as `::duologue`:
//!
//! ```toml
//! [dependencies]
//! duologue = { package = "duologue-runtime", version = "0.1" }
//! ```
//!
//! A protocol's `init` begins a session and returns its two endpoints. A sending endpoint has one method per message; a
//! receiving endpoint is a [`Receiver`]. Each operation consumes its endpoint and returns the next one, so sending a
//! message out of turn does not compile. Dropping an endpoint early closes the session, and the peer gets [`Closed`].
//!
//! # How the modules fit together
//!
//! `scheme` has the traits with which generated code describes states and transitions. `endpoint` has the typed
//! endpoints built on them. `pipe` is the same without types: how a message is published and found, how a side
//! disconnects, and why that is sound. `cell` is the single memory block of a session, `layout` says what is where in
//! it, `pool` keeps blocks for the next session, and `position` is the arithmetic of the ring. `wait`, `watched` and
//! `park` put a side to sleep, `flags` announce that to the other side, `barrier` keeps the other side from paying for
//! it, and `processor` tells whether spinning can help. `ready` does the same for tasks, and `relook` serves both
//! threads and tasks where the kernel refuses the barrier. `burial` destroys unread messages without overflowing the
//! stack. On top of these modules are the operations on several endpoints: `group` is what `select` and the macro of
//! that name share, with `turn` for fairness; `port_set` waits on any number of receiving endpoints, which `ports`
//! defines; `shared` lets many senders use one endpoint; and `service` begins sessions whose server runs elsewhere.

#![doc = include_str!("variance.md")]

#[cfg(all(test, not(duologue_loom)))]
extern crate self as duologue;

#[cfg(all(test, not(duologue_loom)))]
#[path = "../tests/sessions/golden.rs"]
mod golden;

#[cfg(all(test, target_os = "linux", not(duologue_loom)))]
#[path = "../tests/sessions/filter.rs"]
mod filter;

mod backoff;
mod barrier;
mod burial;
mod cell;
#[cfg(all(test, not(duologue_loom)))]
mod counted;
mod endpoint;
mod error;
mod flags;
mod give_way;
mod group;
mod layout;
mod park;
mod pipe;
mod pool;
mod port_set;
mod ports;
mod position;
mod processor;
mod ready;
mod relook;
mod scheme;
mod select;
mod select_macro;
mod service;
mod shared;
mod sync;
mod turn;
#[cfg(all(test, target_os = "linux", not(duologue_loom)))]
mod unseen;
mod wait;
mod watched;

pub use barrier::without_membarrier;
#[cfg(duologue_loom)]
#[doc(hidden)]
pub use barrier::{model_barrier, model_light_barrier, model_lost_barrier};
#[cfg(duologue_loom)]
#[doc(hidden)]
pub use cell::model_sessions;
pub use endpoint::{session, Branch, Receiver, Sender};
pub use error::{Closed, SendError, TryRecvError, TrySendError};
pub use layout::{Capacity, Session, Slot};
#[cfg(duologue_loom)]
pub use pipe::model_laps;
pub use port_set::{PortKey, PortSet, PortSetRecv};
pub use ports::Receive;
#[doc(hidden)]
pub use ready::Watch;
pub use ready::{Endpoint, Ready, Recv};
pub use scheme::{End, Finish, Finished, Next, State, Stay, Transition, Turn};
pub use select::{NoEndpoints, Select, SelectReady};
pub use service::{spawn_service, spawn_service_with, try_spawn_service};
pub use shared::{SharedSend, SharedSender};

/// What the macros' expansions call.
#[doc(hidden)]
pub mod expansion {
    pub use crate::group::{wait, wait_async};
}
