//! Sessions of [Duologue](https://github.com/duologue/duologue) between two processes on one machine, in memory that
//! both share.
//!
//! A protocol that was generated with `--remote` (in a build script: `Builder::remote()`) has the same endpoints as
//! within a process. [`attach`] returns the first one of a side, and everything else stays the same.
//!
//! ```no_run
//! # fn shop<E>(_: E) {}
//! # fn show<Client: duologue_shm::Open>() -> Result<(), duologue_shm::Error> {
//! // One process, and the same with `bank::server::Login` in the other:
//! let region = duologue_shm::Region::open("/bank")?;
//! let client: Client /* bank::client::Login */ = duologue_shm::attach(&region)?;
//! shop(client);
//! # Ok(())
//! # }
//! ```
//!
//! A region holds one session. Unrelated processes open it by its name, or send its descriptor over a Unix socket
//! ([`Region::send`], [`Region::receive`]); a child process can inherit the descriptor. The format is specified in
//! `runtime/shared-memory.md`, so the other side may be a program in C.
//!
//! # What differs from sessions within a process
//!
//! - A session can end because the other process does. [`Closed::why`](duologue::Closed::why) says why: the peer has left,
//!   it was [`Lost`](duologue::Why::Lost), or it is [`Broken`](duologue::Why::Broken).
//! - A message that was sent may not have been read when the session ends. [`SendError`](duologue::SendError) returns the
//!   payload only if it was already known that the session is over.
//! - In a thread, sending may wait until the peer has read earlier messages, even in a bounded run. In a task it does
//!   not, if the task awaits its endpoints: what does not fit into the region is written later, by a thread of this crate.
//! - Inside an unbounded run, a message may wait for up to two milliseconds for others.
//! - A message larger than the peer accepts is not sent, and ends the session: this side's next operation reports
//!   [`TooLarge`](duologue::Why::TooLarge), and the peer finds that this side has left.
//! - Time limits of the protocol (`#[within(...)]`) have no effect.
//!
//! # Child processes
//!
//! A session belongs to the process that has attached. A child process that was forked without executing a program does not
//! have the sessions of its parent, nor the thread of this crate, and must not use this crate.
#![cfg(all(target_os = "linux", target_has_atomic = "64"))]

mod attach;
mod end;
mod error;
mod helper;
mod lock;
mod memory;
mod messages;
mod position;
mod region;
mod session;

pub use attach::{attach, Attach, Attaching};
pub use duologue::transport::{Fingerprint, NotAFingerprint, Open};
pub use error::Error;
pub use region::Region;
