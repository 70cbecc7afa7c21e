//! Duologue compiles protocols between two parties.
//!
//! A `.proto` file describes, as the client sees it, which side may send which message in which state. The text is parsed and
//! resolved into a program, the rules in `check` query its `graph`, and [`target`] turns the resulting
//! `CheckedProgram` into one file per protocol and target. Every stage reports all errors it finds, and later stages
//! still run, but only a program without errors becomes a `CheckedProgram`.
//!
//! # What is stable
//!
//! Build scripts use [`build`]. Other tools call [`compile::compile`] and get [`diagnostic`]s with positions in [`source`]s, which
//! [`report`] displays, and generated files from [`target`], which [`files`] writes. These modules follow semantic versioning. The
//! modules that this page does not list are public only for the command line, and may change with every version.

pub mod build;
pub mod compile;
pub mod diagnostic;
pub mod files;
pub mod report;
pub mod source;
pub mod target;

// Public only for the command line.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod attack;
#[doc(hidden)]
pub mod check;
#[doc(hidden)]
pub mod diagram;
#[cfg(feature = "doc")]
#[doc(hidden)]
pub mod doc;
#[doc(hidden)]
pub mod dual;
#[doc(hidden)]
pub mod endpoint;
#[doc(hidden)]
pub mod fingerprint;
#[doc(hidden)]
pub mod graph;
#[cfg(feature = "lsp")]
#[doc(hidden)]
pub mod lsp;
#[cfg(feature = "reports")]
#[doc(hidden)]
pub mod model;
#[doc(hidden)]
pub mod name;
#[cfg(feature = "pictures")]
#[doc(hidden)]
pub mod picture;
#[doc(hidden)]
pub mod promela;
#[doc(hidden)]
pub mod protocol;
#[doc(hidden)]
pub mod relation;
#[doc(hidden)]
pub mod repair;
#[doc(hidden)]
pub mod robots;
#[doc(hidden)]
pub mod sizes;
#[doc(hidden)]
pub mod syntax;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod talk;
#[cfg(feature = "reports")]
#[doc(hidden)]
pub mod trace;
#[doc(hidden)]
pub mod wire;

mod load;
mod partition;
mod resolve;
