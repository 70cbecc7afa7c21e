//! Operations on several endpoints, and sessions whose other side runs elsewhere.

pub(crate) mod group;
pub(crate) mod port_set;
pub(crate) mod ports;
pub(crate) mod select;
mod select_macro;
pub(crate) mod service;
pub(crate) mod shared;
