//! Duologue compiles protocols between two parties.
//!
//! A `.proto` file describes, as the client sees it, which side may send which message in which state. The text is parsed and
//! resolved into a [`protocol::Program`], the rules in [`check`] query its [`graph`], and [`target`] turns the resulting
//! [`check::CheckedProgram`] into one file per protocol and target. Every stage reports all errors it finds, and later stages
//! still run, but only a program without errors becomes a [`check::CheckedProgram`].

pub mod build;
pub mod check;
pub mod compile;
pub mod diagnostic;
pub mod diagram;
pub mod dual;
pub mod endpoint;
pub mod files;
pub mod fingerprint;
pub mod graph;
mod load;
pub mod name;
mod partition;
pub mod promela;
pub mod protocol;
pub mod relation;
pub mod report;
mod resolve;
pub mod source;
pub mod syntax;
pub mod target;
