//! A job queue. Sessions of the protocol `jobs` submit jobs and collect their results, and sessions of the protocol
//! `work` do the jobs.
//!
//! - [`queue`] holds the jobs, and knows nothing about sessions.
//! - [`submitters`] and [`workers`] are the server's side of each protocol: one function that serves one session, whether the
//!   peer is a task of this process or a program in another language.
//! - [`server`] accepts sessions at addresses, gives each a task, and shuts down gracefully.
//! - [`client`] is the other side of both protocols.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

pub mod client;
pub mod limits;
pub mod queue;
pub mod server;
pub mod submitters;
pub mod workers;

/// The endpoints and messages of `../protocols/jobs.proto`.
pub mod protocols {
    include!(concat!(env!("OUT_DIR"), "/mod.rs"));
}
