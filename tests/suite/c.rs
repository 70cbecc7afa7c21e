//! The C target: the shim, what is generated, and the programs that use it.
