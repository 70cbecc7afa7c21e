//! Protocols to look at: pictures, sites, and the playground.

pub mod doc;
mod html;
pub mod picture;
pub mod play;
mod script;
