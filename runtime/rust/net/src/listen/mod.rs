//! How a session comes about: one side connects, the other listens, and both agree in a hello and its answer before the
//! session begins.

pub(crate) mod connect;
pub(crate) mod handshake;
mod hello;
pub(crate) mod listener;
pub(crate) mod trace;
