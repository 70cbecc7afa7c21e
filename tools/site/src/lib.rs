//! Protocols to look at: pictures, sites, and the server of the playground.

pub mod doc;
pub mod picture;
pub mod server;
