//! `duologue lsp`: its answers, its messages, and editors that use it.

mod answers;
mod client;
mod editors;
mod features;
mod files;
mod hostile;
mod renames;
mod tokens;
