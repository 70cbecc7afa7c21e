//! Duologue compiles protocols between two parties.
//!
//! A `.proto` file describes, as the client sees it, which side may send which message in which state. The text is parsed and
//! resolved into a program, the rules in `check` query its `graph`, and [`languages`] turns the resulting
//! `CheckedProgram` into one file per protocol and target. Every stage reports all errors it finds, and later stages
//! still run, but only a program without errors becomes a `CheckedProgram`.
//!
//! # What is stable
//!
//! Build scripts use [`build`]. Other tools call [`compile::compile`] and get [`diagnostic`]s with positions in [`source`]s, which
//! [`report`] displays, and generated files from [`languages`], which [`files`] writes. These modules follow semantic versioning. The other
//! modules are what the command line and the tools of this repository are made of. They may change with every version.

pub mod build;
pub mod check;
pub mod compile;
pub mod diagnostic;
pub mod dual;
pub mod endpoint;
pub mod files;
pub mod fingerprint;
pub mod graph;
pub mod languages;
pub mod name;
pub mod pages;
pub mod protocol;
pub mod relation;
pub mod repair;
pub mod report;
pub mod robots;
pub mod sizes;
pub mod source;
pub mod syntax;
pub mod wire;

mod resolve;
