//! The program of `docs/targets/rust-sockets.md` with a session in shared memory.
#![forbid(unsafe_code)]

include!(concat!(env!("OUT_DIR"), "/page_shared_memory.rs"));
