//! The commands for editors and shells.

pub mod completions;
pub mod lsp;
pub mod man;
