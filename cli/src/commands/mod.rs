//! One module for each command.

pub mod attack;
pub mod breaking;
pub mod check;
pub mod doc;
pub mod dual;
pub mod explain;
pub mod fingerprint;
pub mod fmt;
pub mod r#gen;
pub mod graph;
pub mod model;
pub mod play;
pub mod robots;
pub mod shells;
pub mod talk;
pub mod top;
pub mod trace;
