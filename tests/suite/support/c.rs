//! The C toolchain as the tests call it.
