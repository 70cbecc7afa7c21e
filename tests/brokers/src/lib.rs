//! What the tests of sessions over brokers share: protocols, a bank, and a broker in memory.
#![forbid(unsafe_code)]

pub mod bank;
pub mod memory;
pub mod server;

mod wire {
    #![allow(missing_docs)]
    include!(concat!(env!("OUT_DIR"), "/wire/mod.rs"));
}
pub use wire::versions;

/// The generated modules.
pub mod protocols {
    #![allow(missing_docs)]
    include!(concat!(env!("OUT_DIR"), "/mod.rs"));
}
