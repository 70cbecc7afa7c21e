//! The Rust toolchain as the tests call it.
