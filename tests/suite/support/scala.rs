//! The Scala toolchain as the tests call it.
