//! The grammars and extensions in `editors/`, where `DUOLOGUE_TEST_WITH` names the tool that they need.

mod programs;
mod tree_sitter;
mod vscode;
