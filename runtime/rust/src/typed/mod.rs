//! Endpoints with types: what generated code is built on, and what programs hold.

pub(crate) mod endpoint;
pub(crate) mod error;
pub(crate) mod futures;
pub(crate) mod held;
pub(crate) mod observed;
pub(crate) mod out_of_turn;
#[cfg(feature = "registry")]
pub(crate) mod owned;
pub(crate) mod recorder;
pub(crate) mod registry;
pub(crate) mod sending;
#[cfg(feature = "tracing")]
pub(crate) mod spans;
#[cfg(feature = "futures")]
pub(crate) mod streams;
