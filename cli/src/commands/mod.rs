//! One module for each command.

pub mod attack;
pub mod breaking;
pub mod check;
pub mod completions;
pub mod doc;
pub mod dual;
pub mod explain;
pub mod fingerprint;
pub mod fmt;
pub mod r#gen;
pub mod graph;
pub mod lsp;
pub mod man;
pub mod model;
pub mod play;
pub mod robots;
pub mod talk;
pub mod top;
pub mod trace;
