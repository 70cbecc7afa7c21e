//! The program of `docs/tracing.md` that records sessions.
#![forbid(unsafe_code)]

include!(concat!(env!("OUT_DIR"), "/page_recorded.rs"));
