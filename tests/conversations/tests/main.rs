//! The conversations in Rust: one program, as each further one would be linked anew. What needs a process of its own is in `alone.rs`.
#![forbid(unsafe_code)]
// `limited` has the same cases over each transport, with what the module around it says about that.
#![allow(clippy::duplicate_mod)]

mod cases;
mod derives;
mod executors;
#[cfg(feature = "sockets")]
mod limits;
#[cfg(feature = "sockets")]
mod observe;
#[cfg(feature = "sockets")]
mod observe_recorded;
mod owners;
mod page;
mod registry;
#[cfg(feature = "sockets")]
mod remote;
#[cfg(feature = "sockets")]
mod remote_admitted;
#[cfg(feature = "sockets")]
mod remote_drips;
#[cfg(feature = "sockets")]
mod remote_health;
#[cfg(feature = "sockets")]
mod remote_heartbeat;
#[cfg(feature = "sockets")]
mod remote_limits;
#[cfg(feature = "sockets")]
mod remote_runs;
#[cfg(feature = "sockets")]
mod remote_slow;
#[cfg(feature = "sockets")]
mod remote_stalls;
#[cfg(feature = "sockets")]
mod remote_until;
#[cfg(feature = "sockets")]
mod remote_versions;
#[cfg(feature = "sockets")]
mod remote_waits;
mod robots;
#[cfg(all(feature = "shared-memory", feature = "sockets"))]
mod shm;
mod streams;
#[cfg(feature = "sockets")]
mod tls;
#[cfg(feature = "sockets")]
mod tls_admit;
#[cfg(feature = "sockets")]
mod tls_cuts;
#[cfg(feature = "sockets")]
mod tls_limits;
#[cfg(feature = "sockets")]
mod wire;
#[cfg(feature = "sockets")]
mod within;
