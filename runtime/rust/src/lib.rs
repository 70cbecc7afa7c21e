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
//! that is sound. `cell` is the one block of a session, `layout` what lies where in it, `pool` where blocks go for the
//! next session, and `position` the arithmetic of the ring. `wait`, `watched` and `park` are how a side sleeps, with the
//! `flags` by which it says so, the `barrier` that lets the other side not pay for it, and the `processor` that tells
//! whether looking again is of use; `ready` is the same for tasks, and `relook` serves both where the kernel refuses the barrier.
//! `burial` is how unread messages are destroyed without recursion.
//! Above them stand the operations on several endpoints: `group` is what `select` and the macro of that name share, with
//! `turn` for fairness; `port_set` waits on any number of what `ports` calls receiving; `shared` lets many send, and
//! `service` begins sessions whose server runs elsewhere.

#![doc = include_str!("variance.md")]

#[cfg(all(test, not(loom)))]
extern crate self as duologue;

#[cfg(all(test, not(loom)))]
#[path = "../tests/sessions/golden.rs"]
mod golden;

#[cfg(all(test, target_os = "linux", not(loom)))]
#[path = "../tests/sessions/filter.rs"]
mod filter;

mod barrier;
mod burial;
mod cell;
#[cfg(all(test, not(loom)))]
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
#[cfg(all(test, target_os = "linux", not(loom)))]
mod unseen;
mod wait;
mod watched;

pub use barrier::without_membarrier;
#[cfg(loom)]
#[doc(hidden)]
pub use barrier::{model_barrier, model_light_barrier, model_lost_barrier};
#[cfg(loom)]
#[doc(hidden)]
pub use cell::model_sessions;
pub use endpoint::{session, Branch, Receiver, Sender};
pub use error::{Closed, SendError, TryRecvError, TrySendError};
pub use layout::{Capacity, Session, Slot};
#[cfg(loom)]
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

/// What the macros expand to.
#[doc(hidden)]
pub mod expansion {
    pub use crate::group::{wait, wait_async};
}
