//! The contract of the in-process pipe, through modules in the generated shape.
#![cfg(not(duologue_loom))]
#![forbid(unsafe_code)]

extern crate duologue_runtime as duologue;

mod blocking;
mod closing;
mod crowds;
mod dialogue;
mod futures;
mod golden;
mod port_set;
mod random;
mod select;
mod services;
mod shared;
mod unread;
mod walks;
