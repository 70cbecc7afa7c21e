//! Duologue compiles protocols between two parties.
//!
//! A `.proto` file says, from the client's side, who may say what and when. Text becomes syntax, syntax becomes a resolved
//! [`protocol::Program`], its [`graph`] is asked the questions that the rules in [`check`] pose, and a
//! [`check::CheckedProgram`] becomes one file per protocol and target in [`target`]. Within a stage all errors are collected;
//! between stages the run stops.

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
