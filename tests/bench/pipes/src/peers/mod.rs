//! The other channels, with one trait for each way of waiting, so that a case is written once for all of them.

#[cfg(feature = "peers")]
pub mod actors;
pub mod blocking;
pub mod raw;
pub mod tasks;
