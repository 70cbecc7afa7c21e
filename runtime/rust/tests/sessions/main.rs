//! The contract of the in-process pipe, through modules in the generated shape.
#![cfg(not(duologue_loom))]
#![deny(unsafe_code)]

extern crate duologue_runtime as duologue;

#[macro_use]
mod golden;
mod blocking;
mod bomb;
mod closing;
mod crowds;
mod dialogue;
mod far_end;
#[cfg(all(target_os = "linux", feature = "membarrier"))]
#[allow(unsafe_code)]
mod filter;
mod flow;
mod futures;
mod held;
mod limits;
mod observed;
mod payload;
mod port_set;
mod random;
mod recorded;
#[cfg(all(target_os = "linux", feature = "membarrier"))]
mod refused;
mod select;
mod sending;
mod shared;
mod unpark;
mod unread;
#[allow(unsafe_code)]
#[path = "../wakers/mod.rs"]
mod wakers;
mod walks;
