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
//! `runtime/internals.md` in the repository says how the modules fit together, and follows one message from `send` to `recv`.

#![doc = include_str!("variance.md")]

#[cfg(all(test, not(duologue_loom)))]
extern crate self as duologue;

#[cfg(all(test, not(duologue_loom)))]
#[path = "../tests/sessions/golden.rs"]
mod golden;

#[cfg(all(test, not(duologue_loom)))]
mod counted;
mod floor;
mod link;
mod many;
mod remote;
mod ring;
mod robot;
mod typed;

pub use floor::barrier::without_membarrier;
pub use floor::layout::Capacity;
pub use many::port_set::{PortKey, PortSet, PortSetRecv};
pub use many::ports::Receive;
pub use many::select::{NoEndpoints, Select, SelectReady};
pub use many::service::{spawn_service, spawn_service_with, try_spawn_service};
pub use many::shared::{SharedSend, SharedSender};
pub use ring::driver::Why;
pub use typed::endpoint::{Finished, Receiver, Sender};
pub use typed::error::{Closed, SendError, TryRecvError, TrySendError};
#[doc(hidden)]
pub use typed::futures::Watch;
pub use typed::futures::{Endpoint, Ready, Recv};
pub use typed::held::Held;
pub use typed::observed::observed;
pub use typed::sending::Sending;
#[cfg(feature = "futures")]
pub use typed::streams::{Incoming, Outgoing};

#[cfg(duologue_loom)]
#[doc(hidden)]
pub use {
    floor::barrier::{model_barrier, model_light_barrier},
    link::message::model_growth,
    link::peer::model_laps,
    ring::block::model_sessions,
};

/// Observing sessions within a process: for logs, traces and metrics. [`observed`] begins it.
///
/// With the feature `tracing`, `Spans` is an observer that opens a span of the crate `tracing` for each session.
/// `duologue-net` has observers of sessions over sockets.
pub mod observe {
    pub use crate::ring::observer::{End, Message, Observer, Run, Session, Side};
    #[cfg(feature = "registry")]
    #[doc(hidden)]
    pub use crate::ring::usage::{Owner, Usage};
    #[cfg(feature = "registry")]
    pub use crate::typed::observed::adopt;
    #[doc(hidden)]
    pub use crate::typed::observed::Handle;
    pub use crate::typed::observed::Observable;
    #[cfg(feature = "registry")]
    pub use crate::typed::owned::{named, Named};
    pub use crate::typed::recorder::Recorder;
    #[cfg(unix)]
    pub use crate::typed::registry::Serving;
    pub use crate::typed::registry::{Blocked, Deadlock, Live, LiveSide, Registry, Snapshot};
    #[cfg(feature = "tracing")]
    pub use crate::typed::spans::Spans;
}

/// Robots: peers that play a side of a protocol by themselves, in tests. The option `--robots` generates them; `docs/testing.md`
/// in the repository says how they are used.
pub mod robots {
    pub use crate::robot::choices::Choices;
    pub use crate::robot::coverage::Coverage;
    #[doc(hidden)]
    pub use crate::robot::line::Line;
    pub use crate::robot::play::{Ending, Failure, Play};
    pub use crate::robot::table::Table;
    #[doc(hidden)]
    pub use crate::robot::table::{Edge, Node};
    pub use crate::robot::values::Values;
}

/// What generated modules are built from. Programs do not use it: its names may change whenever the version of the
/// format does.
pub mod generated {
    /// A module that was generated in format 1 refers to this constant. If it is missing, the runtime does not match
    /// the compiler that generated the module: use the same version of both.
    pub const FORMAT_1: () = ();

    pub use crate::floor::layout::{Session, Slot};
    pub use crate::remote::far_end::{FarEnd, Remote, Row};
    pub use crate::remote::open::{open_sender, Open, Start};
    pub use crate::remote::wire::{
        AtMost, Coding, Decoder, Each, Encoder, Malformed, Maybe, Plain, Size, Wire,
    };
    pub use crate::ring::driver::Driver;
    pub use crate::typed::endpoint::{
        session, Branch, End, Finish, Next, State, Stay, Transition, Turn,
    };
    pub use crate::typed::out_of_turn::OutOfTurn;
    pub use crate::typed::sending::{Following, Series, Waits};
    pub use crate::{endpoint, opens, series, shared, start, waits, wire};
}

/// What transports are built from: the other side of a session whose peer is in another process. Programs use
/// `duologue-net` or `duologue-shm` instead: the names here may change.
pub mod transport {
    pub use crate::floor::barrier::is_there as has_barrier;
    pub use crate::floor::deadline::Deadline;
    pub use crate::floor::waiting::{guarded, BeforeSleep};
    pub use crate::remote::far_end::{
        Armed, Arrival, FarEnd, Forwarded, Hold, Messages, Next, Role, Woken,
    };
    pub use crate::remote::open::{Fingerprint, NotAFingerprint, Open, Start};
    pub use crate::remote::wire::{Decoder, Encoder, Malformed, Size};
    pub use crate::ring::driver::{Ahead, Driver, Reason, Why};
    pub use crate::typed::recorder::Entry;

    #[doc(hidden)]
    pub mod sync {
        pub use crate::floor::waiting::{lock, try_lock, wait};
    }
}

/// What the macros' expansions call.
#[doc(hidden)]
pub mod expansion {
    pub use crate::many::group::{wait, wait_async};
}
