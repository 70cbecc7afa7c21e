//! `duologue lsp`: its answers, its messages, and editors that use it.

mod client;
mod editors;
mod features;
mod files;
mod hostile;
mod scripts;
mod tokens;
