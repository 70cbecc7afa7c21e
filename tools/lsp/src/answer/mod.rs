//! What an editor asks about a text: answers from a snapshot and a position, without I/O. Ranges are in bytes; `duologue lsp`
//! translates them to the positions of the editor.
//!
//! Structure comes from the tree of the text (`symbols`), which a text with errors has too. What names mean comes from the table of names
//! of the program.

mod actions;
mod complete;
mod hints;
mod hover;
mod imports;
// Most names have no type and are no state.
#[allow(clippy::wildcard_enum_match_arm)]
mod names;
mod position;
mod rename;
mod repairs;
// Most kinds of nodes cannot occur at a given position.
#[allow(clippy::wildcard_enum_match_arm)]
mod semantic;
mod snapshot;
mod tree;

pub use actions::{Fix, automatic_fixes, fixes, formatted, unknown_names};
pub use complete::{Completion, complete};
pub use hints::{Hint, hints};
pub use hover::{Hover, hover};
pub use imports::{Elsewhere, Search, import, organized};
pub use names::{
    definition, highlights, name_at, references, state_at, transitions, type_definitions,
};
pub use position::{Encoding, Lines};
pub use rename::{Renaming, prepare, rename};
pub use semantic::{SemanticKind, SemanticToken, semantic_tokens};
pub use snapshot::{Snapshot, protocol_at};
pub use tree::shape::{Fold, folds, selections};
pub use tree::symbols::{Heads, Item, ItemKind, heads, outline};
