//! Sessions of [Duologue](https://github.com/duologue/duologue) between processes, over Unix sockets, TCP and TLS.
//!
//! A protocol that was generated with `--remote` (in a build script: `Builder::remote()`) has the same endpoints as
//! within a process. [`connect`] and a [`Listener`] return them, and everything else stays the same: a server's
//! handlers work unchanged in both cases.
//!
//! ```no_run
//! # mod bank {
//! #     pub mod client { pub trait Login: duologue_net::Open {} }
//! # }
//! # fn teller<E>(_: E) {}
//! # fn show<Client: duologue_net::Open, Server: duologue_net::Open + 'static>() -> Result<(), duologue_net::Error> {
//! // The server:
//! let mut listener = duologue_net::Listener::bind("unix:/run/bank.sock")?;
//! listener.serve(|login: Server /* bank::server::Login */| teller(login));
//! listener.run()?;
//!
//! // The client:
//! let client: Client /* bank::client::Login */ = duologue_net::connect("unix:/run/bank.sock")?;
//! # drop(client);
//! # Ok(())
//! # }
//! ```
//!
//! # What differs from sessions within a process
//!
//! - A session can end because its connection does. [`Closed::why`](duologue::Closed::why) says why.
//! - A message that was sent may not have arrived when the session ends. [`SendError`](duologue::SendError) returns the
//!   payload only if it was already known that the session is over.
//! - In a thread, sending may wait for the connection, even in a bounded run. In a task it does not, if the task awaits
//!   its endpoints: what the connection does not accept is written later.
//! - A message larger than the peer accepts is not sent, and ends the session: both sides get the reason
//!   [`TooLarge`](duologue::Why::TooLarge), the sender on its next operation.
//! - Without heartbeats ([`Connector::heartbeat`], [`Listener::heartbeat`]) a side does not notice when its peer's machine
//!   is gone.
//!
//! # TLS
//!
//! With the feature `tls`, `tls://host:port` is an address as well. Both sides authenticate with certificates, which they
//! give as `Tls` to `Connector::tls` and `Listener::bind_tls`.
//!
//! # Tasks
//!
//! Tasks work with any executor: one thread of the process reads their connections. With the feature `tokio`, the runtime of
//! a tokio task reads instead, which saves two thread switches for each message. As with tokio's own sockets,
//! the runtime must be running while the task waits: no other executor may block its only thread. Build it with
//! `enable_io`: otherwise tokio prints a panic message once, and the thread of the process reads. There a session over a
//! [`Stream`] of the program uses a second descriptor.
//!
//! # Health
//!
//! A listener can also tell clients whether the server, or one of its services, can be used: see [`health`].
//!
//! # Observing
//!
//! An [`Observer`](observe::Observer) is called when sessions begin, turn and end: see [`observe`]. With the feature
//! `tracing`, `observe::Spans` is one that opens a span for each session, and with the feature `metrics`,
//! `observe::Metrics` is one that counts.
//!
//! The format is specified in `docs/wire.md`, so the other side may be written in another language.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod core;
mod error;
pub mod health;
mod listen;
pub mod observe;
mod remote;
mod transport;

use duologue::transport::sync;

pub use duologue::transport::{Fingerprint, NotAFingerprint, Open};
pub use error::{Error, Verdict};
pub use listen::connect::{connect, Connector};
pub use listen::handshake::Peer;
pub use listen::listener::{accept_over, Drain, Listener, Load};
pub use listen::trace::{NotATraceContext, TraceContext};
pub use transport::address::Address;
pub use transport::stream::{Socket, Stream};
#[cfg(feature = "tls")]
pub use transport::tls::Tls;
