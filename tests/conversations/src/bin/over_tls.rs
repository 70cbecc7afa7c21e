//! The program of `docs/targets/rust.md` that uses TLS: `over_tls FOLDER`.
#![forbid(unsafe_code)]

include!(concat!(env!("OUT_DIR"), "/page_over_tls.rs"));
