//! The program of `docs/targets/rust.md` that observes sessions.
#![forbid(unsafe_code)]

include!(concat!(env!("OUT_DIR"), "/page_observed.rs"));
