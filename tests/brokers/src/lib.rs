//! What the tests of sessions over brokers share: protocols, a bank, a broker in memory, and a NATS server with what is between.
#![forbid(unsafe_code)]

pub mod bank;
pub mod memory;
#[cfg(feature = "nats")]
pub mod nats;
#[cfg(feature = "nats")]
pub mod process;
#[cfg(feature = "nats")]
pub mod proxy;

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
