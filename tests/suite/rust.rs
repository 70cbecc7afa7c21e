//! The Rust target: what is generated, and the programs that use it.
