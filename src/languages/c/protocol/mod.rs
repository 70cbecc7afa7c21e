//! The header and the source of a protocol, and the header for event loops.

mod device;
mod events;
pub mod functions;
mod paths;
mod recv;
mod send;
mod shared;
pub mod source;
