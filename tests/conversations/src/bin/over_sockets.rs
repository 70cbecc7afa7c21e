//! The program of `docs/targets/rust-sockets.md` that uses sockets.
#![forbid(unsafe_code)]

include!(concat!(env!("OUT_DIR"), "/page_over_sockets.rs"));
